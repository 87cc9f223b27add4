"""What a real radio costs in time: rounds with every impairment on beside ideal ones, in turns.

    python benchmarks/real_radio.py --preset paper-iid-tcs-h --rounds 3 --turns 3

Prints the ratio of seconds per round, median (range) over turns, ideal and real in alternation, so
that whatever else the machine does falls on both.
"""

import argparse
import statistics

import airfeel

REAL = [
    *("csi.pilots=1", "csi.phase_bits=6", "csi.magnitude_bits=6", "csi.age_digital=1e-3"),
    *("sync.phase=0.1", "sync.cfo=50", "sync.timing=1e-8", "sync.clock_ppm=0.01"),
    *("sync.every=100", "hardware.truncation=0.01", "hardware.peak_power=0.05"),
    *("hardware.dac_bits=10", "hardware.adc_bits=12", "link.rates=mcs", "link.margin_db=2"),
    *("link.transmissions=2", "radio.speed=1"),
]


def seconds(preset, rounds, more):
    """Seconds of a round after the first, evaluation left out."""
    limits = [f"training.rounds={rounds}", f"run.eval_every={rounds + 1}"]
    run = airfeel.run(airfeel.load(preset, [*limits, *more]))
    return statistics.median(run.rounds["seconds"][2:].tolist())


def main():
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--preset", default="paper-iid-tcs-h")
    given.add_argument("--rounds", type=int, default=3)
    given.add_argument("--turns", type=int, default=3)
    given.add_argument("--set", action="append", default=[])
    given = given.parse_args()
    ratios = []
    for turn in range(given.turns):
        ideal = seconds(given.preset, given.rounds, given.set)
        real = seconds(given.preset, given.rounds, [*given.set, *REAL])
        ratios.append(real / ideal)
        print(f"turn {turn}: ideal {ideal:.2f} s, real {real:.2f} s", flush=True)
    low, high = min(ratios), max(ratios)
    print(f"{given.preset}: {statistics.median(ratios):.3f} ({low:.3f}–{high:.3f}) times the ideal")


if __name__ == "__main__":
    main()
