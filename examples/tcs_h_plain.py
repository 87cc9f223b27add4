"""The paper on one page: TCS-H, TCS-D and Top-K of Sun et al. 2022 in plain NumPy and loops.

Nothing is fast, and nothing is drawn here: `simulate` is handed every random draw, so that another
program can play the same dice. Power is in W, energy in W*slots, rates in bits a slot.
"""

import itertools
import math

import numpy as np


# ---------------- the model
def forward(theta, x, hidden, classes):
    """Scores of softmax regression (hidden = 0) or f -> hidden, ReLU -> classes; its layers."""
    sizes, at, layers, scores = [x.shape[1], *([hidden] if hidden else []), classes], 0, [], None
    for n_in, n_out in itertools.pairwise(sizes):
        weight, at = theta[at : at + n_out * n_in].reshape(n_out, n_in), at + n_out * n_in
        bias, at = theta[at : at + n_out], at + n_out
        layers.append((weight, x if scores is None else np.maximum(scores, 0.0)))
        scores = layers[-1][1] @ weight.T + bias
    return scores, layers


def gradient(theta, x, y, hidden, classes):
    """Gradient of the mean cross-entropy of one batch, flat like theta: W1, b1, W2, b2."""
    scores, layers = forward(theta, x, hidden, classes)
    delta = np.exp(scores - scores.max(axis=1, keepdims=True))
    delta /= delta.sum(axis=1, keepdims=True)
    delta[np.arange(len(y)), y] -= 1.0
    delta, parts = delta / len(y), []
    for weight, layer_input in reversed(layers):
        parts = [(delta.T @ layer_input).ravel(), delta.sum(axis=0), *parts]
        delta = (delta @ weight) * (layer_input > 0)  # back through the ReLU before this layer
    return np.concatenate(parts)


# ---------------- what is sent, its energy
def top_k(x, k):
    """S_top: sorted indices of the k largest |x|; exactly k of them, ties to the lower index."""
    return np.sort(np.argsort(-np.abs(x), kind="stable")[:k])


def quantize(x, bits, uniform):
    """QSGD: a sign and one of s = 2^(bits-1) - 1 levels of the norm; unbiased. 32 bits: x."""
    norm, s = np.linalg.norm(x), 2 ** (bits - 1) - 1
    if bits == 32 or norm == 0:
        return x.copy() if bits == 32 else np.zeros_like(x)
    exact = s * np.abs(x) / norm
    level = np.floor(exact)
    level = np.minimum(level + (uniform < exact - level), s)  # up with probability = fraction
    return norm * np.sign(x) * level / s


def analog_energy(values, gain, scalar):
    """P[g]_n = sum_m ||scalar * segment_m / h_m||^2; longer segments first, in index order."""
    energy = 0.0
    for segment, h in zip(np.array_split(values, len(gain)), gain, strict=True):
        if np.any(segment):  # silence is free, even over a dead channel
            energy += np.sum((scalar * segment / h) ** 2) if h > 0 else math.inf
    return energy


# ---------------- sub-channels and power
def log_rate(power, gain2, noise):
    """log2(1 + P |h|^2 / sigma_0^2), bits a slot."""
    return np.log2(1.0 + power * gain2 / noise)


def bottleneck(r):
    """Largest b > 0 such that each device can have its own channel with r >= b, else 0."""
    rates, owner, unmatched = r.tolist(), {}, list(range(len(r)))

    def augment(n, least, seen):
        for m, rate in enumerate(rates[n]):
            if rate >= least and m not in seen:
                seen.add(m)
                if m not in owner or augment(owner[m], least, seen):
                    owner[m] = n
                    return True
        return False

    for least in sorted(set(r[r > 0].tolist()), reverse=True):  # a decreasing threshold
        unmatched = [n for n in unmatched if not augment(n, least, set())]
        if not unmatched:
            return least
    return 0.0


