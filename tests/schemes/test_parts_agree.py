"""What one part of a scheme takes for granted another keeps: weights, memories, norms, noise."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.compression.codecs import Whole
from airfeel.server.adaptive import Adaptive
from airfeel.types import BadInput, Reason, Received
from small import play, small, turn_at

UNEVEN = {"partition": "dirichlet", "alpha": 0.5}


def test_weights_that_a_loudness_cancels_are_refused_by_name():
    with pytest.raises(BadInput, match=r"training\.weights = 'samples'.*'a-dsgd'"):
        build(small("a-dsgd", training={"weights": "samples"}, data=UNEVEN))
    build(small("ca-dsgd", training={"weights": "samples"}, data=UNEVEN))


def test_a_device_of_small_weight_that_speaks_alone_is_heard_whole():
    """The mean is over the sum of the weights, also where that is below 1."""
    turn, codec = turn_at(build(small()), 1), Whole()
    one, none = np.arange(1), torch.zeros((1, 0))
    received = Received(
        *(one, one, torch.full((102,), 0.25), none.long(), none, 0.25, np.full(8, 0.25))
    )
    assert (codec.decode(turn, codec.agree(turn), received).update == 1.0).all()


def test_a_codec_by_name_keeps_the_memory_of_its_own_unless_one_is_chosen():
    chosen = {"codec": "whole"}
    assert build(small("tcs-h", scheme=chosen)).scheme.codec.memory.buffers == ()
    chosen = {"codec": "whole", "memory": {"name": "error-feedback", "strength": 0.5}}
    assert build(small("tcs-h", scheme=chosen)).scheme.codec.memory.strength == 0.5
    assert build(small("top-k", scheme={"codec": "time-correlated"})).scheme.codec.memory.buffers


@pytest.mark.parametrize("memory", ["error-feedback", "dgc"])
def test_pairs_of_energies_beside_a_memory_of_what_was_not_said_are_refused(memory):
    with pytest.raises(BadInput, match=r"scheme\.memory = .* must be 'none' or 'signum'"):
        build(small("reed", scheme={"memory": memory}))


def test_who_meets_a_zero_gain_has_no_channel_where_everyone_speaks():
    setup = build(small("analog", scheme={"schedule": "all"}))
    sky = setup.scheme.fade

    def torn(turn):
        fading = sky(turn)
        gain = fading.gain.copy()
        gain[2, 3] = 0.0
        return dataclasses.replace(fading, gain=gain)

    torn_setup = dataclasses.replace(setup, scheme=dataclasses.replace(setup.scheme, fade=torn))
    for _, after, report, _ in play(torn_setup, 2):
        assert report.plan.reason[2] is Reason.NO_CHANNEL
        assert np.isfinite(after.spent).all()
        assert report.plan.active.sum() == 5


@pytest.mark.parametrize("scheme", ["baa", "cotaf", "gbma"])
def test_what_is_silent_does_not_make_a_norm_smaller(scheme):
    """A truncating radio sends less of the same symbols, at the same loudness."""
    whole, cut = (
        play(build(small(scheme, hardware={"truncation": t})), 1)[0][2].plan for t in (0.0, 0.6)
    )
    assert (cut.amplitude == 0.0).sum() > (whole.amplitude == 0.0).sum()
    assert cut.scalar == pytest.approx(whole.scalar, rel=1e-12)


@pytest.mark.parametrize("scheme", ["baa", "cotaf", "gbma", "ncairfl", "reed", "ca-dsgd"])
def test_where_nobody_has_anything_to_say_noise_does_not_move_the_model(scheme):
    setup = build(small(scheme))
    still = dataclasses.replace(setup.scheme.learn, learning_rate=0.0)
    setup = dataclasses.replace(setup, scheme=dataclasses.replace(setup.scheme, learn=still))
    for before, after, report, _ in play(setup, 2):
        assert torch.equal(before.theta, after.theta)
        assert {str(r) for r in report.plan.reason} <= {"dropped-by-scheduler", "not-invited"}
        assert report.costs.slots == 0
        assert not after.spent.any()


@pytest.mark.parametrize(
    "scheme",
    [
        {"options": {"norm": "bound", "bound": 2.0}},
        {"amplitude": {"name": "precoded", "norm": "bound", "bound": 2.0}},
    ],
)
def test_the_bound_is_that_of_the_runs_own_training(scheme):
    """sigma^2 = g_th min mean gain min budget/(eta H G)^2 at eta = 0.1, H = 3, G = 2."""
    plan = play(build(small("cotaf", scheme=scheme)), 1)[0][2].plan
    budget = 5e-3 * math.ceil(102 / 8)
    assert plan.scalar**2 == pytest.approx(0.105 * 2.0 * budget / (0.1 * 3 * 2.0) ** 2)


@pytest.mark.parametrize(
    ("name", "scheme", "told"),
    [
        ("a-dsgd", {"options": {"power_share": -1.0}}, r"scheme\.options\.power_share"),
        ("a-dsgd", {"options": {"power_share": [1.0, 0.0]}}, r"scheme\.options\.power_share"),
        ("ca-dsgd", {"options": {"power_scalar": -1.0}}, r"scheme\.options\.power_scalar"),
        ("baa", {"options": {"power_scalar": [1.0, -2.0]}}, r"scheme\.options\.power_scalar"),
        ("baa", {"options": {"power_scalar": []}}, r"scheme\.options\.power_scalar = \[\]: must"),
        ("obda", {"options": {"stride": []}}, r"scheme\.options\.stride = \[\]: must"),
        ("a-dsgd", {"options": {"power_share": []}}, r"scheme\.options\.power_share = \[\]: must"),
        ("baa", {"amplitude": {"name": "truncated", "scalar": -1.0}}, r"scheme\.amplitude\.scalar"),
        ("obda", {"options": {"power_scalar": {"name": "staircase"}}}, r"power_scalar"),
    ],
)
def test_numbers_over_rounds_that_cannot_be_are_refused_by_name(name, scheme, told):
    with pytest.raises(BadInput, match=told):
        build(small(name, scheme=scheme))


def test_options_over_rounds_take_a_series_by_name():
    falling = {"name": "1/t", "start": 2.0}
    setup = build(small("baa", scheme={"options": {"power_scalar": falling}}))
    scalars = [report.plan.scalar for _, _, report, _ in play(setup, 3)]
    assert scalars[0] > scalars[1] > scalars[2]


def test_the_noise_of_an_entry_is_that_of_its_own_speakers():
    """Under divide = "heard": variance over the square of who was heard there, of those alone."""
    turn, codec = turn_at(build(small()), 1), Whole(divide="heard")
    heard, nothing = np.array([4, 2, 1, 0, 4, 4, 4, 4]), torch.zeros((4, 0), dtype=torch.float64)
    four, signal = np.arange(4), torch.zeros(102, dtype=torch.float64)
    received = Received(*(four, four, signal, nothing.long(), nothing, 4, heard), noise=0.16)
    decoded = codec.decode(turn, codec.agree(turn), received)
    place = [m for m in range(8) for _ in range(12 + (m < 102 % 8))]
    wanted = [0.16 / heard[m] ** 2 for m in place if heard[m]]
    np.testing.assert_allclose(decoded.noise, wanted)
    loud = dataclasses.replace(decoded, update=torch.full_like(signal, 0.3))
    square = Adaptive(denoise=True)._square(loud)
    taken = [max(0.09 - (0.16 / heard[m] ** 2 if heard[m] else 0.0), 0.0) for m in place]
    np.testing.assert_allclose(square, taken, atol=1e-15)
