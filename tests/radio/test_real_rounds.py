"""Rounds under a real radio: what devices keep, what it costs, and what an interruption changes."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
import torch

import airfeel
from airfeel.build.setup import build, build_radio
from airfeel.engines.threads import Threads
from airfeel.errors import BadInput
from airfeel.radio.energy import needed_energy
from airfeel.radio.impairments.front_end import share
from airfeel.radio.impairments.packets import attempts
from airfeel.radio.impairments.real_plan import misalignment
from airfeel.radio.transmission.air import analog_energy
from airfeel.round import play_round, start
from airfeel.segments import by_value
from airfeel.storage import records
from airfeel.storage.rows import read_columns
from airfeel.types import Link, Turn
from small import play, small, turn_at
from stopping import interrupted

ALL = {
    "csi": {"pilots": 1, "age_digital": 2e-3, "magnitude_bits": 5, "phase_bits": 4},
    "sync": {"phase": 0.2, "cfo": 300.0, "timing": 2e-8, "clock_ppm": 0.1, "every": 3},
    "hardware": {"truncation": 0.05, "peak_power": 2e-3, "dac_bits": 8, "adc_bits": 10},
    "link": {"rates": "mcs", "margin_db": 1.0, "transmissions": 2, "analog": "iq"},
    "cell": {"model": "umi", "radius": 40.0},
    "radio": {"speed": 3.0, "power_scalar": 0.05, "subchannels": 8},
}
LOSSES = {"csi": {"error": 0.2}}


def everything(name="tcs-h", /, **more):
    return small(name, **{key: ALL.get(key, {}) | more.get(key, {}) for key in {*ALL, *more}})


def one_round(e):
    """The first round of an experiment: x before it, and all values of it."""
    setup = build(e)
    kept = {}

    class Watching:
        """The scheme's channel, with a look at what passes."""

        air = True

        def __call__(self, turn, said, fading, plan):
            received, delivery = setup.scheme.transmit(turn, said, fading, plan)
            kept.update(turn=turn, said=said, fading=fading, plan=plan, delivery=delivery)
            kept["x"] = engine._x.clone()
            return received, delivery

    engine = Threads(setup.world, 1, buffers=setup.scheme.codec.memory.buffers)
    try:
        state = start(setup.scheme, setup.world, setup.streams, engine)
        scheme = replace(setup.scheme, transmit=Watching())
        _, report = play_round(scheme, Turn(setup.world, state, setup.streams), engine)
        kept |= {"report": report, "scheme": setup.scheme}
        return kept | {"memory": engine.buffers()["memory"].clone()}
    finally:
        engine.close()


@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d", "top-k"])
@pytest.mark.parametrize("radio", [ALL, LOSSES], ids=["everything", "losses"])
def test_memory_is_what_was_not_sent_to_the_bit(scheme, radio):
    seen = one_round(small(scheme, **radio))
    said, plan, delivery = seen["said"], seen["plan"], seen["delivery"]
    support, lost = said.agreed.support, attempts(seen["fading"], plan)[1]
    part = delivery.share
    for row, n in enumerate(said.devices):
        left = seen["x"][row].clone()
        if plan.active[n]:
            common = said.common[row]
            if isinstance(part, torch.Tensor):
                common = common * part[row].to(common)
            elif part is not None:
                common = common * float(part[row, 0])  # packets: all or nothing
            left[support] -= common
            if not lost[n]:
                left[said.index[row]] -= said.value[row]
            assert torch.equal(seen["memory"][n], left)
    assert plan.active.any()
    assert lost.any() or radio is ALL


def test_a_lost_digital_packet_leaves_all_of_x():
    seen = one_round(small("top-k", **LOSSES))
    lost = attempts(seen["fading"], seen["plan"])[1]
    row = np.flatnonzero(lost[seen["said"].devices])[0]
    assert torch.equal(seen["memory"][seen["said"].devices[row]], seen["x"][row])


