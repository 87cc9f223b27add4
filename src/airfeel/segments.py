"""How values are laid on sub-channels: in index order, in M segments, longer ones first."""

import numpy as np
from jaxtyping import Int, Shaped


def air_slots(values: int, subchannels: int) -> int:
    """U[g] = ⌈K[g]/M⌉, the slots that K values take on M sub-channels (section III).

    Args:
        values: K, values of one device for the air.
        subchannels: M, each with one value per slot.

    >>> air_slots(51780, 25)
    2072
    """
    return -(-values // subchannels)


def thinnest_mask(dim: int, subchannels: int, slots: float, rounds: int) -> int:
    """K = min(D, M·max(1, ⌊C/T⌋)): the thinnest mask with which T rounds use all of C slots.

    The paper leaves the choice of K open. A thin mask costs rounds alone: the fewer values a round
    sends, the more rounds fit into the slots, down to one slot per round.

    Args:
        dim: D, numbers in the model.
        subchannels: M, each with one value per slot.
        slots: C, of the whole training; finite.
        rounds: T, the most that are played.

    >>> thinnest_mask(4810, 25, 30_000, 3000), thinnest_mask(4810, 25, 30_000, 100)
    (250, 4810)
    """
    return min(dim, subchannels * max(1, int(slots // rounds)))


def segment_sizes(values: int, subchannels: int) -> Int[np.ndarray, "M"]:
    """How many of K values each of M sub-channels carries: ⌈K/M⌉ or ⌊K/M⌋ (section II).

    Args:
        values: K, laid on sub-channels in index order.
        subchannels: M; the first K mod M carry one value more.

    >>> segment_sizes(7, 3)
    array([3, 2, 2])
    """
    short, rest = divmod(values, subchannels)
    return short + (np.arange(subchannels) < rest)


def by_value(each: Shaped[np.ndarray, "*n M"], values: int) -> Shaped[np.ndarray, "*n {values}"]:
    """A number for each sub-channel as one for each of K values: that of the value's segment.

    Args:
        each: a number for each of M sub-channels, perhaps a row for each device, in any unit.
        values: K.

    >>> by_value(np.array([1.0, 0.5]), 3)
    array([1. , 1. , 0.5])
    """
    return np.repeat(each, segment_sizes(values, each.shape[-1]), axis=-1)
