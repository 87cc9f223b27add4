"""GBMA: everyone speaks at one amplitude, and the channel is left as it is."""

from airfeel.compression.codecs import Whole
from airfeel.compression.memory import NoMemory
from airfeel.radio.power_control.amplitude import Flat
from airfeel.schemes.over_the_air import over_the_air
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Scheme


def gbma(s: Settings) -> Scheme:
    """Gradient-based multiple access (Sery, Cohen 2020, arXiv:1908.07463).

    b = σ_t = √(min budget/max ‖Δ‖²) everywhere, phases compensated, gains not inverted (`Flat`);
    ĝ = y/(σ_t·N_t·E h). Nobody is silent and nobody exceeds its budget; fading stays in the sum as
    noise that falls with the number of devices, and mean gains weigh the devices. ⌈D/M⌉ slots, no
    bits, no memory; one number of each device, its norm, is side information. Use it where many
    devices know their phase alone. The rule for σ_t is from memory; the paper's text was not at
    hand.
    """
    s.read(NoOptions)
    return over_the_air(s, "gbma", Whole(s.memory_or(NoMemory())), Flat())