def heaviest_matching(r, least):
    """Channel of each device in the matching of largest sum of r over the edges r >= least.

    Devices enter one by one, each along the chain of swaps that adds most to the sum: it takes a
    channel from a device, which takes one from another, and so on to a channel nobody owns.
    """
    rates, channel, owner = r.tolist(), {}, {}
    rounding = 1e-12 * r.max()  # what counts as a gain, so that no chain runs in circles
    for start in range(len(rates)):
        value, queue = {start: 0.0}, [start]  # best sum of a chain in which n needs a channel
        best, via = [-math.inf] * r.shape[1], {}  # best sum of a chain in which m is taken, by whom
        while queue:
            n = queue.pop(0)
            for m, rate in enumerate(rates[n]):
                if rate >= least and value[n] + rate > best[m] + rounding:
                    best[m], via[m] = value[n] + rate, n
                    if m in owner:
                        value[owner[m]] = best[m] - rates[owner[m]][m]
                        queue.append(owner[m])
        m = max((m for m in via if m not in owner), key=lambda m: best[m])
        while m is not None:  # swap along the chain, back to the device that came in
            n = owner[m] = via[m]
            channel[n], m = m, channel.get(n)
    return [channel[n] for n in range(len(rates))]


def water_filling(power, gain2, noise):
    """P_m = (level - noise/|h_m|^2)^+ with sum P_m = power: the best rate over these channels."""
    result, best = np.zeros(len(gain2)), [m for m in np.argsort(-gain2) if gain2[m] > 0]
    while best:
        floor = noise / gain2[best]  # level - floor_m, with level = (power + sum of floors) / count
        result[best] = [(power + np.sum(floor - f)) / len(best) for f in floor]
        if result[best[-1]] > 0:
            break
        result[best.pop()] = 0.0  # the worst channel stays dry
    return result


def allocate(power, gain2, noise):
    """Owner [M] (-1: none), power [n, M], rate [n] (0: cannot be served) for n <= M devices."""
    filled, rate, owner = np.zeros(gain2.shape), np.zeros(len(gain2)), np.full(gain2.shape[1], -1)
    r = log_rate(np.asarray(power)[:, None], gain2, noise)
    members = [n for n in range(len(r)) if r[n].max() > 0]
    while members and (least := bottleneck(r[members])) == 0:
        members.remove(min(members, key=lambda n: (r[n].max(), -n)))
    if members:  # one channel each: the bottleneck matching
        owner[heaviest_matching(r[members], least)] = members

    def equal_power_rate(n, channels):
        return float(np.sum(log_rate(power[n] / len(channels), gain2[n, channels], noise)))

    mine = {n: np.flatnonzero(owner == n).tolist() for n in members}
    current = {n: equal_power_rate(n, mine[n]) for n in members}
    willing = list(members)
    while willing and np.any(owner < 0):  # the rest: the poorest takes its best, if it gains
        n = min(willing, key=lambda n: (current[n], n))
        m = max(np.flatnonzero(owner < 0), key=lambda m: r[n, m])
        after = equal_power_rate(n, [*mine[n], m])
        if after - current[n] > 0:
            owner[m], current[n], mine[n] = n, after, [*mine[n], m]
        else:
            willing.remove(n)
    for n in members:
        filled[n, mine[n]] = water_filling(power[n], gain2[n, mine[n]], noise)
        rate[n] = np.sum(log_rate(filled[n], gain2[n], noise))
    return owner, filled, rate


def digital_phase(members, average, gain2, noise, bits):
    """Owner [M] of each batch of at most M devices, power [N, M], rate [N], slots [N], U[l]."""
    power, rate, slots = np.zeros(gain2.shape), np.zeros(len(gain2)), [0] * len(gain2)
    owners, total, n_channels = [], 0, gain2.shape[1]
    best = {n: log_rate(average[n], gain2[n], noise).max() for n in members if bits > 0}
    ranked = sorted((n for n in best if best[n] > 0), key=lambda n: (-best[n], n))
    for first in range(0, len(ranked), n_channels):
        batch = np.sort(ranked[first : first + n_channels])
        owner, power[batch], rate[batch] = allocate(average[batch], gain2[batch], noise)
        owners.append(np.where(owner >= 0, batch[owner], -1))
        for n in batch[rate[batch] > 0]:
            slots[n] = math.ceil(bits / rate[n])
        total += max(slots[n] for n in batch)  # batches follow one another
    return owners, power, rate, slots, total


