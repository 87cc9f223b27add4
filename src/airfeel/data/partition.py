"""Deal the training samples to devices: disjoint sorted indices for each."""

import numpy as np
from jaxtyping import Float64, Int64, Shaped

from airfeel.types import BadInput

Shards = list[Int64[np.ndarray, "_"]]

_DEALS = 10  # turns of each class in making sizes equal


def iid(labels: Shaped[np.ndarray, "S"], devices: int, *, rng: np.random.Generator) -> Shards:
    """Deal at random into equal shards; sizes differ by one where `devices` does not divide S.

    >>> [len(shard) for shard in iid(np.zeros(7), 3, rng=np.random.default_rng(0))]
    [3, 2, 2]
    """
    _check_devices(labels, devices)
    return [np.sort(part) for part in np.array_split(rng.permutation(len(labels)), devices)]


def fixed_size(
    labels: Shaped[np.ndarray, "S"], devices: int, size: int, *, rng: np.random.Generator
) -> Shards:
    """Give each device `size` random samples; those left over are unused.

    >>> shards = fixed_size(np.zeros(7), 3, 2, rng=np.random.default_rng(0))
    >>> [len(shard) for shard in shards], len(np.unique(shards))
    ([2, 2, 2], 6)
    """
    _check_devices(labels, devices)
    most = len(labels) // devices
    if not 1 <= size <= most:
        raise BadInput(f"data.partition.size = {size}: must be 1..{most}, the samples for each")
    dealt = rng.permutation(len(labels))[: devices * size].reshape(devices, size)
    return [np.sort(shard) for shard in dealt]


def by_classes(
    labels: Shaped[np.ndarray, "S"],
    devices: int,
    classes_per_device: int,
    size: int | None = None,
    *,
    rng: np.random.Generator,
) -> Shards:
    """Give each device samples of exactly `classes_per_device` distinct classes.

    Each class is cut into shards, one for each device that holds it, whose sizes differ by at most
    one; the classes go to as equal numbers of devices as possible. So on balanced data devices get
    equal sizes where the number of classes divides devices · classes_per_device (and the shards
    come out even), and otherwise sizes that differ by no more than a shard. With `size` a device
    keeps so many samples of each of its classes, and the rest is unused.

    >>> labels = np.repeat(np.arange(10), 8)
    >>> shards = by_classes(labels, 20, 2, rng=np.random.default_rng(0))
    >>> {len(shard) for shard in shards}, {len(set(labels[shard])) for shard in shards}
    ({4}, {2})
    """
    _check_devices(labels, devices)
    classes, counts = _classes(labels)
    held, field = devices * classes_per_device, f"data.classes_per_device = {classes_per_device}"
    if not 1 <= classes_per_device <= len(classes) or held < len(classes):
        raise BadInput(
            f"{field}: must be 1..{len(classes)}, the number of classes, and on {devices} devices "
            f"at least {-(-len(classes) // devices)}, to use every class"
        )
    order = rng.permutation(len(classes))
    # Classes with one holder more come first, so that every device gets equally many of them.
    wanted = held // len(classes) + (np.arange(len(classes)) < held % len(classes))
    if (short := counts[order] < wanted).any():
        k = int(short.argmax())
        short_of = f"{counts[order[k]]} samples for {wanted[k]} devices"
        raise BadInput(f"{field}: class {classes[order[k]]} has {short_of}; must be one for each")
    holders = _fair(_holders(wanted, devices, rng=rng), counts[order], devices, rng=rng)
    shards: list[Shards] = [[] for _ in range(devices)]
    for each, owners in zip(classes[order], holders, strict=True):
        pieces = np.array_split(rng.permutation(np.flatnonzero(labels == each)), len(owners))
        if size is not None and not 1 <= size <= len(pieces[-1]):
            legal = f"must be 1..{len(pieces[-1])}, the samples of class {each} for each device"
            raise BadInput(f"data.partition.size = {size}: {legal}")
        for device, piece in zip(owners, pieces, strict=True):
            shards[device].append(piece[:size])
    return [np.sort(np.concatenate(shard)) for shard in shards]


def _holders(wanted: Int64[np.ndarray, "C"], devices: int, *, rng: np.random.Generator) -> Shards:
    """Draw the devices that hold each class: `wanted` many, of those who hold fewest so far.

    No two devices ever differ by more than one class, so at the end all hold equally many where the
    total can be divided so, and none holds a class twice.
    """
    load = np.zeros(devices, np.int64)
    holders = []
    for many in wanted:
        chosen = np.lexsort((rng.random(devices), load))[:many]
        load[chosen] += 1
        holders.append(chosen)
    return holders


