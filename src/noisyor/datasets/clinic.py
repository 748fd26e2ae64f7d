"""A small clinic with real names: 20 common diseases and 60 findings, for examples and the demo.

The figures are rounded and plausible, made up for teaching; they are not medical knowledge.
"""

import re

import numpy as np

from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

# Each disease with its prior, then P(symptom | disease alone) in percent.
_DISEASES = """
influenza 0.06: fever 90, cough 80, muscle pain 75, fatigue 80, headache 60, chills 65,
    sore throat 40, loss of appetite 35
common cold 0.12: runny nose 90, sneezing 80, sore throat 55, cough 50, nasal congestion 80,
    headache 20
pneumonia 0.02: fever 80, cough 90, shortness of breath 65, chest pain 40, chills 45, fatigue 60,
    crackles in the lungs 75
acute bronchitis 0.05: cough 95, yellow sputum 60, wheezing 35, fatigue 40, sore throat 30,
    chest tightness 35
asthma 0.07: wheezing 85, shortness of breath 75, cough 60, chest tightness 65,
    night-time attacks 55, worse with exercise 60
allergic rhinitis 0.1: sneezing 85, runny nose 75, itchy eyes 75, nasal congestion 70
sinusitis 0.05: facial pain 80, nasal congestion 75, headache 60, thick nasal discharge 70,
    reduced sense of smell 55, fever 20
strep throat 0.03: sore throat 95, fever 70, swollen neck glands 70, white patches on tonsils 65,
    headache 30
gastroenteritis 0.06: diarrhoea 90, nausea 75, vomiting 65, abdominal cramps 70, fever 40,
    loss of appetite 50, fatigue 40
reflux disease 0.09: heartburn 90, sour regurgitation 70, chest pain 25, cough 20, bloating 25
peptic ulcer 0.03: burning stomach pain 85, nausea 40, bloating 40, pain relieved by eating 50,
    black stools 15, loss of appetite 30, heartburn 35
irritable bowel 0.07: abdominal cramps 75, bloating 75, diarrhoea 45, constipation 50,
    pain relieved by stool 60
appendicitis 0.008: right lower abdominal pain 85, nausea 65, vomiting 50, loss of appetite 70,
    fever 50, rebound tenderness 65
urinary infection 0.06: painful urination 85, frequent urination 80, cloudy urine 60,
    lower abdominal pain 50, fever 15
kidney stone 0.015: flank pain 90, blood in urine 75, nausea 55, vomiting 40, painful urination 25
diabetes 0.08: thirst 65, frequent urination 60, fatigue 50, weight loss 30, blurred vision 35,
    high blood sugar 90
overactive thyroid 0.02: weight loss 60, palpitations 65, heat intolerance 65, tremor 60,
    anxiety 50, sweating 55, fatigue 40
anaemia 0.06: fatigue 80, pallor 70, shortness of breath 35, dizziness 45, palpitations 30,
    cold hands 45
migraine 0.08: headache 95, nausea 60, sensitivity to light 80, visual aura 30, vomiting 25,
    dizziness 25
panic disorder 0.04: anxiety 90, palpitations 80, sweating 60, tremor 45, dizziness 50,
    chest pain 35, fear of dying 55
"""

# P(symptom) without any of the diseases, in percent; that of others is 0.5.
_LEAKS = """
fatigue 6, headache 5, cough 3, anxiety 4, bloating 3, dizziness 2, muscle pain 3, constipation 4,
cold hands 4, thirst 2, blurred vision 2
"""


def clinic() -> NoisyOrNetwork:
    """Return the clinic's network.

    >>> network = clinic()
    >>> network.structure.children("strep throat").size
    5
    """
    diseases = re.findall(r"^(\S.*) (\S+): (.*(?:\n    .*)*)", _DISEASES, re.MULTILINE)
    causes = {disease: _percentages(listed) for disease, _, listed in diseases}
    structure = Structure.from_edges(
        [(disease, symptom) for disease, percents in causes.items() for symptom in percents]
    )
    failures = np.empty(structure.n_edges)
    for disease, percents in causes.items():
        for symptom, percent in percents.items():
            failures[structure.edge_index(disease, symptom)] = 1.0 - percent / 100.0
    leaks = _percentages(_LEAKS)
    return NoisyOrNetwork(
        structure,
        priors=[float(prior) for _, prior, _ in diseases],
        failures=failures,
        leaks=[leaks.get(symptom, 0.5) / 100.0 for symptom in structure.symptoms],
    )


def _percentages(listed: str) -> dict[str, float]:
    """Return the number behind each name of a list with commas."""
    pairs = (each.rsplit(maxsplit=1) for each in listed.split(","))
    return {" ".join(name.split()): float(number) for name, number in pairs}