def test_energy_of_the_air_is_what_was_sent_and_its_peaks_are_cut():
    seen = one_round(everything())
    said, fading, plan = seen["said"], seen["fading"], seen["plan"]
    every = np.ones(len(said.devices), dtype=bool)
    spent = analog_energy(said, fading, plan, every)
    loud = plan.loudness(fading.air_gain)[said.devices]
    free = replace(fading, front=replace(fading.front, peak=float("inf")))
    assert (spent <= analog_energy(said, free, plan, every) * (1 + 1e-12)).all()
    sent = share(said, fading, plan)
    whole = share(said, free, plan)
    scale = torch.where(whole > 0, sent / whole, torch.zeros(())).numpy()
    amplitude = by_value(loud, said.common.shape[1], said.lanes)
    assert spent == pytest.approx(
        ((amplitude * said.common.numpy() * scale) ** 2).sum(axis=1), rel=1e-6
    )
    costs = seen["report"].costs
    assert costs.columns["slots_pilot"] == len(said.devices)
    assert costs.slots == costs.slots_air + costs.slots_digital + costs.slots_other


def test_energy_and_slots_do_not_see_what_nobody_knows():
    seen = one_round(small(**LOSSES, sync={"phase": 0.3, "cfo": 100.0}))
    said, fading, plan = seen["said"], seen["fading"], seen["plan"]
    every = np.ones(len(said.devices), dtype=bool)
    blind = replace(fading, residual=None, spin=None, truth=None)
    assert np.array_equal(
        analog_energy(said, fading, plan, every), analog_energy(said, blind, plan, every)
    )
    assert np.array_equal(
        analog_energy(said, fading, plan, every),
        needed_energy(said.energy, fading.air_gain2[said.devices], plan.scalar),
    )


def test_more_tries_lose_fewer_packets_and_take_more_slots():
    seen = one_round(small("tcs-d", csi={"error": 0.3}))
    fading, plan = seen["fading"], seen["plan"]
    told = [attempts(replace(fading, link=Link(transmissions=n)), plan) for n in (1, 2, 4, 9)]
    for (tries, lost), (more, fewer) in pairwise(told):
        assert (more >= tries).all()
        assert (fewer <= lost).all()
    assert told[0][1].any()
    assert not told[-1][1].any()


def test_shares_rise_with_the_peak_and_energy_falls_with_truncation():
    seen = one_round(everything())
    said, fading, plan = seen["said"], seen["fading"], seen["plan"]
    shares = [
        share(said, replace(fading, front=replace(fading.front, peak=peak)), plan)
        for peak in (1e-3, 2e-3, 4e-3)
    ]
    assert all((a <= b).all() for a, b in pairwise(shares))
    spent = []
    for cut in (0.01, 0.1, 0.5):
        setup = build(small(hardware={"truncation": cut}))
        fading = setup.scheme.fade(turn_at(setup, 1))
        spent.append(np.where(fading.silent, 0.0, 1.0 / fading.gain2).sum(axis=1))
    assert all((a >= b).all() for a, b in pairwise(spent))


@pytest.mark.parametrize(
    ("section", "key", "values"),
    [
        ("csi", "error", (0.01, 0.1, 0.4)),
        ("sync", "phase", (0.1, 0.5, 1.2)),
        ("sync", "timing", (1e-8, 5e-8, 2e-7)),
        ("sync", "cfo", (1e3, 5e3, 3e4)),
        ("csi", "phase_bits", (5, 3, 1)),
    ],
)
def test_misalignment_grows_with_what_is_wrong(section, key, values):
    seen = one_round(small())
    means = []
    for value in values:
        setup = build(small(**{section: {key: value}}, hardware={"truncation": 0.1}))
        offs = []
        for t in range(1, 60):
            fading = setup.scheme.fade(turn_at(setup, t))
            plan = setup.scheme.plan(turn_at(setup, t), seen["said"], fading)
            offs.append(
                misalignment(seen["said"], fading, replace(plan, active=plan.active | True))
            )
        means.append(np.mean(offs))
    assert means == sorted(means)
    assert means[-1] > 2 * means[0]


def test_one_more_device_changes_no_other_row():
    skies = []
    for n in (5, 6):
        setup = build(everything(training={"devices": n}, scheme={"scheduled": 3}))
        skies.append(setup.scheme.fade(turn_at(setup, 4)))
    few, many = skies
    for name in ("gain", "truth", "air", "residual", "spin", "silent"):
        assert np.array_equal(getattr(few, name), getattr(many, name)[:5]), name


