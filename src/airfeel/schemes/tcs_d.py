"""TCS-D: time-correlated sparsification, all of it digital."""

from airfeel.compress.codecs import TimeCorrelated
from airfeel.radio.digital import Orthogonal
from airfeel.radio.plan import DigitalPlan
from airfeel.schemes.settings import Settings
from airfeel.types import Scheme


def tcs_d(s: Settings) -> Scheme:
    """Global part quantised without indices, local part with them; random devices."""
    return Scheme(
        name="tcs-d",
        fade=s.fade,
        invite=s.invite("random"),
        learn=s.learn,
        codec=TimeCorrelated(
            *(s.dim, s.k_global, s.k_local, s.bits),
            analog=False,
            strict=s.strict_bits,
            mask=s.mask,
            memory=s.memory,
        ),
        plan=DigitalPlan(s.allocate, s.schedule or "all"),
        transmit=Orthogonal(),
        step=s.step,
        meters=s.meters,
    )
