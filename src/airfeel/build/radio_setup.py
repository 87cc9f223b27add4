"""From the settings of a real radio to parts: a sky, and what goes around a scheme's own parts."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from airfeel.errors import BadInput, quote
from airfeel.radio.channel.cell import Cell, Place
from airfeel.radio.channel.doppler import doppler_shift
from airfeel.radio.channel.fading import Sky, mean2_of
from airfeel.radio.cost_metrics import Coherence, Heard
from airfeel.radio.impairments.antennas import Antennas
from airfeel.radio.impairments.channel_estimation import Sounding
from airfeel.radio.impairments.mcs import mcs_table
from airfeel.radio.impairments.real_channel import AllSounded, RealSky
from airfeel.radio.impairments.real_plan import RealCosts, RealPlan, Sounded
from airfeel.radio.impairments.synchronization import Clocks
from airfeel.settings.config import Experiment
from airfeel.types import Dice, Fade, Front, Invite, Link, Scheme

SECTIONS = ("csi", "sync", "hardware", "link", "cell")


def lanes(e: Experiment) -> int:
    """Values on one element of the air."""
    return 2 if e.link.analog == "iq" else 1


def pilot_slots(e: Experiment) -> int:
    """Slots of a device's pilots per round; those of the base station take none."""
    return 0 if e.csi.link == "downlink" else e.csi.pilots


def real_sky(e: Experiment, sky: Sky) -> Fade:
    """The sky as a real radio knows and meets it; the very sky where the radio is ideal."""
    clocks, down = _clocks(e), e.csi.link == "downlink"
    real = RealSky(
        sky,
        sounding=_sounding(e),
        clocks=clocks,
        link=_link(e),
        truncation=e.hardware.truncation,
        front=_front(e, clocks),
        pilot_power=e.csi.pilot_power,
        pilots=pilot_slots(e),
        antennas=_antennas(e),
        overhead=e.sync.overhead if e.sync.every and not clocks.exact and not down else 0,
    )
    return sky if real == RealSky(sky, pilot_power=e.csi.pilot_power) else real


def with_real_radio(e: Experiment, scheme: Scheme) -> Scheme:
    """The scheme with real parts around its own; the very scheme where radio or scheme is ideal."""
    fade = scheme.fade
    real = _real(fade)
    if getattr(scheme.plan, "free", False):
        return scheme
    if e.cell.model != "none":
        scheme = replace(scheme, meters=(*scheme.meters, Heard()))
    if real is None and lanes(e) == 1:
        return scheme if e.radio.correlation == "block" else _moving(e, scheme)
    seen = real is not None and real.antennas.count > 1  # a beam is made of all devices
    blind = getattr(scheme.invite, "blind", False) and not seen
    if real is not None and real.pilots and not blind:
        fade = AllSounded(fade)
    costs = RealCosts(e.csi.magnitude_bits + e.csi.phase_bits)
    around = replace(
        scheme,
        fade=fade,
        invite=_sounded(scheme.invite),
        plan=RealPlan(scheme.plan),
        meters=(*scheme.meters, costs),
    )
    return _moving(e, around)


def _moving(e: Experiment, scheme: Scheme) -> Scheme:
    """The scheme whose rows tell how far the channel changes within a round, where it does."""
    if not e.radio.speed:
        return scheme
    doppler = doppler_shift(e.radio.speed, e.radio.carrier)
    meter = Coherence(doppler, e.radio.symbol_seconds)
    return replace(scheme, meters=(*scheme.meters, meter))


def _sounded(invite: Any) -> Invite:
    """Whoever can pay for its pilots; what is granted is shared out over these alone."""
    if getattr(invite, "grants", False):
        granted: Invite = replace(invite, invite=_sounded(invite.invite))
        return granted
    return Sounded(invite)


def refuse_replaced(e: Experiment, asked: Fade, scheme: Scheme) -> None:
    """Refuse a sky of the user's own that leaves out what the settings ask for."""
    if isinstance(asked, RealSky) and _real(scheme.fade) is None:
        raise BadInput(
            f"scheme.fade = {quote(e.scheme.fade)}: comes in the place of the sky that "
            f"{_sections(e)} ask for; wrap it, in a field called fade"
        )


def refuse_real(e: Experiment) -> None:
    """Refuse settings of a real radio where devices cannot learn what was lost of theirs."""
    if any(not getattr(e, name).ideal for name in SECTIONS):
        raise BadInput(
            f"{_sections(e)}: nodes learn only whether all of theirs counted; leave it out"
        )


def settled(e: Experiment, sky: Sky, streams: Dice) -> tuple[Sky, dict[str, Any]]:
    """The sky with the mean gains of a cell, and what is to be told of its devices."""
    if e.cell.model == "none":
        return sky, {}
    known = mean2_of(sky.draw)
    if known is None:
        raise BadInput(f"cell.model = {e.cell.model!r}: radio.fading tells no mean |h|²")
    cell, seconds = _cell(e), e.radio.symbol_seconds
    place = cell.settle(streams.rng("cell").random((e.training.devices, 4)))
    unit2 = np.broadcast_to(np.asarray(known, float), e.training.devices)
    gain = cell.mean_gain(place, e.radio.noise, unit2, seconds)
    if not (np.isfinite(gain).all() and gain.min() > 0.0):
        raise BadInput(f"cell.gain_db = {e.cell.gain_db}: makes gains that are 0 or not finite")
    told = _told(place, gain * unit2 * np.asarray(e.radio.power) / e.radio.noise)
    told |= {"noise_watts": cell.noise(seconds)}
    return replace(sky, mean_gain=tuple(gain.tolist())), {"cell": told}


