"""Which pairs teach a disease, and from which round on."""

import numpy as np

from noisyor import MomentPlan, datasets, find_schedule
from noisyor.learning.pairs import pair_table
from noisyor.learning.ratio_kernels import NEVER


def test_pairs_are_ready_when_their_other_parents_are_learned(rng):
    """Against the definition, for every pair and every disease of random structures."""
    for _ in range(50):
        structure = datasets.clinic().structure.subset(
            symptoms=rng.choice(60, 30, replace=False).tolist()
        )
        schedule = find_schedule(structure)
        table = pair_table(MomentPlan.coupled(structure), schedule)
        for disease in range(structure.n_diseases):
            children = structure.children(disease)
            a, b = np.triu_indices(len(children), 1)
            _, offsets, rows, ready = table.of_diseases
            here = slice(offsets[disease], offsets[disease + 1])
            pairs = zip(children[a], children[b], rows[here], ready[here], strict=True)
            for x, y, row, from_round in pairs:
                assert table.plan.pairs[row].tolist() == [x, y]
                others = (set(structure.parents(int(x))) & set(structure.parents(int(y)))) - {
                    disease
                }
                learned = [
                    schedule.depths[structure.edge_index(int(k), int(z))]
                    for k in others
                    for z in (x, y)
                ]
                own = [schedule.depths[structure.edge_index(disease, int(z))] for z in (x, y)]
                if min([*own, *learned]) < 0:
                    assert from_round > NEVER
                else:
                    assert from_round == max(*own, *(depth + 1 for depth in learned))
