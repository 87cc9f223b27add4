"""The paper's claims, judged by stored rows."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from airfeel.analysis.series import column, evaluated_by_all, mean_and_spread
from airfeel.analysis.tables import Sheet
from airfeel.reproduce.curves import Curve, Found
from airfeel.reproduce.measures import LOOKS, Reach, accuracy, gain_by_rounds
from airfeel.reproduce.paper_claims import CLAIMS, READINGS, Claim
from airfeel.reproduce.slots import Uplink
from airfeel.runs.summary import End
from airfeel.storage.run import Run

HOLDS, SAME, FAILS = "holds", "same direction", "does not hold"
NOT_REACHED, AGAINST, REFERENCE = "not reached", "not reached (so far against it)", "for reference"
_OWN_END = (End.STALLED, End.DIVERGED, End.CONVERGED)  # such a run will never be longer
_MEANING = (
    "A shorter run can only say “same direction” or “not reached”, and “does not hold” if it ended "
    "by itself, or is past where the one beside it did: the paper's numbers belong to the paper's "
    "rounds, and nothing is extrapolated. At equally many blocks it is long enough if it is past "
    "where the one beside it has all the paper's rounds. A mean over rounds does not hold as soon "
    "as no rest of them could bring it within its limits. "
    "Spread is the sample standard deviation over seeds; there is none for one seed."
)
_LEMMA = (
    "Lemma 1 needs K[l] < 2^(2q−2): it excludes q = 4 at (0.2, 0.05), where K[l] = 12,945; that "
    "curve is there (iid-tcs-h-q4) and runs only when it is named."
)


@dataclass(frozen=True)
class Judged:
    """A claim, what our rows say, and what that is worth."""

    claim: Claim
    verdict: str
    reached: str
    value: float = math.nan  # mean over seeds; NaN where it cannot be told
    spread: float = math.nan  # sample standard deviation over seeds; NaN for one
    seeds: int = 0


def judge_all(stored: Found, curves: dict[str, Curve], splits: Iterable[str]) -> list[Judged]:
    """Every claim of some splits (iid, noniid, sparse), in the paper's order."""
    wanted = set(splits)
    return [judge(claim, stored, curves) for claim in CLAIMS if claim.split in wanted]


def judge(claim: Claim, stored: Found, curves: dict[str, Curve]) -> Judged:
    """One claim, over the seeds that all its curves have run."""
    missing = [name for name in claim.curves if name not in stored]
    if missing:
        return Judged(claim, NOT_REACHED, f"no run of {missing[0]}")
    runs = [{run.experiment.run.seed: run for run in stored[name]} for name in claim.curves]
    seeds = sorted(set.intersection(*(set(group) for group in runs)))
    if not seeds:
        return Judged(claim, NOT_REACHED, "no seed that all its curves have run")
    teams = [[group[seed] for group in runs] for seed in seeds]
    full = [curves[name].rounds for name in claim.curves]
    reach = _reach(claim, teams, full)
    mean, spread = mean_and_spread([claim.measure(team, reach) for team in teams])
    words = _words(claim, teams, full, reach)
    low, high = _in_the_end(claim, mean, reach.rounds / min(full))
    decided = low > claim.target + claim.limit or high < claim.target - claim.limit
    if decided and not reach.over:
        words += f"; {low:{claim.form}} to {high:{claim.form}} in the end, whatever follows"
    verdict = weigh(claim, mean, reach.complete, reach.over or decided)
    return Judged(claim, verdict, words, mean, spread, len(teams))


def _in_the_end(claim: Claim, mean: float, played: float) -> tuple[float, float]:
    """Between what a mean over all rounds will lie, of which a share has been played.

    Without a `most` that a round can have, anywhere.
    """
    if claim.most is None or math.isnan(mean):
        return -math.inf, math.inf
    return played * mean, played * mean + (1.0 - played) * claim.most


def weigh(claim: Claim, value: float, complete: bool, over: bool) -> str:
    """What a number is worth: only the paper's own length says that a claim holds.

    A shorter run shows a direction; one that has ended by itself, or whose rest cannot matter
    (`over`), can say that a claim does not hold.
    """
    near = abs(value - claim.target) <= claim.limit
    rule = claim.rule
    if math.isnan(value):
        return NOT_REACHED
    if rule == "reference":
        return REFERENCE
    along = {"near": False, "similar": near, "gain": value > 0.0, "order": value >= 0.0}[rule]
    if complete and (along if rule == "order" else near):
        return HOLDS
    if along:
        return SAME
    if rule == "near" and (near or not over):
        return NOT_REACHED
    return FAILS if over else AGAINST


def _reach(claim: Claim, teams: Sequence[Sequence[Run]], full: Sequence[int]) -> Reach:
    """As far as all runs got, so that all are read at the same point."""
    every = [run for team in teams for run in team]
    blocks = [_blocks(run) for run in every]
    whole = [
        _complete(run, rounds, claim.budget)
        for team in teams
        for run, rounds in zip(team, full, strict=True)
    ]
    ended = [w or _ended(run) for w, run in zip(whole, every, strict=True)]
    over, complete = (_settled(claim, every, ends) for ends in (ended, whole))
    shared = min((b for b in blocks if b > 0), default=0.0)
    rounds, most = min(_rounds(run) for run in every), min(shared, claim.budget or math.inf)
    return Reach(
        rounds,
        shared,
        over,
        complete,
        seen_rounds=_seen("round", every, rounds),
        seen_blocks=_seen("resource_blocks", [run for run in every if _blocks(run) > 0], most),
    )


