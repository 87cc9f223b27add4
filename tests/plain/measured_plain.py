"""Compressed analog aggregation in plain loops: A-DSGD, CA-DSGD, and recovery by message passing.

Nothing is drawn here: matrices, updates, gains and noise are handed in.
"""

import math

import numpy as np

from plain.air_plain import segments


def times(a, x):
    return np.array([sum(a[i, j] * x[j] for j in range(len(x))) for i in range(len(a))])


def norm2(z):
    return sum(float(v) ** 2 for v in z)


def amp(a, y, denoise, iterations, tolerance):
    """The estimate of smallest ||z||, and ||z||/||y||; what its denoiser saw (None: nothing)."""
    s, d = a.shape
    x, z, seen = np.zeros(d), np.array(y, float), None
    best, least = x, norm2(z)
    for _ in range(iterations):
        if norm2(z) == 0.0:
            break
        tau2 = norm2(z) / s
        r = x + times(a.T, z)
        new, slopes = denoise(r, tau2)
        z = y - times(a, new) + z * slopes / s
        if not all(math.isfinite(v) for v in z):
            break
        done = math.sqrt(norm2(new - x)) <= tolerance * math.sqrt(norm2(new))
        x = new
        if norm2(z) < least:
            best, least, seen = x, norm2(z), (r, tau2)
        if done:
            break
    return best, math.sqrt(least / norm2(y)), seen


def soft(tuning):
    def denoise(r, tau2):
        theta = tuning * math.sqrt(tau2)
        x = np.array([math.copysign(max(abs(v) - theta, 0.0), v) for v in r])
        return x, sum(1 for v in x if v != 0.0)

    return denoise


def one_posterior(r, tau2, pi, mu, v):
    odds = math.log(pi / (1 - pi)) - 0.5 * math.log((v + tau2) / tau2)
    odds += -((r - mu) ** 2) / (2 * (v + tau2)) + r**2 / (2 * tau2)
    p = 1 / (1 + math.exp(-min(max(odds, -50.0), 50.0)))
    return p, (v * r + tau2 * mu) / (v + tau2), v * tau2 / (v + tau2)


def bernoulli_gaussian(prior):
    def denoise(r, tau2):
        x, spread = np.zeros(len(r)), 0.0
        for i, (pi, mu, v) in enumerate(prior):
            p, m, var = one_posterior(r[i], tau2, pi, mu, v)
            x[i] = p * m
            spread += p * (var + m**2) - x[i] ** 2
        return x, spread / tau2

    return denoise


def next_prior(prior, seen, share, v0, leave, forget):
    """The belief of the next round's entries, from this round's posterior."""
    later = []
    for i, (pi, mu, v) in enumerate(prior):
        p, m, var = (pi, mu, v) if seen is None else one_posterior(seen[0][i], seen[1], pi, mu, v)
        mean = p * m + (1 - p) * mu
        square = p * (var + m**2) + (1 - p) * (v + mu**2) - mean**2
        chance = p * (1 - leave) + (1 - p) * share * leave / (1 - share)
        later.append(
            (
                min(max(chance, 1e-6), 1 - 1e-6),
                (1 - forget) * mean,
                (1 - forget) ** 2 * square + forget * (2 - forget) * v0,
            )
        )
    return later


def largest(x, k):
    """x on its k largest entries (ties: lower index), 0 elsewhere."""
    kept = sorted(range(len(x)), key=lambda i: (-abs(x[i]), i))[:k]
    return np.array([x[i] if i in kept else 0.0 for i in range(len(x))])


def signal_of(v, pilot, mean_removed):
    """What goes on the air of some measurements: with their mean apart, and a pilot at the end."""
    if mean_removed:
        mu = sum(v) / len(v)
        return [*(v - mu), mu, pilot]
    return [*v, pilot]


def a_dsgd(a, updates, k, gain, budget, noise, pilot, mean_removed, lanes=1):
    """y~, the measurements that are left of A, who spent what, and sum of sqrt(alpha)."""
    rows = len(a) - 1 if mean_removed else len(a)
    total, spent = None, []
    for x, h, allowed in zip(updates, gain, budget, strict=True):
        signal = signal_of(times(a[:rows], largest(x, k)), pilot, mean_removed)
        where = segments(len(signal), len(h), lanes)
        alpha = allowed / sum(s**2 / h[m] ** 2 for s, m in zip(signal, where, strict=True))
        sent = [math.sqrt(alpha) / h[m] * s for s, m in zip(signal, where, strict=True)]
        spent.append(norm2(sent))
        arrives = np.array([h[m] * s for s, m in zip(sent, where, strict=True)])
        total = arrives if total is None else total + arrives
    y = total + noise
    heard = y[-1] / pilot
    values = (y[:-2] + y[-2]) if mean_removed else y[:-1]
    return values / heard, a[:rows], spent, heard


