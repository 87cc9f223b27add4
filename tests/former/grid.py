"""The runs that are compared: with every scheme every pair of values of any two settings."""

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from pairs import Run, Value, cover

Table = dict[str, dict[str, Any]]

ROUNDS = 6
SCHEMES = ("tcs-h", "tcs-d", "top-k", "fedavg")
SCHEDULERS = ("power", "random", "round-robin", "best-channel", "proportional-fair", "all")
ALLOCATORS = ("paper", "equal-power", "exchange", "exact", "sum-rate", "round-robin")
SIZES = {"more": (8, 4), "as many": (6, 6), "fewer": (6, 9)}  # devices than sub-channels: N, M
SLOTS = {"mlp": 1500, "logistic": 1500, "small-cnn": 30_000, "linear": 200}  # for a few rounds


def _each(section: str, key: str, *values: object) -> dict[str, Table]:
    return {str(value): {section: {key: value}} for value in values}


# What each value of a factor sets. The first of a factor goes without saying in a run's name.
FACTORS: dict[str, dict[str, Table]] = {
    "scheme": _each("scheme", "name", *SCHEMES),
    "scheduler": {"unset": {}} | _each("scheme", "scheduler", *SCHEDULERS, "thrifty"),
    "allocator": _each("radio", "allocator", *ALLOCATORS),
    "size": {
        size: {"training": {"devices": n}, "radio": {"subchannels": m}}
        for size, (n, m) in SIZES.items()
    },
    "model": _each("model", "name", *SLOTS),
    "data": {
        "digits": {"data": {"dataset": "digits"}},
        "synthetic": {"data": {"dataset": "synthetic", "classes": 4, "shape": [2, 5, 6]}},
        "regression": {"data": {"dataset": "synthetic", "classes": 0}},
    },
    "partition": _each("data", "partition", "iid", "classes", "dirichlet"),
    "backend": _each("training", "backend", "auto", "native", "torch", "stacked"),
    "dtype": _each("training", "dtype", "float32", "float64"),
    "steps": _each("training", "local_steps", 3, 1),
    "rate": {"one": {}, "each": {"training": {"learning_rate": [0.1, 0.1, 0.05, 0.05, 0.1, 0.2]}}},
    # The kernel has dropout since a later commit than the one that results are compared with.
    "dropout": _each("model", "dropout", 0.0)
    | {"0.3": {"model": {"dropout": 0.3}, "training": {"backend": "torch"}}},
    "masks": {
        "both": {"scheme": {"global_sparsity": 0.2, "local_sparsity": 0.05}},
        "global": {"scheme": {"global_sparsity": 0.1, "local_sparsity": 0.0}},
        "local": {"scheme": {"global_sparsity": 0.0, "local_sparsity": 0.1}},
        "whole": {"scheme": {"global_sparsity": 0.75, "local_sparsity": 0.25}},
    },
    "bits": _each("scheme", "bits", 16, 4, 32),
    "strict": _each("scheme", "strict_bits", False, True),
    "fading": {"rayleigh": {}}
    | _each("radio", "fading", "none", "rician")
    | {"trace": {"radio": {"fading": "trace", "trace": ""}}},
    "devices": {"alike": {}, "unlike": {"radio": {"mean_gain": [1.0, 0.1, 2.0]}}},
    "alpha": {"1": {}, "2": {"radio": {"alpha": 2.0}}, "each": {"radio": {"alpha": [1.0, 5.0]}}},
    "power": {
        "scarce": {"radio": {"power": 5e-3, "power_scalar": 1.5}},
        "ample": {"radio": {"power": 1.0, "power_scalar": 0.5}},
        "each": {"radio": {"power": [1e-3, 0.1], "power_scalar": [1.0, 2.0, 3.0, 1.0, 0.5, 9.0]}},
    },
    "budget": {"none": {}, "slots": {"budget": {"slots": 1}}}
    | {"blocks": {"budget": {"resource_blocks": 1}}},
    "memory": _each("run", "memory", "ram", "bfloat16", "file"),
    "threads": _each("run", "threads", 2, 1),
    "look": _each("run", "eval_every", 1, 4),
}

