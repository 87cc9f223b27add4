"""The library equals a plain reading of a round under a real radio, on the same dice."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import j0
from test_real_rounds import ALL, one_round

from airfeel.radio.channel.waves import waves_of
from airfeel.radio.impairments.mcs import mcs_table
from airfeel.radio.impairments.packets import attempts
from airfeel.radio.transmission.air import analog_energy, on_air
from airfeel.segments import by_value
from small import small

SPEC = importlib.util.spec_from_file_location(
    "real_radio_plain", Path(__file__).parents[1] / "plain" / "real_radio_plain.py"
)
plain = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plain)

CASES = {
    "two lanes": {},
    "one lane": {"link": {"analog": "real"}},
    "both ages": {"csi": {"age_air": 2e-3, "age_digital": 6e-3}},
    "an age of the air alone": {"csi": {"age_air": 6e-3, "age_digital": 0.0}},
    "a margin at capacity": {"link": {"rates": "capacity", "margin_db": 3.0}},
    "cut peaks": {"hardware": {"peak_power": 2e-5}},
    "cut by converters": {"hardware": {"dac_bits": 4, "adc_bits": 5, "loading": 1.0}},
    "sub-carriers": {"link": {"subcarriers": 3, "cp_seconds": 1e-6}, "sync": {"debias": True}},
}


@pytest.mark.parametrize("case", CASES)
def test_a_round_with_everything_on_equals_the_plain_reading(case):
    more = CASES[case]
    e = small(**{key: ALL.get(key, {}) | more.get(key, {}) for key in ALL})
    seen = one_round(e)
    turn, said, fading, plan = (seen[key] for key in ("turn", "said", "fading", "plan"))
    n, m = fading.gain.shape
    s = settings(e, seen)
    sky = seen["scheme"].fade.sky
    factor = np.sqrt(np.broadcast_to(sky.mean_gain, n))
    h = waves_of(sky.draw, turn)[..., 0] * factor[:, None]
    known, later, heard = plain.believed(h, turn.rng("csi").random((n, 2, m, 2)), s)
    assert np.allclose(np.abs(known), fading.gain, rtol=1e-9)
    assert np.allclose(np.abs(later), fading.truth, rtol=1e-9)
    assert np.allclose(np.abs(heard), fading.air, rtol=1e-9)
    off = plain.offsets(turn.rng("sync").random((n, 4)), s)
    rows = {int(d): row for row, d in enumerate(said.devices)}
    values, energy = [None] * n, analog_energy(said, fading, plan, plan.active[said.devices])
    spent = iter(energy)
    for d in np.flatnonzero(plan.active):
        x = said.common[rows[d]].tolist()
        values[d], share, cost = plain.sent(x, heard[d], s["omega"][d], s)
        assert np.allclose(share, seen["delivery"].share[rows[d]].numpy(), atol=1e-9)
        assert cost == pytest.approx(next(spent), rel=1e-9)
    cut = (part := seen["delivery"].share[rows_of(said, plan)].numpy()) > 0.0
    assert (part[cut] < 1.0 - 1e-9).any() == (case == "cut peaks")
    noise = turn.rng("air").standard_normal(said.common.shape[1])
    wanted = np.array(plain.read(values, h, heard, off, noise, s))
    silent = ~plan.heard[plan.active].any(axis=0)
    wanted[by_value(silent, len(wanted), said.lanes)] = 0.0
    assert np.abs(on_air(turn, said, fading, plan)[0].numpy() - wanted).max() < 1e-9
    tries, lost = attempts(fading, plan)
    for d in np.flatnonzero(plan.batch >= 0):
        rate, often, gone = plain.packet(plan.power[d], np.abs(known[d]), np.abs(later[d]), s)
        assert rate == pytest.approx(plan.rate[d], rel=1e-9)
        assert (often, gone) == (tries[d], lost[d])
    assert plan.active.any()
    assert (plan.batch >= 0).any()


def rows_of(said, plan):
    """Rows of the devices that send something over the air."""
    return np.flatnonzero(plan.active[said.devices])


def settings(e, seen):
    """The settings as the plain reading wants them: numbers in linear units."""
    fading, doppler = seen["fading"], e.radio.speed * e.radio.carrier / 299_792_458.0
    s_, slot, cp = e.link.subcarriers, e.radio.symbol_seconds, e.link.cp_seconds
    spacing = 1.0 / (s_ * slot - cp) if s_ > 1 else 0.0
    power = np.full(e.training.devices, e.radio.power)
    return {
        "omega": fading.mean2,
        "noise": e.radio.noise,
        "pilots": e.csi.pilots,
        "pilot_power": power / e.radio.subchannels,
        "rho_air": float(j0(2 * math.pi * doppler * e.csi.age_air)),
        "rho_later": float(j0(2 * math.pi * doppler * (e.csi.age_digital - e.csi.age_air))),
        "magnitude_bits": e.csi.magnitude_bits,
        "phase_bits": e.csi.phase_bits,
        "phase": e.sync.phase,
        "cfo": e.sync.cfo,
        "timing": e.sync.timing,
        "clock": 1e-6 * e.sync.clock_ppm,
        "every": e.sync.every,
        "debias": math.exp(-(e.sync.phase**2) / 2) if e.sync.debias else 1.0,
        "truncation": e.hardware.truncation,
        "peak": e.hardware.peak_power,
        "dac_bits": e.hardware.dac_bits,
        "adc_bits": e.hardware.adc_bits,
        "loading": e.hardware.loading,
        "lanes": seen["said"].lanes,
        "subcarriers": s_,
        "spacing": spacing,
        "middle": cp / 2 + 0.5 / spacing if s_ > 1 else 0.0,
        "slot": slot,
        "scalar": seen["plan"].scalar,
        "margin": 10 ** (e.link.margin_db / 10),
        "transmissions": e.link.transmissions,
        "table": mcs_table() if e.link.rates == "mcs" else None,
    }
