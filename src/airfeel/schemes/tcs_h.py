"""TCS-H: time-correlated sparsification with hybrid aggregation."""

from airfeel.compress.codecs import TimeCorrelated
from airfeel.radio.air import Hybrid
from airfeel.radio.plan import HybridPlan
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Scheme


def tcs_h(s: Settings) -> Scheme:
    """Global mask by air, local masks digitally; who can afford the air is scheduled."""
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
        plan=HybridPlan(s.allocate, s.power_scalar, s.alpha, s.schedule or "power", s.screen),
        transmit=Hybrid(),
        step=s.step,
        meters=s.meters,
    )
