"""Paired comparison: the same seeds on both sides, so that what they share cancels out.

Runs of one seed meet the same sky and draw the same batches. Their difference varies less than
either of them, and is what a comparison is about.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy import stats

from airfeel.streams import Streams

LEVEL = 0.95  # of every interval
ENOUGH = 5  # pairs for a bootstrap: fewer have too few different resamples
_RESAMPLES = 9999
_EQUAL = 1e-12  # a standard error this small beside the largest difference is rounding


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences, and what that is worth; NaN where there are too few pairs."""

    mean: float
    low: float  # 95 % interval by Student's t
    high: float
    n: int  # pairs
    p: float  # two-sided, of no difference, by Student's t; by signs where all are the same
    boot_low: float = math.nan  # 95 % interval by a bias-corrected, accelerated bootstrap
    boot_high: float = math.nan


def paired(a: Float[np.ndarray, "n"], b: Float[np.ndarray, "n"]) -> Difference:
    """The mean of a − b over pairs, with 95 % intervals.

    mean ± t_{n−1, 0.975} · s / √n, where s is the sample standard deviation of the differences; by
    bootstrap (BCa, 9999 resamples, always the same dice) from five pairs on.

    Args:
        a: one number of each pair, such as an accuracy for each seed.
        b: the other one of each pair, in the same order.

    >>> d = paired(np.array([0.95, 0.94, 0.96]), np.array([0.93, 0.92, 0.93]))
    >>> f"{d.mean:.4f} [{d.low:.4f}, {d.high:.4f}], p = {d.p:.3f}, n = {d.n}"
    '0.0233 [0.0090, 0.0377], p = 0.020, n = 3'
    """
    difference = a - b
    n = len(difference)
    mean = float(difference.mean()) if n else math.nan
    if n < 2 or math.isnan(mean):  # too few, or one of them is not known
        return Difference(mean, math.nan, math.nan, n, math.nan)
    error, largest = float(stats.sem(difference)), float(np.abs(difference).max())
    if error <= _EQUAL * largest:
        same = mean if n >= ENOUGH else math.nan
        p = 1.0 if mean == 0.0 else 2.0 ** (1 - n)  # by signs: no spread is known to judge by
        return Difference(mean, mean, mean, n, p, same, same)
    half = error * float(stats.t.ppf(0.5 + LEVEL / 2, n - 1))
    p = 2.0 * float(stats.t.sf(abs(mean) / error, n - 1))
    scaled = tuple((difference / largest).tolist())
    boot = _bootstrap(scaled) if n >= ENOUGH else (math.nan, math.nan)
    return Difference(mean, mean - half, mean + half, n, p, largest * boot[0], largest * boot[1])


@lru_cache(maxsize=1024)  # a report asks for the same differences again and again
def _bootstrap(difference: tuple[float, ...]) -> tuple[float, float]:
    dice = Streams(0).rng("bootstrap")
    found = stats.bootstrap(
        (difference,), np.mean, n_resamples=_RESAMPLES, confidence_level=LEVEL, rng=dice
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def holm(p: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m"]:
    """p-values of m comparisons, corrected so that a false alarm among all of them is as rare.

    Holm 1979: the i-th smallest is multiplied by m − i + 1, and none is below a smaller one. NaN
    (a comparison that could not be made) stays NaN, and does not count.

    >>> holm(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.06, 0.06,  nan])
    """
    corrected = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.maximum.accumulate(np.minimum(p[order] * factors, 1.0))
    return corrected
