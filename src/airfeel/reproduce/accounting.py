"""The paper's costs from simulated slots alone: savings, and rounds within a budget.

How many slots a round takes depends on the sky and on how many devices are heard, not on what the
model learns. So the savings and the rounds within a budget need no training, only N_t.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float64
from scipy.stats import binom

from airfeel.analysis.tables import Sheet
from airfeel.reproduce.slots import (
    Estimate,
    Skies,
    Uplink,
    draw_skies,
    mean,
    ratio,
    spend_later,
)
from airfeel.types import BadInput

BUDGET = 7.5e8
_ROUNDS = {"tcs-h": 20000, "tcs-d": 13290, "top-k": 7664}  # of the paper, within its budget
_NEAR_SAVING, _NEAR_ROUNDS, _NEAR_RATIO = 0.03, 0.05, 0.01
_READINGS = (  # the paper does not state φ of its non-i.i.d. experiment
    ("reading A", 0.01, 0.0025, True),  # the budget counts resource blocks, M·slots
    ("reading B", 0.2, 0.05, False),  # the budget counts slots
)
_REPLICAS = 4  # of a run whose devices spend later
LIMITS = (
    f"A saving holds within {100 * _NEAR_SAVING:.0f} points of the paper's, rounds within "
    f"{_NEAR_ROUNDS:.0%}, their ratio within {_NEAR_RATIO:.0%}; ± is half of a 95 % confidence "
    "interval over the draws of the sky."
)
_NOTE = (
    "Reading A of the non-i.i.d. experiment: φ = (0.01, 0.0025), 7.5e8 resource blocks of M·slots. "
    "Reading B: φ = (0.2, 0.05) as in the i.i.d. one, 7.5e8 slots. Power rule at equal norms: all "
    "updates have one norm, evenly over the sub-channels, and the sky alone decides who is heard."
)


@dataclass(frozen=True)
class Entry:
    """One number of the paper and ours for it, under one assumption."""

    claim: str
    setting: str
    paper: str
    ours: tuple[Estimate, ...]
    shown: str
    verdict: str
    why: str


@dataclass(frozen=True)
class Account:
    """All of it, and what it was computed from."""

    lines: list[Entry]
    jump: Sheet
    draws: int

    def sheets(self) -> dict[str, Sheet]:
        """The claims, and slots per round against the number of devices."""
        head = ("claim", "if", "paper", "ours (± 95 %)", "verdict", "difference to the paper")
        rows = [(x.claim, x.setting, x.paper, x.shown, x.verdict, x.why) for x in self.lines]
        notes = [f"{self.draws:,} draws of the sky. {LIMITS}", _NOTE]
        return {
            "Claims": Sheet(head, rows, notes),
            "Slots a round at (0.2, 0.05) against devices heard": self.jump,
        }


def account(draws: int, seed: int = 0, tick: Callable[[], object] = lambda: None) -> Account:
    """Compute everything from `draws` skies; `tick` is called after each."""
    uplink = Uplink()
    if draws < 2:
        raise BadInput(f"--draws {draws}: must be at least 2")
    book = _Book(uplink, draw_skies(uplink, draws, seed, tick=tick), draws, seed)
    lines = [*book.savings(), book.bit_ratio(), *book.within_budget(), *book.hybrid_rounds()]
    return Account(lines, book.jump(), draws)


@dataclass(frozen=True)
class _Book:
    uplink: Uplink
    skies: Skies
    draws: int
    seed: int

    def savings(self) -> Iterator[Entry]:
        """The 68 % and the 75 %, by what is assumed of the devices that TCS-H hears."""
        for claim, paper, phi, other in (
            ("TCS-H (0.2, 0.05) saves against TCS-D", 0.68, 0.2, "tcs-d"),
            ("TCS-H (0.5, 0.05) saves against Top-K", 0.75, 0.5, "top-k"),
        ):
            hybrid = self.uplink.cost("tcs-h", phi, 0.05)
            below = self.uplink.cost(other, 0.2, 0.05).slots(self.skies.any[:, 13])
            for setting, rate, why in self._heard(phi):
                slots = hybrid.slots(rate).mean(axis=1)
                saved = ratio(slots, below).less()
                verdict = "holds" if abs(saved.value - paper) <= _NEAR_SAVING else "same direction"
                points = f"{round(100 * (saved.value - paper), 1) + 0.0:+} points: {why}"
                shown = _percent(saved)
                yield Entry(claim, setting, f"{paper:.0%}", (saved,), shown, verdict, points)

    def _heard(self, phi: float) -> Iterator[tuple[str, Float64[np.ndarray, "T k"], str]]:
        """Rates of TCS-H's slowest devices in each draw, by what is assumed of N_t."""
        cheap, half = self.skies.cheap, self.uplink.subchannels // 2
        alone = f"every round hears more than {half}, and somebody has one sub-channel"
        yield "13 heard in every round", cheap[:, 13:14], alone
        some = f"3 of 7 rounds hear at most {half} and take little more than half the time"
        yield "10…16 heard, evenly", cheap[:, 10:17], some
        rate, over, _ = self._rule(0.65)
        varied = f"N_t varies with the sky; {over:.0%} of the rounds hear more than {half}"
        yield "power rule at equal norms, 13 on average", rate, varied
        if phi > 0.2:  # the wider mask may spend more, of which its own larger norm takes a part
            rate, over, heard = self._rule(0.65, phi / 0.2)
            setting = f"the same, {phi / 0.2:.1f} times the energy for the wider mask"
            yield setting, rate, f"{heard:.1f} are heard; {over:.0%} of the rounds more than {half}"

    def _rule(
        self, share: float, factor: float = 1.0
    ) -> tuple[Float64[np.ndarray, "T 1"], float, float]:
        """Rates under the power rule at equal norms, the share of rounds above ⌊M/2⌋, and N_t."""
        heard = self.skies.afford(share, factor)
        rate = np.take_along_axis(self.skies.cheap, heard[:, None], axis=1)
        return rate, float((heard > self.uplink.subchannels // 2).mean()), float(heard.mean())

    def bit_ratio(self) -> Entry:
        """Rounds of TCS-D for one round of Top-K."""
        u = self.uplink
        top, tcs = (u.cost(s, 0.2, 0.05) for s in ("top-k", "tcs-d"))
        rounds = ratio(top.slots(self.skies.any[:, 11]), tcs.slots(self.skies.any[:, 11]))
        paper = _ROUNDS["tcs-d"] / _ROUNDS["top-k"]
        verdict = "holds" if abs(rounds.value / paper - 1.0) <= _NEAR_RATIO else "does not hold"
        shown = f"{rounds.value:.4f} ± {rounds.half:.4f}"
        why = f"the bits alone give {top.bits / tcs.bits:.4f}, whoever is heard"
        claim = "rounds of TCS-D for one of Top-K"
        setting = "11 heard in every round"
        return Entry(claim, setting, f"{paper:.4f}", (rounds,), shown, verdict, why)

    def within_budget(self) -> Iterator[Entry]:
        """Rounds of TCS-D and Top-K within the budget: both readings, both picks, all powers."""
        for reading, phi, local, blocks in _READINGS:
            for who, slots_per_bit, why in self._prices:
                rounds = tuple(
                    slots_per_bit.times(
                        self.uplink.cost(scheme, phi, local).bits
                        * (self.uplink.subchannels if blocks else 1)
                    ).per(BUDGET)
                    for scheme in ("tcs-d", "top-k")
                )
                yield _rounds(f"{reading}; {who}", rounds, why)

    @cached_property
    def _prices(self) -> list[tuple[str, Estimate, str]]:
        """Slots for one bit, by who is heard and what becomes of unspent energy."""
        u, rate = self.uplink, self.skies.any
        chance, half = 11 / u.devices, u.subchannels // 2
        weight = binom.pmf(np.arange(u.devices + 1), u.devices, chance)
        never = f"11 never pass the jump above {half}"
        some = f"{binom.sf(half, u.devices, chance):.0%} of the rounds hear more than {half}"
        exact, drawn = mean(1.0 / rate[:, 11]), mean((1.0 / rate) @ weight)
        even = draw_skies(replace(u, power=u.power / chance), self.draws, self.seed, [11])
        lost = "energy of silent rounds is lost"
        full = "more power at first than P̄_{t,n} has"
        return [
            ("exactly 11, static power", exact, f"{never}; {lost}"),
            ("exactly 11, unspent energy later", self._later(11, exact), never),
            ("exactly 11, power P̄·20/11", mean(1.0 / even.any[:, 11]), f"{never}; {full}"),
            ("each with p = 0.55, static power", drawn, f"{some}; {lost}"),
            ("each with p = 0.55, unspent energy later", self._later(chance, drawn), some),
        ]

    def _later(self, count: int | float, static: Estimate) -> Estimate:
        """From independent runs, each with its own sky and a C of about as many rounds as draws."""
        slots = round(max(self.draws, 50) * 1e6 * static.value)
        seeds = range(self.seed + 1, self.seed + 1 + _REPLICAS)
        shares = [spend_later(self.uplink, count, slots, seed) for seed in seeds]
        return static.times(mean(np.array(shares)))

    def hybrid_rounds(self) -> Iterator[Entry]:
        """Whether the budget pays for all 20000 rounds of TCS-H, with 11 heard on average."""
        rate = self._rule(11 / self.uplink.devices)[0][:, 0]
        for reading, phi, local, blocks in _READINGS:
            slots = mean(self.uplink.cost("tcs-h", phi, local).slots(rate))
            rounds = slots.times(self.uplink.subchannels if blocks else 1).per(BUDGET)
            verdict = "holds" if rounds.value >= _ROUNDS["tcs-h"] else "does not hold"
            used = _ROUNDS["tcs-h"] / rounds.value
            yield Entry(
                "rounds of TCS-H that 7.5e8 would pay for",
                f"{reading}; power rule at equal norms, 11 on average",
                "≥ 20,000",
                (rounds,),
                _whole(rounds),
                verdict,
                f"its 20000 rounds use {used:.0%} of the budget",
            )

    def jump(self) -> Sheet:
        """Slots per round against the number of devices."""
        costs = [self.uplink.cost(s, 0.2, 0.05) for s in ("tcs-h", "tcs-d", "top-k")]
        rows = []
        for n in range(8, self.uplink.devices + 1):
            slots = [cost.slots(self.skies.any[:, n]) for cost in costs]
            saved = ratio(slots[0], slots[1]).less()
            cells = [_whole(m) for m in map(mean, slots)]
            rows.append([str(n), *cells, _percent(saved)])
        half = self.uplink.subchannels // 2
        note = (
            f"With more than ⌊M/2⌋ = {half} devices somebody has a single sub-channel: the digital "
            "phase, which ends with the slowest, takes nearly twice as long."
        )
        head = ("devices", "TCS-H", "TCS-D", "Top-K", "TCS-H saves against TCS-D")
        return Sheet(head, rows, [note])


def _rounds(setting: str, rounds: tuple[Estimate, ...], why: str) -> Entry:
    wanted = (_ROUNDS["tcs-d"], _ROUNDS["top-k"])
    off = [r.value / w - 1.0 for r, w in zip(rounds, wanted, strict=True)]
    verdict = "holds" if max(map(abs, off)) <= _NEAR_ROUNDS else "does not hold"
    return Entry(
        "rounds of TCS-D / Top-K within 7.5e8",
        setting,
        " / ".join(f"{w:,}" for w in wanted),
        rounds,
        " / ".join(map(_whole, rounds)),
        verdict,
        f"{' / '.join(f'{o:+.1%}' for o in off)}: {why}",
    )


def _whole(x: Estimate) -> str:
    return f"{x.value:,.0f} ± {math.ceil(x.half):,.0f}"


def _percent(x: Estimate) -> str:
    return f"{100 * x.value:.1f} ± {100 * x.half:.1f} %"
