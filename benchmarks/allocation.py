"""How good and how fast sub-channel and power allocation is.

Quality: mean digital slots of a round over Rayleigh draws, for the paper's heuristic, for ours
(`exchange`), for the optimum (small sizes) and against a proven bound. Time: medians of interleaved
runs on one core, against the plain reading in examples/ and against networkx.

    python benchmarks/allocation.py            prints the tables
    python benchmarks/allocation.py --out F    writes them to F as well (markdown)
    python benchmarks/allocation.py --quick    a tenth of the draws, sizes up to 200
"""

import argparse
import platform
import runpy
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from airfeel.radio.allocation.allocators.bound import slots_bound
from airfeel.radio.allocation.allocators.exact import Exact
from airfeel.radio.allocation.allocators.exchange import Exchange
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.links import Allocator, Links
from airfeel.radio.allocation.matching import bottleneck_matching
from airfeel.radio.allocation.power import needed_slots, rates

NOISE, POWER = 1e-6, 5e-3
BITS = (np.log2(258_898) + 16) * 12_945
SIZES = (5, 10, 20, 50, 100, 200, 500, 1000)


def draw(n: int, m: int, seed: int) -> Links:
    """Powers, squared Rayleigh gains of scale 1, noise and bits of the paper's experiment."""
    gain = np.random.default_rng([seed, n, m]).rayleigh(1.0, (n, m))
    return Links(np.full(n, POWER), gain**2, NOISE, np.full(n, BITS))


def slots(allocate: Allocator, sky: Links) -> tuple[float, float | None]:
    """Digital slots of the round, and the proven gap."""
    found = allocate(sky)
    rate = rates(found.power, sky.gain2, sky.noise)
    return float(needed_slots(rate, sky.bits).max()), found.gap


def table(head: list[str], rows: list[list[str]]) -> str:
    """A markdown table."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def quality(n: int, m: int, draws: int) -> list[str]:
    """Mean slots of the paper's, ours and the optimum, and how much of the gap ours closes."""
    result, proven = np.zeros((draws, 3)), 0
    for seed in range(draws):
        sky = draw(n, m, seed)
        for k, allocate in enumerate((Paper(), Exchange(), Exact(time_limit=60.0))):
            result[seed, k], gap = slots(allocate, sky)
        proven += gap == 0.0
    paper, ours, best = result.mean(axis=0)
    worse = int((result[:, 1] > result[:, 0]).sum())
    closed = (paper - ours) / (paper - best)
    means = [f"{x:.0f}" for x in (paper, ours, best)]
    return [f"{n} × {m}", str(draws), *means, f"{closed:.1%}", str(worse), f"{proven}"]


def against_bound(n: int, m: int, draws: int) -> list[str]:
    """Mean slots of the paper's and ours over the proven bound."""
    result = np.zeros((draws, 3))
    for seed in range(draws):
        sky = draw(n, m, seed)
        result[seed, 0], result[seed, 1] = slots(Paper(), sky)[0], slots(Exchange(), sky)[0]
        result[seed, 2] = slots_bound(sky, known=float(result[seed, 1]))
    paper, ours, bound = result.mean(axis=0)
    worse = int((result[:, 1] > result[:, 0]).sum())
    means = [f"{x:.0f}" for x in (paper, ours, bound)]
    over = [f"{x / bound - 1:.2%}" for x in (paper, ours)]
    optimal = int((result[:, 1] == result[:, 2]).sum())
    return [f"{n} × {m}", str(draws), *means, *over, str(worse), str(optimal)]


def medians(runs: list[Callable[[], object]], repeats: int) -> list[float]:
    """Median seconds of each, run in turns so that a slow moment hits all of them."""
    seconds = np.zeros((repeats, len(runs)))
    for row in seconds:
        for k, run in enumerate(runs):
            start = perf_counter()
            run()
            row[k] = perf_counter() - start
    return [float(s) for s in np.median(seconds, axis=0)]