def ca_dsgd(v, loud, active, gain, weight, noise, scalar, lanes=1):
    """y~ of the measurements that somebody was heard on, which these are, and their speakers.

    v: of each device, w times; loud: amplitudes, 0 where it is silent.
    """
    where = segments(len(noise), len(gain[0]), lanes)
    total, speakers = np.zeros(len(noise)), np.zeros(len(noise))
    for n in active:
        for i, m in enumerate(where):
            if loud[n][m] > 0:
                total[i] += gain[n][m] * loud[n][m] * v[n][i]
                speakers[i] += weight[n]
    kept = [i for i in range(len(noise)) if speakers[i]]
    y = np.array([(total[i] + noise[i]) / (scalar * speakers[i]) for i in kept])
    return y, kept, speakers[kept]


def made_of(y, rows, all_rows, variance, prior, *, share, tuning, iterations, tolerance):
    """The update, what it leaves unexplained, and the next prior; without a prior soft threshold.

    prior: a dictionary with leave, forget and the `entries`, None before the first round. Rows that
    are left out make the columns shorter, which is made good.
    """
    scale2 = all_rows / len(rows)
    a, y = math.sqrt(scale2) * rows, math.sqrt(scale2) * y
    if prior is None:
        x, residual, _ = amp(a, y, soft(tuning), iterations, tolerance)
        return x, residual, None
    d, leave, forget = a.shape[1], prior["leave"], prior["forget"]
    v0 = max(norm2(y) - len(y) * scale2 * variance, 0.0) / (share * d)
    entries = prior["entries"] or [(share, 0.0, v0)] * d
    x, residual, seen = amp(a, y, bernoulli_gaussian(entries), iterations, tolerance)
    later = next_prior(entries, seen, share, v0, leave, forget)
    return x, residual, {"leave": leave, "forget": forget, "entries": later}


def simulate(*, learn, theta, matrix, gain, air_noise, rounds, power, mean2, noise, k, pilot,
             mean_rounds=0, policy=None, prior=None, tuning=1.1, iterations=30, tolerance=1e-4,
             slots=math.inf, lanes=1, samples=None, pace=None):  # fmt: skip
    """One dict for each round: who spoke, energies, the model and the memories after it.

    learn(t, theta) gives the updates [N][D] of all devices; matrix(t) is A; gain [t][N][M] and
    air_noise [t][s] are draws. With a pilot ("last" or "paper") it is A-DSGD, else CA-DSGD under a
    policy of `air_plain`. pace: factors on each round's energy.
    """
    theta = np.array(theta, dtype=float)
    count, d, channels = len(power), len(theta), len(gain[0][0])
    w = [1.0] * count if samples is None else [count * s / sum(samples) for s in samples]
    start = learn(0, theta)
    update = sum(w[n] * np.asarray(start[n]) for n in range(count)) / sum(w)
    theta, e = theta + update, [np.zeros(d) for _ in range(count)]
    spent, used, records, everyone, idle = np.zeros(count), 0, [], list(range(count)), False
    recovering = {
        "tuning": tuning,
        "iterations": iterations,
        "tolerance": tolerance,
        "share": k / d,
    }
    for t in range(1, rounds + 1):
        left = list(power)
        if not math.isinf(slots):
            left = [(slots * power[n] - spent[n]) / (slots - used) for n in everyone]
        a, z = matrix(t), math.sqrt(noise / lanes) * np.asarray(air_noise[t])
        air = -(-len(z) // (lanes * channels))
        budget = [p * air * (1.0 if pace is None else pace[t - 1]) for p in left]
        delta = learn(t, theta)
        x = [np.asarray(delta[n]) + e[n] for n in everyone]
        if pilot:
            c = 1.0 if idle or pilot == "paper" else 0.1 * math.sqrt(norm2(update))
            y, rows, cost, heard = a_dsgd(a, x, k, gain[t], budget, z, c, t <= mean_rounds, lanes)
            active, variance = everyone, noise / lanes / heard**2
            idle = abs(heard * c) <= 3 * math.sqrt(noise / lanes)  # is it anything but noise?
        else:
            v = [w[n] * times(a, largest(x[n], k)) for n in everyone]
            sigma, b, out = policy(
                dict(enumerate(map(norm2, v))), everyone, gain[t], mean2, budget, air, len(z)
            )
            where = segments(len(z), channels, lanes)
            cost = [
                sum((b[n][m] * s) ** 2 for s, m in zip(v[n], where, strict=True)) for n in everyone
            ]
            active = [n for n in everyone if n not in out and any(b[n])]
            if not math.isinf(slots):
                most = [slots * p * (1 + 1e-12) for p in power]
                active = [n for n in active if spent[n] + cost[n] <= most[n]]
            y, kept, counts = ca_dsgd(v, b, active, gain[t], w, z, sigma, lanes)
            rows, variance = a[kept], noise / lanes / sigma**2 * np.mean(1 / counts**2)
        if used + air > slots:
            break
        residual = math.nan
        if not idle:
            update, residual, prior = made_of(y, rows, len(a), variance, prior, **recovering)
            theta = theta + update
        for n in active:
            e[n] = x[n] if idle else x[n] - largest(x[n], k)
        energy = [cost[n] if n in active else 0.0 for n in everyone]
        spent, used = spent + energy, used + air
        records.append(
            {
                "active": active,
                "energy": energy,
                "spent": spent,
                "air": air,
                "slots": used,
                "theta": theta,
                "memory": np.array(e),
                "recovery": residual,
                "prior": prior,
            }
        )
    return records
