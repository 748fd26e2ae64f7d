"""Two ways to sum over a piece of a record: both give the same."""

import numpy as np
import pytest

from inference.patients import random_patient
from noisyor import Findings
from noisyor.inference import piece_kernels, record_kernels
from noisyor.inference.flat import distinct_records, flatten


def local_piece(network, row):
    """Return the first piece of a record as the kernels see it, or None."""
    findings = Findings.from_numpy(np.array([row], dtype=float), network.structure)
    flat, records = flatten(network), distinct_records(findings)
    workspace = record_kernels.new_workspace(flat)
    record_kernels.weigh_absent(flat, records.symptoms, records.is_present, False, workspace)
    present = records.symptoms[records.is_present]
    if not record_kernels.open_findings(flat, present, workspace):
        return None
    return record_kernels.make_piece(flat, present, 0, workspace)[0]


def test_enumeration_and_elimination_agree(rng):
    n_checked = 0
    while n_checked < 300:
        network, row, _, _ = random_patient(rng, 7, 9)
        piece = local_piece(network, row)
        if piece is None:
            continue
        results = []
        order = piece_kernels.find_order(piece)
        for solve, arguments in (
            (piece_kernels.enumerate_piece, (piece,)),
            (piece_kernels.eliminate_piece, (piece, order)),
        ):
            for part in piece[6:]:
                part[:] = np.nan
            evidence = solve(*arguments)
            # Enumeration passes over states that a leak of 0 rules out; nothing is made of it.
            piece.if_caused[piece.present == 0.0] = 0.0
            results.append((evidence, *(part.copy() for part in piece[6:])))
        for one, other in zip(*results, strict=True):
            assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
        n_checked += 1
