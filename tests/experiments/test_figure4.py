"""Figure 4: as large as the paper's, but for what takes too long."""

from noisyor.experiments import ExperimentSettings, figure4


def test_the_full_run_is_as_large_as_the_papers():
    sizes = {cell.n_records for cell in figure4.cells(ExperimentSettings())}
    assert sizes >= {10_000, 100_000, 1_000_000, 10_000_000}
