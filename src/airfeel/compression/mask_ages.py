"""Rules for the global mask that let every entry come: by age, by chance, in turn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from airfeel.compression.mask_rules import newest
from airfeel.compression.masks import top_k
from airfeel.ranges import Count, Share, about
from airfeel.types import BadInput, Happened, Turn


@dataclass(frozen=True)
class Aged:
    """Carries `age` [D]: rounds, idle ones aside, since an entry was last in the mask."""

    def begin(self, turn: Turn) -> Mapping[str, Tensor]:
        """Round 0 sent everything."""
        return {"age": torch.zeros(turn.world.dim, dtype=torch.float64)}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, Tensor]:
        """0 on the mask, one more elsewhere; an idle round changes nothing."""
        age = torch.as_tensor(turn.state_of(self)["age"])
        if happened.idle:
            return {"age": age}
        return {"age": (age + 1.0).index_fill_(0, happened.said.agreed.support.cpu(), 0.0)}


@dataclass(frozen=True)
class AgeTopK(Aged):
    """Of the r largest entries the K that waited longest: AgeTop-k (arXiv:2504.01357).

    Among equally old ones the larger goes first, then the lower index. r = 2K and whether old
    entries move the model are our readings: the paper's text was not to be had.
    """

    candidates: Annotated[Count | None, about("r; left out: 2K")] = None

    def __call__(self, turn: Turn, k: int) -> Int64[Tensor, "{k}"]:
        last = newest(turn)
        r = min(len(last), self.candidates or 2 * k)
        if r < k:
            raise BadInput(f"scheme.mask.candidates = {r}: must be at least K = {k}")
        return oldest(last, torch.as_tensor(turn.state_of(self)["age"]), k, top_k(last, r))


@dataclass(frozen=True)
class FairK(Aged):
    """The largest entries, and beside them those that waited longest: FAIR-k (arXiv:2512.19103).

    k_m = round(large·K) entries by size, K − k_m by age among the others; ties as in AgeTop-k. No
    entry waits longer than ⌈D/(K − k_m)⌉ rounds. The share of 0.75 is our choice; the
    paper is known from its abstract.
    """

    large: Annotated[Share, about("share of the mask that goes by size")] = 0.75

    def __call__(self, turn: Turn, k: int) -> Int64[Tensor, "{k}"]:
        last = newest(turn)
        first = top_k(last, round(self.large * k))
        others = torch.ones(len(last), dtype=torch.bool, device=last.device)
        others[first] = False
        rest = torch.nonzero(others).flatten()
        age = torch.as_tensor(turn.state_of(self)["age"])
        return torch.cat([first, oldest(last, age, k - len(first), rest)]).sort().values


@dataclass(frozen=True)
class RandK:
    """K of D entries, uniformly, by the dice that all share.

    With `unbiased` the base station takes the values D/K times, so that over the masks their mean
    is that of the whole update; a memory sends the rest anyway, and is refused beside it.
    """

    unbiased: Annotated[bool, about("values times D/K; only without a memory")] = False

    def __call__(self, turn: Turn, k: int) -> Int64[Tensor, "{k}"]:
        kept = np.sort(turn.rng("mask").permutation(turn.world.dim)[:k])
        return torch.from_numpy(kept).to(turn.state.theta.device)


@dataclass(frozen=True)
class Cyclic:
    """Entries (t·K + j) mod D, j < K: all in turn."""

    def __call__(self, turn: Turn, k: int) -> Int64[Tensor, "{k}"]:
        kept = (turn.round * k + torch.arange(k)) % turn.world.dim
        return kept.sort().values.to(turn.state.theta.device)


def oldest(
    last: Float[Tensor, "D"], age: Float[Tensor, "D"], k: int, among: Int64[Tensor, "r"]
) -> Int64[Tensor, "{k}"]:
    """The K oldest of some entries, sorted; of equals the larger first, then the lower index.

    Args:
        last: the newest value of each entry.
        age: rounds since each was sent.
        k: K, at most r.
        among: the entries that are looked at.

    >>> oldest(torch.tensor([3.0, 1.0, -2.0]), torch.tensor([0.0, 1.0, 1.0]), 1, torch.arange(3))
    tensor([2])
    """
    place = among.cpu().numpy()
    size = last.abs().cpu().numpy()[place]
    order = np.lexsort((place, -size, -age.cpu().numpy()[place]))[:k]
    return torch.from_numpy(np.sort(place[order])).to(last.device)
