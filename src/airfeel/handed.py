"""Components are called here, and what they return is checked, so that messages name them."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from jaxtyping import Float64

from airfeel.errors import BadInput, quote
from airfeel.types import Fade, Fading, Invite, Invited, Turn

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


def call(
    turn: Turn,
    path: str,
    component: Callable[Concatenate[Turn, _Given], _Made],
    *given: _Given.args,
    **named: _Given.kwargs,
) -> _Made:
    """Call a component with the round as it sees it: its own states come first.

    Args:
        turn: the round.
        path: of the component in the scheme.
        component: a component, or a method of one.
        given, named: what it is handed beside the round.
    """
    return component(turn.within(path), *given, **named)


def sky(turn: Turn, part: Fade) -> Fading:
    """The sky that `scheme.fade` draws for all devices and sub-channels, in finite numbers from 0.

    Args:
        turn: the round; knows how many there are.
        part: that draws it.
    """
    blame, fading = f"scheme.fade = {name(part)}", call(turn, "fade", part)
    if not isinstance(fading, Fading):
        raise BadInput(f"{blame}: returns {_kind(fading)}; must return a Fading")
    gains(turn, f"{blame}: gain", fading.gain)
    real = isinstance(fading.noise, int | float | np.floating)
    if not real or not 0.0 <= fading.noise < np.inf:
        raise BadInput(f"{blame}: noise = {quote(fading.noise)}: must be a finite number from 0")
    return fading


def guests(turn: Turn, part: Invite, fading: Fading) -> Invited:
    """Who is invited: yes or no for each device.

    Args:
        turn: the round; knows how many devices there are.
        part: that invites them.
        fading: the sky, as it is believed.
    """
    blame, invited = f"scheme.invite = {name(part)}", call(turn, "invite", part, fading)
    if not isinstance(invited, Invited):
        raise BadInput(f"{blame}: returns {_kind(invited)}; must return an Invited")
    wanted = (turn.world.devices,)
    who = invited.who
    if not isinstance(who, np.ndarray) or who.dtype != np.bool_ or who.shape != wanted:
        raise BadInput(f"{blame}: who is {_kind(who)}; must be an array of {wanted[0]} booleans")
    return invited


def gains(turn: Turn, blame: str, gain: object) -> Float64[np.ndarray, "N M"]:
    """|h| of all devices on all sub-channels, as float64.

    Args:
        turn: the round; knows how many there are of both.
        blame: what a message begins with.
        gain: what a part returned.
    """
    wanted = (turn.world.devices, turn.world.subchannels)
    if not isinstance(gain, np.ndarray) or gain.dtype.kind not in "iuf" or gain.shape != wanted:
        real = f"must be an array of {wanted[0]} devices by {wanted[1]} sub-channels, real numbers"
        raise BadInput(f"{blame} is {_kind(gain)}; {real}")
    fit = np.isfinite(gain) & (gain >= 0)
    if not fit.all():
        n, m = np.argwhere(~fit)[0]
        found = f"{blame} = {gain[n, m]} for device {n} on sub-channel {m}"
        raise BadInput(f"{found}: must be finite and not negative")
    return np.asarray(gain, dtype=np.float64)


def name(part: object) -> str:
    """Of a function, or of an object's class."""
    return str(getattr(part, "__name__", type(part).__name__))


def _kind(value: object) -> str:
    """What a value is, as its author would call it."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} of {value.dtype}"
    return "None" if value is None else f"a value of type {type(value).__name__}"