# ---------------- the training loop
@np.errstate(over="ignore", invalid="ignore")  # what diverges is seen in the numbers
def simulate(algorithm, *, x, y, hidden, classes, theta, batches, gain, air_noise, uniform_local,
             uniform_global, order, rounds, learning_rate, k_global, k_local, bits, scheduled,
             noise, power, power_scalar, alpha=1.0, slots=math.inf, idle_limit=100):  # fmt: skip
    """Train by "tcs-h", "tcs-d" or "top-k": (one dict for each round, the reason of the end).

    Draws, by round first (0: the uncounted start): batches [N][H][B] of sample indices, gain [N][M]
    of |h|, air_noise [K_g] normal, uniform_* [N][K] for the rounding, order [N] for random devices.
    theta is w_{-1}, slots is C; learning_rate and power_scalar are numbers or one for each round.
    """
    theta, power = np.array(theta, dtype=float), np.asarray(power, dtype=float)
    d, n_devices, n_channels = len(theta), len(power), np.shape(gain)[2]
    analog, alpha = algorithm == "tcs-h", np.broadcast_to(alpha, n_devices)
    k_masked = 0 if algorithm == "top-k" else k_global  # entries whose place is known to all
    k_own = k_global + k_local - k_masked  # entries whose place each device chooses and sends
    load = k_own * (math.log2(d) + bits) + (k_masked * bits if algorithm == "tcs-d" else 0)

    def at(values, t):
        return values if np.ndim(values) == 0 else values[max(t - 1, 0)]

    def train(t, devices):
        """{n: g_n = w_{n,H} - w_{t-1}} by plain SGD; one that is not finite is out of the round."""
        differences = {}
        for n in devices:
            w = theta.copy()
            for batch in batches[t][n]:
                w -= at(learning_rate, t) * gradient(w, x[batch], y[batch], hidden, classes)
            if np.all(np.isfinite(w - theta)):
                differences[n] = w - theta
        return differences

    start = list(train(0, range(n_devices)).values())
    if not start:
        return [], "diverged"
    latest = np.mean(start, axis=0)  # g_0; later the last update that was not idle
    theta += latest
    records, memory, spent, used, idle = [], np.zeros((n_devices, d)), np.zeros(n_devices), 0, 0
    for t in range(1, rounds + 1):
        if used >= slots:
            return records, "budget"
        average, room = power, np.full(n_devices, math.inf)  # power and energy that are left
        if slots < math.inf:
            room = slots * power - spent
            average = room / (slots - used)
        h, scalar = np.asarray(gain[t], dtype=float), at(power_scalar, t)

        # Local training, error compensation, the mask that all share.
        trained = list(range(n_devices))
        if not analog:  # random scheduling comes first: the others need not train
            keys = sorted((order[t][n], n) for n in trained if average[n] > 0)
            trained = sorted(n for _, n in keys[:scheduled])
        ec = {n: g + memory[n] for n, g in train(t, trained).items()}
        if trained and not ec:
            return records, "diverged"
        mask = top_k(latest, k_masked)

        # Scheduling, sub-channels, power; again without those whose energy would not suffice.
        active, needed = list(ec), np.full(n_devices, math.nan)
        slots_air = math.ceil(k_global / n_channels) if analog else 0
        if analog:
            needed[active] = [analog_energy(ec[n][mask], h[n], scalar) for n in active]
            limit = alpha * average * slots_air
            active = [n for n in active if average[n] > 0 and needed[n] <= limit[n]]
        over = [-1]
        while over:
            owner, p, rate, own, slots_digital = digital_phase(active, average, h**2, noise, load)
            active = [n for n in active if load == 0 or rate[n] > 0]
            slots_air = slots_air if active else 0
            if slots_air + slots_digital > slots - used:
                return records, "budget"
            energy = np.zeros(n_devices)
            energy[active] = [own[n] * p[n].sum() + (needed[n] if analog else 0) for n in active]
            over = [n for n in active if energy[n] > room[n] * (1 + 1e-12)]
            active = [n for n in active if n not in over]

        # Aggregation and error memory; with nobody scheduled the round is idle: nothing moves.
        update, outside = np.zeros(d), np.setdiff1d(np.arange(d), mask)
        for n in active:
            sent = np.zeros(d)
            sent[mask] = ec[n][mask]
            if algorithm == "tcs-d":
                sent[mask] = quantize(ec[n][mask], bits, uniform_global[t][n])
            local = outside[top_k(ec[n][outside], k_own)]
            sent[local] = quantize(ec[n][local], bits, uniform_local[t][n][:k_own])
            update, memory[n] = update + sent / len(active), ec[n] - sent
        if active and analog:
            update[mask] += math.sqrt(noise) * np.asarray(air_noise[t]) / (scalar * len(active))
        latest, idle = (update, 0) if active else (latest, idle + 1)
        theta, spent, used = theta + update, spent + energy, used + slots_air + slots_digital
        records.append({
            "t": t, "mask": None if algorithm == "top-k" else mask, "active": active,
            "owner": owner, "power": p, "rate": rate, "needed": needed, "slots_air": slots_air,
            "slots_digital": slots_digital, "bits": load, "energy": energy, "update": update,
            "theta": theta, "memory": memory.copy(), "spent": spent, "slots_used": used,
        })  # fmt: skip
        if idle >= idle_limit or not np.all(np.isfinite(theta)):
            return records, "stalled" if idle >= idle_limit else "diverged"
    return records, "rounds"


