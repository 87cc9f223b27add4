"""Two folders of runs compared to the byte, but for the clock and the machine."""

import csv
import json
import math
from itertools import zip_longest
from pathlib import Path

# Columns of rows, keys of summary.json and facts.json; checksums are of files that are compared.
# Kernels have other digests with each change of their source; what they compute is compared.
_ASIDE = {"seconds", "machine", "commit", "files", "arithmetic"}
# Columns of rounds.csv that the former commit does not have.
_ADDED = {"energy_total", "feedback_scheduled", "feedback_unscheduled"}
_RENAMED = {"energy_joules": "energy_total"}  # keys of summary.json; sums in another order
_GONE = {"heard"}  # keys that summary.json had by mistake: shares of proportional-fair
_SKIPPED = ("*.lock", "checkpoint*.safetensors")


def differences(former: Path, present: Path) -> list[str]:
    """A line for each file that differs, with the first place where it does."""
    names = sorted(_files(former) | _files(present))
    found = ((name, _difference(former / name, present / name)) for name in names)
    return [f"{name}: {what}" for name, what in found if what]


def met(folder: Path) -> set[str]:
    """Which kinds of rounds, devices and ends a run has seen."""
    rounds, devices = (_rows(folder / name) for name in ("rounds.csv", "devices.csv"))
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    found = {f"ended by {summary['reason']}"} | {row["reason"] for row in devices}
    idle = any(row["scheduled"] == "0" for row in rounds if row["round"] != "0")
    return found | ({"an idle round"} if idle else set()) | ({"a round"} if devices else set())


def _files(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in found if not any(path.match(pattern) for pattern in _SKIPPED))
    return {str(path.relative_to(folder)) for path in kept}


def _difference(former: Path, present: Path) -> str | None:
    """What differs between two files; None if nothing that counts does."""
    if not (former.exists() and present.exists()):
        return f"is there on one side only, the {'former' if former.exists() else 'present'} one"
    if former.suffix == ".csv":
        return _cell(former, present)
    if former.suffix == ".json":
        return _key(former, present)
    a, b = former.read_bytes(), present.read_bytes()
    if a == b:
        return None
    place = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    line = a.count(b"\n", 0, place) if former.suffix == ".toml" else None
    shown = f", line {line + 1}: {_line(b, line)!r}" if line is not None else ""
    return f"differs from byte {place} of {len(a)} on (now of {len(b)}){shown}"


def _line(data: bytes, number: int) -> str:
    lines = data.decode().splitlines()
    return lines[number] if number < len(lines) else ""


def _cell(former: Path, present: Path) -> str | None:
    """The first cell that differs, by line of the file and column; columns may have been added."""
    theirs, ours = _table(former), _table(present)
    kept = [i for i, name in enumerate(ours[0]) if name not in _ADDED - set(theirs[0])]
    pairs = zip_longest(theirs, [[line[i] for i in kept] for line in ours], fillvalue=[])
    for number, (a, b) in enumerate(pairs, 1):
        if number == 1:
            head = a
        for column, x, y in zip_longest(head, a, b):
            if x != y and column not in _ASIDE | {None}:
                return f"line {number}, {column}: {x} became {y}"
        if len(a) != len(b):
            return f"line {number}: {len(a)} cells became {len(b)}"
    return None


def _key(former: Path, present: Path) -> str | None:
    """The first key that is gone or says something else; new ones may have come."""
    a, b = (json.loads(path.read_text("utf-8")) for path in (former, present))
    for was, now in _RENAMED.items():
        if was in a and was not in b and math.isclose(a[was], b.get(now, 0.0), rel_tol=1e-12):
            del a[was]
    aside = _ASIDE | {key for key in _GONE if key not in b}
    keys = [key for key in a if key not in aside and (key not in b or a[key] != b[key])]
    return f"{keys[0]}: {a[keys[0]]} became {b.get(keys[0])}" if keys else None


def _table(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
