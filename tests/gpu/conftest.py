"""Tests of work on the card run where there is one; elsewhere `test_simulator` runs them apart."""

from noisyor.gpu import why_no_card

collect_ignore = [] if why_no_card() is None else ["simulated"]
