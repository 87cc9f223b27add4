"""Digital quantisers and sign votes in plain loops; imports nothing of airfeel, dice handed in."""

import math

import numpy as np


def levels(x, bits, dice):
    """QSGD of one vector with one norm."""
    if bits == 32:
        return list(x)
    s, norm = 2 ** (bits - 1) - 1, math.sqrt(sum(v * v for v in x))
    sent = []
    for value, u in zip(x, dice, strict=True):
        exact = s * abs(value) / norm if norm else 0.0
        level = math.floor(exact)
        level = min(level + (u < exact - level), s)
        sent.append(math.copysign(norm * level / s, value))
    return sent


def beta(entries, bits):
    if bits == 32 or entries == 0:
        return 0.0
    s = 2 ** (bits - 1) - 1
    return min(entries / s**2, math.sqrt(entries) / s)


def qsgd(x, bits, bucket, scaled, dice):
    """What a device says of x, and its bits."""
    size, sent, total = bucket or len(x), [], bits * len(x)
    for first in range(0, len(x), size):
        part = x[first : first + size]
        factor = 1.0 + beta(len(part), bits) if scaled else 1.0
        sent += [v / factor for v in levels(part, bits, dice[first : first + size])]
        total += 32 if bucket and bits != 32 else 0
    return np.array(sent), total


def sign(value):
    return 1.0 if value >= 0 else -1.0


def ef_signs(x, sizes):
    sent, first = [], 0
    for size in sizes:
        part = x[first : first + size]
        mean = sum(abs(v) for v in part) / size
        sent += [mean * sign(v) for v in part]
        first += size
    return np.array(sent), len(x)


def largest(x, k):
    """Places of the k largest |x|, ties to the lower index."""
    return sorted(sorted(range(len(x)), key=lambda i: (-abs(x[i]), i))[:k])


def qsparse(x, k, bits, scaled, signs, dice):
    places, sent = largest(x, k), np.zeros(len(x))
    kept = [x[i] for i in places]
    if signs:
        mean = sum(abs(v) for v in kept) / k
        said, each = [mean * sign(v) for v in kept], 1
    else:
        factor = 1.0 + beta(k, bits) if scaled else 1.0
        said, each = [v / factor for v in levels(kept, bits, dice)], bits
    for i, v in zip(places, said, strict=True):
        sent[i] = v
    return sent, k * (math.log2(len(x)) + each)


def majority(rows, stride):
    """δ times the sign of the sum of signs."""
    moved = []
    for column in zip(*rows, strict=True):
        votes = sum(sign(v) for v in column)
        moved.append(stride * (votes > 0) - stride * (votes < 0))
    return np.array(moved)


def mean(rows):
    return np.array([sum(column) / len(rows) for column in zip(*rows, strict=True)])


def round_of(scheme, delta, memory, dice, spoke, *, bits, k, bucket, scaled, signs, sizes, stride):
    """ĝ, the memories after the round, and the bits of one device; only those who spoke change."""
    after, said, cost = [list(e) for e in memory], [], 0
    for n in spoke:
        x = [a + b for a, b in zip(delta[n], memory[n], strict=True)]
        if scheme == "qsgd":
            sent, cost = qsgd(x, bits, bucket, scaled, dice[n])
        elif scheme == "ef-signsgd":
            sent, cost = ef_signs(x, sizes)
        elif scheme == "qsparse":
            sent, cost = qsparse(x, k, bits, scaled, signs, dice[n])
        else:
            sent, cost = np.array(x), len(x)
        said.append(sent)
        after[n] = [a - b for a, b in zip(x, sent, strict=True)]
    update = majority(said, stride) if scheme == "signsgd" else mean(said)
    return update, np.array(after), cost
