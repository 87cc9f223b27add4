"""What a real radio costs in time: rounds with every impairment on beside ideal ones, in turns.

    python benchmarks/real_radio.py --preset paper-iid-tcs-h --rounds 4
    python benchmarks/real_radio.py --preset paper-iid-tcs-h --rounds 8 --set training.local_steps=1

Both runs live in one process and play their rounds in turns, ideal, real, real, ideal, so that
whatever else the machine does falls on both. Prints the ratio real/ideal within each pair of
rounds, median and range, of processor time and of wall time. Training takes most of a round, is the
same in both, and scatters on a busy machine by more than a radio costs: the last line leaves it
out of the difference, (real − its training) − (ideal − its training) over the ideal round, in
processor time. Rounds are not evaluated, and the first of each run is not counted.
"""

import argparse
import statistics
import time

import airfeel
from airfeel.build.setup import build
from airfeel.engines.threads import Threads
from airfeel.round import play_round, start
from airfeel.types import Turn

REAL = [
    *("csi.pilots=1", "csi.phase_bits=6", "csi.magnitude_bits=6", "csi.age_digital=1e-3"),
    *("sync.phase=0.1", "sync.cfo=50", "sync.timing=1e-8", "sync.clock_ppm=0.01"),
    *("sync.every=100", "hardware.truncation=0.01", "hardware.peak_power=0.05"),
    *("hardware.dac_bits=10", "hardware.adc_bits=12", "link.rates=mcs", "link.margin_db=2"),
    *("link.transmissions=2", "radio.speed=1", "radio.fading=tdl", "radio.correlation=jakes"),
    *("cell.model=umi", "cell.radius=40", "cell.los=always"),
]


class Player:
    """A run under way, one round at a time."""

    def __init__(self, preset, more):
        e = airfeel.load(preset, more)
        self.setup = build(e)
        scheme, world, streams = self.setup.scheme, self.setup.world, self.setup.streams
        self.engine = Threads(world, e.run.threads, buffers=scheme.codec.memory.buffers)
        self.state = start(scheme, world, streams, self.engine)
        self.scheduled, self.trained, self.prepare = [], 0.0, self.engine.prepare
        self.engine.prepare = self.train

    def train(self, *given):
        """The engine's, timed."""
        before = time.process_time()
        said = self.prepare(*given)
        self.trained = time.process_time() - before
        return said

    def play(self):
        """Seconds of processor and of wall that a round takes, and of processor in training."""
        turn = Turn(self.setup.world, self.state, self.setup.streams)
        cpu, wall = time.process_time(), time.perf_counter()
        self.state, report = play_round(self.setup.scheme, turn, self.engine, measure=False)
        self.scheduled.append(int(report.plan.active.sum()))
        return time.process_time() - cpu, time.perf_counter() - wall, self.trained


def show(ratios):
    """Median and range."""
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f}–{max(ratios):.3f})"


def main():
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--preset", default="paper-iid-tcs-h")
    given.add_argument("--rounds", type=int, default=4)
    given.add_argument("--set", action="append", default=[])
    given = given.parse_args()
    ideal, real = Player(given.preset, given.set), Player(given.preset, [*given.set, *REAL])
    ideal.play(), real.play()
    pairs = []
    for i in range(given.rounds):
        order = (ideal, real) if i % 2 == 0 else (real, ideal)
        took = {player: player.play() for player in order}
        pairs.append((took[ideal], took[real]))
        numbers = ", ".join(f"{a:.2f} → {b:.2f} s" for a, b in zip(*pairs[-1], strict=True))
        print(f"pair {i}: processor, wall, training: {numbers}", flush=True)
    for k, name in enumerate(("processor", "wall")):
        print(f"{name}: {show([r[k] / a[k] for a, r in pairs])} times the ideal")
    added = [((r[0] - r[2]) - (a[0] - a[2])) / a[0] for a, r in pairs]
    print(f"radio alone: {show([1.0 + each for each in added])} times the ideal")
    for name, player in (("ideal", ideal), ("real", real)):
        print(f"{name}: {statistics.mean(player.scheduled):.1f} devices heard per round")


if __name__ == "__main__":
    main()
