"""Evaluation: networks compared with each other, and diagnoses with labels."""

from noisyor.evaluation.diagnoses import evaluate_diagnoses
from noisyor.evaluation.evaluated import DiagnosisEvaluation, LabelScores
from noisyor.evaluation.networks import (
    Comparison,
    Coverage,
    Errors,
    Intervals,
    PosteriorDifferences,
    check_intervals,
    evaluate,
    in_order_of,
)

__all__ = [
    "Comparison",
    "Coverage",
    "DiagnosisEvaluation",
    "Errors",
    "Intervals",
    "LabelScores",
    "PosteriorDifferences",
    "check_intervals",
    "evaluate",
    "evaluate_diagnoses",
    "in_order_of",
]
