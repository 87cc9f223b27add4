"""Devices trained by the threads of this process, one device a thread at a time."""

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from airfeel.compress.memory import residual
from airfeel.learn.evaluate import evaluate
from airfeel.radio.air import segment_energy
from airfeel.types import Compress, Dice, Learn, Payload, State, World

# finite, mean loss, common [K], index [L], value [L], energy [M]
_Row = tuple[bool, float, Tensor, Tensor, Tensor, Float64[np.ndarray, "M"]]


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
        batch_dice = streams.uniform("batch", t, devices, learn.dice)
        level_dice = streams.uniform("quantize", t, devices, compress.dice)
        self._x = self._x.new_empty((len(devices), self.world.dim))
        size = min(learn.block, -(-len(devices) // self._workers)) or 1

        def work(first: int) -> list[_Row]:
            part = slice(first, first + size)
            delta, loss = learn(self.world, state.theta, devices[part], t, batch_dice[part])
            return [
                self._say(i, int(devices[i]), d, float(value), compress, support, level_dice[i])
                for i, (d, value) in enumerate(zip(delta, loss, strict=True), start=first)
            ]

        blocks = self._pool.map(work, range(0, len(devices), size))
        rows = [row for block in blocks for row in block]
        self._payload = self._gather(devices, support, compress.bits, rows)
        return self._payload

    def _say(
        self,
        i: int,
        device: int,
        delta: Float[Tensor, "D"],
        loss: float,
        compress: Compress,
        support: Int64[Tensor, "K"],
        dice: Float64[np.ndarray, "W"],
    ) -> _Row:
        """One device's x, and what it would say of it."""
        x, memory = self._x[i], self.memory[device - self.devices.start]
        torch.add(delta, memory, out=x)
        finite = bool(torch.isfinite(x).all())
        if not finite:  # the row is never sent: it only has to be well-formed
            x.copy_(memory)
        said = compress(x, support, dice)
        return finite, loss, *said, segment_energy(said[0], self.world.subchannels)

    def _gather(
        self,
        devices: Int64[np.ndarray, "n"],
        support: Int64[Tensor, "K"],
        bits: float,
        rows: list[_Row],
    ) -> Payload:
        finite, loss, common, index, value, energy = zip(*rows, strict=True) if rows else [()] * 6
        none = self._x.new_zeros((0, 0))
        return Payload(
            devices=devices,
            finite=np.array(finite, dtype=bool),
            support=support,
            common=torch.stack(common) if rows else none.new_zeros((0, len(support))),
            index=torch.stack(index) if rows else none.long(),
            value=torch.stack(value) if rows else none,
            energy=np.array(energy, dtype=np.float64).reshape(-1, self.world.subchannels),
            bits=bits,
            loss=np.array(loss, dtype=np.float64),
        )

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
        """Keep the new memory of the scheduled devices; all others keep the one they had."""
        assert self._payload is not None, "prepare comes first"
        said, first = self._payload, self.devices.start

        def keep(i: int) -> None:
            self.memory[said.devices[i] - first] = residual(
                self._x[i], said.support, said.common[i], said.index[i], said.value[i]
            )

        list(self._pool.map(keep, np.flatnonzero(active[said.devices]).tolist()))

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
