"""How fast a round is: against PyTorch and other simulators, in N and D, and where its time goes.

    python benchmarks/speed.py                    all sections, a quarter of an hour or more
    python benchmarks/speed.py --quick            fewer turns, a few minutes
    python benchmarks/speed.py --only cnn,peers   some of cnn, peers, looks, digits, …
    python benchmarks/speed.py --only peers --steps 1     one round's length alone, some minutes
    python benchmarks/speed.py --out F            writes the tables to F as well (Markdown)

Every contender is a process of its own, and contenders take turns: what counts is the ratio within
a turn, of which the median and the range are given. Other simulators run in virtual environments
that are made in the user's cache; one that does not install is skipped. See README.md here.
"""

import argparse
import contextlib
import dataclasses
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from contender import HERE, Contender, Spread, environment, interleave, ratio
from looks import WAYS, look_times
from where import where

from airfeel.data.datasets import load
from airfeel.training import native
from airfeel.training.models import make
from airfeel.types import BadInput, Dataset

SECTIONS = ("cnn", "peers", "looks", "digits", "scaling", "profile")
PEERS = {
    "Flower": ("flwr", "flower.py", ("flwr[simulation]",)),
    "pfl": ("pfl", "pfl_research.py", ("pfl",)),
}
OURS, TORCH, FORM = "ours, native", "ours, torch", "PyTorch, functional, channels_last"
PLAIN, LIMIT = "PyTorch, nn.Module and optim.SGD", "dense GEMM limit"


class Bench:
    """One run of the benchmark: its files, its contenders and what it has to say."""

    def __init__(self, folder: Path, log: IO[str], quick: bool) -> None:
        self.folder, self.log, self.quick = folder, log, quick
        self.turns = 2 if quick else 5
        self.lines: list[str] = []

    def say(self, *lines: str) -> None:
        for line in lines:
            print(line, flush=True)
        self.lines += lines

    def table(self, head: list[str], rows: list[list[str]]) -> None:
        rule = ["---"] * len(head)
        self.say("", *(f"| {' | '.join(row)} |" for row in (head, rule, *rows)), "")

    def start(self, name: str, script: str, *told: object, tuned: bool = False) -> Contender:
        command = [sys.executable, str(HERE / script), *map(str, told)]
        return Contender(name, command, self.log, tuned)

    @contextlib.contextmanager
    def contenders(self) -> Iterator[dict[str, Contender]]:
        found: dict[str, Contender] = {}
        try:
            yield found
        finally:
            for contender in found.values():
                contender.close()

    def work(self, name: str, data: Dataset, theta: torch.Tensor | None = None) -> str:
        """A file with samples and first weights."""
        file = self.folder / f"{name}.npz"
        arrays = {"x": data.train_x, "y": data.train_y, "shift": data.shift, "scale": data.scale}
        if theta is not None:
            arrays["theta"] = theta
        np.savez(file, **{key: value.numpy() for key, value in arrays.items()})
        return str(file)


def photographs() -> Dataset:
    """CIFAR-10 where it is at hand, else noise of its shape."""
    try:
        return load("cifar10")
    except BadInput:
        shape = (3, 32, 32)
        return load("synthetic", shape=shape, rng=np.random.default_rng(0))


def weights(data: Dataset, steps: int) -> torch.Tensor:
    """The paper's CNN after some steps of SGD: the kernel's time follows activation density."""
    net = make("paper-cnn", data.shape, 10, init="default", seed=0)
    theta = torch.cat([p.detach().flatten() for p in net.parameters()])
    if steps:
        batches = np.random.default_rng(0).integers(0, len(data.train_y), (1, steps, 64))
        shift, scale = data.shift.float(), data.scale.float()
        known = native.describe(net, data.shape)
        args = (known, theta, data.train_x, data.train_y, batches, 0.05, shift, scale)
        theta = theta + native.local_sgd(*args)[0][0]
    return theta


def cnn(bench: Bench, with_peers: bool, only: int | None) -> None:
    """The paper's CNN, N = 20, batch 64; with `only`, of so many steps and untrained alone."""
    data = photographs()
    bench.say("## The paper's CNN, N = 20, batch 64", "")
    bench.say(
        "Milliseconds of the whole machine for one device-iteration. Ours are TCS-H rounds in "
        "which every device is heard (local training, compression, radio, accounting); the others "
        f"are bare FedAvg rounds. Data: {data.name}."
    )
    long = 100 if bench.quick else 1000
    for label, steps in (("at initialisation", 0), (f"after {long} steps of SGD", long)):
        work = bench.work(f"cnn-{steps}", data, weights(data, steps))
        for h, rounds in ((10, 1), (1, 5))[: 1 if steps else 2]:
            if only is not None and (steps or h != only):
                continue
            one_cnn(bench, f"H = {h}, {label}", work, h, rounds, with_peers and not steps)


