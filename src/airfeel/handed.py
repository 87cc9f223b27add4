"""Components are called here, and what they return is checked, so that messages name them."""

import sysconfig
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from jaxtyping import Float64
from torch import Tensor

from airfeel.errors import BadInput, ComponentError, quote, reason
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
    context = {type(each).__name__.lower(): each for each in given} | {"state": turn.state}
    with guarded(f"scheme.{path}", component, **context):
        return component(turn.within(path), *given, **named)


@contextmanager
def guarded(setting: str, component: object, **context: object) -> Iterator[None]:
    """Name a component in the error that it raises; refuse what it writes into its context.

    Arrays of NumPy in the context are read-only meanwhile; those in memory of PyTorch could not be
    made writeable again, so that their values are compared. PyTorch has no read-only tensors: their
    version counters, which every change in place increments, are compared.

    Args:
        setting: that chooses the component.
        component: a component, or a method of one.
        context: what it is given, by name: arrays, tensors, and dataclasses or mappings of them.

    Raises:
        ComponentError: where it raises anything but BadInput or the loss of memory or of a worker.
    """
    arrays, tensors, values = [], [], []
    for word, each in context.items():
        known = _arrays_of(each)
        arrays += known.numpy
        tensors += [(word, place, tensor, _version(tensor)) for place, tensor in known.tensors]
        values += [(word, place, array, array.copy()) for place, array in known.foreign]
    held = _hold(arrays)
    try:
        yield
    except (BadInput, MemoryError, ConnectionError):
        raise
    except Exception as error:
        raised = f"raised {type(error).__name__}: {reason(error)}{_where(error)}"
        raise ComponentError(f"{_blame(setting, component)}: {raised}") from error
    finally:
        _release(held)
    changed = [f"{word}{place}" for word, place, now, old in tensors if _version(now) != old]
    changed += [f"{word}{place}" for word, place, now, old in values if not _same(now, old)]
    if changed:
        told = f"changed {changed[0]} in place; must work on a copy of it"
        raise BadInput(f"{_blame(setting, component)}: {told}")


_HOLDERS: dict[int, tuple[np.ndarray, int]] = {}  # read-only arrays by id; components that run
_LOCK = threading.Lock()


def _hold(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Make arrays read-only; return those that `_release` has to be called with."""
    held = []
    with _LOCK:
        for array in arrays:
            _, count = _HOLDERS.get(id(array), (array, 0))
            if count or array.flags.writeable:
                array.flags.writeable = False
                _HOLDERS[id(array)] = array, count + 1
                held.append(array)
    return held


def _release(held: list[np.ndarray]) -> None:
    """Make arrays writeable again that no other component holds; views after their bases."""
    with _LOCK:
        free = []
        for array in held:
            _, count = _HOLDERS.pop(id(array))
            if count > 1:
                _HOLDERS[id(array)] = array, count - 1
            else:
                free.append(array)
        for array in sorted(free, key=lambda a: a.base is not None):
            with suppress(ValueError):  # the base is held by a component that calls this one
                array.flags.writeable = True


def _version(tensor: Tensor) -> int:
    """How often a tensor was changed in place; tensors of inference mode do not count that."""
    return 0 if tensor.is_inference() else tensor._version


def _blame(setting: str, component: object) -> str:
    return f"{setting} = {name(getattr(component, '__self__', component))}"


@dataclass(frozen=True)
class _Arrays:
    """All arrays within a value; tensors and foreign arrays with the fields that lead to them."""

    numpy: list[np.ndarray]
    foreign: list[tuple[str, np.ndarray]]  # in memory of PyTorch
    tensors: list[tuple[str, Tensor]]


_KNOWN: dict[int, tuple[weakref.ref[Any], _Arrays]] = {}  # of dataclasses, by id


def _arrays_of(value: Any) -> _Arrays:
    """The arrays within a value; those of a dataclass, which never changes, are looked up once."""
    names = _fields(value)
    if not names:
        return _walk(value, {})
    known, key = _KNOWN.get(id(value)), id(value)
    if known is None or known[0]() is not value:
        inner = ((name, getattr(value, name)) for name in names)
        found = _walk(None, {f".{name}": each for name, each in inner if not _plain(each)})
        try:
            known = weakref.ref(value, lambda _: _KNOWN.pop(key, None)), found
        except TypeError:  # a class with slots
            return found
        _KNOWN[key] = known
    return known[1]


def _walk(whole: object, parts: Mapping[str, object]) -> _Arrays:
    """The arrays that a value is or holds, and those of its parts by their places."""
    found = _Arrays([], [], [])
    left = [*parts.items(), ("", whole)]
    while left:
        place, value = left.pop()
        if isinstance(value, Tensor):
            found.tensors.append((place, value))
        elif isinstance(value, np.ndarray):
            if _owned_by_numpy(value):
                found.numpy.append(value)
            else:
                found.foreign.append((place, value))
        elif isinstance(value, Mapping):
            left += [(f"{place}.{key}", each) for key, each in value.items()]
        elif isinstance(value, tuple):
            left += [(f"{place}[{i}]", each) for i, each in enumerate(value)]
        elif _fields(value):
            known = _arrays_of(value)
            found.numpy.extend(known.numpy)
            found.foreign.extend((place + more, array) for more, array in known.foreign)
            found.tensors.extend((place + more, tensor) for more, tensor in known.tensors)
    return found


def _fields(value: object) -> tuple[str, ...]:
    """Names of the fields of a dataclass; none of another object."""
    return tuple(getattr(value, "__dataclass_fields__", ()))


def _same(now: np.ndarray, old: np.ndarray) -> bool:
    return np.array_equal(now, old, equal_nan=now.dtype.kind in "fc")


def _plain(value: object) -> bool:
    """Whether a field holds no array: a number, or a tuple of words such as a plan's reasons."""
    words = type(value) is tuple and (not value or isinstance(value[0], str))
    return words or value is None or isinstance(value, float | int | str)


def _owned_by_numpy(array: np.ndarray) -> bool:
    """Whether an array's memory is NumPy's own, so that it can be made writeable again."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base is None


def _where(error: Exception) -> str:
    """The last line outside of this package and of installed ones that led to an error."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(frame.filename)]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


_INSTALLED = [
    str(Path(__file__).parent),
    *(sysconfig.get_path(k) for k in ("stdlib", "platstdlib")),
]


def _is_own(filename: str) -> bool:
    inside = (Path(filename).is_relative_to(folder) for folder in _INSTALLED)
    return Path(filename).is_file() and "site-packages" not in filename and not any(inside)


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
