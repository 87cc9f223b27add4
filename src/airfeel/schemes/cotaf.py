"""COTAF: precoding by the largest norm, so that noise falls as updates do."""

from dataclasses import dataclass
from typing import Annotated

from airfeel.compression.codecs import Whole
from airfeel.compression.memory import NoMemory
from airfeel.radio.power_control.amplitude import THRESHOLD, Norm, Precoded, Threshold
from airfeel.ranges import Positive, about
from airfeel.schemes.over_the_air import over_the_air
from airfeel.schemes.settings import Settings
from airfeel.types import Scheme


@dataclass(frozen=True)
class Options:
    """What `scheme.options` may set of cotaf."""

    threshold: Threshold = THRESHOLD
    norm: Norm = "now"
    bound: Annotated[Positive | None, about("G, largest norm of a gradient, for the bound")] = None


def cotaf(s: Settings) -> Scheme:
    """Sery, Shlezinger, Cohen, Eldar 2021 (arXiv:2009.12787): convergence without a noise floor.

    All D entries of Δ by air at σ_t² = p_t·g_th·min ḡ_n, p_t = min budget_n/max ‖Δ_n‖²
    (`Precoded`): as updates shrink, devices speak up, and the noise in ĝ, σ0²/(σ_t·count)², falls
    with them. Under η_t ∝ 1/t the gap to the optimum falls like 1/t. With `norm` = "now" nobody
    spends more than its budget. ⌈D/M⌉ slots, no bits; one number of each device, its norm, is side
    information. Use it where noise is the limit and updates shrink. The idea is known from its
    abstract, p_t and σ_t from memory; its threshold and its estimate of E‖Δ‖² were not to be had:
    `threshold`, `norm`.
    """
    own = s.read(Options)
    policy = Precoded(own.threshold, own.norm, own.bound, learn=s.learn)
    return over_the_air(s, "cotaf", Whole(s.memory_or(NoMemory()), "heard"), policy)
