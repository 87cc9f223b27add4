"""Skies of Sionna, seeded from our streams; needs the extra `sionna`.

Sionna's generator is one of its own: torch's default one is left as it was found.
"""

from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Complex128, Float64

from airfeel.errors import BadInput
from airfeel.radio.channel.fading import Rayleigh, Rician, Scale
from airfeel.radio.channel.profiles import Profile, frequencies, response, taps
from airfeel.ranges import NotNegative, Positive, about
from airfeel.types import Moments, Turn

Clustered = Literal["cdl-A", "cdl-B", "cdl-C", "cdl-D", "cdl-E", "umi", "uma"]
_FIRST = 1.0  # seconds at which independent rounds look


@dataclass(frozen=True)
class SionnaSky:
    """Channels of TR 38.901 by Sionna: TDL A to E, CDL, UMi and UMa; E|h|² = 2s² of each device.

    A device's row has a key of its own, except in UMi and UMa, whose devices share one topology.
    Path loss and shadowing are switched off: they are `mean_gain`, or the cell's.
    """

    profile: Annotated[Profile | Clustered, about("A to E (TDL), cdl-A to cdl-E, umi or uma")] = "A"
    delay_spread: Annotated[NotNegative, about("root mean square of the delays", "s")] = 1e-7
    carrier: Annotated[Positive, about("carrier frequency", "Hz")] = 3.5e9
    speed: Annotated[NotNegative, about("of the devices", "m/s")] = 0.0
    spacing: Annotated[Positive, about("from one sub-channel to the next", "Hz")] = 1e6
    scale: Scale = 1.0
    seconds: Annotated[
        NotNegative, about("between rounds that follow each other; 0: none", "s")
    ] = 0.0

    def __post_init__(self) -> None:
        library()

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        return np.abs(self.waves(turn, 1)[..., 0])

    @property
    def moments(self) -> Moments | None:
        """Of a tapped delay line: Rayleigh, or Rician by the line of sight. Else not known."""
        match self.profile:
            case "A" | "B" | "C" | "D" | "E" as letter:
                sight = taps(letter).sight
            case _:
                return None
        return Rician(self.scale, sight / (1.0 - sight)) if sight else Rayleigh(self.scale)

    @property
    def longest(self) -> float:
        """The last delay of a tapped or clustered delay line [s]; 0 where delays are drawn."""
        match self.profile:
            case "A" | "B" | "C" | "D" | "E" as letter:
                return float(taps(letter).delay.max()) * self.delay_spread
            case "umi" | "uma":
                return 0.0
        model = _line(self.profile, self.delay_spread, self.carrier, self.speed, 1)
        _seed(0)
        return float(model(1, 1, 1.0)[1].max())

    @property
    def mean2(self) -> float:
        """E|h|² = 2s²."""
        return 2.0 * self.scale * self.scale

    def moving(self, seconds: float) -> "SionnaSky":
        """The same paths in every round, so many seconds later each time."""
        return replace(self, seconds=seconds)

    def waves(self, turn: Turn, antennas: int) -> Complex128[np.ndarray, "N M {antennas}"]:
        """The response of Sionna's paths on the sub-channels."""
        keys = turn.streams.rng("paths", 0 if self.seconds else turn.round)
        key = [int(2**53 * u) for u in keys.random(turn.world.devices)]
        time = turn.round * self.seconds or _FIRST
        f = frequencies(turn.world.subchannels, self.spacing)
        if self.profile in ("umi", "uma"):
            place = int(2**53 * turn.streams.rng("paths", 0).random())
            rows = self._sector(place, key[0], time, len(key), antennas, f)
        else:
            rows = np.stack([self._device(k, time, antennas, f) for k in key])
        return np.asarray(self.scale * np.sqrt(2.0) * np.moveaxis(rows, 1, 2))

    def _device(
        self, key: int, time: float, antennas: int, f: Float64[np.ndarray, "M"]
    ) -> Complex128[np.ndarray, "{antennas} M"]:
        """One device's response at a time; paths come from its key alone."""
        model = _line(self.profile, self.delay_spread, self.carrier, self.speed, antennas)
        _seed(key)
        a, delay = model(1, 2, 1.0 / time)  # draws do not depend on how many steps there are
        return response(a[0, 0, :, 0, 0, :, 1].numpy(), delay[0, 0, 0].numpy()[None], f)

    def _sector(
        self,
        place: int,
        key: int,
        time: float,
        devices: int,
        antennas: int,
        f: Float64[np.ndarray, "M"],
    ) -> Complex128[np.ndarray, "{devices} {antennas} M"]:
        """All devices of a sector: places, sights and spreads of one key, rays of another.

        The model is made anew for every look: on a used one a topology cannot be set again alike.
        """
        _seed(place)
        model = _sector(self.profile, self.carrier, self.speed, devices, antennas)
        if key != place:
            _seed(key)
        a, delay = model(2, 1.0 / time)
        paths = np.moveaxis(a[0, 0, :, :, 0, :, 1].numpy(), 1, 0)
        return response(paths, delay[0, 0].numpy()[:, None], f)


