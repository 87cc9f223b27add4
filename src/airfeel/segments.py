"""How values are laid on sub-channels: in index order, in M segments, longer ones first."""

import numpy as np
from jaxtyping import Int, Shaped

_LONGEST_WAIT = 128  # rounds, in the mean over entries: 40 to 160 are good where slots are few


def air_slots(values: int, subchannels: int, lanes: int = 1) -> int:
    """U[g] = ⌈K[g]/M⌉, the slots that K values take on M sub-channels (section III).

    Args:
        values: K, values of one device for the air.
        subchannels: M, each with one element per slot.
        lanes: values on one element: 1, or 2 (in phase and in quadrature).

    >>> air_slots(51780, 25), air_slots(51780, 25, lanes=2)
    (2072, 1036)
    """
    return -(-values // (lanes * subchannels))


def thinnest_mask(
    dim: int, subchannels: int, slots: float, rounds: int, *, lanes: int = 1, pilots: int = 0
) -> int:
    """K = min(D, v·M·max(⌈D/(W·v·M)⌉, ⌊C/T⌋ − U[p])): the thinnest mask that is thick enough.

    The paper leaves the choice of K open. A thin mask costs rounds alone: the fewer values a round
    sends, the more rounds fit into the slots. But what waits is sent at once when its turn comes,
    and D/K rounds of local training in one step overshoot. So the mask is no thinner than one that
    lets an entry wait W = 128 rounds in the mean, even if slots then end before T rounds do.

    Args:
        dim: D, numbers in the model.
        subchannels: M, each with one element per slot.
        slots: C, of the whole training; finite.
        rounds: T, the most that are played.
        lanes: v, values on one element: 1, or 2 (in phase and in quadrature).
        pilots: U[p], slots per round in which channels are estimated, all devices' together.

    >>> thinnest_mask(4810, 25, 30_000, 3000), thinnest_mask(4810, 25, 30_000, 100)
    (250, 4810)
    >>> thinnest_mask(4810, 25, 30_000, 3000, lanes=2, pilots=4)
    300
    >>> thinnest_mask(50_890, 25, 1000, 300)  # three slots per round would be 75
    400
    """
    slot = lanes * subchannels
    return min(dim, slot * max(-(-dim // (_LONGEST_WAIT * slot)), int(slots // rounds) - pilots))


def segment_sizes(values: int, subchannels: int, lanes: int = 1) -> Int[np.ndarray, "M"]:
    """How many of K values each of M sub-channels carries: ⌈K/M⌉ or ⌊K/M⌋ (section II).

    Args:
        values: K, laid on sub-channels in index order.
        subchannels: M; the first K mod M carry one value more.
        lanes: values on one element; with 2, segments are of whole elements, the last may be half.

    >>> segment_sizes(7, 3), segment_sizes(7, 3, lanes=2)
    (array([3, 2, 2]), array([4, 2, 1]))
    """
    short, rest = divmod(-(-values // lanes), subchannels)
    sizes = lanes * (short + (np.arange(subchannels) < rest))
    if values % lanes:  # half of the last element is empty
        sizes[np.flatnonzero(sizes)[-1]] -= 1
    return sizes


def by_value(
    each: Shaped[np.ndarray, "*n M"], values: int, lanes: int = 1
) -> Shaped[np.ndarray, "*n {values}"]:
    """A number for each sub-channel as one for each of K values: that of the value's segment.

    Args:
        each: a number for each of M sub-channels, perhaps a row for each device, in any unit.
        values: K.
        lanes: values on one element.

    >>> by_value(np.array([1.0, 0.5]), 3)
    array([1. , 1. , 0.5])
    """
    return np.repeat(each, segment_sizes(values, each.shape[-1], lanes), axis=-1)
