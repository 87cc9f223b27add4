"""The same run under other names for its devices: what belongs to a device moves with it."""

import dataclasses

import numpy as np
import pytest

_OF_NOBODY = ("air", "projection", "measure")  # rooms whose dice belong to no device


class _Shuffled(np.random.Generator):
    """Throws what another generator throws, with the rows of devices in another order."""

    def __init__(self, plain, order):
        super().__init__(plain.bit_generator)
        self.order = order

    def _moved(self, rows):
        return rows[self.order] if np.shape(rows)[:1] == self.order.shape else rows

    def random(self, size=None):
        return self._moved(super().random(size))

    def standard_normal(self, size=None):
        return self._moved(super().standard_normal(size))


@dataclasses.dataclass(frozen=True)
class _Renamed:
    """Dice of which device n throws those of order[n]."""

    inner: object
    order: np.ndarray

    def rng(self, room, round=0):
        plain = self.inner.rng(room, round)
        return plain if room in _OF_NOBODY else _Shuffled(plain, self.order)

    def uniform(self, room, round, devices, width):
        everyone = np.arange(len(self.order))
        return self.inner.uniform(room, round, everyone, width)[self.order][devices]


def renamed(setup, order):
    """The setup in which device n is who was order[n]."""
    order = np.asarray(order)
    world = setup.world
    moved = dataclasses.replace(
        world, shards=tuple(world.shards[n] for n in order), power=world.power[order]
    )
    return dataclasses.replace(setup, world=moved, streams=_Renamed(setup.streams, order))


def assert_renamed(played, again, order):
    """Every round of one is that of the other under new names, to rounding."""
    assert len(played) == len(again) > 0
    close = {"rtol": 1e-8, "atol": 1e-10}
    for (_, x, before, memory), (_, y, after, moved) in zip(played, again, strict=True):
        np.testing.assert_allclose(y.theta, x.theta, **close)
        np.testing.assert_allclose(moved, memory[order], **close)
        np.testing.assert_allclose(y.spent, x.spent[order], rtol=1e-8)
        assert after.plan.reason == tuple(before.plan.reason[n] for n in order)
        names = np.append(order, -1)[after.plan.owner]
        np.testing.assert_array_equal(names, before.plan.owner)
        assert y.slots == x.slots
        ours, theirs = dict(after.columns), dict(before.columns)
        rounded = [each.pop("recovery", 0.0) for each in (ours, theirs)]  # by order of summation
        assert ours == theirs
        assert rounded[0] == pytest.approx(rounded[1], rel=1e-8, nan_ok=True)
