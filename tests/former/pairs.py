"""Few runs in which every pair of values of every two factors occurs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random

Run = dict[str, str]  # the value of each factor
Value = tuple[str, str]  # factor and value
Pair = frozenset[Value]

_TRIES = 8  # runs that are made up for each one that is taken


def cover(
    factors: Mapping[str, Sequence[str]],
    conflict: Callable[[Value, Value], bool],
) -> Iterator[Run]:
    """Runs that between them hold all pairs, made greedily and always the same.

    Each run begins with a pair that is still missing and takes for one factor after the other the
    value that adds most missing pairs. Values that are free of conflicts one by one must be so
    together, and every factor needs a value left whatever the others are.

    conflict: whether two values cannot be in one run

    >>> runs = list(cover({"a": "01", "b": "01", "c": "01"}, lambda v, w: False))
    >>> len(runs), len({(run["a"], run["c"]) for run in runs})
    (4, 4)
    """
    dice = Random(0)
    missing = all_pairs(factors, conflict)
    while missing:
        first = next(iter(missing))
        tried = [_complete(first, factors, conflict, missing, dice) for _ in range(_TRIES)]
        best = max(tried, key=lambda run: sum(pair in missing for pair in pairs_of(run)))
        for pair in pairs_of(best):
            missing.pop(pair, None)
        yield best


def all_pairs(
    factors: Mapping[str, Sequence[str]], conflict: Callable[[Value, Value], bool]
) -> dict[Pair, None]:
    """Every pair of values that can be in one run, in the order of the factors."""
    values = [(factor, value) for factor, several in factors.items() for value in several]
    pairs = [(v, w) for v, w in combinations(values, 2) if v[0] != w[0] and not conflict(v, w)]
    return {frozenset(pair): None for pair in pairs}


def pairs_of(run: Run) -> list[Pair]:
    """All pairs of values that a run holds."""
    return [frozenset(pair) for pair in combinations(run.items(), 2)]


def _complete(
    first: Pair,
    factors: Mapping[str, Sequence[str]],
    conflict: Callable[[Value, Value], bool],
    missing: Mapping[Pair, None],
    dice: Random,
) -> Run:
    """The pair, and for every other factor, in any order, the value that adds most."""
    run = dict(sorted(first))
    rest = [factor for factor in factors if factor not in run]
    for factor in dice.sample(rest, len(rest)):
        legal = [
            value
            for value in dice.sample(list(factors[factor]), len(factors[factor]))
            if not any(conflict((factor, value), other) for other in run.items())
        ]
        new = [sum(frozenset({(factor, v), o}) in missing for o in run.items()) for v in legal]
        run[factor] = legal[new.index(max(new))]
    return {factor: run[factor] for factor in factors}