@cache
def library() -> ModuleType:
    """Sionna's physical layer; importing it reseeds torch's default generator, which is undone."""
    state = torch.get_rng_state()
    try:
        import sionna.phy
        import sionna.phy.channel
        import sionna.phy.channel.tr38901
        import sionna.phy.fec.ldpc
        import sionna.phy.mapping
    except ImportError as error:
        raise BadInput(
            'sionna is missing: install it with pip install "airfeel[sionna]"'
        ) from error
    finally:
        torch.set_rng_state(state)
    phy: ModuleType = sionna.phy
    return phy


def _seed(key: int) -> None:
    """Sionna's own generator, on the CPU."""
    library().config.torch_rng("cpu").manual_seed(key)


@cache
def _line(profile: str, spread: float, carrier: float, speed: float, antennas: int) -> Any:
    """A tapped or clustered delay line of one device."""
    models = library().channel.tr38901
    exact = {"precision": "double", "device": "cpu"}
    if not profile.startswith("cdl-"):
        motion = {"min_speed": speed, "max_speed": speed}
        return models.TDL(profile, spread, carrier, num_rx_ant=antennas, **motion, **exact)
    ends = _array(carrier, 1), _array(carrier, antennas)
    letter = profile.removeprefix("cdl-")
    return models.CDL(
        letter, spread, carrier, *ends, "uplink", min_speed=speed, max_speed=speed, **exact
    )


def _sector(profile: str, carrier: float, speed: float, devices: int, antennas: int) -> Any:
    """Devices in a sector, none of them indoors; antennas are upright, so that E|h|² is 1."""
    channel = library().channel
    exact = {"precision": "double", "device": "cpu"}
    kind = channel.tr38901.UMi if profile == "umi" else channel.tr38901.UMa
    model = kind(
        carrier_frequency=carrier,
        o2i_model="low",
        ut_array=_array(carrier, 1),
        bs_array=_array(carrier, antennas),
        direction="uplink",
        enable_pathloss=False,
        enable_shadow_fading=False,
        **exact,
    )
    motion = {"min_ut_velocity": speed, "max_ut_velocity": speed}
    hands, mast, held, faced, *rest = channel.gen_single_sector_topology(
        1, devices, profile, indoor_probability=0.0, **motion, **exact
    )
    bearing = torch.tensor([1.0, 0.0, 0.0], dtype=faced.dtype)
    model.set_topology(hands, mast, torch.zeros_like(held), faced * bearing, *rest)
    return model


def _array(carrier: float, antennas: int) -> Any:
    """A row of antennas half a wavelength apart, of one polarisation, that look everywhere."""
    return library().channel.tr38901.PanelArray(
        num_rows_per_panel=1,
        num_cols_per_panel=antennas,
        polarization="single",
        polarization_type="V",
        antenna_pattern="omni",
        carrier_frequency=carrier,
        precision="double",
        device="cpu",
    )