def _told(place: Place, snr: np.ndarray) -> dict[str, Any]:
    """Where each device is, what it loses, and its mean signal-to-noise ratio at full power."""
    return {
        "distance": place.distance.tolist(),
        "angle": place.angle.tolist(),
        "line_of_sight": place.sight.tolist(),
        "loss_db": place.loss_db.tolist(),
        "snr_db": (10.0 * np.log10(snr)).tolist(),
    }


def _real(fade: object) -> RealSky | None:
    """The real sky, also where another part is around it."""
    while not isinstance(fade, RealSky):
        fade = getattr(fade, "fade", None)
        if fade is None:
            return None
    return fade


def _sections(e: Experiment) -> str:
    return ", ".join(name for name in SECTIONS if not getattr(e, name).ideal)


def _sounding(e: Experiment) -> Sounding:
    csi, error = e.csi, e.csi.error
    return Sounding(
        pilots=csi.pilots if error is None else 0,
        error=error or None,
        age_air=csi.age_air if e.radio.speed else 0.0,
        age_digital=csi.age_digital if e.radio.speed else 0.0,
        doppler=doppler_shift(e.radio.speed, e.radio.carrier) if _ages(e) else 0.0,
        magnitude_bits=csi.magnitude_bits,
        phase_bits=csi.phase_bits,
    )


def _antennas(e: Experiment) -> Antennas:
    if e.radio.antennas == 1:
        return Antennas()
    made = Antennas(e.radio.antennas, e.radio.receiver)
    made.check(e.training.devices)
    return made


def refuse_long(e: Experiment, draw: object) -> None:
    """Refuse a sky whose taps a prefix does not hold together with twice the timing error."""
    prefix, timing = e.link.cp_seconds, e.sync.timing
    longest = float(getattr(draw, "longest", 0.0)) if e.link.subcarriers > 1 else 0.0
    if e.link.subcarriers == 1 or longest + 2.0 * timing <= prefix:
        return
    spread = f"radio.delay_spread = {e.radio.delay_spread}"
    taps = spread if e.radio.trace is None else f"radio.trace = {quote(e.radio.trace)}"
    raise BadInput(
        f"{taps if longest > prefix else f'sync.timing = {timing}'}: the last tap at "
        f"{longest:.3g} s and twice sync.timing must be within link.cp_seconds = {prefix}; beyond "
        "the guard only `airfeel waveform` is true"
    )


def width(e: Experiment) -> float:
    """From one sub-channel to the next [Hz]: 1/T_s, or S sub-carriers of what a prefix leaves."""
    s, seconds = e.link.subcarriers, e.radio.symbol_seconds
    return s / (s * seconds - e.link.cp_seconds) if s > 1 else 1.0 / seconds


def _ages(e: Experiment) -> bool:
    return max(e.csi.age_air, e.csi.age_digital) > 0.0


def _clocks(e: Experiment) -> Clocks:
    sync = e.sync
    return Clocks(sync.phase, sync.cfo, sync.timing, 1e-6 * sync.clock_ppm)


def _link(e: Experiment) -> Link | None:
    link = e.link
    made = Link(
        gap=10.0 ** (link.gap_db / 10.0),
        cap=math.inf if link.rate_cap is None else link.rate_cap,
        table=mcs_table() if link.rates == "mcs" else None,
        margin=10.0 ** (link.margin_db / 10.0),
        transmissions=link.transmissions,
    )
    return None if made == Link() else made


def _front(e: Experiment, clocks: Clocks) -> Front | None:
    """Amplifiers, converters and clocks; None where all of them are ideal."""
    hard, s = e.hardware, e.link.subcarriers
    ideal = hard.peak_power is None and not (hard.dac_bits or hard.adc_bits)
    if ideal and clocks.exact:
        return None
    spacing = 1.0 / (s * e.radio.symbol_seconds - e.link.cp_seconds) if s > 1 else 0.0
    return Front(
        peak=math.inf if hard.peak_power is None else hard.peak_power,
        dac_bits=hard.dac_bits,
        adc_bits=hard.adc_bits,
        loading=hard.loading,
        debias=math.exp(-(e.sync.phase**2) / 2.0) if e.sync.debias else 1.0,
        every=e.sync.every,
        slot_seconds=e.radio.symbol_seconds,
        subcarriers=s,
        spacing=spacing,
        middle=e.link.cp_seconds / 2.0 + 0.5 / spacing if s > 1 else 0.0,
    )


def _cell(e: Experiment) -> Cell:
    given = {name: getattr(e.cell, name) for name in type(e.cell).model_fields}
    return Cell(**given, carrier=e.radio.carrier)
