"""What own parts hand back is checked where it comes back, and the part is named."""

import dataclasses
import types

import numpy as np
import pytest

from airfeel.build.setup import build
from airfeel.parts import BadInput, Fading, Invited, Sky
from small import play, small


def refused(**parts):
    setup = build(small())
    scheme = dataclasses.replace(setup.scheme, **parts)
    with pytest.raises(BadInput) as error:
        play(dataclasses.replace(setup, scheme=scheme), 1)
    return str(error.value)


@pytest.mark.parametrize(
    ("gain", "message"),
    [
        (None, "is None; must be an array of 6 devices by 8 sub-channels, real numbers"),
        (np.ones((6, 7)), "is an array of shape (6, 7) of float64; must be an array of 6 devices"),
        (np.ones((8, 6)), "is an array of shape (8, 6)"),
        (np.ones((6, 8), complex), "is an array of shape (6, 8) of complex128; must be"),
        ([[1.0] * 8] * 6, "is a value of type list; must be an array"),
        (np.full((6, 8), -0.5), "= -0.5 for device 0 on sub-channel 0: must be finite and not"),
        (np.diag([1, 1, np.nan, 1, 1, 1, 1, 1.0])[:6], "= nan for device 2 on sub-channel 2"),
        (np.full((6, 8), np.inf), "= inf for device 0"),
    ],
)
def test_gains_that_are_none_are_refused_by_the_name_of_the_part(gain, message):
    def my_sky(turn):
        return gain

    said = refused(fade=Sky(my_sky))
    assert said.startswith("radio.fading = my_sky: |h| ")
    assert message in said
    my_fade = lambda turn: Fading(gain, 1e-6)
    if isinstance(gain, np.ndarray) and gain.dtype == np.float64:  # nouns are typed in tests
        my_fade.__name__ = "my_fade"
        said = refused(fade=my_fade)
        assert said.startswith("scheme.fade = my_fade: gain ")
        assert message in said


@pytest.mark.parametrize(
    ("fading", "message"),
    [
        (None, "returns None; must return a Fading"),
        (np.ones((6, 8)), "returns an array of shape (6, 8) of float64; must return a Fading"),
        (Fading(np.ones((6, 8)), float("nan")), "noise = nan: must be a finite number from 0"),
        (Fading(np.ones((6, 8)), -1.0), "noise = -1.0: must be a finite number from 0"),
    ],
)
def test_a_sky_that_is_none_is_refused_by_the_name_of_the_part(fading, message):
    class MySky:
        def __call__(self, turn):
            return fading

    assert refused(fade=MySky()) == f"scheme.fade = MySky: {message}"


@pytest.mark.parametrize(
    ("invited", "message"),
    [
        (None, "returns None; must return an Invited"),
        (np.ones(6, bool), "returns an array of shape (6,) of bool; must return an Invited"),
        (Invited(np.ones(5, bool)), "who is an array of shape (5,) of bool; must be an array of 6"),
        (
            types.SimpleNamespace(who=None),
            "returns a value of type SimpleNamespace; must return an",
        ),
    ],
)
def test_an_invitation_that_is_none_is_refused_by_the_name_of_the_part(invited, message):
    def my_rule(turn, fading):
        return invited

    said = refused(invite=my_rule)
    assert said.startswith("scheme.invite = my_rule: ")
    assert message in said


def test_whole_numbers_are_gains_too():
    setup = build(small())
    ones = Sky(lambda turn: np.ones((6, 8), dtype=np.int64))
    floats = Sky(lambda turn: np.ones((6, 8)))
    ends = [
        play(dataclasses.replace(setup, scheme=dataclasses.replace(setup.scheme, fade=sky)), 2)[-1]
        for sky in (ones, floats)
    ]
    assert ends[0][1].theta.equal(ends[1][1].theta)
