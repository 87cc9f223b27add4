"""TCS-D: time-correlated sparsification, all of it digital."""

from airfeel.compress.parts import TimeCorrelated
from airfeel.radio.digital import Orthogonal
from airfeel.radio.plan import DigitalPlan
from airfeel.schemes.settings import Settings
from airfeel.server.aggregate import Average
from airfeel.types import Scheme


def tcs_d(s: Settings) -> Scheme:
    """Global part quantised without indices, local part with them; random devices."""
    return Scheme(
        name="tcs-d",
        fade=s.fade,
        invite=s.invite("random"),
        learn=s.learn,
        compress=TimeCorrelated(
            s.dim, s.k_global, s.k_local, s.bits, analog=False, strict=s.strict_bits
        ),
        plan=DigitalPlan(s.allocate, s.thrifty),
        transmit=Orthogonal(),
        aggregate=Average(),
    )
