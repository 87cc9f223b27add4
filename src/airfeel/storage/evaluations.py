"""Evaluations at budgets: the last round within so many resource blocks is evaluated, too.

Only the next round shows which one that is. Its row has the result: `test_accuracy_before` is the
accuracy of the model that it began with, and no row waits for another.
"""

import numpy as np

from airfeel.catalogue import Value
from airfeel.settings.columns import BEFORE
from airfeel.settings.sections import RunOptions


def columns(options: RunOptions) -> tuple[str, ...]:
    """The columns of rounds.csv for such evaluations; none where no budget is set."""
    return BEFORE if options.eval_every_blocks or options.eval_at_blocks else ()


def crossed(options: RunOptions, before: int, after: int) -> bool:
    """Whether a round is the first that does not fit into one of the budgets.

    before, after: resource blocks used without and with the round.

    >>> options = RunOptions(eval_every_blocks=100)
    >>> [crossed(options, 90, after) for after in (100, 101)]
    [False, True]
    """
    every = options.eval_every_blocks
    budgets = [*options.eval_at_blocks, *([max(-(-before // every), 1) * every] if every else ())]
    return any(before <= budget < after for budget in budgets)


def accuracies(columns: dict[str, np.ndarray], at_end: Value = None) -> np.ndarray:
    """Test accuracy after each round, NaN where unknown.

    A model that no device has changed since is not counted again at the end.

    Args:
        columns: of rounds.csv.
        at_end: of the final model, as summary.json has it.
    """
    known = columns["test_accuracy"].astype(float)
    if BEFORE[0] in columns:
        after = np.append(columns[BEFORE[0]][1:].astype(float), np.nan)
        known = np.where(np.isnan(known), after, known)
    since = np.flatnonzero(~np.isnan(known))[-1:]  # the last that is known, if any
    if isinstance(at_end, float) and columns["scheduled"][since.max(initial=-1) + 1 :].any():
        known = np.append(known[:-1], at_end)
    return known
