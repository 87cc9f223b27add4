"""Top-K: each device's own largest entries, digitally."""

from airfeel.compress.codecs import TopK
from airfeel.radio.digital import Orthogonal
from airfeel.radio.plan import DigitalPlan
from airfeel.schemes.settings import Settings
from airfeel.types import Scheme


def top_k(s: Settings) -> Scheme:
    """K = K[g] + K[l] entries with their indices; random devices."""
    return Scheme(
        name="top-k",
        fade=s.fade,
        invite=s.invite("random"),
        learn=s.learn,
        codec=TopK(s.dim, s.k_global + s.k_local, s.bits, s.strict_bits, s.memory),
        plan=DigitalPlan(s.allocate, s.schedule or "all"),
        transmit=Orthogonal(),
        step=s.step,
        meters=s.meters,
    )
