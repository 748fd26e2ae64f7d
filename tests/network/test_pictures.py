"""Pictures of networks: a disease, its symptoms and its rivals."""

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from noisyor import datasets

CLINIC = datasets.clinic()


def test_a_neighbourhood_is_a_disease_with_its_rivals():
    ax = CLINIC.plot(disease="influenza", top=3)
    names = [text.get_text() for text in ax.texts]
    assert names[0] == "influenza"
    assert ax.texts[0].get_fontweight() == "bold"
    strongest = CLINIC.structure.edges_of("influenza")
    order = np.argsort(CLINIC.failures[strongest], kind="stable")[:3]
    wanted = [CLINIC.structure.symptoms[CLINIC.structure.edges[strongest][k, 1]] for k in order]
    assert names[3:] == wanted
