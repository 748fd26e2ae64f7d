"""Two ways to sum over a piece of a record: both give the same."""

import numpy as np
import pytest

from inference.patients import random_patient
from noisyor import Findings
from noisyor.inference import kernels, piece_kernels
from noisyor.inference.exact import ExactInference
from noisyor.inference.records import flatten


def local_piece(network, row):
    """Return the first piece of a record as the kernels see it, or None."""
    findings = Findings.from_numpy(np.array([row], dtype=float), network.structure)
    inference = ExactInference(findings)
    flat = flatten(network)
    records = inference.records
    desk = kernels.new_desk(flat)
    kernels.weigh_absent(flat, records.symptoms, records.is_present, False, desk)
    present = records.symptoms[records.is_present]
    if not kernels.open_findings(flat, present, desk):
        return None
    return kernels.make_piece(flat, present, 0, desk)[0]


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
