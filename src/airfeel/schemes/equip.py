"""What parts of a scheme ask of its other parts: norms for screens, a meter for computing."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from airfeel.compress.norms import Normed
from airfeel.errors import BadInput
from airfeel.radio.grants import Reach
from airfeel.radio.meters import Compute
from airfeel.types import Scheme


def equip(scheme: Scheme) -> Scheme:
    """The scheme, whose devices tell what its screen ranks them by, and whose books are complete.

    A screen has `asks` = "norm" where devices are to tell ‖x‖₂, and "reach" for the norm of what
    fits into `window` slots; without it nothing is computed. An invitation that counts on
    `compute` for training has it in the books, too.
    """
    for screen in _asking(scheme.plan):
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


def _asking(part: Any) -> Iterator[Any]:
    """Parts within a plan that ask for something."""
    if getattr(part, "asks", None):
        yield part
    if dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            yield from _asking(getattr(part, field.name))