# Values that cannot be in one run, or of which one would do nothing beside the other.
_CONFLICTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (  # factor and values, twice
    (("backend", "native"), ("dtype", "float64")),
    (("backend", "native"), ("data", "regression")),
    (("backend", "native"), ("model", "linear")),
    (("backend", "native", "stacked"), ("dropout", "0.3")),
    (("model", "linear"), ("data", "digits", "synthetic")),
    (("model", "logistic", "small-cnn"), ("data", "regression")),
    (("partition", "classes", "dirichlet"), ("data", "regression")),
    (("partition", "classes", "dirichlet"), ("model", "linear")),
    (("dropout", "0.3"), ("model", "logistic", "linear")),
)

# Beside the pairs, for every scheme: what would end a run early, or leave it nothing to do.
CORNERS: dict[str, Table] = {
    "starved": {"radio": {"power": 1e-13}, "run": {"idle_limit": 3}},
    "reckless": {"radio": {"alpha": 1e3, "power_scalar": 4.0}, "budget": {"slots": 2000}},
    "silent": {"radio": {"fading_scale": 1e-170}, "run": {"idle_limit": 3}},
    "diverging": {"training": {"learning_rate": [0.1, 0.1, 1e30, 0.1, 0.1, 0.1]}},
    "target": {"budget": {"target_accuracy": 0.4}, "training": {"learning_rate": 0.2}},
    "convergence": {"budget": {"convergence": 0.05}},
    "zeros": {"model": {"init": "zeros"}},
    "xavier": {"model": {"init": "xavier"}, "data": {"standardise": False}},
}


def conflict(v: Value, w: Value) -> bool:
    """Whether two values cannot be in one run."""
    return any(
        (a[0], b[0]) == (x[0], y[0]) and x[1] in a[1:] and y[1] in b[1:]
        for a, b in _CONFLICTS
        for x, y in ((v, w), (w, v))
    )


def covering() -> Iterator[Run]:
    """The covering array of all other factors, each of its runs with every scheme."""
    factors = {name: list(values) for name, values in FACTORS.items() if name != "scheme"}
    for run in cover(factors, conflict):
        yield from ({"scheme": scheme} | run for scheme in SCHEMES)


def corners() -> list[Run]:
    """Every corner with every scheme."""
    return [{"scheme": scheme, "corner": corner} for corner in CORNERS for scheme in SCHEMES]


def name(run: Run) -> str:
    """What is unusual about a run, in one line."""
    usual = {factor: next(iter(values)) for factor, values in FACTORS.items() if factor != "scheme"}
    return " ".join(f"{k}={v}" for k, v in run.items() if v != usual.get(k))


def table(run: Run, traces: Path) -> Table:
    """The settings of a run; `traces` is a folder with the file of gains for each size."""
    run = {factor: next(iter(values)) for factor, values in FACTORS.items()} | run
    made: Table = {
        "data": {"samples": 300, "test_samples": 60},
        "model": {"hidden": 8},
        "training": {"rounds": ROUNDS, "batch_size": 8, "learning_rate": 0.1},
        "radio": {"allocator_seconds": 1e6},  # never reached: where it is, the clock decides
        "run": {"seed": 5},
    }
    corner = CORNERS.get(run.pop("corner", ""), {})
    for part in (*(FACTORS[factor][value] for factor, value in run.items()), corner):
        for section, keys in part.items():
            made.setdefault(section, {}).update(keys)
    return _fitted(made, run, traces) if not corner else made


def _fitted(made: Table, run: Run, traces: Path) -> Table:
    """Lists as long as there are devices, and budgets that last for some rounds."""
    n, m = SIZES[run["size"]]
    radio, budget = made["radio"], made.get("budget", {})
    for key in radio.keys() & {"alpha", "power", "mean_gain"}:
        if isinstance(radio[key], list):
            radio[key] = list(islice(cycle(radio[key]), n))
    if "trace" in radio:
        radio["trace"] = str(traces / f"{n}x{m}.npy")
    for key, factor in (("slots", 1), ("resource_blocks", m)):
        if key in budget:
            budget[key] = SLOTS[run["model"]] * factor
    return made


def write_traces(folder: Path) -> None:
    """Four rounds of gains for each size; in one of them a device has no channel at all."""
    for n, m in SIZES.values():
        gains = np.random.default_rng(n * m).rayleigh(size=(4, n, m))
        gains[1, 2] = 0.0
        np.save(folder / f"{n}x{m}.npy", gains)
