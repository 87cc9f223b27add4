"""One side of the comparison: carries runs out with the airfeel of a given source, one by one.

python side.py SOURCE PLAN RESULTS, with PYTHONPATH=SOURCE. PLAN is a list of {do, table, folder};
RESULTS becomes {folder: {name, error, warnings}}. Only what both sides have is used of airfeel.
"""

import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

STOP_AFTER, CHECKPOINT_EVERY = 3, 2  # rounds
LATER = {"Starving"}  # kinds of warnings that the former commit does not know
PATIENCE = 600.0  # seconds that a run to be resumed may keep the other side waiting


class Stopped(Exception):
    """A run was cut off on purpose."""


class Stopper:
    """Cuts a run off one round after a checkpoint."""

    def begin(self, experiment: object, world: object) -> None:
        pass

    def row(self, row: dict[str, Any]) -> None:
        if row["round"] == STOP_AFTER:
            raise Stopped

    def end(self, summary: object) -> None:
        pass


def carry_out(do: str, table: dict[str, Any], folder: Path) -> str:
    """Do what is asked: run, stop or resume; returns the name that the run's folder would have."""
    import airfeel

    experiment, folder_of = _from_airfeel()
    e = experiment(table)
    if do == "resume":
        wait_for(stopped(folder))
        airfeel.resume(folder)
    elif do == "run":
        airfeel.run(e, out=folder)
    else:
        try:
            airfeel.run(e, out=folder, watchers=[Stopper()])
        except Stopped:
            pass
        else:
            raise AssertionError("ended before it was stopped")
    return folder_of(Path(), e.scheme.name, e).name


def _from_airfeel() -> tuple[Any, Any]:
    """What makes an experiment, and its folder's name: their modules were renamed."""
    try:
        from airfeel.settings.load import experiment
        from airfeel.sweeps.compare import folder_of
    except ModuleNotFoundError:
        former = (importlib.import_module(f"airfeel.experiment.{m}") for m in ("load", "compare"))
        load, compare = former
        return load.experiment, compare.folder_of
    return experiment, folder_of


def stopped(folder: Path) -> Path:
    """The file that says that a run will not go on by itself."""
    return folder.with_suffix(".stopped")


def wait_for(path: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{path} does not appear")
        time.sleep(0.05)


def outcome(do: str, table: dict[str, Any], folder: str) -> dict[str, Any]:
    """What came of it, a failure too: the other side may fail in the same way."""
    found: dict[str, Any] = {"name": None, "error": None}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found["name"] = carry_out(do, table, Path(folder))
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"
    if do == "stop":
        stopped(Path(folder)).touch()
    kept = [warning for warning in said if warning.category.__name__ not in LATER]
    return found | {"warnings": [str(warning.message) for warning in kept]}


def main(source: str, plan: str, results: str) -> None:
    import airfeel

    assert Path(str(airfeel.__file__)).is_relative_to(source), f"{airfeel.__file__} was imported"
    items = json.loads(Path(plan).read_text("utf-8"))
    found = {item["folder"]: outcome(**item) for item in items}
    Path(results).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
