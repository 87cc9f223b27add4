"""Devices that count by the size of their data."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float64, Int64

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
    return weigh(said if together is None else together(said), turn.world.weights)


def weigh(said: Said, weights: Float64[np.ndarray, "N"] | None) -> Said:
    """What devices would say, each w_n times: symbols, their energy (w_n²) and packets.

    A mean then divides by the sum of the weights, see `receive`. Memories are kept of what was said
    before it was weighed.

    Args:
        said: by n devices.
        weights: w of all devices; None where all are 1.
    """
    if weights is None:
        return said
    w = weights[said.devices]
    column = torch.from_numpy(w).to(said.common)[:, None]
    return replace(
        said,
        common=said.common * column,
        value=said.value * column,
        signal=None if said.signal is None else said.signal * column,
        energy=said.energy * np.square(w)[:, None],
        weight=w,
    )