def times(sizes: tuple[int, ...]) -> list[list[str]]:
    """Milliseconds of a whole allocation, and how they grow: exponent of N since the row before."""
    rows, before = [], None
    for n in sizes:
        sky = draw(n, 5 * n // 4, 0)
        runs = [lambda sky=sky: Paper()(sky), lambda sky=sky: Exchange()(sky)]
        paper, ours = medians(runs, 3 if n > 200 else 21)
        growth = ["", ""]
        if before:
            growth = [
                f"{np.log(now / then) / np.log(n / before[0]):.1f}"
                for now, then in zip((paper, ours), before[1:], strict=True)
            ]
        rows.append([f"{n} × {5 * n // 4}", f"{paper * 1e3:.2f}", growth[0]])
        rows[-1] += [f"{ours * 1e3:.1f}", growth[1]]
        before = (n, paper, ours)
    return rows


def networkx_bottleneck(rate: np.ndarray) -> float:
    """The bottleneck value by binary search over thresholds with networkx's Hopcroft–Karp."""
    import networkx as nx

    n = rate.shape[0]
    values = np.unique(rate)
    low, high = 0, values.size
    while high - low > 1:
        middle = (low + high) // 2
        graph = nx.Graph()
        graph.add_nodes_from(range(n))
        row, column = np.nonzero(rate >= values[middle])
        graph.add_edges_from(zip(row.tolist(), (column + n).tolist(), strict=True))
        matched = nx.bipartite.hopcroft_karp_matching(graph, top_nodes=range(n))
        low, high = (middle, high) if len(matched) == 2 * n else (low, middle)
    return float(values[low])


def peers() -> list[list[str]]:
    """Against the plain reading and against networkx, after checking that the answers are equal."""
    plain = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "tcs_h_plain.py"))
    sky = draw(20, 25, 0)
    told = sky.power, sky.gain2, sky.noise
    np.testing.assert_array_equal(plain["allocate"](*told)[0], Paper()(sky).owner)
    fast, slow = medians([lambda: Paper()(sky), lambda: plain["allocate"](*told)], 101)
    rows = [_peer("Algorithm 2, 20 × 25: plain reading", fast, slow)]
    rate = np.log1p(POWER * draw(200, 250, 0).gain2 / NOISE)
    assert networkx_bottleneck(rate) == rate[np.arange(200), bottleneck_matching(rate)].min()
    fast, slow = medians(
        [lambda: bottleneck_matching(rate), lambda: networkx_bottleneck(rate)], repeats=3
    )
    return [*rows, _peer("bottleneck step, 200 × 250: networkx", fast, slow)]


def _peer(name: str, fast: float, slow: float) -> list[str]:
    return [name, f"{fast * 1e3:.3f}", f"{slow * 1e3:.2f}", f"{slow / fast:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the tables to this file as well")
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws, small sizes")
    args = parser.parse_args()
    share = 10 if args.quick else 1
    parts = [f"{platform.platform()}, Python {platform.python_version()}, NumPy {np.__version__}\n"]

    def show(*lines: str) -> None:
        parts.extend(lines)
        print(*lines, sep="\n", flush=True)

    head = ["N × M", "draws", "paper", "exchange", "exact", "gap closed", "worse draws", "proven"]
    rows = [quality(n, m, 200 // share) for n, m in ((4, 5), (6, 8))]
    show("Mean digital slots of a round\n", table(head, rows))
    head = ["N × M", "draws", "paper", "exchange", "bound"]
    head += ["paper over bound", "exchange over bound", "worse draws", "optimal for sure"]
    rows = [against_bound(n, m, 50 // share) for n, m in ((12, 25), (13, 25), (20, 25))]
    show("Mean digital slots of a round against a proven bound\n", table(head, rows))
    head = ["against", "ours [ms]", "theirs [ms]", "times as fast"]
    show("Peers\n", table(head, peers()))
    head = ["N × M", "paper [ms]", "exponent", "exchange [ms]", "exponent"]
    show("Time of one allocation\n", table(head, times(SIZES[:6] if args.quick else SIZES)))
    if args.out:
        args.out.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
