"""Reports: one page, in one file, that shows what was learned, how well, and what is doubtful."""

from noisyor.report.page import write_report

__all__ = ["write_report"]
