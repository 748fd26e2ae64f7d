"""Standard errors by leaving out one group of records at a time."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST_GROUPS = 10
"""From fewer groups a standard error would itself be wrong by a quarter or more."""


def jackknife_errors(whole: Floats, replicates: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Return standard errors of estimates from groups of unequal sizes.

    `whole` was learned from all records, row g of `replicates` without the `sizes[g]` records of
    group g. With h = n / n_g, the pseudovalues h x - (h - 1) x_g scatter around their mean
    sum_g (x - (1 - 1/h) x_g) with the variance (h - 1) G var(x). For equal groups this is the
    usual (G - 1) / G sum (x_g - mean)^2. (Busing, Meijer, van der Leeden 1999)

    >>> values = np.array([1.0, 4.0, 2.0, 7.0])
    >>> without = (values.sum() - values) / 3
    >>> error = jackknife_errors(values.mean(), without[:, np.newaxis], np.ones(4, dtype=int))
    >>> bool(np.isclose(error[0], values.std(ddof=1) / 2))
    True
    """
    n_groups = len(sizes)
    h = (sizes.sum() / sizes)[:, np.newaxis]
    center = n_groups * whole - ((1.0 - 1.0 / h) * replicates).sum(axis=0)
    pseudovalues = h * whole - (h - 1.0) * replicates
    variances = ((pseudovalues - center) ** 2 / (h - 1.0)).sum(axis=0) / n_groups
    return np.asarray(np.sqrt(variances))
