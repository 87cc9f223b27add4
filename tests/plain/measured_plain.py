"""Compressed analog aggregation in plain loops: A-DSGD, CA-DSGD, and recovery by message passing.

Nothing is drawn here: matrices, updates, gains and noise are handed in.
"""

import math

import numpy as np


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


def channel_of(symbols, subchannels):
    """The sub-channel of each symbol: in order, longer segments first."""
    short, rest = divmod(symbols, subchannels)
    return [m for m in range(subchannels) for _ in range(short + (m < rest))]


def a_dsgd(a, updates, k, gain, budget, noise, pilot, mean_removed):
    """y~, the measurements that are left of A, who spent what, and sum of sqrt(alpha)."""
    rows = len(a) - 1 if mean_removed else len(a)
    total, spent = None, []
    for x, h, allowed in zip(updates, gain, budget, strict=True):
        v = times(a[:rows], largest(x, k))
        mu = sum(v) / len(v)
        signal = [*(v - mu), mu, pilot] if mean_removed else [*v, pilot]
        where = channel_of(len(signal), len(h))
        alpha = allowed / sum(s**2 / h[m] ** 2 for s, m in zip(signal, where, strict=True))
        sent = [math.sqrt(alpha) / h[m] * s for s, m in zip(signal, where, strict=True)]
        spent.append(norm2(sent))
        arrives = np.array([h[m] * s for s, m in zip(sent, where, strict=True)])
        total = arrives if total is None else total + arrives
    y = total + noise
    heard = y[-1] / pilot
    values = (y[:-2] + y[-2]) if mean_removed else y[:-1]
    return values / heard, a[:rows], spent, heard


def ca_dsgd(a, updates, k, gain, mean2, threshold, scalar, noise):
    """y~ of the measurements that somebody was heard on, and their rows of A."""
    s = len(a)
    where = channel_of(s, len(gain[0]))
    total, speakers = np.zeros(s), np.zeros(s)
    for x, h, mean in zip(updates, gain, mean2, strict=True):
        v = times(a, largest(x, k))
        for i, m in enumerate(where):
            if h[m] ** 2 / mean >= threshold:
                total[i] += scalar * v[i]
                speakers[i] += 1
    kept = [i for i in range(s) if speakers[i]]
    y = np.array([(total[i] + noise[i]) / (scalar * speakers[i]) for i in kept])
    return y, a[kept]
