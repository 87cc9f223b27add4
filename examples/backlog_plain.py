"""The scheme `backlog` on one page, in plain NumPy and loops.

All by air: a mask that moves, the share of it that each device can afford, and memory of the rest.
Nothing is fast, and nothing is drawn here: `simulate` is handed every random draw, so that another
program can play the same dice. Power is in W, energy in W*slots.
"""

import math

import numpy as np
from tcs_h_plain import digital_phase, forward, gradient, top_k


def energy_of(share, sigma2, e, g):
    """What some shares cost a device: sum_m c^2 sigma^2 e/g."""
    return sum(
        c**2 * sigma2 * e_m / g_m for c, e_m, g_m in zip(share, e, g, strict=True) if g_m > 0
    )


def shares(sigma2, e, g, budget):
    """c = g/(g + mu) with the smallest mu >= 0 that the budget allows, found by bisection."""

    def at(mu):
        return np.array([g_m / (g_m + mu) if g_m > 0 else 0.0 for g_m in g])

    if budget <= 0:
        return np.zeros(len(g))
    if energy_of(at(0.0), sigma2, e, g) <= budget:
        return at(0.0)
    low, high = 0.0, max(g)
    while energy_of(at(high), sigma2, e, g) > budget:
        low, high = high, 2.0 * high
    for _ in range(100):
        middle = (low + high) / 2.0
        if energy_of(at(middle), sigma2, e, g) > budget:
            low = middle
        else:
            high = middle
    return at(high)


def least_error(e, g, budget, k, noise, kappa):
    """sigma^2 of least J = K sigma_0^2/sigma^2 + kappa sum (1 - c)^2 e; None: nobody can send."""
    fits = []
    for n in e:
        cost = sum(e_m / g_m for e_m, g_m in zip(e[n], g[n], strict=True) if g_m > 0)
        if budget[n] > 0 and cost > 0:
            fits.append(budget[n] / cost)
    if not fits:
        return None
    tried, wanted = {}, 25
    while len(tried) < wanted:
        sigma2 = min(fits) * 10.0 ** (len(tried) / 8.0)
        withheld = sum(np.sum((1.0 - shares(sigma2, e[n], g[n], budget[n])) ** 2 * e[n]) for n in e)
        tried[sigma2] = k * noise / sigma2 + kappa * withheld
        best = min(tried, key=tried.get)
        if len(tried) == wanted < 97 and best == sigma2:  # the last one: go on by a decade
            wanted += 8
    return best


