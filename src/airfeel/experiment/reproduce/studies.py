"""Studies the paper does not have, drawn from the runs of a sweep."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from airfeel.catalogue import Value
from airfeel.errors import BadInput, shorten
from airfeel.experiment.config import Experiment
from airfeel.experiment.figures import RULE, canvas
from airfeel.experiment.readings import accuracy_at, column, mean_and_spread
from airfeel.experiment.report.runs import find, flat, read
from airfeel.experiment.reproduce.curves import essence
from airfeel.experiment.reproduce.figures import COLOURS, Groups, starvation_figure, write
from airfeel.experiment.reproduce.tables import Sheet
from airfeel.experiment.runner import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("overlap", "grid", "starvation")
_SYMBOLS = {
    "radio.alpha": "α",
    "radio.power_scalar": "σ_t",
    "training.learning_rate": "η",
    "budget.slots": "C",
    "budget.resource_blocks": "M·C",
    "scheme.global_sparsity": "φ[g]",
    "scheme.local_sparsity": "φ[l]",
    "training.local_steps": "H",
}
_SCHEMES = {"tcs-h": "TCS-H", "tcs-d": "TCS-D", "top-k": "Top-K", "fedavg": "FedAvg"}
_Point = TypeVar("_Point", tuple[str, int, float], tuple[str, float, float])  # of a study
_BURN_IN = 0.2  # of the rounds: masks of the first ones say little


def draw(kind: str, places: Sequence[Path], path: Path) -> tuple[Path, Sheet]:
    """The figure of a study (overlap, grid or starvation) and its numbers."""
    runs = [read(folder) for folder in find(places)]
    if kind == "overlap":
        return write(lambda: _overlap(runs), path), _overlap_sheet(runs)
    if kind == "grid":
        return write(lambda: _grid(runs), path), _grid_sheet(runs)
    groups = by_difference(runs)
    return write(lambda: starvation_figure(groups), path), _starvation_sheet(groups)


def by_difference(runs: Sequence[Run]) -> Groups:
    """Runs by where they differ from what most of them have, such as `α = 4`; seeds together."""
    every = [flat(essence(run.experiment)) for run in runs]
    usual = {key: Counter(repr(f.get(key)) for f in every).most_common(1)[0][0] for key in every[0]}
    groups: Groups = defaultdict(list)
    for run, own in zip(runs, every, strict=True):
        differ = [key for key in usual if repr(own.get(key)) != usual[key]]
        words = [f"{_SYMBOLS.get(k, k.partition('.')[2])} = {_short(own[k])}" for k in differ]
        groups[", ".join(words) or "unchanged"].append(run)
    first = sorted(groups, key=lambda label: (label != "unchanged", label))
    return {label: groups[label] for label in first}


def _short(value: Value) -> str:
    if isinstance(value, int) and value >= 10_000:
        return f"{value:,}"
    return "none" if value is None else str(value)


def _over_seeds(
    runs: Sequence[Run], measure: Callable[[Run], float], key: Callable[[Experiment], _Point]
) -> dict[_Point, tuple[float, float]]:
    """Mean and spread of a number of each run, by key."""
    values = defaultdict(list)
    for run in runs:
        values[key(run.experiment)].append(measure(run))
    return {k: mean_and_spread(v) for k, v in sorted(values.items())}


def _mean_overlap(run: Run) -> float:
    overlap = column(run, "mask_overlap")
    late = overlap[int(_BURN_IN * len(overlap)) :]
    return float(np.nanmean(late)) if not np.isnan(late).all() else math.nan


def _split(e: Experiment) -> str:
    if e.data.partition == "classes":
        return f"{e.data.classes_per_device} classes a device"
    return "i.i.d." if e.data.partition == "iid" else f"Dirichlet({e.data.alpha:g})"


def _overlap_points(runs: Sequence[Run]) -> dict[tuple[str, int, float], tuple[float, float]]:
    return _over_seeds(
        runs, _mean_overlap, lambda e: (_split(e), e.training.local_steps, e.scheme.global_sparsity)
    )


def _overlap(runs: Sequence[Run]) -> "Figure":
    """Overlap against φ[g], a line for each H, a panel for each split; dotted: masks by chance."""
    points = _overlap_points(runs)
    splits = sorted({k[0] for k in points}, reverse=True)
    figure, panels = canvas(4.2 * len(splits), 3.4, len(splits))
    for axes, split in zip(panels, splits, strict=True):
        steps = sorted({k[1] for k in points if k[0] == split})
        for colour, h in zip(COLOURS * len(steps), steps, strict=False):
            line = {k[2]: v for k, v in points.items() if k[:2] == (split, h)}
            mean, spread = np.array(list(line.values())).T
            bars = np.nan_to_num(spread)
            label = f"H = {h}"
            axes.errorbar(
                list(line), mean, bars, color=colour, marker="o", ms=4, capsize=2, label=label
            )
        shares = sorted({k[2] for k in points})
        chance = np.geomspace(shares[0], shares[-1])
        axes.plot(chance, chance, color=RULE, ls=":", lw=1.2, label="by chance")
        axes.set(xscale="log", ylim=(0, 1), title=split, xlabel="φ[g], share in the global mask")
        axes.set_xticks(shares, [f"{s:g}" for s in shares], minor=False)
        axes.minorticks_off()
    panels[0].set_ylabel("mask overlap with the last round")
    panels[-1].legend(loc="best")
    return figure


def _overlap_sheet(runs: Sequence[Run]) -> Sheet:
    rows = [
        (split, str(h), f"{share:g}", _pair(mean, spread, ".3f"))
        for (split, h, share), (mean, spread) in _overlap_points(runs).items()
    ]
    note = f"Mean over the rounds after the first {_BURN_IN:.0%}, ± standard deviation over seeds."
    return Sheet(("data", "H", "φ[g]", "mask overlap"), rows, [note])


def _budget(runs: Sequence[Run]) -> float:
    """Resource blocks at which a grid is read: the runs' own budget, or what all have reached."""
    budgets = {run.experiment.slots * run.experiment.radio.subchannels for run in runs}
    if len(budgets) == 1 and math.isfinite(budget := budgets.pop()):
        return budget
    used = [float(run.columns["resource_blocks"][-1]) for run in runs]
    return min((b for b in used if b > 0), default=math.inf)


