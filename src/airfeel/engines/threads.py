"""Devices trained by the threads of this process, a block of them a thread at a time."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from airfeel.engines.disk import on_disk
from airfeel.handed import guarded
from airfeel.radio.energy import feedback_share, segment_energy
from airfeel.types import Agreed, Codec, Delivery, Invited, Learn, Said, Turn, Words, World


def _settle_in() -> None:
    """What a worker does first: one intra-op thread, and no time lost on subnormal numbers."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def _zeros(world: World, rows: int, place: str) -> Float[Tensor, "{rows} D"]:
    """An empty buffer: in RAM, in a file that goes with the process, or at half the size."""
    theta = world.model.initial()
    shape = (rows, world.dim)
    if place == "file" and rows:
        return on_disk(shape, theta.dtype)
    return theta.new_zeros(shape, dtype=torch.bfloat16 if place == "bfloat16" else None)


def counted(world: World, active: Bool[np.ndarray, "N"]) -> float:
    """How many devices a mean over some of them is over, or the sum of their weights."""
    return int(active.sum()) if world.weights is None else float(world.weights[active].sum())


class _Sheet:
    """Rows of what devices say, written in place by the workers."""

    def __init__(self, rows: int, subchannels: int, lanes: int) -> None:
        self._whole: dict[str, Tensor] = {}  # by name; the first block to come tells how wide
        self._lock, self._lanes = Lock(), lanes
        self._finite, self._loss = np.zeros(rows, dtype=bool), np.zeros(rows)
        self._bits, self._energy = np.zeros(rows), np.zeros((rows, subchannels))
        self._norm: Float64[np.ndarray, "n"] | None = None
        self.feedback: Float64[np.ndarray, "n"] | None = None

    def write(
        self,
        rows: slice,
        finite: Bool[np.ndarray, "n"],
        loss: Float64[np.ndarray, "n"],
        words: Words,
    ) -> None:
        parts = {"common": words.common, "index": words.index, "value": words.value}
        if words.signal is not None:
            parts["signal"] = words.signal
        with self._lock:
            if not self._whole:
                count = len(self._loss)
                self._whole = {k: p.new_empty((count, p.shape[1])) for k, p in parts.items()}
            if words.norm is not None and self._norm is None:
                self._norm = np.zeros(len(self._loss))
        for name, part in parts.items():
            self._whole[name][rows] = part
        self._finite[rows], self._loss[rows], self._bits[rows] = finite, loss, words.bits
        if words.norm is not None and self._norm is not None:
            self._norm[rows] = words.norm
        symbols = words.common if words.signal is None else words.signal
        self._energy[rows] = segment_energy(symbols, self._energy.shape[1], self._lanes)

    def said(
        self, devices: Int64[np.ndarray, "n"], agreed: Agreed, like: Float[Tensor, "n D"]
    ) -> Said:
        none = like.new_zeros((0, 0))
        nothing = {"common": none.new_zeros((0, len(agreed.support))), "index": none.long()}
        parts = self._whole or nothing | {"value": none}
        return Said(
            devices=devices,
            finite=self._finite,
            agreed=agreed,
            common=parts["common"],
            index=parts["index"],
            value=parts["value"],
            bits=self._bits,
            energy=self._energy,
            loss=self._loss,
            signal=parts.get("signal"),
            norm=self._norm,
            lanes=self._lanes,
            feedback=self.feedback,
        )