@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d"])
def test_an_interruption_changes_no_byte(tmp_path, scheme):
    e = everything(scheme, training={"rounds": 6})
    airfeel.run(e, tmp_path / "whole")
    interrupted(tmp_path / "parts", 3, e)
    airfeel.resume(tmp_path / "parts")
    whole, parts = (read_columns(tmp_path / name / "rounds.csv") for name in ("whole", "parts"))
    for name in whole.keys() - {"seconds"}:
        assert np.array_equal(whole[name], parts[name], equal_nan=True), name
    for name in ("devices.csv", "model.safetensors", "config.toml"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
    header = (tmp_path / "whole" / "devices.csv").read_text().splitlines()[0]
    assert header.endswith(",lost,tries")
    assert '"loss_db"' in (tmp_path / "whole" / "facts.json").read_text()


def test_two_lanes_halve_the_slots_and_the_noise():
    """iq at σ_t/√2: the noise of a value and the power of a slot are those of real at σ_t."""
    one, two = (
        one_round(small(link={"analog": kind}, radio={"power_scalar": s, "subchannels": 8}))
        for kind, s in (("real", 1.0), ("iq", 0.5**0.5))
    )
    slots = [seen["report"].costs.slots_air for seen in (one, two)]
    assert slots[1] == -(-slots[0] // 2) or slots[1] * 2 == slots[0] + 1
    heard = [(seen["plan"].scalar, seen["said"].lanes, seen["fading"].noise) for seen in (one, two)]
    noise = [sigma / lanes / scalar**2 for scalar, lanes, sigma in heard]
    assert noise[0] == pytest.approx(noise[1], rel=1e-12)


def test_scale_changes_nothing():
    """(|h|², σ0², σ_t²) times a power of four: not one bit."""
    c = 4.0**-13
    plain, scaled = (
        play(build(small(radio={"mean_gain": a, "noise": 1e-6 * a, "power_scalar": a**0.5})), 3)
        for a in (1.0, c)
    )
    for (_, a, _, _), (_, b, _, _) in zip(plain, scaled, strict=True):
        assert torch.equal(a.theta, b.theta)


def test_who_cannot_pay_its_pilots_is_not_invited():
    e = small(csi={"pilots": 3, "pilot_power": 1.0}, budget={"slots": 900})
    played = play(build(e), 12)
    reasons = {r.value for _, _, report, _ in played for r in report.plan.reason}
    assert "no-power-left" in reasons
    for before, after, _, _ in played:
        assert (after.spent <= 900 * 5e-3 * (1 + 1e-9)).all()
        assert after.slots >= before.slots


def test_a_federation_refuses_a_real_radio_by_name():
    setup = build(small())
    with pytest.raises(BadInput, match=r"^csi: nodes learn only"):
        build_radio(small(csi={"error": 0.1}), setup.world.model, setup.scheme.learn)


def test_a_record_tells_belief_truth_and_who_was_lost(tmp_path):
    seen = one_round(small("tcs-d", **LOSSES, link={"transmissions": 2}, budget={"slots": 10**6}))
    report, (tries, lost) = seen["report"], attempts(seen["fading"], seen["plan"])
    again = records.read(records.save(tmp_path, report))
    assert np.array_equal(again.fading.truth, report.fading.truth)
    assert np.array_equal(again.fading.air, report.fading.air)
    assert np.array_equal(again.plan.most_tries, report.plan.most_tries)
    assert np.array_equal(again.tries, tries)
    assert np.array_equal(again.lost, lost)


@dataclass(frozen=True)
class Around:
    """A part around the sky, which changes nothing."""

    fade: object

    def __call__(self, turn):
        return self.fade(turn)


@pytest.mark.parametrize(
    ("name", "scheme", "pilots"),
    [
        ("top-k", {}, 4),
        ("top-k", {"invite": "interior"}, 3),
        ("top-k", {"invite": "best-channel"}, 6),
        ("top-k", {"invite": "best-channel", "fade": "test_real_rounds:Around"}, 6),
        ("top-k", {"fade": "test_real_rounds:Around"}, 4),
        ("d-dsgd", {"options": {"capacity": "real"}}, 6),
        ("d-dsgd", {"options": {"capacity": "complex"}}, 6),
    ],
    ids=str,
)
def test_who_sends_pilots_does_not_depend_on_what_is_around_the_sky(name, scheme, pilots):
    """Whom the invitation names, or all six where it looks at the sky of the round."""
    _, _, report, _ = play(build(small(name, csi={"pilots": 1}, scheme=scheme)), 1)[0]
    assert report.costs.columns["slots_pilot"] == pilots
