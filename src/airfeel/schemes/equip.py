"""What parts of a scheme ask of its other parts: norms for screens, a meter for computing."""

import dataclasses
from typing import Any

from airfeel.compression.norms import Normed
from airfeel.errors import BadInput
from airfeel.radio.cost_metrics import Compute
from airfeel.radio.selection.payload_budget import Reach
from airfeel.radio.side_information import asking
from airfeel.types import Scheme


def equip(scheme: Scheme) -> Scheme:
    """The scheme, whose devices tell what its screen ranks them by, and whose books are complete.

    A screen has `asks` = "norm" where devices are to tell ‖x‖₂, and "reach" for the norm of what
    fits into `window` slots; without it nothing is computed. An invitation has `asks` = "energy"
    where they are to tell the norms of their symbols: a plan that has `norms` charges them. One
    that counts on `compute` for training has it in the books, too.
    """
    if any(part.asks == "energy" for part in asking(scheme.invite)):
        scheme = dataclasses.replace(scheme, plan=_charging(scheme.plan))
    for screen in asking(scheme.plan):
        if screen.asks == "reach":
            scheme = _reaching(scheme, screen.dim, screen.window)
        elif not _tells(scheme):
            scheme = dataclasses.replace(scheme, codec=Normed(scheme.codec))
    spent = getattr(scheme.invite, "compute", 0.0)
    if spent and "energy_compute" not in scheme.columns:
        scheme = dataclasses.replace(scheme, meters=(*scheme.meters, Compute(spent)))
    return scheme


def _reaching(scheme: Scheme, dim: int, window: int) -> Scheme:
    """Whose devices are told how many entries they could send alone, and tell the norm of these."""
    if _tells(scheme):
        raise BadInput(
            "scheme.options.entries = 'norm': goes by whole norms, the screen 'bn2-c' by what "
            "fits; must be 'equal', or another screen"
        )
    invite, codec = Reach(scheme.invite, dim, window), Normed(scheme.codec, reach=True)
    return dataclasses.replace(scheme, invite=invite, codec=codec)


def _tells(scheme: Scheme) -> bool:
    """Whether devices tell norms already."""
    return bool(getattr(scheme.codec, "tells", False))


def _charging(plan: Any) -> Any:
    """The plan, or one within it, that counts the norms of symbols among what devices report."""
    names = {field.name for field in dataclasses.fields(plan)}
    if "norms" in names:
        return dataclasses.replace(plan, norms=True)
    return dataclasses.replace(plan, plan=_charging(plan.plan)) if "plan" in names else plan
