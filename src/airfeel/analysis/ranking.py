"""Who is ahead: groups of runs as lines of a table, best first, and the verdict in a sentence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from airfeel.analysis.criterion import Judge, amount, early, endings, free, shared, spent
from airfeel.analysis.groups import Groups, seed_of, varied
from airfeel.analysis.paired import Difference, holm, paired
from airfeel.analysis.series import STALE, evaluated, final_accuracy, mean_and_spread
from airfeel.runs.starvation import starved
from airfeel.storage.run import Run

SURE = 0.05  # p-values below, after Holm's correction, count as significant
_FEW = 5  # groups that a sentence can hold
_ALIKE = 0.05  # costs that differ by less are called the same
TUNING = "tuning.csv"  # beside the folder that holds a benchmark's runs


@dataclass(frozen=True)
class Line:
    """One group over all seeds. Spreads are sample standard deviations, NaN for one seed."""

    label: str
    seeds: int
    free: bool  # a reference that uses no resource blocks though devices were heard
    accuracy: float  # at the shared number of resource blocks
    accuracy_spread: float
    final: float
    final_spread: float
    rounds: float
    blocks: float
    blocks_per_round: float
    scheduled: float
    joules: float
    score: float  # what the judge compares, over the runs that got there
    score_spread: float
    there: int  # runs that got to where the judge looks, with an evaluation that is not stale
    ended: dict[str, int]  # runs by the reason of their end
    early: str  # which of them ended before their time, in words
    difference: Difference | None = None  # to the first line, over the seeds that both have
    age: float = 0.0  # of the oldest evaluation that is compared, as part of the budget
    stale: int = 0  # runs that got there with an evaluation that is too old to be compared
    p_holm: float = math.nan  # of no difference, corrected for all comparisons with the first


def lines(groups: Groups, judge: Judge | None = None) -> list[Line]:
    """The table: best first, then those that did not all get there, free references last."""
    by = (judge or Judge()).settled(groups)
    blocks = shared(groups)
    made = [_line(label, runs, by, blocks) for label, runs in groups.items()]
    sign = 1.0 if by.by == "target" else -1.0
    rank = sorted(made, key=lambda x: (x.free, x.there < x.seeds, not x.there, sign * x.score))
    return _compared(rank, groups, by)


def _line(label: str, runs: list[Run], judge: Judge, blocks: float) -> Line:
    used = np.array([r.columns["resource_blocks"][-1] for r in runs], dtype=float)
    rounds = np.array([r.columns["round"][-1] for r in runs], dtype=float)
    at = [_at(r, blocks) for r in runs]
    accuracy, accuracy_spread = mean_and_spread(at)
    final, final_spread = mean_and_spread([final_accuracy(r) for r in runs])
    heard = [float(r.columns["scheduled"][1:].sum()) for r in runs]
    each = zip(heard, rounds, runs, strict=True)
    there = list(_scores(runs, judge).values())
    seen = [judge.evaluation(r) for r in runs if judge.reached(r)]
    score, score_spread = mean_and_spread(there) if there else (math.nan, math.nan)
    return Line(
        label=label,
        seeds=len(runs),
        free=all(map(free, runs)),
        accuracy=accuracy,
        accuracy_spread=accuracy_spread,
        final=final,
        final_spread=final_spread,
        rounds=float(rounds.mean()),
        blocks=float(used.mean()),
        blocks_per_round=float((used / np.maximum(rounds, 1)).mean()),
        scheduled=float(
            np.mean([h / max(t, 1) / r.experiment.training.devices for h, t, r in each])
        ),
        joules=float(np.mean([spent(r, "joules")[-1] for r in runs])),
        score=score,
        score_spread=score_spread,
        there=len(there),
        ended=endings(runs),
        early=_early(runs),
        age=max((each.age for each in seen), default=0.0),
        stale=sum(each.stale for each in seen),
    )


def _at(run: Run, blocks: float) -> float:
    """Accuracy at so many resource blocks, or at the end; NaN where the evaluation is stale."""
    if math.isnan(blocks) or free(run):
        return final_accuracy(run)
    found = evaluated(spent(run, "blocks"), run.accuracy, blocks)
    return math.nan if found.stale else found.accuracy


def _early(runs: Sequence[Run]) -> str:
    """Which runs ended before their time, and where."""
    words = []
    for reason, count in endings([r for r in runs if early(r)]).items():
        last = [int(r.columns["round"][-1]) for r in runs if reason in endings([r])]
        span = f"{min(last):,}" + (f" to {max(last):,}" if max(last) > min(last) else "")
        words.append(f"{count} of {len(runs)} {reason} after {span} rounds")
    return ", ".join(words)


def _compared(table: list[Line], groups: Groups, judge: Judge) -> list[Line]:
    """Every line with its paired difference to the first, and p-values corrected for all."""
    if not table or table[0].free or not table[0].there:
        return table
    first = _scores(groups[table[0].label], judge)
    found: list[Difference | None] = [None]
    for line in table[1:]:
        own = _scores(groups[line.label], judge)
        both = sorted(first.keys() & own.keys())
        a, b = (np.array([side[s] for s in both], dtype=float) for side in (own, first))
        comparable = both and not (line.free and judge.by == "target")
        found.append(paired(a, b) if comparable else None)
    p = holm(np.array([d.p if d else math.nan for d in found]))
    triples = zip(table, found, p.tolist(), strict=True)
    return [replace(line, difference=d, p_holm=q) for line, d, q in triples]


def _scores(runs: Sequence[Run], judge: Judge) -> dict[int, float]:
    """The score of each seed that got there, with an evaluation that is not stale."""
    there = (r for r in runs if judge.reached(r) and not judge.evaluation(r).stale)
    return {seed_of(r): judge.score(r) for r in there}


def verdict(table: Sequence[Line], judge: Judge) -> str:
    """Who wins, by how much, and how sure that is, in plain words; of many only the best few."""
    paid = [line for line in table if not line.free]
    if not any(line.blocks > 0 for line in paid):
        return "No scheme used any resource blocks, so there is nothing to compare at equal cost."
    first = paid[0]
    aged = "".join(_aged(line, judge) for line in table if line.stale) + _remedy(table, judge)
    if not first.there:
        any_ = f"No run can be compared at {_place(judge)}."
        return any_ + aged if aged else f"No run got as far as {_place(judge)}."
    others = [line for line in paid[1:_FEW] if line.there == line.seeds]
    behind = [line for line in paid[:_FEW] if line.there < line.seeds]
    words = [_opening(first, judge, any(x.there + x.stale < x.seeds for x in paid))]
    words += [_behind(first, line, judge) for line in others]
    words += [_not_there(x) for x in behind if x is not first and x.there + x.stale < x.seeds]
    words += [_above(line, first, judge) for line in table if line.free]
    more = f" {len(paid) - _FEW} more are in the table." if len(paid) > _FEW else ""
    return "; ".join(words) + "." + aged + more + _final_word(paid, judge) + _method(table)


def _aged(line: Line, judge: Judge) -> str:
    """Whose evaluation is too old to be compared."""
    where = "the end" if line.free else _place(judge)
    return (
        f" {line.label} is not compared in {line.stale} of {line.seeds} runs: the last evaluation "
        f"before {where} is {line.age:.0%} of the budget old, more than {STALE:.0%}."
    )


def _remedy(table: Sequence[Line], judge: Judge) -> str:
    """Which setting gives evaluations there."""
    if not any(line.stale for line in table):
        return ""
    budget = judge.by == "blocks" and not math.isnan(judge.at)
    setting = f"run.eval_at_blocks=[{judge.at:.0f}]" if budget else "a smaller run.eval_every"
    return f" Carry such runs out again with {setting}."


def _opening(first: Line, judge: Judge, some_missing: bool) -> str:
    seeds = f" (mean ± standard deviation over {first.there} seeds)" if first.there > 1 else ""
    shown = judge.show(first.score, first.score_spread)
    if judge.by == "target":
        return f"{first.label} reaches {_place(judge)} with {shown} resource blocks{seeds}"
    if judge.by == "final":
        cost = f"after {first.rounds:,.0f} rounds and {first.blocks:,.0f} resource blocks"
        return f"At its end, {cost}, {first.label} has {shown} % test accuracy{seeds}"
    but = " that did not end early" if some_missing else ""
    which = "at which every run was evaluated" if judge.lowered else "that every run reached"
    most = f", the most {which}{but}," if judge.shared else ","
    start = "After" if judge.by == "rounds" else "At"
    return f"{start} {_place(judge)}{most} {first.label} has {shown} % test accuracy{seeds}"


def _place(judge: Judge) -> str:
    if judge.by == "target":
        return f"{100 * judge.at:g} % test accuracy"
    if judge.by == "final" or math.isnan(judge.at):
        return "the end"
    return amount(judge.by, judge.at)


def _behind(first: Line, line: Line, judge: Judge) -> str:
    gap = line.difference.mean if line.difference else line.score - first.score
    if judge.by == "target":
        return f"{line.label} needs {gap:,.0f} more{_interval(line, judge, 1.0)}"
    cost = ""
    times = line.blocks / max(first.blocks, 1.0)
    if judge.by == "final" and abs(times - 1.0) > _ALIKE:
        cost = f", with {times:.2g} times the blocks"
    if not line.rounds:
        cost += " (its budget has no room for one round)"
    if f"{abs(100 * gap):.1f}" == "0.0":
        return f"{line.label} is level{_interval(line, judge, -1.0)}{cost}"
    return f"{line.label} is {-100 * gap:.1f} points behind{_interval(line, judge, -1.0)}{cost}"


def _above(line: Line, first: Line, judge: Judge) -> str:
    if judge.by == "target":
        return f"{line.label} is free and noiseless"
    gap = line.difference.mean if line.difference else line.score - first.score
    side = "above" if gap >= 0 else "below"
    interval = _interval(line, judge, 1.0 if gap >= 0 else -1.0)
    said = f"{line.label}, which is free and noiseless, ends {100 * abs(gap):.1f} points {side}"
    return said + interval


def _interval(line: Line, judge: Judge, sign: float) -> str:
    """The interval of a difference, told in the direction of the sentence."""
    d = line.difference
    if d is None or math.isnan(d.low):
        return ""
    low, high = sorted((sign * d.low, sign * d.high))
    doubt = "" if line.p_holm < SURE else ", not significant"
    return f" [{number(low, judge)}, {number(high, judge)}]{doubt}"


def number(value: float, judge: Judge) -> str:
    """One end of an interval: points of accuracy, or resource blocks."""
    text = f"{value:z,.0f}" if judge.by == "target" else f"{100 * value:z.1f}"
    return text.replace("-", "−")


def _not_there(line: Line) -> str:
    missing = line.seeds - line.there - line.stale
    why = line.early or f"ended by {', '.join(line.ended)}"
    return f"{line.label} did not get there in {missing} of {line.seeds} runs ({why})"


def _final_word(paid: Sequence[Line], judge: Judge) -> str:
    """Where the end of the runs names another winner than an equal cost does, that is said."""
    best = max(paid, key=lambda line: line.final)
    if judge.by == "final" or best is paid[0] or not best.final > paid[0].final:
        return ""
    return (
        f" At the end of the runs {best.label} has {100 * best.final:.1f} % after "
        f"{best.blocks:,.0f} resource blocks, {paid[0].label} {100 * paid[0].final:.1f} % after "
        f"{paid[0].blocks:,.0f}."
    )


def _method(table: Sequence[Line]) -> str:
    """How sure the sentence is, and of what."""
    tests = sum(not math.isnan(line.p_holm) for line in table)
    if not tests:
        return ""
    many = f" after Holm's correction for {tests} comparisons" if tests > 1 else ""
    return (
        " In brackets: 95 % intervals of the differences, paired by seed (Student t); p < "
        f"{SURE:g}{many} unless called not significant."
    )


def unlike(groups: Groups) -> list[str]:
    """Return a sentence where accuracies are of other samples than a reader expects."""
    every = [runs[0].experiment for runs in groups.values()]
    keys = [key for key in ("data.dataset", "data.validation") if key in varied(every)]
    if keys:
        differ = " and ".join(keys)
        return [f"Groups differ in {differ}: accuracies on other data tell nothing of schemes."]
    if every and every[0].data.validation:
        share = f"data.validation = {every[0].data.validation:g}"
        return [f"Accuracies are of held-out training samples ({share}), not of the test set."]
    return []


def untuned(groups: Groups) -> list[str]:
    """Return a sentence where schemes are compared whose settings no benchmark has tuned."""
    runs = [run for members in groups.values() for run in members]
    homes = {run.folder.parent.parent for run in runs if run.folder}
    tuned = any((home / TUNING).is_file() for home in homes)
    some = len({run.experiment.scheme.name for run in runs}) > 1
    return ["Settings were not tuned per scheme."] if some and not tuned else []


def starving(groups: Groups) -> list[str]:
    """A sentence for each group whose runs had many rounds in which nobody was heard."""
    said = (starved(k, [(r.experiment, r.columns) for r in runs]) for k, runs in groups.items())
    return [f"{sentence}." for sentence in said if sentence]
