"""Devices that count by the size of their data."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float64, Int64

from airfeel.handed import guarded
from airfeel.types import Codec, Said, Turn


def by_samples(samples: Int64[np.ndarray, "N"]) -> Float64[np.ndarray, "N"]:
    """w_n = N·samples_n/Σ samples, whose mean is 1.

    Args:
        samples: of each device.

    >>> by_samples(np.array([10, 30]))
    array([0.5, 1.5])
    """
    return len(samples) * samples / samples.sum()


def gather(turn: Turn, codec: Codec, said: Said) -> Said:
    """What devices say once all are ready: as a codec that has a `gather` makes it then, weighed.

    Args:
        turn: the round; knows the devices' weights.
        codec: may look at what all would say before anybody speaks, and change it.
        said: by n devices.
    """
    together = getattr(codec, "gather", None)
    if together is not None:
        with guarded("scheme.codec", codec, said=said):
            said = together(said)
    return weigh(said, turn.world.weights, _roots(codec))


def weigh(said: Said, weights: Float64[np.ndarray, "N"] | None, roots: bool = False) -> Said:
    """What devices would say, each w_n times: symbols, their energy (w_n²) and packets.

    Symbols that are roots of what they stand for are sent √w_n times. A mean then divides by the
    sum of the weights, see `receive`. Memories are kept of what was said before it was weighed.

    Args:
        said: by n devices.
        weights: w of all devices; None where all are 1.
        roots: whether a receiver squares the symbols.
    """
    if weights is None:
        return said
    w = weights[said.devices]
    loud = np.sqrt(w) if roots else w
    column, symbols = (torch.from_numpy(v).to(said.common)[:, None] for v in (w, loud))
    return replace(
        said,
        common=said.common * column,
        value=said.value * column,
        signal=None if said.signal is None else said.signal * symbols,
        energy=said.energy * np.square(loud)[:, None],
        weight=w,
    )


def _roots(codec: object) -> bool:
    """Whether a codec's symbols are roots of what they stand for, also within another."""
    while codec is not None and not getattr(codec, "roots", False):
        codec = getattr(codec, "codec", None)
    return codec is not None
