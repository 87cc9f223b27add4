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


def top_k(x, k, bits, dice):
    """Unscaled Qsparse: the k largest entries in levels, with their places."""
    return qsparse(x, k, bits, False, False, dice)


def tcs_d(x, mask, k_own, bits, dice):
    """Levels on the mask that all share, and on the largest entries elsewhere, with their places.

    The dice of a device's own entries come first.
    """
    elsewhere = [i for i in range(len(x)) if i not in set(mask)]
    own = [elsewhere[j] for j in largest([x[i] for i in elsewhere], k_own)]
    sent = np.zeros(len(x))
    for places, u in ((own, dice[:k_own]), (mask, dice[k_own:])):
        sent[places] = levels([x[i] for i in places], bits, u)
    return sent, len(mask) * bits + k_own * (math.log2(len(x)) + bits)


def one_sided(x, q):
    """D-DSGD's quantiser: the positive ones of the q largest, or the negative of the q smallest.

    All at their mean, whichever of both means is larger.
    """
    order = sorted(range(len(x)), key=lambda i: (-x[i], i))
    back = sorted(range(len(x)), key=lambda i: (x[i], i))
    high = [i for i in order[:q] if x[i] > 0]
    low = [i for i in back[:q] if x[i] < 0]
    up = sum(x[i] for i in high) / len(high) if high else 0.0
    down = -sum(x[i] for i in low) / len(low) if low else 0.0
    sent = np.zeros(len(x))
    sent[high if up > down else low] = up if up > down else -down
    return sent


def one_sided_bits(dim, q):
    """Which q of D entries, their mean and its sign."""
    return math.log2(math.comb(dim, q)) + 33


def most_entries(dim, bits):
    """The most entries of one sign that fit, by trying."""
    fits = [q for q in range(1, dim // 2 + 1) if one_sided_bits(dim, q) <= bits]
    return max(fits, default=0)


def majority(rows, stride, weight):
    """δ times the sign of the sum of signs, each so many votes."""
    moved = []
    for column in zip(*rows, strict=True):
        votes = sum(w * sign(v) for w, v in zip(weight, column, strict=True))
        moved.append(stride * (votes > 0) - stride * (votes < 0))
    return np.array(moved)


def mean(rows, weight):
    """Each row counts so many times."""
    return sum(w * np.asarray(row) for w, row in zip(weight, rows, strict=True)) / sum(weight)


def by_samples(samples):
    """w = N samples/sum of samples."""
    return [len(samples) * s / sum(samples) for s in samples]


def mem_sgd(w, memory, gradients, rate, k):
    """Sparsified SGD with memory (Stich 2018), on some workers: the model and memories after it.

    g = top_k(m + rate gradient); w <- w - mean g; m <- m + rate gradient - g. Devices there send
    gradients, here updates: the memories are the negative of those.
    """
    after, total = [], np.zeros(len(w))
    for m, gradient in zip(memory, gradients, strict=True):
        p = [a + rate * b for a, b in zip(m, gradient, strict=True)]
        g = np.zeros(len(w))
        for i in largest(p, k):
            g[i] = p[i]
        total += g
        after.append(np.array(p) - g)
    return np.asarray(w) - total / len(memory), after


def round_of(
    scheme, delta, memory, dice, spoke, *, bits, k, bucket, scaled, signs, sizes, stride,
    weight, mask=()
):  # fmt: skip
    """ĝ, the memories after the round, and the bits of one device; only those who spoke change.

    Packets count so many times as the weights say; memories do not see them.
    """
    after, said, cost = [list(e) for e in memory], [], 0
    for n in spoke:
        x = [a + b for a, b in zip(delta[n], memory[n], strict=True)]
        if scheme == "qsgd":
            sent, cost = qsgd(x, bits, bucket, scaled, dice[n])
        elif scheme == "ef-signsgd":
            sent, cost = ef_signs(x, sizes)
        elif scheme == "qsparse":
            sent, cost = qsparse(x, k, bits, scaled, signs, dice[n])
        elif scheme == "top-k":
            sent, cost = top_k(x, k, bits, dice[n])
        elif scheme == "tcs-d":
            sent, cost = tcs_d(x, mask, k - len(mask), bits, dice[n])
        else:
            sent, cost = np.array(x), len(x)
        said.append(sent)
        after[n] = [a - b for a, b in zip(x, sent, strict=True)]
    votes = [weight[n] for n in spoke]
    update = majority(said, stride, votes) if scheme == "signsgd" else mean(said, votes)
    return update, np.array(after), cost
