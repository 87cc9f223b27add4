"""What schemes that speak over the air alone have in common."""

from airfeel.radio.power_control.power_context import Policy
from airfeel.radio.scheduling.air_plan import AirPlan
from airfeel.radio.transmission.air import Hybrid
from airfeel.schemes.settings import Settings
from airfeel.types import Codec, Invite, Scheme


def over_the_air(
    s: Settings,
    name: str,
    codec: Codec,
    amplitude: Policy,
    invite: Invite | None = None,
    reports: int = 0,
) -> Scheme:
    """Everyone with power left trains; the policy says who speaks, and how loud."""
    return Scheme(
        name=name,
        fade=s.fade,
        invite=invite or s.invite("everyone"),
        learn=s.learn,
        codec=codec,
        plan=AirPlan(
            allocate=s.allocate,
            amplitude=s.amplitude or amplitude,
            screen=s.screen,
            alpha=s.alpha,
            power_scalar=s.power_scalar,
            strict=s.strict_bits,
            reports=reports,
        ),
        transmit=Hybrid(),
        step=s.step,
        meters=s.meters,
    )
