"""A round under a real radio in plain loops: nothing of airfeel is imported, dice are handed in.

What a device believes of its channel, what it sends by air, what the base station reads, and whose
packet is lost. Settings are a dictionary; h is complex, [N][M]; dice are uniforms or Gaussians.
"""

import cmath
import math
from statistics import NormalDist


def circular(u, v):
    return math.sqrt(-math.log(1.0 - u)) * cmath.exp(2j * math.pi * v)


def believed(h, u, s):
    """ĥ that is known, h that is met later, and ĝ that is fed back, one channel at a time.

    u: [N][2][M][2] uniforms.
    """
    known, later, heard = [], [], []
    for n, row in enumerate(h):
        omega = s["omega"][n]
        error = 1.0 / (1.0 + s["pilots"] * s["pilot_power"][n] * omega / s["noise"])
        error = 1.0 - s["rho_air"] ** 2 * (1.0 - error)
        known.append([]), later.append([]), heard.append([])
        for m, value in enumerate(row):
            w, v = circular(*u[n][0][m]), circular(*u[n][1][m])
            guess = (1.0 - error) * value + math.sqrt(error * (1.0 - error) * omega) * w
            rho = s["rho_later"]
            known[n].append(guess)
            later[n].append(rho * value + math.sqrt((1.0 - rho**2) * omega) * v)
            heard[n].append(fed_back(guess, omega, s["magnitude_bits"], s["phase_bits"]))
    return known, later, heard


def fed_back(guess, omega, a, b):
    points, size = 2**b, abs(guess)
    angle = 2.0 * math.pi * round(cmath.phase(guess) * points / (2.0 * math.pi)) / points
    step = 40.0 / (2**a - 1)
    level = (20.0 * math.log10(size / math.sqrt(omega)) + 30.0) / step
    if level < -0.5:
        return 0.0
    level = min(max(round(level), 0), 2**a - 1)
    return math.sqrt(omega) * 10.0 ** ((step * level - 30.0) / 20.0) * cmath.exp(1j * angle)


def offsets(u, s):
    """φ, Δf, τ, ξ of each device; u: [N][4] uniforms."""
    quantile = NormalDist().inv_cdf
    return [
        (
            s["phase"] * quantile(row[0]),
            s["cfo"] * quantile(row[1]),
            s["timing"] * (2.0 * row[2] - 1.0),
            s["clock"] * quantile(row[3]),
        )
        for row in u
    ]


def lay_out(count, channels, lanes):
    """(sub-channel, slot) of each element."""
    elements = -(-count // lanes)
    short, rest = divmod(elements, channels)
    return [(m, i) for m in range(channels) for i in range(short + (m < rest))]


def convert(values, bits, loading):
    rms = math.sqrt(sum(v * v for v in values) / len(values))
    if rms == 0.0:
        return values
    top = 2 ** (bits - 1) - 1
    step = loading * rms / top
    return [step * min(max(round(v / step), -top), top) for v in values]


def sent(x, heard, omega, s):
    """What one device sends of its values, the share of each, and its energy."""
    channels, lanes = len(heard), s["lanes"]
    places = lay_out(len(x), channels, lanes)
    loud = []
    for g in heard:
        quiet = abs(g) == 0.0 or abs(g) ** 2 / omega < s["truncation"]
        loud.append(0.0 if quiet else s["scalar"] / abs(g))
    values, power = [], {}
    for k, value in enumerate(x):
        m, i = places[k // lanes]
        values.append(loud[m] * value)
        power[i] = power.get(i, 0.0) + values[k] ** 2
    share, energy = [], sum(min(p, s["peak"]) for p in power.values())
    for k in range(len(x)):
        m, i = places[k // lanes]
        cut = min(1.0, math.sqrt(s["peak"] / power[i])) if power[i] > 0.0 else 1.0
        values[k] *= cut
        share.append(cut if loud[m] > 0.0 else 0.0)
    return convert(values, s["dac_bits"], s["loading"]), share, energy


def read(devices, h, heard, off, noise, s):
    """What the base station reads of what devices send, [K]; noise: standard Gaussians.

    devices: values that each sends, or None where it does not speak.
    """
    channels, lanes = len(h[0]), s["lanes"]
    width = s["subcarriers"] * s["spacing"] if s["subcarriers"] > 1 else 1.0 / s["slot"]
    count = len(noise)
    places = lay_out(count, channels, lanes)
    total = [0j] * len(places)
    for n, values in enumerate(devices):
        if values is None:
            continue
        phi, cfo, tau, xi = off[n]
        for e, (m, i) in enumerate(places):
            g = heard[n][m]
            if abs(g) == 0.0:
                continue
            symbol = s["subcarriers"] * (i // s["subcarriers"])
            t = (symbol % s["every"] if s["every"] else symbol) * s["slot"] + s["middle"]
            f = (m - channels // 2) * width
            fade = 1.0
            if s["subcarriers"] > 1:
                f += (i % s["subcarriers"] - (s["subcarriers"] - 1) / 2.0) * s["spacing"]
                ratio = math.pi * cfo / s["spacing"]
                fade = math.sin(ratio) / ratio
            turn = phi + 2.0 * math.pi * cfo * t - 2.0 * math.pi * f * (tau + xi * t)
            r = h[n][m] / g * cmath.exp(1j * turn) * fade
            element = complex(*values[2 * e : 2 * e + 2]) if lanes == 2 else values[e]
            total[e] += abs(g) * r * element
    flat = (
        [part for z in total for part in (z.real, z.imag)]
        if lanes == 2
        else [z.real for z in total]
    )
    flat = flat[:count]
    flat = [v + math.sqrt(s["noise"] / lanes) * z for v, z in zip(flat, noise, strict=True)]
    flat = convert(flat, s["adc_bits"], s["loading"])
    return [v / (s["scalar"] * s["debias"]) for v in flat]


def packet(power, believed_gain, met_gain, s):
    """Rate, tries and loss of one device's packet."""
    rate = sum(
        bits(p * b**2 / (s["margin"] * s["noise"]), s)
        for p, b in zip(power, believed_gain, strict=True)
    )
    borne = sum(bits(p * t**2 / s["noise"], s) for p, t in zip(power, met_gain, strict=True))
    tries = 1
    while tries < s["transmissions"] and tries * borne < rate * (1.0 - 1e-12):
        tries += 1
    return rate, tries, tries * borne < rate * (1.0 - 1e-12)


def bits(snr, s):
    if s["table"] is None:
        return math.log2(1.0 + snr)
    best = 0.0
    for least, each in s["table"]:
        if snr >= least:
            best = each
    return best
