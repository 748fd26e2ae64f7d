"""What the tests of reports share: a clinic, what was learned of it, and its page."""

import pytest

from noisyor import NoisyOrLearner, datasets, write_report
from report.pages import read_page


@pytest.fixture(scope="module")
def clinic():
    return datasets.clinic()


@pytest.fixture(scope="module")
def flagged(clinic):
    """An estimate with many flags: the paper's learner on few records."""
    return (
        NoisyOrLearner(clinic.structure, method="sequential").fit(clinic.sample(500, 0)).estimate_
    )


@pytest.fixture
def page_of(tmp_path):
    def write(*arguments, **options):
        write_report(arguments[0], tmp_path / "page.html", *arguments[1:], **options)
        return read_page(tmp_path / "page.html")

    return write
