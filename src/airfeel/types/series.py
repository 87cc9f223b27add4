"""A number for each round: one for all, a list, or a function by name."""

from collections.abc import Callable

Series = float | tuple[float, ...] | Callable[[int], float]


def at_round(value: Series, round: int) -> float:
    """A setting's value in a round; the starting round 0 uses the first, the last one stays.

    Args:
        value: one number, one for each round from round 1 on, or a function of the round.
        round: t.

    >>> at_round((0.3, 0.1), 2), at_round((0.3, 0.1), 9), at_round(0.5, 9)
    (0.1, 0.1, 0.5)
    """
    if isinstance(value, tuple):
        return value[min(max(round - 1, 0), len(value) - 1)]
    return value(max(round, 1)) if callable(value) else value
