"""What the bytes of a run come from: the settings that decide, and what has computed its rounds.

The same settings give the same bytes for one arithmetic: a backend, the kernels that were there,
and the CPU's instructions. Both go into facts.json and into every checkpoint, so that a run is not
gone on with by another one in silence.
"""

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from airfeel import regular
from airfeel.build.setup import Setup
from airfeel.catalogue import Table, Value
from airfeel.compression.native import KERNEL as COMPRESS
from airfeel.radio.native import KERNEL as RADIO
from airfeel.settings.config import Experiment
from airfeel.settings.relevance import Tables, settings_that_decide
from airfeel.storage.checksums import is_step
from airfeel.training.native import KERNEL as LEARN
from airfeel.types import BadInput

Arithmetic = dict[str, str | int | None]  # backend, kernels by their digests, cpu, from_round
_KERNELS = ("learn", "compress", "radio")
_ABSENT = "absent"


def arithmetic(setup: Setup) -> Arithmetic:
    """What computes a run here: the backend, digests of the kernels (None: not there), the CPU."""
    backend = getattr(getattr(setup.scheme.learn, "backend", None), "name", None)
    return {
        "backend": backend,
        "learn": LEARN.digest if backend == "native" else None,
        "compress": COMPRESS.digest,
        "radio": RADIO.digest,
        "cpu": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
    }


@dataclass(frozen=True)
class Origin:
    """A run's settings, and its arithmetic: another entry from each round on that changed it."""

    settings: Tables
    arithmetic: tuple[Arithmetic, ...]

    def as_facts(self) -> Table:
        """For facts.json and checkpoints."""
        return {"settings": self.settings, "arithmetic": list(self.arithmetic)}

    def check(self, e: Experiment, where: Path) -> None:
        """Refuse settings that are not those of the run; `where` says which file knows better."""
        difference = changed(self.settings, settings_that_decide(e))
        if difference:
            raise BadInput(
                f"{where.parent / 'config.toml'}: is not what {where.name} was made with: "
                f"{difference}"
            )


def from_facts(facts: Table) -> Origin | None:
    """The origin among stored facts; None in those of an older version."""
    settings, steps = facts.get("settings"), facts.get("arithmetic")
    if not isinstance(settings, dict) or not isinstance(steps, list) or not steps:
        return None
    if not all(isinstance(each, dict) for each in settings.values()) or not all(
        map(is_step, steps)
    ):
        return None
    return Origin(settings, tuple(steps))


def stored_facts(folder: Path) -> Table:
    """What a run's facts.json tells; empty where it cannot be read."""
    try:
        facts = json.loads(regular.text(folder / "facts.json"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def read(folder: Path) -> Origin | None:
    """The origin that a run's facts.json tells; None where it tells none."""
    return from_facts(stored_facts(folder))


def backend(known: Origin | None) -> str | None:
    """The backend that computed the last rounds, where that is known."""
    last = known.arithmetic[-1].get("backend") if known else None
    return None if last is None else str(last)


def changed(recorded: Tables, here: Tables) -> str | None:
    """The first setting that differs between two tables, with both values; None if none does.

    >>> changed({"run": {"seed": 1}}, {"run": {"seed": 2}})
    'run.seed = 2, was 1'
    """
    for section in recorded | here:
        was, now = recorded.get(section, {}), here.get(section, {})
        for key in was | now:
            if was.get(key) != now.get(key):
                return f"{section}.{key} = {_short(now.get(key))}, was {_short(was.get(key))}"
    return None


def gone_on(
    past: Origin | None, here: Arithmetic, round: int, *, allow: bool, folder: Path
) -> tuple[Arithmetic, ...]:
    """The arithmetic of a run that goes on here after `round`; refused where it is another.

    allow: take the other one up instead, as an entry of its own.
    """
    steps = past.arithmetic if past else ()
    now: Arithmetic = dict(sorted({"from_round": round, **here}.items()))  # as checkpoints have it
    if not steps:
        return (now,)
    last = steps[-1]
    differing = [key for key in here if last.get(key) != here[key]]
    if not differing:
        return steps
    if not allow:
        key = differing[0]
        raise BadInput(
            f"{folder}: was computed with {key} = {last.get(key) or _ABSENT}, which here is "
            f"{here[key] or _ABSENT}: other last digits; airfeel resume --allow-other-backend "
            f"{folder} goes on all the same, and marks the run"
        )
    return (*steps, now)


def in_words(steps: Sequence[Arithmetic]) -> str:
    """What has computed a run, for people.

    >>> in_words([{"from_round": 0, "backend": "torch", "radio": "1f", "cpu": "x86_64 AVX2"}])
    'torch (radio 1f) on x86_64 AVX2'
    """
    words = []
    for step in steps:
        kernels = [f"{name} {step[name]}" for name in _KERNELS if step.get(name)]
        built = f" ({', '.join(kernels) or 'no compiled kernel'})" if "cpu" in step else ""
        place = f" on {step['cpu']}" if "cpu" in step else ""
        words.append(f"{step.get('backend')}{built}{place}")
    later = [f", from round {s['from_round']} on {w}" for s, w in zip(steps, words, strict=True)]
    return "".join([*words[:1], *later[1:]])


def _short(value: Value) -> str:
    text = "unset" if value is None else str(value)
    return text if len(text) <= 60 else text[:59] + "…"
