"""Schemes that speak over the air alone, in plain NumPy and loops: BAA and its kin.

Nothing is fast, nothing is drawn here, and nothing of the library is used: `simulate` is handed the
local training and every random draw. Power is in W, energy in W*slots.
"""

import math

import numpy as np


def segments(values, channels, lanes=1):
    """The sub-channel of each of so many values: in order, longer segments first.

    With two lanes two values share an element, and elements are what is laid out.
    """
    short, rest = divmod(-(-values // lanes), channels)
    elements = [m for m in range(channels) for _ in range(short + (1 if m < rest else 0))]
    return [elements[i // lanes] for i in range(values)]


def truncated(
    norm2, able, gain, mean2, budget, slots, symbols, *, threshold, sigma, inverse, lanes=1
):
    """sigma_t, amplitudes and who is out, under truncated inversion; two lanes share the power."""
    channels = lanes * len(gain[0])
    out = set()
    if sigma is None:
        strength = {n: budget[n] / slots * mean2[n] for n in able}
        out = {n for n in able if strength[n] < 0.1 * np.median(list(strength.values()))}
        rho = min(strength[n] / (channels * inverse) for n in able if n not in out)
        variance = sum(norm2[n] for n in able) / len(able) / symbols
        sigma = math.sqrt(rho / variance)
    return sigma, loud(sigma, gain, mean2, threshold, -(-symbols // lanes)), out


def precoded(norm2, able, gain, mean2, budget, slots, symbols, *, threshold, lanes=1, last=None):
    """COTAF's; where `last` is a list, with the largest norm of the round before, kept there."""
    most = max(norm2[n] for n in able)
    if last is not None:
        last.append(most)
        most = last[-2] if len(last) > 1 else most
    p = min(budget[n] for n in able) / most
    sigma = math.sqrt(p * threshold * min(mean2[n] for n in able))
    return sigma, loud(sigma, gain, mean2, threshold, -(-symbols // lanes)), set()


def flat(norm2, able, gain, mean2, budget, slots, symbols, *, root):
    """GBMA's; the receiver divides by sigma_t E h."""
    sigma = math.sqrt(min(budget[n] for n in able) / max(norm2[n] for n in able))
    mean = sum(math.sqrt(mean2[n]) * root for n in able) / len(able)
    return sigma * mean, [[sigma] * len(row) for row in gain], set()


def loud(sigma, gain, mean2, threshold, elements):
    """b = sigma/h where h^2/mean >= threshold and elements are."""
    return [
        [
            sigma / h if m < elements and h > 0 and h * h / mean >= threshold else 0.0
            for m, h in enumerate(row)
        ]
        for row, mean in zip(gain, mean2, strict=True)
    ]


def whole(x):
    """All of x: what the memory takes off, and what goes on the air."""
    return list(x), list(x)


def signs(x):
    """sgn x, sgn 0 = +1."""
    bits = [1.0 if v >= 0 else -1.0 for v in x]
    return bits, bits


def scaled_signs(x):
    """The memory takes the mean magnitude off, the air carries the sign alone."""
    scale = sum(abs(v) for v in x) / len(x)
    bits = [1.0 if v >= 0 else -1.0 for v in x]
    return [scale * b for b in bits], bits


def simulate(*, learn, theta, gain, air_noise, rounds, power, mean2, noise, policy, encode=whole,
             memory=False, strength=1.0, stride=None, divide="heard", slots=math.inf, lanes=1,
             samples=None):  # fmt: skip
    """One dict for each round: who spoke, energies, the model and the memories after it.

    learn(t, theta) gives the updates [N][D] of all devices; gain [t][N][M] and air_noise [t][S] are
    draws; policy(norm2, able, gain, mean2, budget, slots, symbols) is one of the above. With stride
    the base station takes a vote, else a mean. By samples of each device it sends its symbols w
    times, and counts as often; its memory knows nothing of that. lanes: values on one element.
    """
    theta = np.array(theta, dtype=float)
    count, d, channels = len(power), len(theta), len(gain[0][0])
    w = [1.0] * count if samples is None else [count * s / sum(samples) for s in samples]
    start = learn(0, theta)
    theta = theta + sum(w[n] * np.asarray(start[n]) for n in range(count)) / sum(w)
    place = segments(d, channels, lanes)
    e = [np.zeros(d) for _ in range(count)]
    spent, used, records = np.zeros(count), 0, []
    air = -(-d // (lanes * channels))
    for t in range(1, rounds + 1):
        left = [
            power[n]
            if math.isinf(slots)
            else max(slots * power[n] - spent[n], 0.0) / max(slots - used, 1)
            for n in range(count)
        ]
        able = [n for n in range(count) if left[n] > 0 and used < slots]
        delta = learn(t, theta)
        x = [np.asarray(delta[n]) + strength * e[n] for n in range(count)]
        said, symbol = {}, {}
        for n in able:
            said[n], bare = encode(x[n])
            symbol[n] = [w[n] * s for s in bare]
        energy = {n: [0.0] * channels for n in able}
        for n in able:
            for i in range(d):
                energy[n][place[i]] += symbol[n][i] ** 2
        norm2 = {n: sum(energy[n]) for n in able}
        budget = [left[n] * air for n in range(count)]
        divisor, b, out = policy(norm2, able, gain[t], mean2, budget, air, d)
        cost = {n: sum(b[n][m] ** 2 * energy[n][m] for m in range(channels)) for n in able}
        active = [n for n in able if n not in out and any(b[n])]
        if not math.isinf(slots):
            active = [n for n in active if spent[n] + cost[n] <= slots * power[n] * (1 + 1e-12)]
        if active and used + air > slots:
            break
        update = np.zeros(d)
        for i in range(d):
            m = place[i]
            heard = [n for n in active if b[n][m] > 0]
            if not heard:
                continue
            y = sum(gain[t][n][m] * b[n][m] * symbol[n][i] for n in heard)
            y = (y + math.sqrt(noise / lanes) * air_noise[t][i]) / divisor
            whom = {"heard": heard, "active": active, "all": range(count)}[divide]
            mean = y / sum(w[n] for n in whom)
            update[i] = mean if stride is None else stride * np.sign(y)
        for n in able if memory else ():
            e[n] = x[n].copy()
            for i in range(d if n in active else 0):
                e[n][i] -= said[n][i] if b[n][place[i]] > 0 else 0.0
        theta = theta + update
        spent = spent + [cost[n] if n in active else 0.0 for n in range(count)]
        used += air if active else 0
        records.append(
            {
                "active": active,
                "divisor": divisor,
                "amplitude": b,
                "energy": [cost[n] if n in active else 0.0 for n in range(count)],
                "spent": spent,
                "slots": used,
                "theta": theta,
                "memory": np.array(e),
            }
        )
    return records