def one_cnn(bench: Bench, title: str, work: str, h: int, rounds: int, with_peers: bool) -> None:
    told = ("--work", work, "--steps", h)
    with bench.contenders() as found:
        found[OURS] = bench.start(OURS, "ours.py", *told, "--backend", "native")
        found[TORCH] = bench.start(TORCH, "ours.py", *told, "--backend", "torch", tuned=True)
        found[FORM] = bench.start(FORM, "functional.py", *told, tuned=True)
        found[PLAIN] = bench.start(PLAIN, "plain.py", *told)
        if with_peers:
            add_peers(bench, found, told)
        found[LIMIT] = bench.start(LIMIT, "gemm.py", *told)
        times = interleave(found, rounds, bench.turns)
        gflop = found[LIMIT].told["gflop"]
    ms = {name: Spread([t / 20 / h * 1e3 for t in values]) for name, values in times.items()}
    rows = [[n, ms[n].show(), ratio(times, n, OURS).show(2)] for n in times]
    bench.say("", f"### {title}")
    bench.table(["way", "ms", "times ours"], rows)
    times["best"] = [min(both) for both in zip(times[TORCH], times[FORM], strict=True)]
    share = ratio(times, OURS, "best").show(2)
    peak = gflop / ms[LIMIT].median * 1e3
    bench.say(
        f"Native against the best PyTorch form: {share} of its time. One dense step is {gflop:.2f} "
        f"GFLOP, GEMM reaches {peak:.0f} GFLOP/s."
    )


def add_peers(bench: Bench, found: dict[str, Contender], told: tuple[object, ...]) -> None:
    """Other simulators, those that install here."""
    version = torch.__version__.split("+")[0]
    for name, (folder, script, packages) in PEERS.items():
        try:
            python = environment(folder, *packages, f"torch=={version}")
            command = [python, str(HERE / script), *map(str, told)]
            found[name] = Contender(name, command, bench.log)
            if name == "pfl":
                launch = [python, "-m", "torch.distributed.run", "--nproc-per-node=2"]
                both = [*launch, *command[1:], "--threads", "1"]
                found["pfl, 2 processes"] = Contender("pfl, 2 processes", both, bench.log)
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            bench.say("", f"{name} is left out: {error}")


def digits(bench: Bench) -> None:
    """Small models on many devices."""
    bench.say("", "## Many small devices: `digits`, H = 5, batch 64", "")
    bench.say("Device-iterations per second; the loop is over devices, in plain PyTorch.")
    work = bench.work("digits", load("digits"))
    rows = []
    for model in ("mlp", "logistic"):
        for n in (20, 200) if bench.quick else (20, 200, 2000):
            rows.append([model, str(n), *one_digits(bench, work, model, n)])
    head = ["model", "N", "ours, local SGD", "ours, whole round", "plain loop"]
    bench.table([*head, "local SGD × loop", "whole round × loop"], rows)


def looks(bench: Bench) -> None:
    """A look at the test set, by the kernel and by PyTorch."""
    data = photographs()
    bench.say("", "## A look at the test set (the paper's CNN)", "")
    bench.say(f"Seconds for {len(data.test_y)} samples on all cores. Data: {data.name}.")
    rows = [
        [what, *(Spread(times[way]).show(2) for way in WAYS), ratio(times, *WAYS).show(2)]
        for what, times in zip(
            ("by the clock", "of all processors"), look_times(data, bench.turns), strict=True
        )
    ]
    bench.table(["time", *WAYS, "PyTorch / kernel"], rows)


