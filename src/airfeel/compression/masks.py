"""Exact top-K masks: the K entries of largest magnitude, ties to the lower index."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from airfeel.compression import native
from airfeel.types import BadInput

# A sample guesses the K-th magnitude; the kernel guesses alike, by names of its own. No result
# depends on these numbers: where the guess was too high, all entries are looked at.
_STRIDE = 17  # every 17th entry: odd, so that no filter of 2^n weights is met at one place only
_MARGIN = 1.2  # aim at a fifth more entries than K,
_SPARE = 20  # and at 20 of the sample more: where K is small, chance is large


def top_k(x: Float[Tensor, "*n D"], k: int) -> Int64[Tensor, "*n {k}"]:
    """S_top(x, K): sorted indices of the K entries of largest |x| (Sun et al. 2022, section II).

    Exactly K indices are returned even where fewer entries are non-zero, and ties go to the lower
    index, so that everyone who holds the same vector derives the same mask.

    Args:
        x: a vector of D entries, or a row for each device.
        k: K, from 0 to D.

    >>> top_k(torch.tensor([1.0, -3.0, 1.0, 0.5]), 2)
    tensor([0, 1])
    """
    _check_k(k, x.shape[-1], "the length of the vector")
    return _top_k(x, k, torch.zeros(0, dtype=torch.int64, device=x.device))


def top_k_outside(
    x: Float[Tensor, "*n D"], k: int, support: Int64[Tensor, "K"]
) -> Int64[Tensor, "*n {k}"]:
    """The K entries of largest |x| among the coordinates outside `support`: the local mask m[l].

    S_top((1 − m[g]) ∘ x, K[l]) of Sun et al. 2022, section II, where `support` is m[g].

    Args:
        x: a vector of D entries, or a row for each device.
        k: K[l], from 0 to the number of coordinates outside.
        support: m[g], the indices that take no part, distinct.

    >>> top_k_outside(torch.tensor([1.0, -3.0, 1.0, 0.5]), 2, torch.tensor([1]))
    tensor([0, 2])
    """
    _check_k(k, x.shape[-1] - len(support), "which lie outside the mask")
    return _top_k(x, k, support)


def overlap(support: Int64[Tensor, "K"], before: Int64[Tensor, "B"]) -> float:
    """Share of the mask `support` that was in the mask `before` too; NaN where one is empty.

    Args:
        support: a mask, as sorted indices.
        before: another one, as sorted indices.

    >>> print(overlap(torch.tensor([0, 3, 5, 8]), torch.tensor([3, 4, 8])))
    0.5
    """
    if len(support) == 0 or len(before) == 0:
        return float("nan")
    here, there = support.cpu().numpy(), before.cpu().numpy()  # sorted, as every mask is
    held = np.zeros(1 + max(here[-1], there[-1]), dtype=bool)
    held[there] = True
    return np.count_nonzero(held[here]) / len(here)


def _check_k(k: int, most: int, what: str) -> None:
    if not 0 <= k <= most:
        raise BadInput(f"k = {k}: must be from 0 to {most}, {what}")


def _top_k(
    x: Float[Tensor, "*n D"], k: int, support: Int64[Tensor, "K"]
) -> Int64[Tensor, "*n {k}"]:
    if k == 0:
        return support.new_empty((*x.shape[:-1], 0))
    if native.serves(x):
        return native.top_k(x.view(-1, x.shape[-1]), k, support).view(*x.shape[:-1], k)
    magnitude = x.abs()
    magnitude.index_fill_(-1, support, -1.0)  # below every magnitude, so taken after all others
    rows = [_largest(row, k) for row in magnitude.view(-1, x.shape[-1])]
    return (torch.stack(rows) if rows else support.new_empty(0)).view(*x.shape[:-1], k)


def _largest(magnitude: Float[Tensor, "D"], k: int) -> Int64[Tensor, "{k}"]:
    if k in (0, len(magnitude)):
        return torch.arange(k, device=magnitude.device)
    if magnitude.device.type == "cpu":  # NumPy's partition beats torch.topk here
        return torch.from_numpy(_largest_on_cpu(magnitude.numpy(), k))
    kth = torch.topk(magnitude, k, sorted=True).values[-1]
    above = magnitude > kth
    ties = torch.nonzero(magnitude == kth).flatten()[: k - int(above.sum())]
    above[ties] = True
    return torch.nonzero(above).flatten()


def _largest_on_cpu(m: Float[np.ndarray, "D"], k: int) -> Int64[np.ndarray, "{k}"]:
    """Drop entries below a guessed threshold, then partition the rest."""
    place = np.flatnonzero(m >= _guess(m, k))
    if len(place) < k:  # guessed too high
        place = np.arange(len(m))
    m = m[place]
    return place[_take(m, np.partition(m, len(m) - k)[len(m) - k], k)]


def _guess(m: Float[np.ndarray, "D"], k: int) -> np.floating:
    """Threshold slightly below the K-th magnitude, estimated from every 17th entry."""
    sample = m[::_STRIDE]
    rank = _SPARE + int(_MARGIN * k) // _STRIDE
    return np.partition(sample, -rank)[-rank] if rank <= len(sample) else m.min()


def _take(m: Float[np.ndarray, "D"], kth: np.floating, k: int) -> Bool[np.ndarray, "D"]:
    """Everything above the K-th magnitude, and the lowest indices that equal it."""
    taken: Bool[np.ndarray, "D"] = m > kth
    taken[np.flatnonzero(m == kth)[: k - np.count_nonzero(taken)]] = True
    return taken
