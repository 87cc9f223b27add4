"""A run that starves: rounds in which nobody or hardly anybody is heard, why, and what to change.

It is judged by rows, as they are stored, and before the first round by a rehearsal of it.
"""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from airfeel import handed
from airfeel.build.setup import Setup
from airfeel.radio.energy import segment_energy
from airfeel.radio.scheduling.power_constraint import Limits
from airfeel.settings.config import Experiment
from airfeel.storage.rows import Row
from airfeel.storage.run import Facts
from airfeel.streams import Streams
from airfeel.types import State, Turn, World

_BLOWN_UP = 1e12  # times the energy allowed: no setting of the radio is to blame
_SHARE, _FEWEST = 0.1, 3  # silent rounds that are worth a word: a tenth of all, and three
_FEW, _LASTING = 4, 20  # hardly anybody: at most one device in four, for twenty rounds


Columns = Mapping[str, np.ndarray]  # of rounds.csv


class Starving(UserWarning):
    """Nobody is heard in many rounds, or hardly anybody."""


@dataclass(frozen=True)
class Hunger:
    """How a run starves.

    silent: rounds in which nobody was heard, of so many `rounds`; with `most`, the last rounds, in
        which no more than these devices were.
    excess: energy needed over energy allowed, a median over these rounds; NaN where unknown.
    """

    silent: int
    rounds: int
    excess: float
    most: int = 0

    @property
    def starving(self) -> bool:
        """Whether that is worth a word."""
        return self.silent >= max(_LASTING if self.most else _FEWEST, _SHARE * self.rounds)


def hunger(columns: Columns) -> Hunger:
    """What the rows of a run tell of rounds in which nobody was heard.

    Args:
        columns: of rounds.csv; of these `round`, `scheduled`, and the medians [W·slots] where a
            scheme has them.

    >>> column = {"round": [0, 1, 2, 3], "scheduled": [0, 0, 4, 0]}
    >>> column |= {"needed_median": [np.nan, 8.0, 1.0, 4.0], "budget_median": [np.nan, 2, 2, 2]}
    >>> hunger({name: np.array(values) for name, values in column.items()})
    Hunger(silent=2, rounds=3, excess=3.0, most=0)
    """
    played = columns["round"] > 0
    silent = played & (columns["scheduled"] == 0)
    return Hunger(int(silent.sum()), int(played.sum()), _excess(columns, silent))


def dwindled(columns: Columns, most: int) -> Hunger:
    """What they tell of the rounds since which no more than `most` devices are heard.

    >>> column = {"round": [0, 1, 2, 3], "scheduled": [0, 4, 0, 1]}
    >>> column |= {"needed_median": [np.nan, 1.0, 8.0, 4.0], "budget_median": [np.nan, 2, 2, 2]}
    >>> dwindled({name: np.array(values) for name, values in column.items()}, most=1)
    Hunger(silent=2, rounds=3, excess=3.0, most=1)
    """
    played = columns["round"] > 0
    others = np.flatnonzero(~played | (columns["scheduled"] > most))
    last = np.arange(len(played)) > (others[-1] if len(others) else -1)
    return Hunger(int(last.sum()), int(played.sum()), _excess(columns, last), most)


def _excess(columns: Columns, rounds: Bool[np.ndarray, "r"]) -> float:
    none = np.full(len(rounds), np.nan)
    needed, budget = (columns.get(f"{name}_median", none)[rounds] for name in ("needed", "budget"))
    known = np.isfinite(needed) & np.isfinite(budget) & (budget > 0.0)
    return float(np.median(needed[known] / budget[known])) if known.any() else math.nan


def few(e: Experiment) -> int:
    """How many devices are hardly anybody."""
    return e.training.devices // _FEW


def found(e: Experiment, columns: Columns) -> Hunger | None:
    """How a run starves: nobody is heard, or in the end hardly anybody; None where it does not.

    That few are heard may be as it was planned, unless energy was lacking.
    """
    nobody, hardly = hunger(columns), dwindled(columns, few(e))
    if nobody.starving:
        return nobody
    return hardly if hardly.starving and hardly.excess > 1.0 else None


def words(e: Experiment, hunger: Hunger, last: bool = False) -> str:
    """What a run lacks and what may help; `last`: the rounds are the last ones, not all."""
    which = f"the last {hunger.rounds}" if last else f"{hunger.rounds}"
    heard = f"nobody was heard in {hunger.silent} of {which} rounds"
    if hunger.most:
        of = "" if last else f" of {hunger.rounds}"
        who = f"at most {hunger.most} of {e.training.devices} devices"
        heard = f"{who} were heard in the last {hunger.silent}{of} rounds"
    if not hunger.excess > 1.0:
        return f"{heard}: devices.csv says why"
    needed = f"devices needed {_times(hunger.excess)} the energy allowed"
    return f"{heard}: {needed}; {remedy(e, hunger.excess)}"


def verdict(e: Experiment, columns: Columns) -> str | None:
    """What there is to say of a run's rows; None where it did not starve."""
    way = found(e, columns)
    return words(e, way) if way else None


