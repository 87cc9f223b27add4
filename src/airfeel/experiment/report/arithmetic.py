"""What computed the runs: the same seed gives the same bytes on one backend with its kernels."""

import json
from collections.abc import Sequence

from airfeel.experiment.groups import Groups, seed_of
from airfeel.experiment.runner import Run

_UNKNOWN = "an unknown backend"
_RULE = "the same seed gives the same bytes on one backend, its kernels and instructions only"


def backend(run: Run) -> str:
    """The backend of a run in words, with its kernels where they are on record."""
    steps = _steps(run)
    if not steps:
        return str(run.summary.get("backend") or _UNKNOWN)
    return ", then ".join(dict.fromkeys(map(_words, steps)))


def computed_by(groups: Groups) -> list[str]:
    """Sentences: by what the runs were computed, and where runs of one group differ in it."""
    found = {label: {seed_of(r): backend(r) for r in runs} for label, runs in groups.items()}
    every = list(dict.fromkeys(b for own in found.values() for b in own.values()))
    if len(every) == 1:
        return [f"Computed by {every[0]}: {_RULE}."]
    sentences = [f"Computed by {'; '.join(every)}: {_RULE}."]
    for label, own in found.items():
        if len(set(own.values())) > 1:
            by = [f"{b} (seeds {_seeds(own, b)})" for b in dict.fromkeys(own.values())]
            sentences.append(f"{label} was computed by {' and by '.join(by)}.")
    return sentences


def _seeds(own: dict[int, str], by: str) -> str:
    return ", ".join(str(s) for s, b in own.items() if b == by)


def _steps(run: Run) -> Sequence[dict[str, object]]:
    """What facts.json says of the arithmetic: an entry from each round on that changed it."""
    if run.folder is None:
        return []
    try:
        facts = json.loads((run.folder / "facts.json").read_text("utf-8"))
        return [step for step in facts["arithmetic"] if isinstance(step, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _words(step: dict[str, object]) -> str:
    """A backend, the kernels that were there, and the CPU's instructions."""
    kernels = [f"{k} {str(step[k])[:6]}" for k in ("learn", "compress", "radio") if step.get(k)]
    beside = [f"kernels {', '.join(kernels)}" if kernels else "no kernels"]
    beside += [str(step["cpu"])] if step.get("cpu") else []
    return f"{step.get('backend') or _UNKNOWN} ({'; '.join(beside)})"
