"""airfeel: over-the-air federated edge learning."""

from airfeel.experiment.config import Experiment
from airfeel.experiment.load import load
from airfeel.experiment.runner import Run, resume, run
from airfeel.experiment.store import VERSION as __version__
from airfeel.schemes import SCHEMES, Settings
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

__all__ = [
    "SCHEMES",
    "BadInput",
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
    "load",
    "resume",
    "run",
]
