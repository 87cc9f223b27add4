"""What a command costs before it does anything, in processor seconds, beside `import torch`.

Commands that compute nothing import neither PyTorch nor SciPy.
Then six short runs one after the other (compare) and on two workers (sweep, compare --workers 2):
seconds by the clock, which need an idle machine, processor seconds of all processes (Linux), and
their ratios within a turn, which a busy machine bends less.

    python benchmarks/startup.py            prints the tables
    python benchmarks/startup.py --turns 9  more turns (default 5)
"""

import argparse
import contextlib
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

AIRFEEL = [sys.executable, "-c", "from airfeel.cli import main; main()"]
STARTS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "airfeel --version": [*AIRFEEL, "--version"],
    "airfeel --help": [*AIRFEEL, "--help"],
    "airfeel list": [*AIRFEEL, "list"],
    "airfeel lst": [*AIRFEEL, "lst"],
    "airfeel run digits-tcs-j": [*AIRFEEL, "run", "digits-tcs-j"],
    "import airfeel": [sys.executable, "-c", "import airfeel"],
    "import airfeel; airfeel.run": [sys.executable, "-c", "import airfeel; airfeel.run"],
    "import torch": [sys.executable, "-c", "import torch"],
}
SWEEP = """base = "digits-tcs-h"
seeds = [0, 1, 2]
[grid]
scheme.name = ["tcs-h", "top-k"]
training.rounds = [30]
"""
COMPARE = ["compare", "--schemes", "tcs-h,top-k", "--seeds", "0..2", "--set", "training.rounds=30"]


def processor(command: list[str]) -> float:
    """User and system seconds of a command."""
    before = spent()
    subprocess.run(command, capture_output=True, check=False)
    return spent() - before


def carried_out(words: list[str]) -> tuple[float, float]:
    """Seconds of a command by the clock, in a folder of its own; processor seconds of all of it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "six.toml").write_text(SWEEP, "utf-8")
        before, start = spent(), perf_counter()
        subprocess.run([*AIRFEEL, *words], cwd=folder, capture_output=True, check=True)
        clock = perf_counter() - start
        with contextlib.suppress(ChildProcessError):  # processes that outlive it for a moment
            while True:
                os.wait()
        return clock, spent() - before


def adopt() -> None:
    """Processes whose parent has ended become children of this one, so that they are counted."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def spent() -> float:
    """User and system seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(measured: dict[str, list[float]], base: str, unit: str) -> None:
    """Median, range, and the ratio to a base within a turn."""
    print(f"| | {unit} (range) | over `{base}` |\n|---|---:|---:|")
    for name, values in measured.items():
        ratio = statistics.median(v / b for v, b in zip(values, measured[base], strict=True))
        spread = f"{min(values):.2f} … {max(values):.2f}"
        print(f"| `{name}` | {statistics.median(values):.2f} ({spread}) | {ratio:.2f} |")


def main() -> None:
    """Both tables, the contenders taking turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    starts: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(turns):
        for name, command in STARTS.items():
            starts[name].append(processor(command))
    table(starts, "import torch", "processor seconds")
    six = {
        "compare": COMPARE,
        "compare --workers 2": [*COMPARE, "--workers", "2"],
        "sweep --workers 2": ["sweep", "six.toml", "--workers", "2"],
    }
    adopt()
    clocks: dict[str, list[float]] = {name: [] for name in six}
    worked: dict[str, list[float]] = {name: [] for name in six}
    for _ in range(turns):
        for name, words in six.items():
            clock, work = carried_out(words)
            clocks[name].append(clock)
            worked[name].append(work)
    print()
    table(clocks, "compare", "seconds by the clock")
    print()
    table(worked, "compare", "processor seconds")


if __name__ == "__main__":
    main()
