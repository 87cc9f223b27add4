"""Devices trained by the threads of this process, a block of them a thread at a time."""

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from airfeel.compress.memory import compensate, remember
from airfeel.learn.evaluate import evaluate
from airfeel.radio.air import segment_energy
from airfeel.types import Compress, Dice, Learn, Payload, State, World


def _settle_in() -> None:
    """What a worker does first: one intra-op thread, and no time lost on subnormal numbers."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def _zeros(world: World, rows: int, kind: str) -> Float[Tensor, "{rows} D"]:
    """An empty error memory: in RAM, in a file that goes with the process, or at half the size."""
    theta = world.model.initial()
    shape = (rows, world.dim)
    if kind == "file" and rows:
        with tempfile.NamedTemporaryFile(prefix="airfeel-memory-") as file:
            size = rows * world.dim
            file.truncate(size * theta.element_size())
            return torch.from_file(file.name, shared=True, size=size, dtype=theta.dtype).view(shape)
    return theta.new_zeros(shape, dtype=torch.bfloat16 if kind == "bfloat16" else None)


class _Sheet:
    """What devices say, each put into its row by the worker that has it in its cache."""

    def __init__(self, rows: int, subchannels: int) -> None:
        self._said: list[Tensor] = []  # common, index and value; the first to come tells how wide
        self._lock = Lock()
        self._finite, self._loss = np.zeros(rows, dtype=bool), np.zeros(rows)
        self._energy = np.zeros((rows, subchannels))

    def write(
        self,
        rows: slice,
        finite: Bool[np.ndarray, "n"],
        loss: Float64[np.ndarray, "n"],
        *said: Tensor,
    ) -> None:
        with self._lock:
            if not self._said:
                shapes = [(len(self._loss), part.shape[1]) for part in said]
                self._said = [p.new_empty(s) for p, s in zip(said, shapes, strict=True)]
        for whole, part in zip(self._said, said, strict=True):
            whole[rows] = part
        self._finite[rows], self._loss[rows] = finite, loss
        self._energy[rows] = segment_energy(said[0], self._energy.shape[1])

    def payload(
        self,
        devices: Int64[np.ndarray, "n"],
        support: Int64[Tensor, "K"],
        bits: float,
        like: Float[Tensor, "n D"],
    ) -> Payload:
        none = like.new_zeros((0, 0))
        nothing = [none.new_zeros((0, len(support))), none.long(), none]
        common, index, value = self._said or nothing
        finite, loss, energy = self._finite, self._loss, self._energy
        return Payload(devices, finite, support, common, index, value, energy, bits, loss)


class Threads:
    """Owns the error memory [N D] and the buffer x [n D] of the round under way.

    On a CPU every worker computes with one intra-op thread, and so does the process while the
    engine is open: sums then do not depend on how many threads there are. A GPU has one worker.
    `devices` are the consecutive ids that it looks after, all of them unless told otherwise.
    """

    def __init__(
        self,
        world: World,
        workers: int = 0,
        memory: str = "ram",
        devices: range | None = None,
    ) -> None:
        self.world = world
        self.devices = range(world.devices) if devices is None else devices
        self._kind = memory
        self.memory = _zeros(world, len(self.devices), memory)
        on_gpu = self.memory.device.type != "cpu"
        self._intra_op = torch.get_num_threads()
        torch.set_num_threads(1)
        self._workers = 1 if on_gpu else workers or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._workers, initializer=_settle_in)
        self._x = world.model.initial().new_empty((0, world.dim))
        self._payload: Payload | None = None

    def prepare(
        self,
        learn: Learn,
        compress: Compress,
        state: State,
        invited: Bool[np.ndarray, "N"],
        streams: Dice,
    ) -> Payload:
        """On each invited device: learn, add the memory, compress. What is not sent stays here."""
        t = state.round + 1
        first, stop = self.devices.start, self.devices.stop
        devices = first + np.flatnonzero(invited[first:stop])
        support = compress.support(state.update)
        if len(self._x) != len(devices):
            self._x = self._x[:0].clone()  # the old buffer goes before the new one comes
            self._x = self._x.new_empty((len(devices), self.world.dim))
        turns = -(-len(devices) // (self._workers * learn.block)) or 1
        size = -(-len(devices) // (self._workers * turns)) or 1  # as many blocks for each worker

        sheet = _Sheet(len(devices), self.world.subchannels)

        def work(first: int) -> None:
            part = devices[first : first + size]
            batch_dice = streams.uniform("batch", t, part, learn.dice)
            level_dice = streams.uniform("quantize", t, part, compress.dice)
            delta, loss = learn(self.world, state.theta, part, t, batch_dice)
            rows = slice(first, first + len(part))
            places = part - self.devices.start
            finite = compensate(delta, self.memory, places, self._x[rows])
            said = compress(self._x[rows], support, level_dice)
            sheet.write(rows, finite, loss, *said)

        list(self._pool.map(work, range(0, len(devices), size)))
        self._payload = sheet.payload(devices, support, compress.bits, like=self._x)
        return self._payload

    def ideal(self, active: Bool[np.ndarray, "N"]) -> Float[Tensor, "D"]:
        """Mean of the scheduled devices' x, summed in device order."""
        return self.add_up(self._x.new_zeros(self.world.dim), active) / int(active.sum())

    def add_up(
        self, total: Float[Tensor, "D"], active: Bool[np.ndarray, "N"]
    ) -> Float[Tensor, "D"]:
        """Add the scheduled devices' x to `total`, in place and in device order."""
        assert self._payload is not None, "prepare comes first"
        for x, spoken in zip(self._x, active[self._payload.devices], strict=True):
            if spoken:
                total += x
        return total

    def commit(self, active: Bool[np.ndarray, "N"]) -> None:
        """Keep the new memory of the scheduled devices; all others keep the one they had.

        Where most of all devices spoke, the buffer becomes the memory: few rows are copied then.
        """
        assert self._payload is not None, "prepare comes first"
        said = self._payload
        spoken = active[said.devices]
        most = len(spoken) == len(self.memory) < 2 * np.count_nonzero(spoken)
        swap = self._kind == "ram" and most

        sent = (said.support, said.common, said.index, said.value)
        memory = self._x if swap else self.memory

        def keep(rows: Int64[np.ndarray, "_"]) -> None:
            places = rows if swap else said.devices[rows] - self.devices.start
            remember(self._x, rows, *sent, memory, places)

        list(self._pool.map(keep, np.array_split(np.flatnonzero(spoken), 2 * self._workers)))
        if swap:
            for i in np.flatnonzero(~spoken).tolist():
                self._x[i] = self.memory[i]
            self.memory, self._x = self._x, self.memory
        self._payload = None

    def restore(self, memory: Float[Tensor, "N D"]) -> None:
        """Put back a memory that was saved."""
        self.memory.copy_(memory)

    def evaluate(self, theta: Float[Tensor, "D"]) -> tuple[float, float]:
        """Accuracy and loss on the test set."""
        return evaluate(self.world.model, self.world.data, theta, self._pool.map)

    def close(self) -> None:
        """Stop the workers and give the process its intra-op threads back."""
        self._pool.shutdown()
        torch.set_num_threads(self._intra_op)