def _fair(
    holders: Shards,
    counts: Int64[np.ndarray, "C"],
    devices: int,
    *,
    rng: np.random.Generator,
) -> Shards:
    """Order the holders of each class: the first will get its longer shards, if it has such.

    Each class in turn takes its odd samples back and deals them to its smallest holders; a few
    turns leave devices within a sample or two of what even shards would give.
    """
    holders = list(holders)
    size = np.zeros(devices, np.int64)
    odd = counts % [len(owners) for owners in holders]
    for owners, count, longer in zip(holders, counts, odd, strict=True):
        size[owners] += count // len(owners)
        size[owners[:longer]] += 1
    for _ in range(_DEALS):
        for k, owners in enumerate(holders):
            size[owners[: odd[k]]] -= 1
            holders[k] = owners[np.lexsort((rng.random(len(owners)), size[owners]))]
            size[holders[k][: odd[k]]] += 1
    return holders


def dirichlet(
    labels: Shaped[np.ndarray, "S"],
    devices: int,
    alpha: float,
    *,
    minimum: int,
    rng: np.random.Generator,
) -> Shards:
    """Divide each class among the devices in proportions drawn from Dirichlet(alpha, …, alpha).

    A small `alpha` gives each class to few devices, a large one gives all the same mixture. A
    device with fewer than `minimum` samples takes random ones from whoever then has most.

    >>> shards = dirichlet(np.arange(60) % 3, 4, 0.1, minimum=5, rng=np.random.default_rng(0))
    >>> sum(map(len, shards)), min(map(len, shards)) >= 5
    (60, True)
    """
    _check_devices(labels, devices)
    if not 0 < alpha < np.inf:
        raise BadInput(f"data.alpha = {alpha}: must be positive and finite")
    most = len(labels) // devices
    if not 1 <= minimum <= most:
        raise BadInput(f"data.minimum = {minimum}: must be 1..{most}, the samples for each device")
    parts: list[Shards] = [[] for _ in range(devices)]
    for each in _classes(labels)[0]:
        samples = rng.permutation(np.flatnonzero(labels == each))
        cuts = np.cumsum(_proportions(alpha, devices, rng=rng))[:-1] * len(samples)
        for part, piece in zip(parts, np.split(samples, np.rint(cuts).astype(int)), strict=True):
            part.append(piece)
    shards = [rng.permutation(np.concatenate(part)) for part in parts]
    return [np.sort(shard) for shard in _lift(shards, minimum)]


def _proportions(
    alpha: float, devices: int, *, rng: np.random.Generator
) -> Float64[np.ndarray, "{devices}"]:
    """One draw from Dirichlet(alpha, …, alpha), by gamma variables in logarithms.

    Gamma(a) = Gamma(a + 1) · U^(1/a); in logarithms it does not underflow for a tiny `alpha`.
    """
    alpha = max(alpha, 1e-300)
    log = np.log(rng.standard_gamma(alpha + 1, devices)) - rng.standard_exponential(devices) / alpha
    share = np.exp(log - log.max())
    return np.asarray(share / share.sum())


def _lift(shards: Shards, minimum: int) -> Shards:
    """Move samples from the largest shards to those below `minimum`, which must be possible.

    Ends, since a shard above the minimum exists while one below does: each move fills one gap.
    """
    stacks = [shard.tolist() for shard in shards]
    size = np.array([len(stack) for stack in stacks])
    for stack, short in zip(stacks, minimum - size, strict=True):
        for _ in range(short):
            giver = size.argmax()
            stack.append(stacks[giver].pop())
            size[giver] -= 1
    return [np.array(stack, np.int64) for stack in stacks]


def _classes(
    labels: Shaped[np.ndarray, "S"],
) -> tuple[Int64[np.ndarray, "C"], Int64[np.ndarray, "C"]]:
    """The classes that occur and how often, in increasing order."""
    if labels.dtype.kind not in "iu":
        raise BadInput(f"data.partition: needs classes, targets are {labels.dtype}; use 'iid'")
    classes, counts = np.unique(labels, return_counts=True)
    return classes.astype(np.int64), counts.astype(np.int64)


def _check_devices(labels: Shaped[np.ndarray, "S"], devices: int) -> None:
    """Every device must get a sample."""
    if not 1 <= devices <= len(labels):
        raise BadInput(
            f"training.devices = {devices}: must be 1..{len(labels)}, the number of samples"
        )
