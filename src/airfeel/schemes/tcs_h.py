"""TCS-H: time-correlated sparsification with hybrid aggregation."""

from airfeel.compression.codecs import TimeCorrelated
from airfeel.radio.scheduling.plan import HybridPlan
from airfeel.radio.transmission.air import Hybrid
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Scheme


def tcs_h(s: Settings) -> Scheme:
    """Global mask by air, local masks digitally; who can afford the air is scheduled.

    Algorithm 1 of Sun, Zhou, Niu, Gündüz 2022 (arXiv:2202.08420). K[g] entries, the largest of the
    last global update and the same on every device, at b = σ_t/h; K[l] further entries of each
    device, the largest of the rest of x = Δ + e, in (log2 D + q) bits each; memory of the rest.
    ⌈K[g]/M⌉ slots of air and those of the longest packet. Use it where updates are correlated in
    time; where they grow beyond what σ_t leaves affordable, it starves.
    """
    s.read(NoOptions)
    return Scheme(
        name="tcs-h",
        fade=s.fade,
        invite=s.invite("everyone"),
        learn=s.learn,
        codec=TimeCorrelated(
            *(s.dim, s.k_global, s.k_local, s.bits),
            strict=s.strict_bits,
            mask=s.mask,
            memory=s.memory,
        ),
        plan=HybridPlan(
            *(s.allocate, s.power_scalar, s.alpha, s.schedule or "power", s.screen, s.strict_bits)
        ),
        transmit=Hybrid(),
        step=s.step,
        meters=s.meters,
    )
