"""Top-K: each device's own largest entries, digitally."""

from airfeel.compress.parts import TopK
from airfeel.radio.digital import Orthogonal
from airfeel.radio.plan import DigitalPlan
from airfeel.schemes.settings import Settings
from airfeel.server.aggregate import Average
from airfeel.types import Scheme


def top_k(s: Settings) -> Scheme:
    """K = K[g] + K[l] entries with their indices; random devices."""
    return Scheme(
        name="top-k",
        fade=s.fade,
        invite=s.invite("random"),
        learn=s.learn,
        compress=TopK(s.dim, s.k_global + s.k_local, s.bits, strict=s.strict_bits),
        plan=DigitalPlan(s.allocate, s.thrifty),
        transmit=Orthogonal(),
        aggregate=Average(),
    )
