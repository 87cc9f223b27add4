"""Studies the paper does not have, drawn from the runs of a sweep."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from airfeel.analysis.criterion import Judge, budget, ended
from airfeel.analysis.groups import Groups, deciding, flat, peers, unique, varied
from airfeel.analysis.ranking import lines
from airfeel.analysis.series import column, final_accuracy, first_and_last, mean_and_spread
from airfeel.analysis.tables import Sheet
from airfeel.catalogue import Value
from airfeel.errors import BadInput, shorten
from airfeel.plotting import RULE, canvas
from airfeel.reports.maps import Axis, over_settings
from airfeel.reports.runs import find, read
from airfeel.reproduce.curves import essence
from airfeel.reproduce.figures import COLOURS, starvation_figure, write
from airfeel.settings.config import Experiment
from airfeel.storage.run import Run

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
_GRID = ("scheme.global_sparsity", "scheme.local_sparsity")
_OVERLAP = (
    *("data.partition", "data.classes_per_device", "data.alpha"),
    *("training.local_steps", "scheme.global_sparsity"),
)
_BURN_IN = 0.2  # of the rounds: masks of the first ones say little


def draw(
    kind: str, places: Sequence[Path], path: Path, judge: Judge | None = None
) -> tuple[Path, Sheet]:
    """The figure of a study (overlap, grid or starvation) and its numbers.

    Runs are put together where they differ in the seed alone; what else varies has panels and
    columns of its own.
    """
    runs = [read(folder) for folder in find(places)]
    groups = {str(i): mates for i, mates in enumerate(peers(runs)[0])}
    if kind == "overlap":
        return write(lambda: _overlap(groups), path), _overlap_sheet(groups)
    if kind == "grid":
        by = judge or _at_budget(groups)
        axis = Axis(*_GRID, names=_SYMBOLS | _SCHEMES)
        return write(lambda: over_settings(groups, by, axis), path), _grid_sheet(groups, by)
    named = by_difference(runs)
    return write(lambda: starvation_figure(named), path), _starvation_sheet(named)


def by_difference(runs: Sequence[Run]) -> Groups:
    """Runs by where they differ from what most of them have, such as `α = 4`; seeds together."""
    members = peers(runs)[0]
    every = [flat(essence(mates[0].experiment)) for mates in members for _ in mates]
    usual = {key: Counter(repr(f.get(key)) for f in every).most_common(1)[0][0] for key in every[0]}
    labels = []
    for mates in members:
        own = flat(essence(mates[0].experiment))
        differ = [key for key in usual if repr(own.get(key)) != usual[key]]
        labels.append(_words(differ, own) or "unchanged")
    for label in {x for x in labels if labels.count(x) > 1}:  # they differ in what no curve knows
        alike = [i for i, x in enumerate(labels) if x == label]
        differ = varied([members[i][0].experiment for i in alike])
        for i in alike:
            labels[i] += f" ({_words(differ, deciding(members[i][0].experiment))})"
    groups = dict(zip(unique(labels), members, strict=True))
    first = sorted(groups, key=lambda label: (not label.startswith("unchanged"), label))
    return {label: groups[label] for label in first}


def _words(keys: Sequence[str], own: Mapping[str, Value]) -> str:
    return ", ".join(f"{_SYMBOLS.get(k, k.partition('.')[2])} = {_short(own.get(k))}" for k in keys)


def _short(value: Value) -> str:
    if isinstance(value, int) and value >= 10_000:
        return f"{value:,}"
    return "none" if value is None else str(value)


def _besides(groups: Groups, axes: Sequence[str]) -> dict[str, str]:
    """What varies besides the axes of a study, in words for each group; empty for nothing."""
    own = {label: deciding(runs[0].experiment) for label, runs in groups.items()}
    vary = varied([runs[0].experiment for runs in groups.values()])
    rest = [key for key in vary if key not in axes]
    return {label: _words(rest, settings) for label, settings in own.items()}


def _early(groups: Groups) -> dict[str, str]:
    """Which runs of each group ended before their time."""
    return {line.label: line.early for line in lines(groups, Judge("final"))}


def _with(
    head: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    notes: Sequence[str],
    **columns: Mapping[str, str],
) -> Sheet:
    """A sheet, with those further columns that say anything."""
    said = {name.replace("_", " "): cells for name, cells in columns.items() if any(cells.values())}
    whole = [(*row, *(cells[label] for cells in said.values())) for label, row in rows.items()]
    return Sheet((*head, *said), whole, notes)


def _mean_overlap(run: Run) -> float:
    overlap = column(run, "mask_overlap")
    late = overlap[int(_BURN_IN * len(overlap)) :]
    return float(np.nanmean(late)) if not np.isnan(late).all() else math.nan


def _split(e: Experiment) -> str:
    if e.data.partition == "classes":
        return f"{e.data.classes_per_device} classes a device"
    return "i.i.d." if e.data.partition == "iid" else f"Dirichlet({e.data.alpha:g})"


def _overlap_points(groups: Groups) -> dict[str, tuple[str, int, float, float, float]]:
    """Panel, H, φ[g], and the mean overlap with its spread, of each group."""
    besides = _besides(groups, _OVERLAP)
    found = {}
    for label, runs in groups.items():
        e = runs[0].experiment
        panel = ", ".join(filter(None, (_split(e), besides[label])))
        values = mean_and_spread([_mean_overlap(run) for run in runs])
        found[label] = (panel, e.training.local_steps, e.scheme.global_sparsity, *values)
    return dict(sorted(found.items(), key=lambda item: item[1][:3]))


def _overlap(groups: Groups) -> "Figure":
    """Overlap against φ[g], a line for each H, a panel for each split; dotted: masks by chance."""
    points = list(_overlap_points(groups).values())
    splits = sorted({p[0] for p in points}, reverse=True)
    figure, panels = canvas(4.2 * len(splits), 3.4, len(splits))
    for axes, split in zip(panels, splits, strict=True):
        steps = sorted({p[1] for p in points if p[0] == split})
        for colour, h in zip(COLOURS * len(steps), steps, strict=False):
            share, mean, spread = np.array([p[2:] for p in points if p[:2] == (split, h)]).T
            bars = np.nan_to_num(spread)
            label = f"H = {h}"
            axes.errorbar(share, mean, bars, color=colour, marker="o", ms=4, capsize=2, label=label)
        shares = sorted({p[2] for p in points})
        chance = np.geomspace(shares[0], shares[-1])
        axes.plot(chance, chance, color=RULE, ls=":", lw=1.2, label="by chance")
        axes.set(xscale="log", ylim=(0, 1), title=split, xlabel="φ[g], share in the global mask")
        axes.set_xticks(shares, [f"{s:g}" for s in shares], minor=False)
        axes.minorticks_off()
    panels[0].set_ylabel("mask overlap with the last round")
    panels[-1].legend(loc="best")
    return figure


def _overlap_sheet(groups: Groups) -> Sheet:
    rows = {
        label: (_split(groups[label][0].experiment), str(h), f"{share:g}", _pair(mean, sd, ".3f"))
        for label, (_, h, share, mean, sd) in _overlap_points(groups).items()
    }
    note = f"Mean over the rounds after the first {_BURN_IN:.0%}, ± standard deviation over seeds."
    besides, early = _besides(groups, _OVERLAP), _early(groups)
    head = ("data", "H", "φ[g]", "mask overlap")
    return _with(head, rows, [note], besides=besides, ended_early=early)


def _at_budget(groups: Groups) -> Judge:
    """A grid is read at the budget that all its runs were given, else where all have been."""
    budgets = {budget(run) for runs in groups.values() for run in runs}
    return (
        Judge("blocks", budgets.pop()) if len(budgets) == 1 and max(budgets) < math.inf else Judge()
    )


def _grid_sheet(groups: Groups, judge: Judge) -> Sheet:
    by = judge.settled(groups)
    rows = {}
    for line in lines(groups, by):
        e = groups[line.label][0].experiment.scheme
        some = f" ({line.there} of {line.seeds} runs)" if line.there < line.seeds else ""
        rows[line.label] = (
            _SCHEMES.get(e.name, e.name),
            f"{e.global_sparsity:g}",
            f"{e.local_sparsity:g}",
            by.show(line.score, line.score_spread) + some,
            f"{line.scheduled:.0%}",
        )
    order = sorted(rows, key=lambda label: _place(groups[label][0].experiment))
    head = ("scheme", "φ[g]", "φ[l]", by.head, "devices heard")
    note = "± standard deviation over seeds; – where no run got there."
    besides, early = _besides(groups, ("scheme.name", *_GRID)), _early(groups)
    return _with(head, {k: rows[k] for k in order}, [note], besides=besides, ended_early=early)


def _place(e: Experiment) -> tuple[str, float, float]:
    return e.scheme.name, e.scheme.global_sparsity, e.scheme.local_sparsity


def _starvation_sheet(groups: Groups) -> Sheet:
    rows = []
    for label, runs in groups.items():
        heard = [run.columns["scheduled"][1:] for run in runs]
        first, last = np.mean([first_and_last(run, "scheduled") for run in runs], axis=0)
        rows.append(
            (
                label,
                str(len(runs)),
                " ".join(sorted({f"{run.columns['round'][-1]:,}" for run in runs})),
                f"{first:.1f}",
                f"{last:.1f}",
                f"{np.mean([100 * (h == 0).mean() for h in heard]):.0f} %",
                f"{np.mean([100 * final_accuracy(run) for run in runs]):.1f}",
                f"{np.mean([run.columns['resource_blocks'][-1] for run in runs]):.3g}",
                ", ".join(sorted({ended(r) for r in runs})),
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
