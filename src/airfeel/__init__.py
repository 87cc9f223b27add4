"""airfeel: over-the-air federated edge learning.

A name is imported when it is first used: `import airfeel` alone loads neither PyTorch nor SciPy.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airfeel.api import Comparison, compare, open, report, sweep
    from airfeel.runs.runner import resume, run
    from airfeel.schemes import SCHEMES, Settings
    from airfeel.settings.config import Experiment
    from airfeel.settings.load import load
    from airfeel.storage.run import Run
    from airfeel.streams import Streams
    from airfeel.types import (
        BadInput,
        Dataset,
        Fading,
        Plan,
        Received,
        Report,
        Scheme,
        State,
        World,
    )
    from airfeel.version import VERSION as __version__

_HOMES = {
    "SCHEMES": "airfeel.catalogues",
    "BadInput": "airfeel.errors",
    "Comparison": "airfeel.api",
    "Dataset": "airfeel.types",
    "Experiment": "airfeel.settings.config",
    "Fading": "airfeel.types",
    "Plan": "airfeel.types",
    "Received": "airfeel.types",
    "Report": "airfeel.types",
    "Run": "airfeel.runs.runner",
    "Scheme": "airfeel.types",
    "Settings": "airfeel.schemes",
    "State": "airfeel.types",
    "Streams": "airfeel.streams",
    "World": "airfeel.types",
    "compare": "airfeel.api",
    "load": "airfeel.settings.load",
    "open": "airfeel.api",
    "report": "airfeel.api",
    "resume": "airfeel.runs.runner",
    "run": "airfeel.runs.runner",
    "sweep": "airfeel.api",
}

__all__ = [
    "SCHEMES",
    "BadInput",
    "Comparison",
    "Dataset",
    "Experiment",
    "Fading",
    "Plan",
    "Received",
    "Report",
    "Run",
    "Scheme",
    "Settings",
    "State",
    "Streams",
    "World",
    "__version__",
    "compare",
    "load",
    "open",
    "report",
    "resume",
    "run",
    "sweep",
]

if not TYPE_CHECKING:  # a checker is to know these names alone

    def __getattr__(name: str) -> Any:
        """What a name stands for, or the module of that name: `airfeel.data` needs no import."""
        if name == "__version__":
            return importlib.import_module("airfeel.version").VERSION
        if name in _HOMES:
            found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
            return found
        if not name.startswith("_") and importlib.util.find_spec(f"{__name__}.{name}"):
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
