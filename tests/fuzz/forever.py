"""`make fuzz`: try new cases until it is stopped, and keep those that break the law as examples.

python tests/fuzz/forever.py [SECONDS] [KIND …]
"""

import hashlib
import json
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.cases import KINDS
from fuzz.law import TRIES, Broken, check, place
from fuzz.nodes import NODES

FOUND = Path(__file__).parent / "found"
ALL = {**KINDS, **dict.fromkeys(NODES, lambda dice: dice.randrange(2**63))}
TRIES.update(NODES)


def keep(kind: str, case: object, fault: Broken) -> Path:
    """Store a case by its content, with what went wrong."""
    FOUND.mkdir(exist_ok=True)
    text = json.dumps({"kind": kind, "fault": str(fault)[:300], "case": case}, indent=1)
    path = FOUND / f"{kind.replace(' ', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.json"
    path.write_text(text + "\n", "utf-8")
    return path


def one(kind: str, seen: set[str]) -> bool:
    """Try one new case; whether it broke the law. Of faults that look alike, one is kept."""
    case = ALL[kind](random.Random())
    try:
        check(kind, case)
    except Broken as fault:
        cause = fault.__cause__
        last = cause.__traceback__ if cause else None
        while last and last.tb_next:
            last = last.tb_next
        alike = f"{kind} {type(cause)} {last and (last.tb_frame.f_code, last.tb_lineno)}"
        if alike not in seen:
            seen.add(alike)
            print(f"\n{kind}: {str(fault)[:200]}\n  kept as {keep(kind, case, fault)}", flush=True)
        return True
    return False


def main() -> None:
    """Until Ctrl-C, or for so many seconds; exit code 1 if anything was found."""
    words = sys.argv[1:]
    seconds = float(words.pop(0)) if words and words[0].replace(".", "").isdigit() else float("inf")
    kinds = words or list(ALL)
    logging.disable()
    tried: Counter[str] = Counter()
    seen: set[str] = set()
    broken, end = 0, time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            with tempfile.TemporaryDirectory() as folder, place(Path(folder)):
                for kind in kinds * 10:
                    broken += one(kind, seen)
                    tried[kind] += 1
                    if time.monotonic() > end:
                        break
            print(f"\r{sum(tried.values())} cases, {broken} broken", end="", flush=True)
    except KeyboardInterrupt:
        pass
    counts = ", ".join(f"{count} {kind}" for kind, count in tried.items())
    print(f"\n{counts}: {broken} broke the law in {len(seen)} ways")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
