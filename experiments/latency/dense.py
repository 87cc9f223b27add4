"""How many more slots a dense update takes in packets than by air, for more and more devices.

python experiments/latency/dense.py

No training: skies are drawn, and Algorithm 2 shares the sub-channels out. Expected (Zhu, Wang,
Huang 2020, arXiv:1812.11494): digital over air slots grows at least like N/log2 N.
"""

import math

import numpy as np

from airfeel.parts import Fading, Paper, air_slots
from airfeel.radio.transmission.digital import divide

DIM, BITS, SUBCHANNELS, POWER, NOISE, SKIES = 20_490, 16, 64, 5e-3, 1e-6, 20


def digital_slots(devices: int, rng: np.random.Generator) -> int:
    """Of one sky: D values of q bits from every device."""
    fading = Fading(rng.rayleigh(size=(devices, SUBCHANNELS)), NOISE)
    bits = np.full(devices, float(BITS * DIM))
    return divide(np.arange(devices), np.full(devices, POWER), fading, bits, Paper()).slots


def main() -> None:
    """A table in Markdown."""
    air = air_slots(DIM, SUBCHANNELS)
    print("| devices | digital over air slots | over N/log2 N |\n|---|---|---|")
    for devices in (2, 4, 8, 16, 32, 64, 128):
        rng = np.random.default_rng(devices)
        ratios = [digital_slots(devices, rng) / air for _ in range(SKIES)]
        mean, grown = np.mean(ratios), devices / math.log2(devices)
        print(f"| {devices} | {mean:.1f} ± {np.std(ratios, ddof=1):.1f} | {mean / grown:.2f} |")


if __name__ == "__main__":
    main()