@np.errstate(over="ignore", invalid="ignore")  # what diverges is seen in the numbers
def simulate(*, x, y, hidden, classes, theta, batches, gain, air_noise, rounds, learning_rate, k,
             noise, power, alpha=1.0, slots=math.inf, floor=0.1, kappa=1.0, every=1, strict=False,
             idle_limit=100, samples=None):  # fmt: skip
    """Train by backlog: (one dict for each round, the reason of the end).

    Draws, by round first (0: the uncounted start): batches [N][H][B] of sample indices, gain [N][M]
    of |h|, air_noise [K] normal. theta is w_{-1}, slots is C, k is K. Devices report the energies
    of their segments once in `every` rounds; strict: at 32 bits a number. With the samples of each
    device it sends its values N samples/all samples times; its memory knows nothing of that.
    """
    theta, power = np.array(theta, dtype=float), np.asarray(power, dtype=float)
    d, n_devices, n_channels = len(theta), len(power), np.shape(gain)[2]
    alpha = np.broadcast_to(alpha, n_devices)
    weight = np.ones(n_devices) if samples is None else n_devices * samples / np.sum(samples)

    def train(t, devices):
        """{n: w_{n,H} - w_{t-1}} by plain SGD; one that is not finite is out of the round."""
        differences = {}
        for n in devices:
            w = theta.copy()
            for batch in batches[t][n]:
                w -= learning_rate * gradient(w, x[batch], y[batch], hidden, classes)
            if np.all(np.isfinite(w - theta)):
                differences[n] = w - theta
        return differences

    start = train(0, range(n_devices))
    if not start:
        return [], "diverged"
    first = sum(weight[n] * start[n] for n in start) / sum(weight[n] for n in start)
    theta, rate, wait = theta + first, np.abs(first), np.ones(d)
    records, memory, spent, used, idle = [], np.zeros((n_devices, d)), np.zeros(n_devices), 0, 0
    sigma2 = None
    for t in range(1, rounds + 1):
        if used >= slots:
            return records, "budget"
        average, room = power, np.full(n_devices, math.inf)  # power and energy that are left
        if slots < math.inf:
            room = np.where(spent < slots * power * (1 - 1e-12), slots * power - spent, 0.0)
            average = room / (slots - used)
        h = np.asarray(gain[t], dtype=float)

        # The mask: the largest expected backlog.
        mask = top_k(np.maximum(rate, floor * rate.mean()) * wait, k)
        trained = [n for n in range(n_devices) if average[n] > 0]
        ec = {n: delta + memory[n] for n, delta in train(t, trained).items()}
        if trained and not ec:
            return records, "diverged"

        # Reports, where they are charged, and what they leave of the energy.
        reports = (t - 1) % every == 0 or sigma2 is None
        load = 32.0 * n_channels if strict and reports else 0.0
        owner, p, rates, own, slots_digital = digital_phase(list(ec), average, h**2, noise, load)
        active = [n for n in ec if load == 0 or rates[n] > 0]
        digital = np.array([own[n] * p[n].sum() for n in range(n_devices)])
        slots_air = math.ceil(k / n_channels)
        budget = np.minimum(alpha * average * slots_air, room - digital)
        budget[spent + digital >= slots * power * (1 - 1e-12)] = 0.0  # spent, but for rounding

        # Loudness and shares.
        e = {
            n: np.array([np.sum(s**2) for s in np.array_split(weight[n] * ec[n][mask], n_channels)])
            for n in active
        }
        g = {n: h[n] ** 2 for n in active}
        loudest = least_error(e, g, budget, k, noise, kappa) if reports else sigma2
        c = {n: shares(loudest or 1.0, e[n], g[n], budget[n]) for n in active}
        analog = np.zeros(n_devices)
        for n in active:
            analog[n] = energy_of(c[n], loudest or 1.0, e[n], g[n])
        if not np.any(analog > 0):  # nobody can send, or nobody has anything to send
            active, owner, slots_air, slots_digital, load = [], [], 0, 0, 0.0
            p, rates, digital = np.zeros_like(p), np.zeros_like(rates), np.zeros(n_devices)
        elif reports:
            sigma2 = loudest
        if slots_air + slots_digital > slots - used:
            return records, "budget"

        # What the base station makes of it; what stays with the devices.
        update, heard = np.zeros(d), np.zeros(k, dtype=bool)
        sizes = [len(part) for part in np.array_split(mask, n_channels)]
        for n in ec:
            sent = np.zeros(d)
            if n in active:
                share = np.repeat(c[n], sizes)
                sent[mask] = share * ec[n][mask]
                heard |= share > 0
            update, memory[n] = update + weight[n] * sent / n_devices, ec[n] - sent
        if active:
            z = math.sqrt(noise) * np.asarray(air_noise[t]) / (math.sqrt(loudest) * n_devices)
            update[mask] += np.where(heard, z, 0.0)  # silence is known to be silence
        wait_of_mask = wait[mask]
        wait = wait + 1.0
        if active:
            rate[mask], wait[mask] = np.abs(update[mask]) / wait_of_mask, 1.0
        idle = 0 if active else idle + 1
        energy = analog + digital
        theta, spent, used = theta + update, spent + energy, used + slots_air + slots_digital
        records.append({
            "t": t, "mask": mask, "active": active, "owner": owner, "power": p, "rate": rates,
            "share": c, "sigma": math.sqrt(loudest or 1.0), "budget": budget, "bits": load,
            "slots_air": slots_air, "slots_digital": slots_digital, "energy": energy,
            "theta": theta, "memory": memory.copy(), "spent": spent, "slots_used": used,
            "rates": rate.copy(), "waits": wait.copy(), "update": update,
        })  # fmt: skip
        if idle >= idle_limit or not np.all(np.isfinite(theta)):
            return records, "stalled" if idle >= idle_limit else "diverged"
    return records, "rounds"


def main(n_devices=8, n_channels=10, rounds=60, features=20, hidden=16, classes=4, k=20):
    """Gaussian blobs, one class on each device, and 1000 samples for the test."""
    rng = np.random.default_rng(1)
    y = np.sort(np.arange(4000) % classes)
    x = rng.normal(size=(classes, features))[y] + 1.5 * rng.normal(size=(len(y), features))
    test = rng.permutation(4000)[:1000]
    theta = 0.2 * rng.normal(size=hidden * (features + 1) + classes * (hidden + 1))
    own = 500 * np.arange(n_devices)[:, None, None] + rng.integers(500, size=(rounds + 1, 1, 5, 32))
    draws = {"batches": own, "gain": rng.rayleigh(size=(rounds + 1, n_devices, n_channels)),
             "air_noise": rng.normal(size=(rounds + 1, k))}  # fmt: skip
    records, reason = simulate(
        x=x, y=y, hidden=hidden, classes=classes, theta=theta, **draws, rounds=rounds,
        learning_rate=0.1, k=k, noise=1e-6, power=np.full(n_devices, 5e-3))  # fmt: skip
    print(f"backlog, ended by {reason}\nround  slots  loudness  mean share  accuracy")
    for row in records[::12] + records[-1:]:
        right = forward(row["theta"], x[test], hidden, classes)[0].argmax(axis=1) == y[test]
        share = np.mean(list(row["share"].values()))
        print(
            f"{row['t']:5}{row['slots_used']:7}{row['sigma']:10.3f}{share:12.3f}{right.mean():10.3f}"
        )


if __name__ == "__main__":
    main()
