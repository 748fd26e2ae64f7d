"""Figure 3: as large as the paper's."""

from noisyor.experiments import ExperimentSettings, figure3


def test_the_full_run_is_as_large_as_the_papers():
    cells = figure3.cells(ExperimentSettings())
    assert {cell.n_records for cell in cells} >= {100, 1000, 10_000, 100_000}
    for method, n in (("sequential", 64), ("variational_em", 64), ("exact_em", 16)):
        assert len({cell.seed for cell in cells if cell.method == method}) == n
    assert figure3.STARTS["variational_em"] == 64
    assert figure3.STARTS["exact_em"] == 4
