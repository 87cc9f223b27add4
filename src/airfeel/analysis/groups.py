"""Runs that differ in the seed alone belong together: the one place that says which do."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from airfeel.catalogue import Value
from airfeel.settings.config import Experiment
from airfeel.settings.fields import Changes
from airfeel.settings.relevance import settings_that_decide
from airfeel.storage.run import Run
from airfeel.types import BadInput

Groups = dict[str, list[Run]]

# What may differ between two runs of one group.
_ASIDE = (Changes.NOTHING, Changes.RECORDS, Changes.SEED)


def deciding(e: Experiment) -> dict[str, Value]:
    """The settings of a group as section.key: without the seed, and what changes no result."""
    return flat(settings_that_decide(e, _ASIDE))


def flat(sections: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """Settings by section as section.key.

    >>> flat({"scheme": {"bits": 8}, "run": {}})
    {'scheme.bits': 8}
    """
    return {
        f"{name}.{key}": value for name, keys in sections.items() for key, value in keys.items()
    }


def peers(runs: Iterable[Run]) -> tuple[list[list[Run]], list[Run]]:
    """Runs that differ in the seed alone, by seed; and those of which a longer one is there."""
    same: dict[str, list[Run]] = {}
    spare = []
    for run in sorted(runs, key=_progress, reverse=True):
        mates = same.setdefault(_key(run.experiment), [])
        if any(seed_of(run) == seed_of(mate) for mate in mates):
            spare.append(run)
        else:
            mates.append(run)
    return [sorted(mates, key=seed_of) for mates in same.values()], spare


def group(runs: Iterable[Run]) -> tuple[Groups, list[Run]]:
    """Runs by label, by seed; and those left out since another has the same settings and seed."""
    members, spare = peers(runs)
    names = _labels([mates[0] for mates in members])
    return dict(sorted(zip(names, members, strict=True))), spare


def by_name(groups: Groups) -> Groups:
    """Groups called by an own scheme's `module:factory`, by the scheme's name instead."""
    new = [_renamed(label, runs[0]) for label, runs in groups.items()]
    return dict(zip(new if len(set(new)) == len(new) else groups, groups.values(), strict=True))


def _renamed(label: str, run: Run) -> str:
    given = run.experiment.scheme.name
    return label.replace(given, run.name) if ":" in given else label


def check(named: Iterable[tuple[str, Experiment]]) -> None:
    """Refuse labels that stand for more than one set of settings, or for one seed twice."""
    seen: dict[str, list[Experiment]] = {}
    for label, e in named:
        seen.setdefault(label, []).append(e)
    for label, experiments in seen.items():
        for one, other in pairwise(experiments):
            for key in varied([one, other]):
                values = " and ".join(short(deciding(e).get(key)) for e in (one, other))
                raise BadInput(f"{label}: stands for runs that differ in {key} ({values})")
        seeds = [e.run.seed for e in experiments]
        for twice in sorted({s for s in seeds if seeds.count(s) > 1}):
            raise BadInput(f"{label}: is asked for twice with seed {twice}; name each run once")


def varied(experiments: Sequence[Experiment]) -> list[str]:
    """The settings in which some experiments differ, the seed aside, in the order of the file."""
    every = [deciding(e) for e in experiments]
    keys = dict.fromkeys(key for own in every for key in own)
    return [key for key in keys if len({_text(own.get(key)) for own in every}) > 1]


def seed_of(run: Run) -> int:
    """The seed of a run."""
    return run.experiment.run.seed


def _key(e: Experiment) -> str:
    return _text(deciding(e))


def _text(value: Value) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _progress(run: Run) -> tuple[bool, int]:
    return bool(run.summary), int(run.columns["round"][-1])


def _labels(runs: Sequence[Run]) -> list[str]:
    """The scheme's name, with the settings that tell groups of one scheme apart."""
    labels, names = [], [run.name for run in runs]
    for run, name in zip(runs, names, strict=True):
        own = deciding(run.experiment)
        alike = zip(runs, names, strict=True)
        differ = varied([other.experiment for other, called in alike if called == name])
        words = [f"{key.partition('.')[2]}={short(own.get(key))}" for key in differ]
        labels.append(name + (f" ({', '.join(words)})" if words else ""))
    return unique(labels)


def short(value: Value) -> str:
    """A setting's value in at most 24 letters."""
    text = "none" if value is None else json.dumps(value) if isinstance(value, bool) else str(value)
    return text if len(text) <= 24 else text[:23] + "…"


def unique(labels: Sequence[str]) -> list[str]:
    """Labels that were cut short to the same text are numbered.

    >>> unique(["a", "b", "a"])
    ['a #1', 'b', 'a #2']
    """
    count = dict.fromkeys(labels, 0)
    numbered = []
    for label in labels:
        count[label] += 1
        numbered.append(f"{label} #{count[label]}" if labels.count(label) > 1 else label)
    return numbered
