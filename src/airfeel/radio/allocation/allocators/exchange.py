"""A better assignment by chains of exchanges that lift the slowest device."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from airfeel.radio.allocation.allocators.fill import filled
from airfeel.radio.allocation.allocators.threshold import threshold_assignment
from airfeel.radio.allocation.links import Allocation, Links
from airfeel.radio.allocation.matching import assign_subchannels, sum_rate_assignment
from airfeel.radio.allocation.power import best_rates

Array = np.ndarray


@dataclass(frozen=True)
class Exchange:
    """Fewer digital slots than the paper's heuristic where it can, never more, in polynomial time.

    Three starts (the paper's assignment, `threshold_assignment`, `sum_rate_assignment`) are each
    improved by `exchange_channels`; the best of all is taken, the paper's own among them.
    """

    def __call__(self, links: Links) -> Allocation:
        return filled(links, best_exchange(links))


def best_exchange(links: Links) -> Int[Array, "m"]:
    """The best of the paper's, the threshold and the sum-rate assignment, all improved.

    Args:
        links: the links of the devices.

    >>> links = Links(np.ones(2), np.array([[9.0, 8.0, 7.0], [9.0, 1.0, 1.0]]), 1.0, np.ones(2))
    >>> best_exchange(links)
    array([1, 0, 0])
    """
    paper = assign_subchannels(links)
    starts = [
        paper,
        threshold_assignment(paper, links),
        sum_rate_assignment(np.log1p(links.snr)),
    ]
    some = np.flatnonzero(links.bits > 0.0)
    if 0 < some.size < links.bits.size:  # the paper's, as if those with nothing to send were away
        owner = assign_subchannels(links.of(some))
        starts.append(np.where(owner >= 0, some[owner], -1))
    ends = [exchange_channels(owner, links) for owner in starts]
    return min([*ends, paper], key=links.slots)


def exchange_channels(owner: Int[Array, "m"], links: Links) -> Int[Array, "m"]:
    """Raise the smallest R_n/bits_n of an assignment by exchanges, until none helps.

    The slowest device d takes a sub-channel m1 (in addition to its own, or for one of them), the
    owner of m1 takes m2 in its place, and so on, until a device can spare what it lost or takes
    what d gave away; everyone in the chain must end above d's old score, with rates water-filled.
    So the smallest score never falls, and each step lifts one device off it. A chain is found
    breadth first over sub-channels, O(m²); the number of chains is limited to n·m.

    Args:
        owner: the assignment to start from, −1 for none.
        links: the links of the devices.

    >>> links = Links(np.ones(2), np.array([[9.0, 8.0], [9.0, 1.0]]), 1.0, np.ones(2))
    >>> exchange_channels(np.array([0, 1]), links)
    array([1, 0])
    """
    board = _Board(owner, links)
    for _ in range(links.gain2.size):
        slowest = int(board.score.argmin())
        chain = board.find_chain(slowest)
        if chain is None:
            break
        board.play(chain)
    return board.owner


class _Board:
    """An assignment, and what each device would score after losing or trading a sub-channel."""

    def __init__(self, owner: Int[Array, "m"], links: Links) -> None:
        self.owner = owner.astype(np.intp)
        self.links = links
        self.held = [np.flatnonzero(owner == i).tolist() for i in range(links.power.size)]
        self.score = np.array([self._scores(i, [h])[0] for i, h in enumerate(self.held)])
        self.spare = np.full(owner.size, np.inf)  # score of the owner without this sub-channel
        self.traded: dict[int, Array] = {}  # device → [held, m] score after trading one for another
        for device in range(links.power.size):
            self._refresh(device)

    def _scores(self, device: int, sets: Array | list[list[int]]) -> Float[Array, "r"]:
        """R/bits of a device over each set of sub-channels (all of one size)."""
        index, links = np.asarray(sets, dtype=np.intp), self.links
        if links.bits[device] <= 0.0:
            return np.full(index.shape[0], np.inf)
        power = np.full(index.shape[0], links.power[device])
        rate = best_rates(power, links.gain2[device, index], links.noise)
        return np.asarray(rate / links.bits[device])

    def _refresh(self, device: int) -> None:
        held = self.held[device]
        self.score[device] = self._scores(device, [held])[0]
        if held:
            self.spare[held] = self._scores(device, [[c for c in held if c != m] for m in held])
        self.traded.pop(device, None)

    def _trades(self, device: int) -> Float[Array, "h m"]:
        """Scores of a device after trading each of its sub-channels for each other one."""
        if device not in self.traded:
            held, m = self.held[device], self.owner.size
            rest = np.array([[c for c in held if c != out] for out in held], dtype=np.intp)
            sets = np.empty((len(held), m, len(held)), dtype=np.intp)
            sets[:, :, :-1], sets[:, :, -1] = rest[:, None, :], np.arange(m)
            scores = self._scores(device, sets.reshape(-1, len(held))).reshape(len(held), m)
            scores[:, held] = -np.inf  # not a trade
            self.traded[device] = scores
        return self.traded[device]

    def find_chain(self, slowest: int) -> list[tuple[int, int, int]] | None:
        """Steps (device, gives, takes) that lift the slowest above its score; −1 is nothing."""
        held, m = self.held[slowest], self.owner.size
        more = np.empty((m, len(held) + 1), dtype=np.intp)
        more[:, :-1], more[:, -1] = held, np.arange(m)
        added = self._scores(slowest, more)
        added[held] = -np.inf
        chain = self._search(slowest, -1, added)
        for place, given in enumerate(held):
            chain = chain or self._search(slowest, given, self._trades(slowest)[place])
        return chain

    def _search(
        self, slowest: int, given: int, first: Float[Array, "m"]
    ) -> list[tuple[int, int, int]] | None:
        """Breadth first from what the slowest may take to a device that can live with its loss."""
        least, owners = self.score[slowest], self.owner.tolist()
        parent = np.full(self.owner.size, -2)
        roots = np.flatnonzero(first > least)
        parent[roots] = -1
        queue = deque(roots.tolist())
        while queue:
            m = queue.popleft()
            device = owners[m]
            if self.spare[m] > least:
                return self._steps(slowest, given, parent, m, -1)
            trades = self._trades(device)[self.held[device].index(m)]
            if given >= 0 and trades[given] > least:
                return self._steps(slowest, given, parent, m, given)
            met = {slowest, *self._devices(parent, m)}
            more = np.flatnonzero((trades > least) & (parent == -2)).tolist()
            more = [c for c in more if owners[c] not in met]
            parent[more] = m
            queue.extend(more)
        return None

    def _devices(self, parent: Int[Array, "m"], m: int) -> list[int]:
        """Owners along the chain that leads to sub-channel m; each may appear only once."""
        devices = []
        while m >= 0:
            devices.append(int(self.owner[m]))
            m = int(parent[m])
        return devices

    def _steps(
        self, slowest: int, given: int, parent: Int[Array, "m"], m: int, takes: int
    ) -> list[tuple[int, int, int]]:
        steps = []
        while m >= 0:
            if self.owner[m] >= 0:
                steps.append((int(self.owner[m]), m, takes))
            m, takes = int(parent[m]), m
        return [*steps, (slowest, given, takes)]

    def play(self, chain: list[tuple[int, int, int]]) -> None:
        """Carry out a chain."""
        for _, gives, _ in chain:
            if gives >= 0:
                self.owner[gives], self.spare[gives] = -1, np.inf
        for device, gives, takes in chain:
            held = [c for c in self.held[device] if c != gives]
            if takes >= 0:
                held.append(takes)
                self.owner[takes] = device
            self.held[device] = held
        for device, _, _ in chain:
            self._refresh(device)
