"""The scene of the experiments: devices, their taps, what they say, and how far off the sum is."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Complex128, Float64, Int64

from airfeel.radio.channel.gaussian import complex_normal
from airfeel.radio.channel.profiles import Taps, taps
from airfeel.radio.impairments.front_end import Grid
from airfeel.radio.impairments.synchronization import Offsets
from airfeel.radio.ofdm import Ofdm, Paths, carry
from airfeel.types import Fading, Front

OMEGA = 2.0  # E|h|²


@dataclass(frozen=True)
class Point:
    """One setting of an experiment: what was measured, and what the model says."""

    x: float
    measured: float
    expected: float
    label: str = ""  # of the curve that it belongs to


@dataclass(frozen=True)
class Finding:
    """An experiment: its points, the rule that they must keep, and whether they do."""

    key: str  # W1 to W8
    title: str
    rule: str  # what passes
    found: str  # the numbers that were judged
    passed: bool | None  # None: not judged
    points: tuple[Point, ...] = ()
    axis: str = ""  # what x is, with its unit
    scale: float = 1.0  # from a point's x to the axis
    model: str = "symbol level"  # what the expected curve is
    marks: str = "samples"  # what was measured
    unit: str = "NMSE"  # of it
    wide: bool = False  # whether x spans decades


@dataclass(frozen=True)
class Scene:
    """N devices behind taps on the grid of samples, which all speak at once."""

    ofdm: Ofdm
    paths: Paths
    values: Complex128[np.ndarray, "n K"]
    least: float  # devices are silent on sub-carriers of less |h|²

    @property
    def symbols(self) -> int:
        """B, OFDM symbols of the values."""
        return self.values.shape[1] // self.ofdm.bins.size

    @property
    def early(self) -> int:
        """Samples from the receiver's window to the prefix's end: half of what taps leave."""
        return int(self.ofdm.prefix - self.paths.delay.max()) // 2

    @property
    def gain(self) -> Complex128[np.ndarray, "n M S"]:
        """h on every sub-carrier."""
        return self.paths.response(self.ofdm)[..., 0]

    def inverse(self, gain: Complex128[np.ndarray, "n M S"]) -> Complex128[np.ndarray, "n M S"]:
        """1/h, or silence."""
        loud = np.abs(gain) ** 2 >= self.least
        return np.divide(1.0, gain, out=np.zeros_like(gain), where=loud)

    def late(self, late: Int64[np.ndarray, "n"]) -> "Scene":
        """The same with devices that are too late [samples]."""
        return replace(self, paths=replace(self.paths, late=late))

    def offset(self, offset: Float64[np.ndarray, "n"]) -> "Scene":
        """The same with carrier offsets [Hz]."""
        return replace(self, paths=replace(self.paths, offset=offset))

    def waveform(
        self, *, rng: np.random.Generator, limit: float = np.inf
    ) -> Complex128[np.ndarray, "K"]:
        """What the samples say of the sum, without noise."""
        return carry(
            self.ofdm, self.values, self.paths, self.inverse(self.gain), limit=limit, rng=rng
        )

    def arriving(self) -> Complex128[np.ndarray, "n B M S"]:
        """r at symbol level, as rounds compute it: `Offsets.residual` and `Grid.turns`."""
        ofdm, n, (m, s) = self.ofdm, len(self.values), self.ofdm.bins.shape
        front, offsets = self.front, self.offsets
        width = s * ofdm.spacing
        residual = offsets.residual(m, width, ofdm.spacing)
        spin = offsets.spin(m, width, front.slot_seconds)
        sky = Fading(np.ones((n, m)), 0.0, residual=residual, spin=spin, front=front)
        each = self.symbols * s  # elements of a sub-channel
        grid = Grid(1, np.repeat(np.arange(m), each), np.tile(np.arange(each), m))
        turned = [sky.arriving[d, grid.channel] * grid.turns(d, sky, front) for d in range(n)]
        return np.stack(turned).reshape(n, m, self.symbols, s).swapaxes(1, 2)

    @property
    def offsets(self) -> Offsets:
        """Of each device: its carrier's and its timing, as the symbol level knows them."""
        still = np.zeros(len(self.values))
        return Offsets(still, self.paths.offset, self.paths.late / self.ofdm.rate, still)

    @property
    def front(self) -> Front:
        """The waveform as the symbol level knows it: slots, sub-carriers, the window's middle."""
        ofdm, s = self.ofdm, self.ofdm.subcarriers
        middle = ofdm.prefix - self.early + (ofdm.points - 1) / 2.0
        return Front(
            slot_seconds=ofdm.length / ofdm.rate / s,
            subcarriers=s,
            spacing=ofdm.spacing,
            middle=middle / ofdm.rate,
            delay=self.offsets.timing,
        )

    def total(
        self, arriving: Complex128[np.ndarray, "n B M S"] | float = 1.0
    ) -> Complex128[np.ndarray, "K"]:
        """Σ r·x of those who are not silent, at symbol level."""
        loud = self.inverse(self.gain) != 0.0
        grid = (self.ofdm.lay(self.values) * loud[:, None] * arriving).sum(axis=0)
        return self.ofdm.take(grid, self.values.shape[1])


def scene(
    ofdm: Ofdm,
    symbols: int,
    *,
    rng: np.random.Generator,
    devices: int = 20,
    spread: float = 1e-7,
    least: float = 0.0025,
) -> Scene:
    """Devices behind TDL-A whose delays are rounded to samples, with Gaussian values.

    Args:
        ofdm: the waveform.
        symbols: B, OFDM symbols that each device sends.
        rng: dice.
        devices: N.
        spread: root mean square of the delays [s].
        least: |h|² below which a device is silent on a sub-carrier.
    """
    line = rounded(ofdm, spread)
    waves = complex_normal(rng.random((devices, len(line.delay), 2)))
    found = np.sqrt(OMEGA * line.power) * waves
    nobody = np.zeros(devices)
    paths = Paths(found[:, None], line.delay.astype(np.int64), nobody.astype(np.int64), nobody)
    values = rng.standard_normal((2, devices, symbols * ofdm.bins.size)) / np.sqrt(2.0)
    return Scene(ofdm, paths, values[0] + 1j * values[1], least)


def rounded(ofdm: Ofdm, spread: float) -> Taps:
    """TDL-A on the grid of samples: delays in samples, powers of what falls together added."""
    line = taps("A")
    place = np.rint(line.delay * spread * ofdm.rate)
    delay = np.unique(place)
    power = np.array([line.power[place == each].sum() for each in delay])
    return Taps(delay, power, 0.0)


def nmse(
    found: Complex128[np.ndarray, "K"],
    wanted: Complex128[np.ndarray, "K"],
    of: Complex128[np.ndarray, "K"] | None = None,
) -> float:
    """‖found − wanted‖²/‖of‖², of what was wanted where no other is named."""
    signal = wanted if of is None else of
    return float(np.sum(np.abs(found - wanted) ** 2) / np.sum(np.abs(signal) ** 2))
