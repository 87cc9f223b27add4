"""Backlog: all by air, everyone heard in every round, nothing dropped."""

from dataclasses import dataclass
from typing import Annotated

from airfeel.compression.codecs import TimeCorrelated
from airfeel.compression.mask_rules import ExpectedBacklog
from airfeel.compression.memory import ErrorMemory
from airfeel.errors import BadInput
from airfeel.radio.scheduling.fraction_plan import SharePlan
from airfeel.radio.transmission.air import Hybrid
from airfeel.ranges import Count, Positive, Share, about
from airfeel.schemes.settings import Settings
from airfeel.segments import thinnest_mask
from airfeel.types import Scheme


@dataclass(frozen=True)
class Options:
    """What `scheme.options` may set of backlog."""

    k: Annotated[Count | None, about("K, entries of the mask; left out: see `backlog`")] = None
    floor: Annotated[Share, about("f, smallest rate over the mean rate")] = 0.1
    kappa: Annotated[Positive, about("κ, weight of what is withheld beside noise")] = 1.0
    every: Annotated[
        Count | None,
        about("rounds from report to report; left out: 10 under strict_bits, else 1"),
    ] = None


def backlog(s: Settings) -> Scheme:
    """A mask that moves, the share of it that each device can afford, and memory of the rest.

    A scheme of this project's own. Per round: all devices send the same K entries of x = Δ + e,
    those of largest expected backlog (`ExpectedBacklog`), at the loudness σ_t of least error, each
    segment in the share that the device can afford (`SharePlan`). The base station divides by N,
    however little each sent: ĝ = y/(σ_t·N). What was withheld, and all outside of the mask, stays
    in e, also of a device that could send nothing. So w_t + mean e = w_0 + Σ mean Δ + noise.

    K is the thinnest mask that uses every slot, but at least D/128, where slots and rounds are both
    limited (`thinnest_mask`), else φ[g]·D; `scheme.options.k` names it. No power scalar, no
    threshold, no local mask and no quantiser are to be set.

    Prior art: truncated inversion with memory is AirFL-Mem (arXiv:2310.16606); magnitude and age in
    two stages are AgeTop-k (arXiv:2504.01357) and FAIR-k (arXiv:2512.19103); regularised inversion
    is known from power control of over-the-air computation. What we found nowhere, in two searches
    and no survey, is their union: a share in place of a threshold with the rest in memory, σ_t of
    least error, and rate times wait as one score.
    """
    own = s.read(Options)
    return Scheme(
        name="backlog",
        fade=s.fade,
        invite=s.invite("everyone"),
        learn=s.learn,
        codec=TimeCorrelated(
            *(s.dim, _entries(s, own.k), 0, s.bits),
            mask=s.mask_or(ExpectedBacklog(own.floor)),
            memory=s.memory_or(ErrorMemory(silent="add")),
            divide="all",
        ),
        plan=SharePlan(s.allocate, s.alpha, own.kappa, own.every, s.strict_bits),
        transmit=Hybrid(),
        step=s.step,
        meters=s.meters,
    )


def _entries(s: Settings, k: int | None) -> int:
    """K: what the options say, or what uses every slot, or φ[g]·D."""
    if k is not None and k > s.dim:
        raise BadInput(f"scheme.options.k = {k}: must be at most {s.dim}, numbers in the model")
    if k is None and s.rounds is not None and s.slots < float("inf"):
        taken = {"lanes": s.lanes, "pilots": s.pilots}
        k = thinnest_mask(s.dim, s.subchannels, s.slots, s.rounds, **taken)
    if not (k or s.k_global):
        raise BadInput("scheme.global_sparsity = 0: backlog sends nothing without a shared mask")
    return k or s.k_global
