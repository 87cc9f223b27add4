"""What computed the runs: the same seed gives the same bytes on one backend with its kernels."""

from airfeel.analysis import series
from airfeel.analysis.groups import Groups
from airfeel.storage.run import Run

_UNKNOWN = "an unknown backend"
_RULE = "the same seed gives the same bytes on one backend, its kernels and instructions only"


def backend(run: Run) -> str:
    """The backend of a run in words, with its kernels where they are on record."""
    return series.computed_by(run) or str(run.summary.get("backend") or _UNKNOWN)


def computed_by(groups: Groups) -> list[str]:
    """Sentences: by what the runs were computed, and which runs differ in it."""
    every = dict.fromkeys(backend(run) for runs in groups.values() for run in runs)
    return [f"Computed by {'; '.join(every)}: {_RULE}.", *series.not_alike(groups)]