class Threads:
    """Owns the devices' buffers [N D] and the buffer x [n D] of the round under way.

    On a CPU every worker computes with one intra-op thread, and so does the process while the
    engine is open: sums then do not depend on how many threads there are. A GPU has one worker.

    world: of the run. workers: threads, 0 for all cores. memory: `ram`, `file` or `bfloat16`.
    devices: the consecutive ids that it looks after, all of them unless told otherwise.
    buffers: names of what the scheme's codec keeps for each device.
    """

    def __init__(
        self,
        world: World,
        workers: int = 0,
        memory: str = "ram",
        devices: range | None = None,
        buffers: Sequence[str] = ("memory",),
    ) -> None:
        self.world = world
        self.devices = range(world.devices) if devices is None else devices
        self._kind = memory
        self._held = {name: _zeros(world, len(self.devices), memory) for name in buffers}
        self._intra_op = torch.get_num_threads()
        torch.set_num_threads(1)
        on_gpu = world.model.device.type != "cpu"
        self._workers = 1 if on_gpu else workers or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._workers, initializer=_settle_in)
        self._x = world.model.initial().new_empty((0, world.dim))
        self._round: tuple[Codec, Said] | None = None  # the round under way

    def buffers(self) -> Mapping[str, Float[Tensor, "N D"]]:
        """What the codec keeps for each device, by name."""
        return self._held

    def prepare(
        self, turn: Turn, learn: Learn, codec: Codec, agreed: Agreed, invited: Invited
    ) -> Said:
        """On each invited device: learn, add the memory, encode. What is not sent stays here."""
        first, stop = self.devices.start, self.devices.stop
        devices = first + np.flatnonzero(invited.who[first:stop])
        if len(self._x) != len(devices):
            self._x = self._x[:0].clone()  # the old buffer goes before the new one comes
            self._x = self._x.new_empty((len(devices), self.world.dim))
        turns = -(-len(devices) // (self._workers * learn.block)) or 1
        size = -(-len(devices) // (self._workers * turns)) or 1  # as many blocks for each worker

        sheet = _Sheet(len(devices), self.world.subchannels, self.world.lanes)
        memory = codec.memory
        if "memory" in memory.buffers and len(agreed.support):
            sheet.feedback = np.full(len(devices), np.nan)

        def work(first: int) -> None:
            part = devices[first : first + size]
            batch_dice = turn.streams.uniform("batch", turn.round, part, learn.dice)
            level_dice = turn.streams.uniform("quantize", turn.round, part, codec.dice)
            with guarded("scheme.learn", learn, state=turn.state):
                delta, loss = learn(turn, part, batch_dice)
            rows = slice(first, first + len(part))
            x = self._x[rows]
            with guarded("scheme.memory", memory):
                finite = memory.compensate(delta, self._held, part - self.devices.start, x)
            given = x.data  # the same numbers with a version counter of its own: threads share x
            with guarded("scheme.codec", codec, x=given, agreed=agreed, grant=invited.grant):
                words = codec.encode(given, agreed, part, level_dice, invited.grant)
            sheet.write(rows, finite, loss, words)
            if sheet.feedback is not None and words.signal is None:
                sheet.feedback[rows] = feedback_share(delta, x, agreed.support)

        list(self._pool.map(work, range(0, len(devices), size)))
        said = sheet.said(devices, agreed, like=self._x)
        self._round = codec, said
        return said

    def ideal(self, active: Bool[np.ndarray, "N"]) -> Float[Tensor, "D"]:
        """Mean of the scheduled devices' x, summed in device order."""
        return self.add_up(self._x.new_zeros(self.world.dim), active) / counted(self.world, active)

    def add_up(
        self, total: Float[Tensor, "D"], active: Bool[np.ndarray, "N"]
    ) -> Float[Tensor, "D"]:
        """Add the scheduled devices' x to `total`, in place and in device order."""
        _, said = self._under_way()
        weights = self.world.weights
        for n, x in zip(said.devices, self._x, strict=True):
            if active[n]:
                total += x if weights is None else float(weights[n]) * x
        return total

    def commit(self, delivery: Delivery) -> None:
        """Let devices remember what did not arrive; who has nothing new keeps what it had.

        Where the memory of most of all devices changes, x becomes the memory: few rows are copied.
        """
        codec, said = self._under_way()
        self._round, memory = None, codec.memory
        changed = memory.changes(said, delivery)
        most = len(said.devices) == len(self.devices) < 2 * len(changed)
        swap = self._kind == "ram" and memory.in_place and most
        held = self._held | {memory.buffers[0]: self._x} if swap else self._held

        def remember(rows: Int64[np.ndarray, "_"]) -> None:
            places = rows if swap else said.devices[rows] - self.devices.start
            with guarded("scheme.memory", memory):
                memory.remember(self._x, said, delivery, rows, held, places)

        list(self._pool.map(remember, np.array_split(changed, 2 * self._workers)))
        if swap:
            name = memory.buffers[0]
            same = np.ones(len(self._x), dtype=bool)
            same[changed] = False
            for i in np.flatnonzero(same).tolist():
                self._x[i] = self._held[name][i]
            self._held[name], self._x = self._x, self._held[name]

    def restore(self, buffers: Mapping[str, Float[Tensor, "N D"]]) -> None:
        """Put back buffers that were saved."""
        for name, buffer in self._held.items():
            buffer.copy_(buffers[name])

    def evaluate(self, theta: Float[Tensor, "D"]) -> tuple[float, float]:
        """Accuracy and loss on the test set."""
        look = self.world.look or self.world.model.evaluate
        return look(self.world.data, theta, self._pool.map)

    def close(self) -> None:
        """Stop the workers and give the process its intra-op threads back."""
        self._pool.shutdown()
        torch.set_num_threads(self._intra_op)

    def _under_way(self) -> tuple[Codec, Said]:
        if self._round is None:
            raise RuntimeError("no round is under way: prepare comes before ideal and commit")
        return self._round
