"""Who is kept of those who trained, and how loud each is over the air, by name."""

from airfeel.catalogue import Catalogue, Entry

AMPLITUDES = Catalogue(
    "amplitudes (how loud)",
    "scheme.amplitude",
    {
        "inversion": Entry(
            "airfeel.radio.power_control.amplitude:Inversion",
            "σ_t/h; who cannot afford it is out (tcs-h)",
        ),
        "truncated": Entry(
            "airfeel.radio.power_control.amplitude:Truncated",
            "σ_t/h where a gain is not weak, within an expected power (baa, airfl-mem)",
        ),
        "affordable": Entry(
            "airfeel.radio.power_control.amplitude:Affordable",
            "σ_t/h on the best sub-channels that a device can afford",
        ),
        "precoded": Entry(
            "airfeel.radio.power_control.amplitude:Precoded",
            "the same at what the largest norm of the round allows (cotaf)",
        ),
        "own": Entry(
            "airfeel.radio.power_control.amplitude:Own",
            "inversion with all that each device may spend (a-dsgd)",
        ),
        "statistical": Entry(
            "airfeel.radio.power_control.amplitude:Statistical",
            "mean gains alone are inverted (ncairfl, reed)",
        ),
        "flat": Entry(
            "airfeel.radio.power_control.amplitude:Flat", "the same everywhere, no inversion (gbma)"
        ),
    },
    makes="airfeel.radio.power_control.power_context:Policy",
)
SCREENS = Catalogue(
    "screens",
    "scheme.screen",
    {
        "bc": Entry(
            "airfeel.radio.selection.device_filters:BestCapacity", "devices that could send most"
        ),
        "bn2": Entry(
            "airfeel.radio.selection.device_filters:LargestNorm", "devices of largest updates"
        ),
        "bc-bn2": Entry(
            "airfeel.radio.selection.device_filters:CapacityThenNorm",
            "of those who could send most, largest updates",
        ),
        "bn2-c": Entry(
            "airfeel.radio.selection.device_filters:LargestReach",
            "devices that could say most, each alone",
        ),
    },
    makes="airfeel.types:Screen",
)
