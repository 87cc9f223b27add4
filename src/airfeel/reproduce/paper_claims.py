"""The claims of Sun et al. 2022, section V, with the limits within which we say that one holds."""

from collections.abc import Iterator
from dataclasses import dataclass

from airfeel.reproduce.measures import (
    Measure,
    accuracy_within,
    gain_by_blocks,
    gain_by_rounds,
    gain_within,
    mean_of,
    more_rounds,
    rounds_within,
    saving,
)

_POINTS, _BLOCKS = " points", 7.5e8


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, how to measure it, and when it holds.

    `rule` is how it is judged: `near` a number, known only at the paper's length; a `gain` near a
    number, whose sign shows before; `similar`, close to zero; an `order`, not below zero; or
    `reference`, of which the paper says nothing.
    """

    split: str
    text: str
    paper: str
    curves: tuple[str, ...]
    measure: Measure
    rule: str
    target: float = 0.0
    limit: float = 0.0
    unit: str = ""
    form: str = ".1f"
    budget: float | None = None  # resource blocks after which the claim is reached, too
    at_blocks: bool = False  # read at equal resource blocks instead of equal rounds
    trend: bool = False  # tell the first and the last tenth of the rounds, too
    most: float | None = None  # of a mean over rounds: the most in one; the least is 0

    @property
    def limits(self) -> str:
        """When the claim holds, in words."""
        limit = f"{self.limit:{self.form}}{self.unit and _POINTS}"
        words = {
            "near": f"within {limit}",
            "gain": f"within {limit}; same direction if above 0",
            "similar": f"within {limit}",
            "order": "not below 0",
        }
        return words.get(self.rule, "no number of the paper's")

    @property
    def signed(self) -> bool:
        """Whether the number is a difference."""
        return self.unit == _POINTS


def _iid() -> Iterator[Claim]:
    h, d, k = "iid-tcs-h", "iid-tcs-d", "iid-top-k"
    split, similar = "iid", "similar"
    yield Claim(
        split,
        "share of the devices that TCS-H (0.2, 0.05) hears",
        "0.65",
        (h,),
        mean_of("scheduled", share=True),
        "near",
        0.65,
        0.05,
        form=".2f",
        trend=True,
        most=1.0,
    )
    text = "TCS-D less Top-K, accuracy after equal rounds"
    yield Claim(split, text, similar, (d, k), gain_by_rounds, similar, 0.0, 2.0, _POINTS)
    text = "resource blocks saved by TCS-H against TCS-D"
    yield Claim(split, text, "68 %", (h, d), saving, "gain", 68.0, 5.0, " %")
    text = "resource blocks saved by TCS-H (0.5, 0.05) against Top-K"
    yield Claim(split, text, "75 %", ("iid-tcs-h-wide", k), saving, "gain", 75.0, 5.0, " %")
    text = "TCS-H (0.5, 0.05) less Top-K, accuracy after equal rounds"
    pair = ("iid-tcs-h-wide", k)
    yield Claim(split, text, "+2.18 points", pair, gain_by_rounds, "gain", 2.18, 1.5, _POINTS)
    text = "TCS-H at φ[l] = 0.0001 less at 0.05, accuracy after equal rounds"
    pair = ("iid-tcs-h-thin", h)
    yield Claim(split, text, similar, pair, gain_by_rounds, similar, 0.0, 2.0, _POINTS)
    yield from _order(split, h, d, k)
    yield from _references(split, "iid-tcs-h", "iid-fedavg")


def _noniid(split: str, prefix: str, budget: float) -> Iterator[Claim]:
    h, d, k = (f"{prefix}-{scheme}" for scheme in ("tcs-h", "tcs-d", "top-k"))
    heard = mean_of("scheduled")
    text = "devices that TCS-H hears, of 20"
    yield Claim(split, text, "11", (h,), heard, "near", 11.0, 1.0, trend=True, most=20.0)
    rounds = rounds_within(budget)
    for name, curve, wanted in (("TCS-H", h, 20000), ("TCS-D", d, 13290), ("Top-K", k, 7664)):
        text, paper, limit = f"rounds of {name} within 7.5e8", f"{wanted:,}", 0.05 * wanted
        form = ",.0f"
        yield Claim(
            split, text, paper, (curve,), rounds, "near", wanted, limit, form=form, budget=budget
        )
    text = "rounds that TCS-D has more than Top-K at equal blocks"
    yield Claim(split, text, "73.4 %", (d, k), more_rounds, "gain", 73.4, 2.0, " %", budget=budget)
    within = accuracy_within(budget)
    for name, curve, percent in (("TCS-H", h, 81.1), ("TCS-D", d, 77.7), ("Top-K", k, 74.5)):
        text, paper = f"accuracy of {name} within 7.5e8", f"{percent} %"
        yield Claim(split, text, paper, (curve,), within, "near", percent, 3.0, " %", budget=budget)
    for names, pair, points in (
        ("TCS-H less Top-K", (h, k), 6.6),
        ("TCS-H less TCS-D", (h, d), 3.4),
        ("TCS-D less Top-K", (d, k), 3.2),
    ):
        yield Claim(
            split,
            f"{names}, accuracy at equal blocks",
            f"+{points} points at 7.5e8",
            pair,
            gain_within(budget),
            "gain",
            points,
            2.0,
            _POINTS,
            budget=budget,
            at_blocks=True,
        )


def _order(split: str, h: str, d: str, k: str) -> Iterator[Claim]:
    for names, pair in (("TCS-H less TCS-D", (h, d)), ("TCS-D less Top-K", (d, k))):
        text = f"{names}, accuracy at equal blocks"
        yield Claim(
            split, text, "above", pair, gain_by_blocks, "order", unit=_POINTS, at_blocks=True
        )


def _references(split: str, h: str, fedavg: str) -> Iterator[Claim]:
    """Of which the paper has no number."""
    text = "FedAvg, free and noiseless, less TCS-H, accuracy after equal rounds"
    yield Claim(split, text, "–", (fedavg, h), gain_by_rounds, "reference", unit=_POINTS)
    text, overlap = "share of TCS-H's global mask that was in the last one too", "mask_overlap"
    yield Claim(
        split, text, "“strong”", (h,), mean_of(overlap), "reference", form=".3f", trend=True
    )


# The sparsity of the non-i.i.d. experiment is not stated. Read as that of the i.i.d. one, 7.5e8
# counts slots, of 25 resource blocks each; at (0.01, 0.0025) it counts resource blocks.
READINGS = (
    "noniid reads the non-i.i.d. experiment at (0.2, 0.05), as the i.i.d. one, with 7.5e8 slots; "
    "sparse reads it at (0.01, 0.0025), with 7.5e8 resource blocks. The paper does not say which."
)
CLAIMS: tuple[Claim, ...] = (
    *_iid(),
    *_noniid("noniid", "noniid", 25 * _BLOCKS),
    *_references("noniid", "noniid-tcs-h", "noniid-fedavg"),
    *_noniid("sparse", "noniid-sparse", _BLOCKS),
    *_references("sparse", "noniid-sparse-tcs-h", "noniid-fedavg"),
)
