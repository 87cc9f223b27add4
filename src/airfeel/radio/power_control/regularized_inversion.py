"""How much of its symbols a device sends where it cannot afford all, and how loud all should be."""

import numpy as np
from jaxtyping import Float64

_STEPS = 12  # of Newton: the energy is then within rounding of its limit under any sky that was met
_POINTS = 25  # of the grid of loudness at first: three decades of σ²,
_MORE = 8  # and a decade more at a time while the last point is the best,
_LAST = 97  # up to twelve
_WEAKEST = 1e-100  # of |h|² over a device's best: weaker sub-channels count as having no gain


def regularised_shares(
    energy: Float64[np.ndarray, "n M"],
    gain2: Float64[np.ndarray, "n M"],
    budget: Float64[np.ndarray, "n"],
    scalar2: float | Float64[np.ndarray, "G 1"],
) -> Float64[np.ndarray, "*G n M"]:
    """c = g/(g + μ_n), the share of each segment that device n sends: regularised inversion.

    μ_n ≥ 0 is the smallest with Σ_m c²·σ²·e/g ≤ budget_n; where all is affordable it is 0, plain
    inversion. Of all shares within the budget these leave least behind: they minimise Σ_m (1−c)²·e
    (by its KKT conditions). Regularised inversion is known from power control of over-the-air
    computation, where what is left is lost; here the error memory keeps it.

    energy(μ)^(−1/2) is concave and rising, so that Newton's steps from μ = 0 climb to the root from
    below; a last factor on c puts what they leave within the budget.

    Args:
        energy: e, squared norm of each segment, see `segment_energy`.
        gain2: g = |h|² of each device on each sub-channel; where it is 0, so is the share.
        budget: energy that each device may spend [W·slots]; where it is not above 0, all shares
            are 0.
        scalar2: σ², the square of the power scalar, or a column of G of them to be tried at once.

    >>> energy, gain2 = np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, 0.25]])
    >>> regularised_shares(energy, gain2, np.array([8.0, 2.0]), 4.0).round(3)
    array([[1.   , 1.   ],
           [0.541, 0.228]])
    """
    g, e, ratio = _in_own_units(energy, gain2, budget)
    r = scalar2 * ratio  # σ²/budget in a device's own units: shares cost r·Σ c²e/g of 1
    usable, h2 = g > 0.0, np.where(g > 0.0, g, 1.0)
    weight = g * e
    mu = np.zeros(r.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(_STEPS):
            inverse = 1.0 / (h2 + mu[..., None])
            part = weight * inverse * inverse
            cost = part.sum(axis=-1)
            over = np.sqrt(r * cost) - 1.0
            step = cost * over / (part * inverse).sum(axis=-1)
            rises = (over > 0.0) & np.isfinite(step)
            if not rises.any():
                break
            mu = mu + np.where(rises, step, 0.0)
        share = np.where(usable, h2 / (h2 + mu[..., None]), 0.0)
        spent = r * (share**2 * (e / h2)).sum(axis=-1)
    able = (budget > 0.0) & np.isfinite(r)  # what is infinitely dear is not sent
    factor = np.where(able, 1.0 / np.sqrt(np.maximum(spent, 1.0)), 0.0)
    return np.asarray(share * factor[..., None])


def least_error(
    energy: Float64[np.ndarray, "n M"],
    gain2: Float64[np.ndarray, "n M"],
    budget: Float64[np.ndarray, "n"],
    noise: float,
    kappa: float = 1.0,
) -> float:
    """σ_t² that minimises J(σ²) = noise/σ² + κ·Σ_{n,m} (1 − c_{n,m})²·e_{n,m}, on a grid.

    With noise = K·σ0² and κ = 1, J is N² times the mean squared error of the mean of all N devices
    on the mask, if what devices withhold is uncorrelated. The grid is s·10^(j/8), j = 0 … 24, where
    at s everybody can afford everything; while its last point is the best, it goes on by a decade,
    at most to j = 96. Louder means less noise, and more that is withheld.

    Args:
        energy: e, squared norm of each segment, see `segment_energy`.
        gain2: g = |h|² of each device on each sub-channel.
        budget: energy that each device may spend [W·slots].
        noise: K·σ0², noise of all received elements [W·slots].
        kappa: κ, weight of what is withheld.

    Returns 0 where nobody has anything that it could send.

    >>> energy, gain2 = np.ones((2, 1)), np.array([[1.0], [0.01]])
    >>> tuple(round(least_error(energy, gain2, np.ones(2), z), 3) for z in (1e-6, 1e-3, 10.0))
    (0.01, 0.013, 100.0)
    """
    start = _affordable(energy, gain2, budget)
    if not 0.0 < start < np.inf:
        return 0.0
    tried, error = np.zeros(0), np.zeros(0)  # σ², and J there
    while len(tried) < _LAST and (len(tried) == 0 or error.argmin() == len(tried) - 1):
        stop = len(tried) + _MORE if len(tried) else _POINTS
        more = start * 10.0 ** (np.arange(len(tried), stop) / 8.0)
        share = regularised_shares(energy, gain2, budget, more[:, None])
        withheld = (np.square(1.0 - share) * energy).sum(axis=(1, 2))
        tried = np.append(tried, more)
        error = np.append(error, noise / more + kappa * withheld)
    return float(tried[error.argmin()])


def _affordable(
    energy: Float64[np.ndarray, "n M"],
    gain2: Float64[np.ndarray, "n M"],
    budget: Float64[np.ndarray, "n"],
) -> float:
    """s, the largest σ² at which everyone who can send something can afford all of it."""
    g, e, ratio = _in_own_units(energy, gain2, budget)
    inverted = np.divide(e, g, out=np.zeros_like(g), where=g > 0.0).sum(axis=1)
    able = (budget > 0.0) & (inverted > 0.0) & np.isfinite(ratio)
    with np.errstate(divide="ignore", over="ignore"):
        return float((1.0 / (ratio[able] * inverted[able])).min(initial=np.inf))


def _in_own_units(
    energy: Float64[np.ndarray, "n M"],
    gain2: Float64[np.ndarray, "n M"],
    budget: Float64[np.ndarray, "n"],
) -> tuple[np.ndarray, np.ndarray, Float64[np.ndarray, "n"]]:
    """g over each device's largest, e over its sum, and what makes up for both over the budget.

    Shares do not change by it, and no square leaves the range of floating point numbers.
    """
    best, total = (np.where(v > 0.0, v, 1.0) for v in (gain2.max(axis=1), energy.sum(axis=1)))
    g, e = gain2 / best[:, None], energy / total[:, None]
    g = np.where(g > _WEAKEST, g, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        return g, e, total / (best * np.where(budget > 0.0, budget, 1.0))