def _grid_points(runs: Sequence[Run]) -> dict[tuple[str, float, float], tuple[float, float]]:
    budget = _budget(runs)
    return _over_seeds(
        runs,
        lambda run: 100.0 * accuracy_at(run.columns, budget),
        lambda e: (e.scheme.name, e.scheme.global_sparsity, e.scheme.local_sparsity),
    )


def _grid(runs: Sequence[Run]) -> "Figure":
    """Accuracy at an equal budget for each (φ[g], φ[l]), a panel for each scheme."""
    points = _grid_points(runs)
    schemes = list(dict.fromkeys(k[0] for k in points))
    across, down = sorted({k[1] for k in points}), sorted({k[2] for k in points})
    size = (1.0 + len(schemes) * (0.85 * len(across) + 0.8), 1.5 + 0.55 * len(down))
    figure, panels = canvas(*size, len(schemes))
    values = [v[0] for v in points.values()]
    low, high = min(values), max(values)
    for axes, scheme in zip(panels, schemes, strict=True):
        table = np.array(
            [[points.get((scheme, g, f), (math.nan, math.nan))[0] for g in across] for f in down]
        )
        image = axes.imshow(
            table, cmap="cividis", vmin=low, vmax=high, aspect="auto", origin="lower"
        )
        for y, x in np.argwhere(~np.isnan(table)):
            dark = table[y, x] < (low + high) / 2
            text = _pair(*points[scheme, across[x], down[y]], ".1f").replace(" ± ", "\n± ")
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color="wk"[not dark])
        axes.set_xticks(range(len(across)), [f"{g:g}" for g in across])
        axes.set_yticks(range(len(down)), [f"{f:g}" for f in down])
        axes.grid(False)
        axes.set(xlabel="φ[g]", ylabel="φ[l]", title=_SCHEMES.get(scheme, scheme))
    blocks = _budget(runs)
    figure.colorbar(image, ax=panels, label=f"accuracy (%) at {blocks:,.0f} blocks", shrink=0.9)
    return figure


def _grid_sheet(runs: Sequence[Run]) -> Sheet:
    heard = _over_seeds(
        runs,
        lambda run: run.columns["scheduled"][1:].mean() / run.experiment.training.devices,
        lambda e: (e.scheme.name, e.scheme.global_sparsity, e.scheme.local_sparsity),
    )
    rows = [
        (_SCHEMES.get(k[0], k[0]), f"{k[1]:g}", f"{k[2]:g}", _pair(*v, ".1f"), f"{heard[k][0]:.0%}")
        for k, v in _grid_points(runs).items()
    ]
    note = f"At {_budget(runs):,.0f} resource blocks; ± standard deviation over seeds."
    return Sheet(("scheme", "φ[g]", "φ[l]", "accuracy %", "devices heard"), rows, [note])


def _starvation_sheet(groups: Groups) -> Sheet:
    rows = []
    for label, runs in groups.items():
        heard = [run.columns["scheduled"][1:] for run in runs]
        tenth = [max(len(h) // 10, 1) for h in heard]
        pairs = list(zip(heard, tenth, strict=True))
        rows.append(
            (
                label,
                str(len(runs)),
                " ".join(sorted({f"{run.columns['round'][-1]:,}" for run in runs})),
                f"{np.mean([h[:t].mean() for h, t in pairs]):.1f}",
                f"{np.mean([h[-t:].mean() for h, t in pairs]):.1f}",
                f"{np.mean([100 * (h == 0).mean() for h in heard]):.0f} %",
                f"{np.mean([100 * accuracy_at(run.columns) for run in runs]):.1f}",
                f"{np.mean([run.columns['resource_blocks'][-1] for run in runs]):.3g}",
                ", ".join(sorted({str(r.summary.get("reason", "not finished")) for r in runs})),
            )
        )
    head = ("changed", "seeds", "rounds", "heard at first", "at last", "idle", "accuracy %")
    note = "Heard: mean devices over the first and the last tenth of the rounds. Idle: nobody."
    return Sheet((*head, "blocks", "stopped by"), rows, [note])


def _pair(mean: float, spread: float, form: str) -> str:
    return f"{mean:{form}}" + ("" if math.isnan(spread) else f" ± {spread:{form}}")


def check_kind(kind: str) -> str:
    """A study by its name."""
    if kind not in KINDS:
        raise BadInput(f"{shorten(kind)}: must be one of {', '.join(KINDS)}")
    return kind
