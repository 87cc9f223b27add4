"""What a command costs before it does anything, in processor seconds, beside `import torch`.

Commands that compute nothing import neither PyTorch nor SciPy.
Then six short runs one after the other (compare) and on two workers (sweep, compare --workers 2):
seconds by the clock, which need an idle machine, and their ratio.

    python benchmarks/startup.py            prints the tables
    python benchmarks/startup.py --turns 9  more turns (default 5)
"""

import argparse
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
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def clock(words: list[str]) -> float:
    """Seconds of a command by the clock, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "six.toml").write_text(SWEEP, "utf-8")
        start = perf_counter()
        subprocess.run([*AIRFEEL, *words], cwd=folder, capture_output=True, check=True)
        return perf_counter() - start


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
    clocks: dict[str, list[float]] = {name: [] for name in six}
    for _ in range(turns):
        for name, words in six.items():
            clocks[name].append(clock(words))
    print()
    table(clocks, "compare", "seconds by the clock")


if __name__ == "__main__":
    main()
