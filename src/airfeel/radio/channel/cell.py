"""A cell in metres and watts: places, path loss and shadows, as factors on |h|²."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64
from scipy.constants import Boltzmann, speed_of_light

from airfeel.errors import BadInput
from airfeel.radio.channel.gaussian import normal

_HEIGHTS = {"uma": (25.0, 1.5), "inh": (3.0, 1.0)}  # of base station and devices [m]
_SHADOWS = {"umi": (4.0, 7.82), "uma": (4.0, 6.0), "inh": (3.0, 8.03)}  # LoS, NLoS [dB]
_TALLEST = 13.0  # device [m] that the chance of a line of sight in uma holds for
Array = np.ndarray


@dataclass(frozen=True)
class Place:
    """Where devices are, and what their channels lose."""

    distance: Float64[Array, "N"]  # from the mast, along the ground [m]
    angle: Float64[Array, "N"]  # [rad]
    sight: Bool[Array, "N"]  # line of sight
    loss_db: Float64[Array, "N"]  # path loss and shadow [dB]


@dataclass(frozen=True)
class Cell:
    """Devices on a ring around a base station: free space, log-distance, or 3GPP TR 38.901.

    Lengths in m, frequencies in Hz. Heights that are None are the model's: 10 and 1.5 m, for `uma`
    25 and 1.5 m, for `inh` 3 and 1 m. shadowing_db None: the model's.
    """

    model: str
    carrier: float = 3.5e9
    radius: float = 100.0
    min_distance: float = 10.0
    bs_height: float | None = None
    device_height: float | None = None
    exponent: float = 3.5
    reference_db: float | None = None
    shadowing_db: float | None = None
    los: str = "random"
    noise_figure_db: float = 5.0
    temperature: float = 290.0
    gain_db: float = 0.0

    def __post_init__(self) -> None:
        if self.model not in ("umi", "uma"):
            return
        for name, height in zip(("bs_height", "device_height"), self.heights, strict=True):
            if height <= 1.0:
                raise BadInput(
                    f"cell.{name} = {height}: must be above 1 m for cell.model = {self.model!r}"
                )
        if self.model == "uma" and self.heights[1] > _TALLEST:
            raise BadInput(
                f"cell.device_height = {self.heights[1]}: must be at most {_TALLEST:.0f} m for "
                "cell.model = 'uma'"
            )

    def noise(self, slot_seconds: float) -> float:
        """σ² = kT·F/T_s [W]: one element has the bandwidth 1/T_s.

        >>> round(1e14 * Cell("umi").noise(1e-6), 3)
        1.266
        """
        figure = 10.0 ** (self.noise_figure_db / 10.0)
        return Boltzmann * self.temperature * figure / slot_seconds

    def settle(self, u: Float64[Array, "N 4"]) -> Place:
        """Places and losses from four uniforms of each device: radius, angle, shadow, sight.

        The distance along the ground is √(d0² + u(R² − d0²)), uniform on the ring.
        """
        near, far = self.min_distance, self.radius
        ground = np.sqrt(near**2 + u[:, 0] * (far**2 - near**2))
        sight = u[:, 3] < self.sight_chance(ground)
        spread = np.where(sight, *self._spreads())
        loss = self.path_loss_db(ground, sight) + spread * normal(u[:, 2])
        return Place(ground, 2.0 * np.pi * u[:, 1], sight, loss)

    def mean_gain(
        self, place: Place, noise: float, unit2: float | Float64[Array, "N"], slot_seconds: float
    ) -> Float64[Array, "N"]:
        """Factors on |h|²: 10^{(gain − loss)/10}·(σ0²/σ²)/E0, so that all else keeps its unit.

        Args:
            place: where devices are.
            noise: σ0² of the run, which stands for kT·F/T_s.
            unit2: E0, E|h|² at a factor of 1.
            slot_seconds: T_s.
        """
        received = 10.0 ** ((self.gain_db - place.loss_db) / 10.0)
        return np.asarray(received * (noise / self.noise(slot_seconds)) / unit2)

    @property
    def heights(self) -> tuple[float, float]:
        """Of base station and devices [m]."""
        mast, hand = _HEIGHTS.get(self.model, (10.0, 1.5))
        return (
            mast if self.bs_height is None else self.bs_height,
            hand if self.device_height is None else self.device_height,
        )

    def sight_chance(self, ground: Float64[Array, "N"]) -> Float64[Array, "N"]:
        """P(LoS) at a distance along the ground (TR 38.901, table 7.4.2-1; mixed office for inh).

        >>> Cell("umi").sight_chance(np.array([10.0, 36.0])).round(3).tolist()
        [1.0, 0.684]
        """
        if self.los != "random":
            return np.full(ground.shape, float(self.los == "always"))
        d = np.maximum(ground, 1e-9)
        if self.model == "inh":
            near, far = np.exp(-(d - 1.2) / 4.7), 0.32 * np.exp(-(d - 6.5) / 32.6)
            return np.asarray(np.where(d <= 1.2, 1.0, np.where(d < 6.5, near, far)))
        if self.model in ("umi", "uma"):
            reach = 36.0 if self.model == "umi" else 63.0
            some = 18.0 / d + np.exp(-d / reach) * (1.0 - 18.0 / d)
            return np.asarray(np.where(d <= 18.0, 1.0, some))
        return np.ones(ground.shape)

    def path_loss_db(
        self, ground: Float64[Array, "N"], sight: Bool[Array, "N"]
    ) -> Float64[Array, "N"]:
        """Path loss without shadows [dB] (TR 38.901, table 7.4.1-1; NLoS is never below LoS).

        Args:
            ground: distance along the ground [m].
            sight: whether there is a line of sight.
        """
        mast, hand = self.heights
        d = np.hypot(ground, mast - hand)
        lg, f = np.log10(d), np.log10(self.carrier / 1e9)
        free = 20.0 * np.log10(4.0 * np.pi * self.carrier / speed_of_light)  # at 1 m
        if self.model == "free-space":
            return np.asarray(free + 20.0 * lg)
        if self.model == "log-distance":
            reference = free if self.reference_db is None else self.reference_db
            return np.asarray(reference + 10.0 * self.exponent * lg)
        clear = self._clear(ground, d, f)
        blocked = {
            "umi": 22.4 + 35.3 * lg + 21.3 * f - 0.3 * (hand - 1.5),
            "uma": 13.54 + 39.08 * lg + 20.0 * f - 0.6 * (hand - 1.5),
            "inh": 17.3 + 38.3 * lg + 24.9 * f,
        }[self.model]
        return np.asarray(np.where(sight, clear, np.maximum(clear, blocked)))

    def _clear(
        self, ground: Float64[Array, "N"], d: Float64[Array, "N"], f: float
    ) -> Float64[Array, "N"]:
        """Loss with a line of sight: two slopes outdoors, one indoors [dB]."""
        mast, hand = self.heights
        start, slope, bend = {"umi": (32.4, 21.0, 9.5), "uma": (28.0, 22.0, 9.0)}.get(
            self.model, (32.4, 17.3, 0.0)
        )
        near = start + slope * np.log10(d) + 20.0 * f
        if self.model == "inh":
            return np.asarray(near)
        edge = 4.0 * (mast - 1.0) * (hand - 1.0) * self.carrier / speed_of_light
        corner = np.log10(np.maximum(edge**2 + (mast - hand) ** 2, 1e-300))
        far = start + 40.0 * np.log10(d) + 20.0 * f - bend * corner
        return np.asarray(np.where(ground <= edge, near, far))

    def _spreads(self) -> tuple[float, float]:
        """Standard deviation of shadows with and without a line of sight [dB]."""
        if self.shadowing_db is not None:
            return self.shadowing_db, self.shadowing_db
        return _SHADOWS.get(self.model, (0.0, 0.0))