def one_digits(bench: Bench, work: str, model: str, n: int) -> list[str]:
    told = ("--work", work, "--steps", 5, "--model", model, "--devices", n)
    with bench.contenders() as found:
        found["local"] = bench.start("local", "ours.py", *told, "--bare")
        found["whole"] = bench.start("whole", "ours.py", *told)
        found["plain"] = bench.start("plain", "plain.py", *told, "--threads", 1)
        times = interleave(found, max(1, 4000 // n), bench.turns)
    rate = {k: Spread([n * 5 / t for t in v]) for k, v in times.items()}
    faster = [ratio(times, "plain", name).show(1) for name in ("local", "whole")]
    return [*(rate[k].show(0) for k in ("local", "whole", "plain")), *faster]


def scaling(bench: Bench) -> None:
    """Time and memory of a round in N and D."""
    bench.say("", "## Scaling of a whole round in N and D", "")
    bench.say(
        "Memory: what the peak of the process grows by for one more device, over the bytes of the "
        "error memory, the round's buffer and the payload (K global values, L local indices and "
        "values) of a device."
    )
    counts = (20, 200) if bench.quick else (20, 63, 200, 632, 2000)
    head = ["model", "D", "N", "round [ms]", "ms per device", "peak [MB]", "growth / model"]
    rows: list[list[str]] = []
    shown = photographs()
    few = dataclasses.replace(shown, train_x=shown.train_x[:2000], train_y=shown.train_y[:2000])
    runs = [
        ("mlp", 64, load("digits"), counts),
        ("paper-cnn", 64, few, (20, 200, 2000)[: 3 - bench.quick]),
    ]
    for model, hidden, data, sizes in runs:
        rows += grow(bench, model, hidden, data, sizes)
    bench.table(head, rows)
    wide = [grow(bench, "mlp", h, load("digits"), (20,))[0] for h in (16, 64, 256, 1024, 4096)]
    bench.table(head[:-1], [row[:-1] for row in wide])


def grow(
    bench: Bench, model: str, hidden: int, data: Dataset, counts: tuple[int, ...]
) -> list[list[str]]:
    work = bench.work(f"scale-{model}", data)
    net = make(model, data.shape, 10, init="default", seed=0, hidden=hidden)
    d = sum(p.numel() for p in net.parameters())
    each = 2 * 4 * d + 4 * round(0.2 * d) + 12 * round(0.05 * d)
    rows, before = [], (0, 0.0)
    for n in counts:
        told = ("--work", work, "--steps", 1, "--model", model, "--hidden", hidden, "--devices", n)
        with bench.contenders() as found:
            found["ours"] = bench.start("ours", "ours.py", *told)
            many = max(1, 400 // n) if d < 50_000 else 1
            slow = d > 50_000 and n > 500
            times = interleave(found, many, 2 if slow else bench.turns)["ours"]
            peak = found["ours"].told["peak"]
        ms = Spread([t * 1e3 for t in times])
        grown = (peak - before[1]) * 2**20 / ((n - before[0]) * each)
        growth = f"{grown:.2f}" if before[0] else ""
        cells = [model, str(d), str(n), ms.show(), f"{ms.median / n:.3f}", f"{peak:.0f}", growth]
        rows.append(cells)
        before = n, peak
    return rows


def profile(bench: Bench) -> None:
    """Where a round's time goes."""
    data = photographs()
    work = bench.work("profile", data, weights(data, 0))
    bench.say("", "## Where a round's time goes (the paper's CNN, N = 20)", "")
    bench.say(
        "Milliseconds of processor time in a round: the workers' over their number, the main "
        "thread's as it is. What workers wait for each other is not counted."
    )
    often = {10: 2, 1: 5} if bench.quick else {10: 5, 1: 21}
    found = {h: where(work, h, rounds) for h, rounds in often.items()}
    rows = []
    for part in found[10]:
        cells = [part]
        for h in (10, 1):
            spent, total = found[h][part], found[h]["whole round"]
            cells += [f"{spent:.2f}", f"{100 * spent / total:.2f} %"]
        rows.append(cells)
    bench.table(["part", "H = 10 [ms]", "share", "H = 1 [ms]", "share"], rows)


def about() -> list[str]:
    """Machine, versions and commit."""
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    root = Path(__file__).parents[1]
    git = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"
    versions = f"Python {platform.python_version()}, PyTorch {torch.__version__}"
    return [
        "# How fast a round is",
        "",
        f"{torch.get_num_threads()} cores of {cpu}, {platform.system()}; {versions}, NumPy "
        f"{np.__version__}; commit {commit}. Median (least–greatest) of the turns. Made by "
        "`python benchmarks/speed.py`.",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"some of {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--steps", type=int, choices=(1, 10), help="H of cnn and peers, one alone")
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    parser.add_argument("--log", type=Path, help="what contenders print; left out: nowhere")
    args = parser.parse_args()
    wanted = args.only.split(",")
    if unknown := set(wanted) - set(SECTIONS):
        parser.error(f"--only {args.only}: {', '.join(unknown)} is none of {', '.join(SECTIONS)}")
    log_file = args.log or Path("/dev/null")
    with tempfile.TemporaryDirectory() as folder, log_file.open("w") as log:
        bench = Bench(Path(folder), log, args.quick)
        bench.say(*about())
        if {"cnn", "peers"} & set(wanted):
            cnn(bench, "peers" in wanted, args.steps)
        for section in (looks, digits, scaling, profile):
            if section.__name__ in wanted:
                section(bench)
    if args.out:
        args.out.write_text("\n".join(bench.lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
