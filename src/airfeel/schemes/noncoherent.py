"""NCAirFL and REED: over the air without knowing the channel, by energies."""

from dataclasses import replace

from airfeel.compression.energies import DitheredEnergies, PairedEnergies
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.radio.power_control.amplitude import Statistical
from airfeel.radio.transmission.square_law import SquareLaw
from airfeel.schemes.over_the_air import over_the_air
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Codec, Scheme


def ncairfl(s: Settings) -> Scheme:
    """Non-coherent over-the-air learning with shared random signs (NCAirFL, ICC 2025).

    a = [x∘φ]⁺, x = Δ + e, φ ∈ {±1}^D shared; √a on the air with a random phase at b = √(ρ_t/ḡ_n);
    the base station measures power, r = (|y|² − σ0²)/ρ_t, and takes ĝ = φ∘r/N_t, unbiased over
    phases and sky. e keeps what φ did not let through. ⌈D/M⌉ slots, no bits, no instantaneous
    channel knowledge; one number of each device, the ρ that it can afford, is side
    information.
    `scheme.scheduled` devices at random train. Use it where devices cannot estimate their
    channels; it is noisier than inversion, since fading stays in the sum. That a phase is drawn
    for each symbol is this project's choice: its sub-channels fade as blocks.
    """
    s.read(NoOptions)
    return _by_energy(s, "ncairfl", DitheredEnergies(s.memory_or(ErrorMemory())))


def reed(s: Settings) -> Scheme:
    """Signed values as energies on two elements (REED, arXiv:2605.07263).

    √[Δ]⁺ and √[−Δ]⁺ on the air, ĝ = (r⁺ − r⁻)/N_t; with P and Q the sums of positive and negative
    parts, the variance of the sum's estimate is (P + σ0²/ρ_t)² + (Q + σ0²/ρ_t)² under Rayleigh
    fading. ⌈2D/M⌉ slots, no bits, no memory, no instantaneous channel knowledge; one number of
    each device is side information. Use it in place of `ncairfl` where devices cannot remember. It
    is known from an abstract: its power control and its moments are this project's.
    """
    s.read(NoOptions)
    return _by_energy(s, "reed", PairedEnergies(s.memory_or(NoMemory())))


def _by_energy(s: Settings, name: str, codec: Codec) -> Scheme:
    scheme = over_the_air(s, name, codec, Statistical(), s.invite("random"))
    return replace(scheme, transmit=SquareLaw())