def main(n_devices=8, n_channels=10, rounds=20, features=20, hidden=16, classes=4, k=(100, 25)):
    """Gaussian blobs, 3000 samples dealt to the devices in turn and 1000 for the test."""
    rng, shape = np.random.default_rng(1), (rounds + 1, n_devices)
    y = np.arange(4000) // n_devices % classes  # every device has all the classes
    x = rng.normal(size=(classes, features))[y] + 1.5 * rng.normal(size=(len(y), features))
    theta = 0.2 * rng.normal(size=hidden * (features + 1) + classes * (hidden + 1))
    turn = rng.integers(3000 // n_devices, size=(*shape, 5, 32))
    draws = {"batches": turn * n_devices + np.arange(n_devices)[:, None, None],
             "gain": rng.rayleigh(size=(*shape, n_channels)), "order": rng.random(shape),
             "air_noise": rng.normal(size=(len(turn), k[0])),
             "uniform_global": rng.random((*shape, k[0])),
             "uniform_local": rng.random((*shape, sum(k)))}  # fmt: skip
    for algorithm in ("tcs-h", "tcs-d", "top-k"):
        records, reason = simulate(
            algorithm, x=x, y=y, hidden=hidden, classes=classes, theta=theta, **draws,
            rounds=rounds, learning_rate=0.1, k_global=k[0], k_local=k[1], bits=16, scheduled=5,
            noise=1e-6, power=np.full(n_devices, 5e-3), power_scalar=0.6)  # fmt: skip
        print(f"{algorithm}, ended by {reason}\nround  scheduled  slots  resource blocks  accuracy")
        for row in records[::4] + records[-1:]:
            right = forward(row["theta"], x[3000:], hidden, classes)[0].argmax(axis=1) == y[3000:]
            now, blocks = row["slots_air"] + row["slots_digital"], n_channels * row["slots_used"]
            print(f"{row['t']:5}{len(row['active']):11}{now:7}{blocks:17}{right.mean():10.3f}")


if __name__ == "__main__":
    main()
