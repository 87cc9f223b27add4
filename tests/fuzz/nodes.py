"""Further cases for `make fuzz`: what nodes of a federation send, and what lies in their files.

A case is a seed. Fixed seeds of the same are tests of their rooms: `tests/flower`, `tests/wire`.
"""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

_TESTS = Path(__file__).parents[1]
sys.path.append(str(_TESTS / "flower"))
sys.path.append(str(_TESTS / "wire"))


@cache
def _siege():
    import hostile
    from test_hostile_replies import NormBound, setup_of

    return hostile.Siege(setup_of("top-k"), bound=NormBound(factor=50.0))


def reply(seed: int) -> None:
    """A hostile reply changes nothing for the others."""
    import hostile

    _siege().check(hostile.hostile_reply(np.random.default_rng(seed)))


def wire(seed: int) -> None:
    """A message with some bits changed is refused, or is the one encoding of what was read."""
    from test_hostile import CORPUS, accepted, encode, fixed, flip

    rng = np.random.default_rng(seed)
    message = CORPUS[rng.integers(len(CORPUS))]
    accepted(fixed(flip(rng, encode(message)[:-4], 5)), message.dim)


def node_file(seed: int) -> None:
    """A node's file that was changed is refused with a fault, or read as it was."""
    from test_memory import ARRAYS, LAYOUT, Node, context, load, same, save

    rng = np.random.default_rng(seed)
    arrays = {name: rng.standard_normal(17).astype(np.float32) for name in ARRAYS}
    node, file = Node("abc", 5, 4, LAYOUT, **arrays, counted=4), Path("run-7.npz")
    save(node, context(), file)
    data = bytearray(file.read_bytes())
    for at in rng.integers(0, len(data), rng.integers(1, 9)):
        data[at] = rng.integers(256)
    file.write_bytes(data[: rng.integers(1, len(data) + 1)] if seed % 3 == 0 else data)
    found, fault = load(context(), file, "abc")
    assert (found is None and fault) or same(found, node)


NODES: dict[str, Callable[[int], None]] = {
    "flower reply": reply,
    "wire message": wire,
    "node file": node_file,
}
