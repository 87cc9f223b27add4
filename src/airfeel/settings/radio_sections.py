"""Settings of a real radio: all of them off by default, which is the ideal radio of the paper."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from airfeel.ranges import Below1, Count, NotNegative, Positive, Whole
from airfeel.settings.fields import later

_Decibels = Annotated[float, Field(ge=-300.0, le=300.0, allow_inf_nan=False)]
_Backed = Annotated[float, Field(ge=0.0, le=300.0, allow_inf_nan=False)]
_Bits = Annotated[int, Field(ge=0, le=16, strict=True)]


def _converter(bits: int) -> int:
    if bits == 1:
        raise ValueError("must be 0 (ideal), or 2 to 16")
    return bits


_ConverterBits = Annotated[_Bits, AfterValidator(_converter)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def ideal(self) -> bool:
        """Whether every setting is at its default."""
        return self == type(self)()


class Csi(_Section):
    """What is known of the channels, and what knowing it costs."""

    pilots: Whole = later(0, description="τ, pilot slots of each device per round; 0: perfect")
    pilot_power: Positive | None = later(
        description="power on each sub-channel in a pilot slot [W]; left out: power/subchannels"
    )
    error: Below1 | None = later(
        description="ε, estimation error over E|h|², given directly; pilots then only cost"
    )
    link: Literal["uplink", "downlink"] = later(
        "uplink", description="who sends pilots; those of the base station cost nothing"
    )
    age_air: NotNegative = later(0.0, description="from pilots to the middle of the air [s]")
    age_digital: NotNegative = later(
        0.0, description="from pilots to the middle of the digital phase [s]"
    )
    magnitude_bits: _Bits = later(0, description="of a fed back |h|, 1 to 16; 0: exact")
    phase_bits: _Bits = later(0, description="of a fed back phase, 1 to 16; 0: exact")


class Sync(_Section):
    """What is left of synchronisation in the air."""

    phase: NotNegative = later(0.0, description="standard deviation of residual phases [rad]")
    cfo: NotNegative = later(0.0, description="standard deviation of residual carrier offsets [Hz]")
    timing: NotNegative = later(0.0, description="largest timing offset, uniform within ± [s]")
    clock_ppm: NotNegative = later(
        0.0, description="standard deviation of residual sampling clock errors [1e-6]"
    )
    every: Whole = later(0, description="slots between two re-alignments; 0: only at the start")
    overhead: Whole = later(1, description="slots of one re-alignment")
    debias: bool = later(False, description="the base station divides by exp(−phase²/2)")


class Hardware(_Section):
    """Amplifiers and converters."""

    truncation: NotNegative = later(
        0.0, description="silent on a sub-channel where |h|² is below this times its mean"
    )
    peak_power: Positive | None = later(
        description="most power of a device in one slot, all sub-channels [W]; left out: any"
    )
    dac_bits: _ConverterBits = later(0, description="of devices' converters, 2 to 16; 0: ideal")
    adc_bits: _ConverterBits = later(0, description="of the base station's; 0: ideal")
    loading: Positive = later(4.0, description="full scale of converters over root mean square")


class LinkSection(_Section):
    """Digital links, and how values ride on the air."""

    gap_db: _Backed = later(0.0, description="Γ, signal-to-noise ratio above capacity's [dB]")
    rate_cap: Positive | None = later(
        description="most bits per symbol on one sub-channel; left out: any"
    )
    rates: Literal["capacity", "mcs"] = later(
        "capacity", description="capacity with gap and cap, or the 256-QAM table of 5G"
    )
    margin_db: _Backed = later(0.0, description="backed off when a rate is chosen [dB]")
    transmissions: Count = later(1, description="L, most tries of a packet")
    analog: Literal["real", "iq"] = later(
        "real", description="values on one element of the air: one, or two in quadrature"
    )
    subcarriers: Count = later(1, description="S, of OFDM in one sub-channel")
    cp_seconds: NotNegative = later(4.7e-6, description="cyclic prefix, where subcarriers > 1 [s]")


class CellSection(_Section):
    """A cell in metres and watts; it sets the devices' mean gains."""

    model: Literal["none", "free-space", "log-distance", "umi", "uma", "inh"] = later(
        "none", description="path loss; umi, uma and inh are those of 3GPP TR 38.901"
    )
    radius: Positive = later(100.0, description="devices are at most so far [m]")
    min_distance: Positive = later(10.0, description="and at least so far [m]")
    bs_height: Positive | None = later(
        description="of the base station [m]; left out: 10, uma 25, inh 3"
    )
    device_height: Positive | None = later(description="of the devices [m]; left out: 1.5, inh 1")
    exponent: Positive = later(3.5, description="of log-distance")
    reference_db: _Decibels | None = later(
        description="loss of log-distance at 1 m [dB]; left out: free space"
    )
    shadowing_db: _Backed | None = later(
        description="standard deviation of shadows [dB]; left out: the model's"
    )
    los: Literal["random", "always", "never"] = later(
        "random", description="who has a line of sight"
    )
    noise_figure_db: _Backed = later(5.0, description="of the base station [dB]")
    temperature: Positive = later(290.0, description="of the receiver [K]")
    gain_db: _Decibels = later(0.0, description="of both antennas together [dB]")
