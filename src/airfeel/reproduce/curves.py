"""The paper's curves: settings from the package, and which stored runs belong to them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from airfeel import regular
from airfeel.catalogue import Value
from airfeel.errors import BadInput, shorten
from airfeel.reports.runs import read
from airfeel.settings.config import Experiment
from airfeel.settings.fields import Changes
from airfeel.settings.load import load
from airfeel.settings.paper import CURVES
from airfeel.settings.preset_names import BARE
from airfeel.settings.relevance import settings_that_decide
from airfeel.storage.run import Run

_NAMES = {"tcs-h": "TCS-H", "tcs-d": "TCS-D", "top-k": "Top-K", "fedavg": "FedAvg"}
_IID = ("iid-tcs-h", "iid-tcs-d", "iid-top-k", "iid-tcs-h-wide", "iid-tcs-h-thin", "iid-fedavg")
_NONIID = ("noniid-tcs-h", "noniid-tcs-d", "noniid-top-k", "noniid-fedavg")
_SPARSE = ("noniid-sparse-tcs-h", "noniid-sparse-tcs-d", "noniid-sparse-top-k")
# In the order in which they run: what most claims rest on comes first.
SETS: dict[str, tuple[str, ...]] = {
    "iid": _IID,
    "noniid": _NONIID,
    "sparse": _SPARSE,
    "bits": ("iid-tcs-h", "iid-tcs-h-q8", "iid-tcs-h-thin", "iid-tcs-h-thin-q4"),
    "all": (*_NONIID, *_IID, *_SPARSE),
}

Found = dict[str, list[Run]]  # runs by the name of their curve, each seed once


@dataclass(frozen=True)
class Curve:
    """One curve of the paper, or one beside it."""

    name: str
    experiment: Experiment

    @property
    def rounds(self) -> int:
        """As many rounds as the paper ran."""
        return int(self.experiment.training.rounds or 0)

    @property
    def label(self) -> str:
        """As in the paper's legends, such as TCS-H (0.2, 0.05)."""
        scheme = self.experiment.scheme
        if scheme.name == "fedavg":
            return "FedAvg (free)"
        bits = "" if scheme.bits == 16 else f", q = {scheme.bits}"
        name = _NAMES[scheme.name]
        return f"{name} ({scheme.global_sparsity:g}, {scheme.local_sparsity:g}{bits})"


def curves(bare: bool = False) -> dict[str, Curve]:
    """Every curve by its name; `bare` takes the paper's stated settings alone, without a recipe."""
    return {name: Curve(name, load(f"{name}{BARE}" if bare else name)) for name in CURVES}


def pick(which: str, only: Sequence[str] = (), bare: bool = False) -> list[Curve]:
    """The curves of a set, or those named in `only`."""
    by_name = curves(bare)
    for name in only:
        if name not in by_name:
            raise BadInput(f"--only {shorten(name)}: must be one of {', '.join(by_name)}")
    return [by_name[name] for name in only or SETS[which]]


def match(places: Iterable[Path], wanted: Iterable[Curve]) -> tuple[Found, list[Run]]:
    """Stored runs by curve, and those that belong to none or of which a longer one is there.

    A run belongs to a curve if it differs in nothing but the seed, how long it is, how often it
    looks, and where and how fast it is computed.
    """
    by_settings = {repr(essence(c.experiment)): c.name for c in wanted}
    stored: Found = {}
    spare = []
    for run in sorted(_read_begun(places), key=lambda r: -int(r.columns["round"][-1])):
        name = by_settings.get(repr(essence(run.experiment)))
        mates = stored.setdefault(name, []) if name else []
        if name is None or any(_seed(run) == _seed(mate) for mate in mates):
            spare.append(run)
        else:
            mates.append(run)
    return {name: sorted(runs, key=_seed) for name, runs in stored.items()}, spare


def essence(e: Experiment) -> dict[str, dict[str, Value]]:
    """What decides a curve: the settings that define the experiment and that its scheme knows."""
    table = settings_that_decide(e, but=tuple(Changes))
    table["run"] = {"rounded memory": e.run.memory == "bfloat16"}
    scheme, radio = table["scheme"], table["radio"]
    if e.scheme.name == "fedavg":
        table |= {"scheme": {"name": "fedavg"}, "radio": {}, "budget": {}}
    elif e.scheme.name == "tcs-h":
        scheme["scheduler"] = e.scheme.scheduler or "power"
        if scheme["scheduler"] in ("power", "all", "thrifty"):
            scheme.pop("scheduled")
    else:
        scheme |= {"scheduler": e.scheme.scheduler or "random", "scheduled": e.scheduled}
        radio.pop("power_scalar")
        radio.pop("alpha")
    return table


def _read_begun(places: Iterable[Path]) -> list[Run]:
    """The runs that have played a round, among some folders or directly inside them."""
    folders: dict[Path, Path] = {}
    for place in places:
        if not place.is_dir():
            raise BadInput(f"{place}: must be a run's folder, or a folder that holds some")
        inside = sorted(path.parent for path in place.glob("*/rounds.csv"))
        for folder in [place] if (place / "rounds.csv").is_file() else inside:
            folders.setdefault(folder.resolve(), folder)
    return [read(folder) for folder in folders.values() if _begun(folder)]


def _begun(folder: Path) -> bool:
    with regular.opened(folder / "rounds.csv") as file:
        return sum(1 for _ in file) > 2


def _seed(run: Run) -> int:
    return run.experiment.run.seed
