"""What was run: the settings that all groups share, those that differ, and how to repeat it."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups, deciding, flat, varied
from airfeel.catalogue import Value
from airfeel.settings.relevance import as_table
from airfeel.storage import provenance
from airfeel.storage.run import Run

Pairs = list[tuple[str, str]]  # a word, and its value

# What a reader asks for first, by the words that stand for a setting.
_WORDS = {
    "data.dataset": "data set",
    "data.partition": "partition",
    "model.name": "model",
    "training.devices": "devices N",
    "radio.subchannels": "sub-channels M",
    "training.local_steps": "local steps H",
    "training.batch_size": "batch size B",
    "training.learning_rate": "learning rate η",
    "training.rounds": "rounds, at most",
    "budget.slots": "slots C, at most",
    "budget.resource_blocks": "resource blocks, at most",
    "scheme.name": "scheme",
    "scheme.global_sparsity": "global mask φ[g]",
    "scheme.local_sparsity": "local mask φ[l]",
    "scheme.bits": "bits per value q",
    "radio.power_scalar": "power scalar σ_t",
    "radio.power": "power P̄ [W]",
    "radio.noise": "noise σ0² [W]",
    "radio.fading": "fading",
    "radio.allocator": "allocator",
}


@dataclass(frozen=True)
class Ran:
    """Settings in words: of all groups, of each, the rest; where they ran; how to repeat them."""

    shared: Pairs
    differing: list[str]  # settings, by their words
    by_group: dict[str, list[str]]  # their values in each group
    rest: Pairs
    where: Pairs
    commands: list[str]


def what_was_run(groups: Groups, judge: Judge | None = None) -> Ran:
    """Read from the settings and facts.json of the runs themselves; `judge` decided."""
    first = [runs[0].experiment for runs in groups.values()]
    own = any(":" in e.scheme.name for e in first)  # else every table names the scheme anyhow
    differ = [key for key in varied(first) if own or key != "scheme.name"]
    every = flat(as_table(first[0], exclude_none=False))
    aside = {*differ, "run.seed", *([] if own else ["scheme.name"])}
    same = {k: v for k, v in every.items() if k not in aside}
    shared = [(word, shown(same[key])) for key, word in _WORDS.items() if _told(same, key)]
    sizes = sorted({str(d) for runs in groups.values() for run in runs if (d := size(run))})
    shared += [("parameters d", " or ".join(sizes))] * bool(sizes)
    return Ran(
        shared=[*shared, ("seeds", _seeds(groups))],
        differing=[_WORDS.get(key, key) for key in differ],
        by_group={
            label: [shown(deciding(runs[0].experiment).get(key)) for key in differ]
            for label, runs in groups.items()
        },
        rest=[(key, shown(value)) for key, value in same.items() if key not in _WORDS],
        where=_where([run for runs in groups.values() for run in runs]),
        commands=commands(groups, judge or Judge()),
    )


def size(run: Run) -> str:
    """The parameters of a run's model, where that is on record."""
    dim = run.summary.get("dim")
    return f"{dim:,}" if isinstance(dim, int) else ""


def shown(value: Value) -> str:
    """A setting's value as a page has it; long lists are cut.

    >>> shown({"name": "rician", "factor": 3.0}), shown(None), shown(True), shown([1, 2])
    ('rician (factor=3.0)', '–', 'yes', '1, 2')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        own = ", ".join(f"{k}={shown(v)}" for k, v in value.items() if k != "name")
        return f"{value.get('name', '')}{f' ({own})' * bool(own)}".strip() or "–"
    if isinstance(value, list | tuple):
        some = [shown(each) for each in value[:6]]
        return ", ".join(some) + (f", … ({len(value)})" if len(value) > 6 else "") or "–"
    return str(value)


def commands(groups: Groups, judge: Judge) -> list[str]:
    """What repeats the runs: one comparison where all groups have the same seeds, else one each."""
    by_seeds: dict[str, list[str]] = {}
    for runs in groups.values():
        if all(run.folder for run in runs):
            path = Path(runs[0].folder or ".") / "config.toml"
            seeds = ",".join(str(run.experiment.run.seed) for run in runs)
            by_seeds.setdefault(seeds, []).append(shlex.quote(str(path)))
    by = "" if judge.text == "blocks" else f" --judge {judge.text}"
    return [
        f"airfeel compare {' '.join(paths)} --seeds {seeds}{by} --out again"
        for seeds, paths in by_seeds.items()
    ]


def _told(settings: Mapping[str, Value], key: str) -> bool:
    """Whether there is something to say: a limit that is not set is left out."""
    return key in settings and settings[key] is not None


def _seeds(groups: Groups) -> str:
    every = [[run.experiment.run.seed for run in runs] for runs in groups.values()]
    texts = dict.fromkeys(", ".join(map(str, seeds)) for seeds in every)
    return "; or ".join(texts)


def _where(runs: Sequence[Run]) -> Pairs:
    """Machine, versions and commit by the facts of all runs; each value once."""
    facts = [provenance.stored_facts(run.folder) if run.folder else {} for run in runs]
    pairs: dict[str, list[str]] = {}
    for fact in facts:
        versions, machine = _table(fact, "versions"), _table(fact, "machine")
        told = {
            "machine": _joined([machine.get("system"), _cores(machine)]),
            "versions": _joined(f"{name} {v}" for name, v in versions.items()),
            "commit": str(fact.get("commit") or ""),
        }
        for name, text in told.items():
            pairs.setdefault(name, []).append(text or "not on record")
    return [(name, "; or ".join(dict.fromkeys(texts))) for name, texts in pairs.items()]


def _table(facts: Mapping[str, Value], name: str) -> Mapping[str, Value]:
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


def _cores(machine: Mapping[str, Value]) -> str:
    return f"{machine['cores']} cores" if machine.get("cores") else ""


def _joined(texts: Iterable[Value]) -> str:
    return ", ".join(str(text) for text in texts if text)