def starved(label: str, runs: Sequence[tuple[Experiment, Columns]]) -> str | None:
    """What there is to say of some runs of one scheme, by the one that was silent most."""
    ways = [(found(e, columns), e) for e, columns in runs]
    bad = [(not way.most, way.silent / way.rounds, way, e) for way, e in ways if way]
    if not bad:
        return None
    *_, worst, e = max(bad, key=lambda entry: entry[:2])
    many = f" in {len(bad)} of {len(runs)} runs, most with seed {e.run.seed}"
    return f"{label} starved{many if len(runs) > 1 else ''}: {words(e, worst)}"


def remedy(e: Experiment, excess: float) -> str:
    """Settings at which half of the devices could have spoken: the energy goes with σ_t²."""
    if excess > _BLOWN_UP:
        return "updates are that large: try a smaller training.learning_rate"
    scale, now = 1.0 / math.sqrt(excess), e.radio.power_scalar
    if isinstance(now, int | float):
        smaller = f"radio.power_scalar ≤ {_down(scale * now):g} (it is {now:g})"
    else:
        smaller = f"radio.power_scalar at {_down(scale):g} of what it is"
    return f"try {smaller}, {_times(excess)} the radio.power, or a smaller training.learning_rate"


def rehearse(e: Experiment, setup: Setup, state: State) -> str | None:
    """Before round 1: what it will lack if nobody is likely to be heard in it, else None.

    Every device is taken to say what all have learned on average in round 0. Mostly that is less
    than it will: ‖mean of x_n‖² is at most the mean of ‖x_n‖². The sky is one of another seed, so
    that no die of the run is thrown.

    Args:
        e: the settings.
        setup: made of them.
        state: after round 0.
    """
    scheme, world = setup.scheme, setup.world
    if not isinstance(scheme.plan, Limits):
        return None
    turn = Turn(world, state, Streams(e.run.seed + 1))
    anyone, codec = np.zeros(1, np.int64), scheme.codec
    dice = turn.streams.uniform("quantize", turn.round, anyone, codec.dice)
    agreed = handed.call(turn, "codec", codec.agree)
    with handed.guarded("scheme.codec", codec, agreed=agreed):
        said = codec.encode(state.update[None].clone(), agreed, anyone, dice)
    symbols = said.common if said.signal is None else said.signal
    energy = segment_energy(symbols, world.subchannels).repeat(world.devices, axis=0)
    limit = scheme.plan.limit(turn, symbols.shape[1])
    needed = limit.needed(energy, handed.sky(turn, scheme.fade).air_gain2)
    if limit.allows(needed).any():
        return None
    medians = {"needed_median": np.median(needed), "budget_median": np.median(limit.budget)}
    first = {"round": 1, "scheduled": 0} | medians
    excess = hunger({name: np.array([value]) for name, value in first.items()}).excess
    if not excess > 1.0:
        return None
    times = f"devices will need about {_times(excess)} the energy allowed"
    return f"nobody may be heard: {times}; {remedy(e, excess)}"


def tell(said: str | None) -> None:
    """Warn, if there is anything to say."""
    if said is not None:
        warnings.warn(said, Starving, stacklevel=2)


class Watch:
    """A watcher that warns once while a run starves."""

    def begin(self, experiment: Experiment, world: World) -> None:
        self._e = experiment
        self._first: int | None = None  # round that was seen: a resumed run has earlier ones
        self._since: int | None = None  # round since which hardly anybody is heard
        self._silent: dict[int, Row] = {}  # by round: one that is played again counts once
        self._poor: dict[int, Row] = {}  # likewise: those since then that lacked energy
        self._told = False

    def row(self, row: Row) -> None:
        now = int(row["round"])
        if now == 0 or self._told:
            return
        self._first = now if self._first is None else min(self._first, now)
        if int(row["scheduled"]) > few(self._e):
            self._since = None
            self._poor.clear()
            return
        self._since = now if self._since is None else min(self._since, now)
        if not row["scheduled"]:
            self._silent[now] = row
        if float(row["needed_median"]) > float(row["budget_median"]):
            self._poor[now] = row
        rounds, lean = now - self._first + 1, now - self._since + 1
        nobody = Hunger(len(self._silent), rounds, math.nan)
        hardly = Hunger(lean, rounds, math.nan, few(self._e))
        if nobody.starving:
            self._tell(now, nobody, self._silent)
        elif hardly.starving and 2 * len(self._poor) > lean:
            self._tell(now, hardly, self._poor)

    def _tell(self, now: int, way: Hunger, rows: Mapping[int, Row]) -> None:
        self._told = True
        excess = _excess(_columns(rows.values()), np.ones(len(rows), dtype=bool))
        tell(f"round {now}: {words(self._e, replace(way, excess=excess), last=True)}")

    def end(self, summary: Facts) -> None:
        pass


def _columns(rows: Iterable[Row]) -> dict[str, np.ndarray]:
    rows = list(rows)
    names = ("round", "scheduled", "needed_median", "budget_median")
    return {name: np.array([row[name] for row in rows], dtype=float) for name in names}


def _times(factor: float) -> str:
    return f"{factor:,.0f} times" if 10.0 <= factor < 1e6 else f"{factor:.2g} times"


def _down(number: float) -> float:
    """The number with two digits, not above it."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return math.floor(number / unit) * unit
