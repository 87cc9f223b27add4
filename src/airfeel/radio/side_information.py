"""Numbers that devices tell the base station beside what they say, and what these cost."""

import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from airfeel.ranges import about
from airfeel.types import Fading, Said, Screen, Turn

REAL_BITS = 32  # a real number of side information, charged under strict accounting

Strict = Annotated[bool, about("charge 32 bits for each number that devices report")]
Norms = Annotated[bool, about("whether devices report the norms of their symbols")]


def asking(part: Any) -> Iterator[Any]:
    """The part and parts within it that ask devices for something: those with `asks`."""
    if getattr(part, "asks", None):
        yield part
    if dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            yield from asking(getattr(part, field.name))


def reporters(
    screen: Screen | None, turn: Turn, fading: Fading, able: Bool[np.ndarray, "N"]
) -> Bool[np.ndarray, "N"]:
    """Who tells a screen what it ranks by: all whom it may keep; nobody, where it asks for nothing.

    A screen that chooses by the sky first has `among`, which says of whom it asks the rest.

    Args:
        screen: says who is kept; None for all.
        turn: the round.
        fading: the sky, as it is believed.
        able: who may speak.
    """
    if not any(asking(screen)):
        return np.zeros_like(able)
    among = getattr(screen, "among", None)
    return able if among is None else np.asarray(among(turn, fading, able))


def numbers(
    screen: Screen | None,
    turn: Turn,
    said: Said,
    fading: Fading,
    able: Bool[np.ndarray, "N"],
    norms: Int64[np.ndarray, "N"],
) -> Int64[np.ndarray, "N"]:
    """How many numbers each device tells: for the screen, and of its symbols.

    Where symbols are x itself, ‖x‖ is what both ask for, and is told once.

    Args:
        screen: says who is kept; None for all.
        turn: the round.
        said: what the invited devices would say.
        fading: the sky, as it is believed.
        able: who may speak before the screen.
        norms: numbers that each tells of its symbols.
    """
    ranked = reporters(screen, turn, fading, able).astype(np.int64)
    whole = said.signal is None and said.symbols.shape[1] == turn.world.dim
    if whole and all(part.asks == "norm" for part in asking(screen)):
        return np.maximum(ranked, norms)
    return ranked + norms


def charged(strict: bool, told: Int64[np.ndarray, "N"]) -> Float64[np.ndarray, "N"] | None:
    """Bits of the numbers that each device tells; None where nothing is to be charged.

    Args:
        strict: whether 32 bits are charged for each.
        told: numbers of each device.

    >>> charged(True, np.array([2, 0])), charged(False, np.array([2, 0]))
    (array([64.,  0.]), None)
    """
    return REAL_BITS * told.astype(np.float64) if strict and told.any() else None
