"""How fast and how small the wire codec is.

One device's message of a round, for the paper's model (d = 258 898, K[g] = 51 780, K[l] = 12 945)
and a larger one: median times on one core, as megabytes of the dense float32 update a second, and
bits against the paper's formula and against the dense update. The peer is what one would write
without a codec: int32 indices and float32 values, compressed by zlib at its fastest level.

    python benchmarks/wire.py            prints the tables
    python benchmarks/wire.py --out F    writes them to F as well (markdown)
    python benchmarks/wire.py --quick    fewer repeats, the paper's model only
"""

import argparse
import platform
import zlib
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from airfeel.wire import Message, Values, decode, encode, from_raw, size_bits

PAPER, LARGE = (258_898, 51_780, 12_945), (11_173_962, 2_234_792, 558_698)


def quantised(rng: np.random.Generator, count: int, bits: int) -> Values:
    """Levels as the quantiser gives them for normal values; raw where bits is 32."""
    x = rng.standard_normal(count)
    if bits == 32:
        return from_raw(x.astype(np.float32))
    norm = float(np.sqrt(np.square(x).sum()))
    level = np.floor(np.abs(x) / (norm or 1.0) * (2 ** (bits - 1) - 1) + rng.random(count))
    code = level.astype(np.uint32) | (x < 0).astype(np.uint32) << np.uint32(bits - 1)
    return Values(bits, norm, code)


def mask(rng: np.random.Generator, dim: int, count: int, kind: str) -> np.ndarray:
    """Uniform indices, or the largest of a vector whose scale wanders, as layers' scales do."""
    if kind == "uniform":
        return np.sort(rng.choice(dim, count, replace=False))
    scale = np.repeat(rng.lognormal(0.0, 1.0, dim // 500 + 1), 500)[:dim]
    size = np.abs(rng.standard_normal(dim)) * scale
    return np.sort(np.argpartition(size, dim - count)[dim - count :])


def messages(sizes: tuple[int, int, int]) -> dict[str, Message]:
    """What each algorithm sends digitally in a round."""
    rng, (d, k, n) = np.random.default_rng(0), sizes

    def make(local: int, common: int, q: int, r: int, kind: str = "uniform") -> Message:
        index = mask(rng, d, local, kind)
        return Message(d, index, quantised(rng, local, q), quantised(rng, common, r))

    return {
        "TCS-D, q = 16": make(n, k, 16, 16),
        "TCS-D, q = 16, clustered mask": make(n, k, 16, 16, "clustered"),
        "TCS-D, q = 5": make(n, k, 5, 5),
        "TCS-H local part, q = 16": make(n, 0, 16, 16),
        "TCS-H, raw common part": make(n, k, 16, 32),
        "Top-K, q = 16": make(n + k, 0, 16, 16),
        "FedAvg, raw": make(0, d, 32, 32),
    }


def median(run: Callable[[], object], repeats: int) -> float:
    """Median seconds of one call."""
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        run()
        seconds.append(perf_counter() - start)
    return float(np.median(seconds))


def speed(name: str, m: Message, repeats: int) -> list[str]:
    """Milliseconds and dense-equivalent MB/s, both ways, of the codec and of its peer."""
    data, dense = encode(m), 4 * m.dim / 1e6
    assert decode(data, dim=m.dim) == m
    there = median(lambda: encode(m), repeats)
    back = median(lambda: decode(data, dim=m.dim), repeats)
    plain = plain_bytes(m)
    peer = median(lambda: zlib.compress(plain, 1), max(3, repeats // 20))
    row = [f"{t * 1e3:.2f}" for t in (there, back, peer)]
    return [name, *row, *(f"{dense / t:.0f}" for t in (there, back, peer))]


def plain_bytes(m: Message) -> bytes:
    """Indices as int32 and values as float32."""
    parts = (m.index.astype(np.int32), m.local.floats(), m.common.floats())
    return b"".join(part.tobytes() for part in parts)


def size(name: str, m: Message) -> list[str]:
    """Octets, against the paper's formula, the peer and the dense update."""
    found, data = size_bits(m), encode(m)
    assert found.measured == 8 * len(data)
    per_index = f"{found.index / len(m.index):.2f}" if len(m.index) else ""
    peer = len(zlib.compress(plain_bytes(m), 1))
    shares = [found.measured / found.formula, len(data) / peer, len(data) / (4 * m.dim)]
    return [name, f"{len(data)}", per_index, *(f"{share:.1%}" for share in shares)]


def table(head: list[str], rows: list[list[str]]) -> str:
    """A markdown table."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the tables to this file as well")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, one model")
    args = parser.parse_args()
    parts = [f"{platform.platform()}, Python {platform.python_version()}, NumPy {np.__version__}\n"]
    print(parts[0])
    for sizes in (PAPER,) if args.quick else (PAPER, LARGE):
        repeats = 20 if args.quick else 200 if sizes == PAPER else 7
        said = messages(sizes)
        title = "d = {}, K = {}, L = {}\n".format(*sizes)
        head = ["message", "encode [ms]", "decode [ms]", "zlib [ms]"]
        head += ["encode [MB/s]", "decode [MB/s]", "zlib [MB/s]"]
        fast = table(head, [speed(name, m, repeats) for name, m in said.items()])
        head = ["message", "octets", "bits an index", "of formula", "of zlib", "of dense"]
        small = table(head, [size(name, m) for name, m in said.items()])
        parts += [title, fast, small]
        print(title, fast, small, sep="\n", flush=True)
    if args.out:
        args.out.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
