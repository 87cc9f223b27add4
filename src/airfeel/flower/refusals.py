"""What a federation cannot do: nodes learn only whether their answer counted, all or nothing."""

from airfeel.radio.scheduling.power_constraint import Shares
from airfeel.types import BadInput, Delivery, Fading, Invited, Plan, Scheme


def refuse_scheme(scheme: Scheme) -> None:
    """Refuse a scheme whose devices send shares, before anything else is looked at."""
    if isinstance(scheme.plan, Shares) and scheme.plan.partial:
        raise BadInput(
            f"scheme.name = {scheme.name!r}: devices send shares at a loudness that the base "
            "station chooses in the round, which nodes are not told; use tcs-h, tcs-d or top-k"
        )


def refuse_round(scheme: Scheme, fading: Fading, invited: Invited) -> None:
    """Refuse a sky under which packets can be lost, and grants, before anybody is asked."""
    if fading.truth is not None:
        raise BadInput(
            f"scheme.fade = {type(scheme.fade).__name__}: signals meet another channel than is "
            "believed; nodes cannot learn what was lost of theirs"
        )
    if invited.grant is not None:
        raise BadInput(
            f"scheme.invite = {type(scheme.invite).__name__}: grants what each device may send, "
            "which nodes are not told"
        )


def refuse_partial(scheme: Scheme, plan: Plan, delivery: Delivery) -> None:
    """Refuse a round in which something may have arrived in part."""
    if delivery.whole:
        return
    name, part = ("transmit", scheme.transmit) if plan.sent is None else ("plan", scheme.plan)
    raise BadInput(
        f"scheme.{name} = {type(part).__name__}: what devices say may arrive in part; nodes learn "
        "only whether all of it counted"
    )
