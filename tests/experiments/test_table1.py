"""Table 1 of the paper."""

from noisyor.experiments import ExperimentSettings, reproduce


def test_table_1_is_that_of_the_paper(tmp_path):
    text = reproduce("table1", tmp_path, ExperimentSettings(quick=True)).read_text(encoding="utf-8")
    assert "49 of its 49 entries are the same" in text
    assert "**Where they differ:** Nowhere." in text
