"""Networks to try things on: the paper's figures, one of QMR's size, and a small clinic.

>>> from noisyor import datasets
>>> datasets.figure1(rng=0).structure
Structure(2 diseases, 5 symptoms, 7 edges)
"""

from noisyor.datasets.clinic import clinic
from noisyor.datasets.figures import figure1, figure2
from noisyor.datasets.folders import from_folder
from noisyor.datasets.qmr import qmr_shaped

__all__ = ["clinic", "figure1", "figure2", "from_folder", "qmr_shaped"]
