"""The records that are diagnosed."""

from noisyor import datasets
from noisyor.experiments.diagnosis import records_with


def test_records_have_as_many_present_findings_as_asked_for():
    records = records_with(datasets.clinic(), 6, 20, seed=0)
    assert records.shape == (20, 60)
    assert (records.sum(axis=1) == 6).all()
