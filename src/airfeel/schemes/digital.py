"""What all-digital schemes have in common."""

from airfeel.radio.scheduling.plan import DigitalPlan
from airfeel.radio.transmission.digital import Orthogonal
from airfeel.schemes.settings import Settings
from airfeel.types import Codec, Scheme


def digital(s: Settings, name: str, codec: Codec) -> Scheme:
    """Random devices, or all where a screen chooses, speak on sub-channels of their own."""
    return Scheme(
        name=name,
        fade=s.fade,
        invite=s.invite("random" if s.screen is None else "everyone"),
        learn=s.learn,
        codec=codec,
        plan=DigitalPlan(s.allocate, s.schedule or "all", s.screen, s.strict_bits),
        transmit=Orthogonal(),
        step=s.step,
        meters=s.meters,
    )