def _seen(column: str, runs: Sequence[Run], most: float) -> float:
    """The most rounds or blocks, up to so many, at which the evaluation of no run is stale."""
    return evaluated_by_all([(run.columns[column], run.accuracy) for run in runs], most)


def _settled(claim: Claim, runs: Sequence[Run], ends: Sequence[bool]) -> bool:
    """Whether each run has come to its end, or is past where another has: no more is compared.

    Within a budget a run that ended keeps its model, and the others are read at their own ends.
    """
    lengths = [_blocks(run) if claim.at_blocks else _rounds(run) for run in runs]
    pairs = list(zip(lengths, ends, strict=True))
    first = min((length for length, end in pairs if end), default=math.inf)
    return all(end or (claim.budget is None and length >= first) for length, end in pairs)


def _complete(run: Run, rounds: int, budget: float | None) -> bool:
    """Whether a run has all the paper's rounds or blocks."""
    paid = budget is not None and _blocks(run) >= budget
    return _rounds(run) >= rounds or paid


def _ended(run: Run) -> bool:
    return run.summary.get("reason") in _OWN_END


def _words(claim: Claim, teams: Sequence[Sequence[Run]], full: Sequence[int], reach: Reach) -> str:
    """How far the runs got, and what a trend did on the way."""
    ended = {
        f"{run.experiment.scheme.name} {run.summary['reason']} after {run.columns['round'][-1]:,}"
        for team in teams
        for run in team
        if _ended(run)
    }
    words = [f"{reach.rounds:,} of {min(full):,} rounds", *sorted(ended)]
    if claim.at_blocks or claim.budget:
        of = f" of {claim.budget:.3g}" if claim.budget else ""
        words.append(f"{reach.blocks:.3g}{of} blocks")
    words += _looked(claim, reach)
    tenth = reach.rounds // 10
    if claim.trend and tenth:
        parts = replace(reach, rounds=tenth), replace(reach, start=reach.rounds - tenth)
        first, last = (
            _number(claim, float(np.mean([claim.measure(team, part) for team in teams])))
            for part in parts
        )
        words.append(f"first tenth {first}, last tenth {last}")
    return "; ".join(words)


def _looked(claim: Claim, reach: Reach) -> list[str]:
    """Where accuracies are compared, if that is not as far as the runs got."""
    if claim.measure is gain_by_rounds:
        seen, most, shown = (
            reach.seen_rounds,
            float(reach.rounds),
            f"{reach.seen_rounds:,.0f} rounds",
        )
    elif claim.at_blocks and not (claim.budget and reach.over):
        most = min(reach.blocks, claim.budget or math.inf)
        seen, shown = reach.seen_blocks, f"{reach.seen_blocks:.3g} blocks"
    else:
        return []
    if math.isnan(seen):
        return ["no look that is fresh enough, which takes a smaller --eval-every"]
    return [f"compared at {shown}"] if seen < most else []


def sheet(judged: Sequence[Judged], notes: Sequence[str] = ()) -> Sheet:
    """The table: claim, paper, ours, spread, verdict, its limits, and how far it was run."""
    head = ("claim", "paper", "ours", "spread", "verdict", "holds if", "reached")
    rows = [
        (
            f"{j.claim.split}: {j.claim.text}",
            j.claim.paper,
            _number(j.claim, j.value, j.claim.signed),
            "" if math.isnan(j.spread) else f"± {_number(j.claim, j.spread)}, {j.seeds} seeds",
            j.verdict,
            j.claim.limits,
            j.reached,
        )
        for j in judged
    ]
    readings = [READINGS] if any(j.claim.split != "iid" for j in judged) else []
    return Sheet(head, rows, [*notes, *readings, LOOKS, _MEANING])


def bits_sheet(
    stored: Found, curves: dict[str, Curve], names: Iterable[str], notes: Sequence[str] = ()
) -> Sheet:
    """The quantisation study: accuracy and slots per round by bits per value, with Lemma 1."""
    rows = []
    for name in names:
        curve, runs = curves[name], stored.get(name, [])
        scheme = curve.experiment.scheme
        k_local, most = round(scheme.local_sparsity * Uplink().dim), 4 ** (scheme.bits - 1)
        allowed = f"{k_local:,} {'<' if k_local < most else '≥'} {most:,}"
        rounds = min(map(_rounds, runs), default=0)
        numbers = _bits_numbers(runs, rounds) if runs else ("–", "", "–")
        reached = f"{rounds:,} of {curve.rounds:,} rounds"
        rows.append((curve.label, str(scheme.bits), allowed, *numbers, reached))
    head = (
        "curve",
        "q",
        "K[l] against 2^(2q−2)",
        "accuracy",
        "spread",
        "slots per round",
        "reached",
    )
    return Sheet(head, rows, [*notes, LOOKS, _LEMMA])


def _bits_numbers(runs: Sequence[Run], rounds: int) -> tuple[str, str, str]:
    """Accuracy, its spread, and slots per round, of runs of one curve after so many rounds."""
    mean, spread = mean_and_spread([accuracy(run, "round", rounds) for run in runs])
    slots = [float(column(run, "slots")[1 : rounds + 1].mean()) for run in runs]
    around = f"± {spread:.1f}" if len(runs) > 1 else ""
    return f"{mean:.1f} %", around, f"{np.mean(slots):,.0f}"


def _number(claim: Claim, value: float, signed: bool = False) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:{'+' if signed else ''}{claim.form}}{claim.unit}"


def _rounds(run: Run) -> int:
    return int(run.columns["round"][-1])


def _blocks(run: Run) -> float:
    return float(run.columns["resource_blocks"][-1])
