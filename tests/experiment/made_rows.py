"""Folders of made-up runs of the paper's curves: rows without training."""

import json
import math
from pathlib import Path

from airfeel.reproduce.curves import curves
from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.settings.relevance import as_toml
from airfeel.storage.rows import round_line

SLOTS = {"tcs-h": (2072, 20000), "tcs-d": (0, 80000), "top-k": (0, 138000), "fedavg": (0, 0)}


def made_rows(rounds, *, top=0.8, speed=100.0, heard=13.0, air=0, digital=0, every=10, need=0.5):
    """Rows whose accuracy climbs towards `top`; `heard` may be a function of the round."""
    rows, blocks = [], 0
    for t in range(rounds + 1):
        count = round(heard(t) if callable(heard) else heard)
        slots = (air + digital) if t and count else 0
        blocks += 25 * slots
        row = dict.fromkeys(ROUND_COLUMNS, 0.0) | {"round": t, "scheduled": count, "slots": slots}
        row |= {"slots_air": air, "slots_digital": digital, "resource_blocks": blocks}
        row |= {"needed_median": need * (1 + t / 100), "budget_median": 1.0, "dropped": 0}
        row |= {"mask_overlap": math.nan if t < 2 else 0.8, "bits": 0, "seconds": 1.0}
        known = t % every == 0 or t == rounds
        climb = 1.0 - math.exp(-t / speed)
        row["test_accuracy"] = 0.1 + (top - 0.1) * climb if known else math.nan
        rows.append(row)
    return rows


def made_run(folder: Path, name: str, rounds: int, seed: int = 0, *, reason=None, **how) -> Path:
    """A stored run of a curve; finished if a reason is given. More words are for `made_rows`."""
    e = curves()[name].experiment
    changed = {"run": e.run.model_copy(update={"seed": seed, "threads": 1})}
    changed["training"] = e.training.model_copy(update={"rounds": rounds})
    air, digital = SLOTS[e.scheme.name]
    rows = made_rows(rounds, **({"air": air, "digital": digital, "every": e.run.eval_every} | how))
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(as_toml(e.model_copy(update=changed)), "utf-8")
    text = ",".join(ROUND_COLUMNS) + "\n" + "".join(map(round_line, rows))
    (folder / "rounds.csv").write_text(text, "utf-8")
    if reason:
        (folder / "summary.json").write_text(json.dumps({"reason": reason, "rounds": rounds}))
    return folder
