"""The theory's functions: the paper's formulas, where they do not hold, and how they move."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from airfeel.theory import contraction, convergence_bound, learning_rate, power_scalar, smallest_a
from airfeel.types import BadInput

CONSTANTS = {
    "smoothness": 3.0,
    "convexity": 1.5,
    "local_steps": 2,
    "batch_size": 8,
    "devices": 4,
    "gradient2": 7.0,
    "noise": 0.5,
    "k_global": 30,
    "gamma": 0.375,
    "a": 90.0,
    "rounds": 500,
    "distance2": 2.0,
}


# The formulas -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"local_steps": 1},
        {"local_steps": 7, "rounds": 1},
        {"gamma": 1.0, "a": 65.0},
        {"smoothness": 1.5, "a": 33.0},
    ],
)
def test_the_bound_is_the_papers(change):
    """Eq. (7) in exact fractions, written as the paper writes it."""
    c = {name: Fraction(value) for name, value in (CONSTANTS | change).items()}
    L, mu, H, G2, gamma, a, T = (
        c[name]
        for name in (
            *("smoothness", "convexity", "local_steps", "gradient2"),
            *("gamma", "a", "rounds"),
        )
    )
    s = sum((a + t) ** 2 for t in range(1, int(T) + 1))
    a1 = 4 * a * gamma * (1 - gamma**2) / (a * gamma - 4 * H)
    v1 = (7 * mu * H / 2 + 6 * H * L) * c["noise"] * c["k_global"] / c["devices"] ** 2
    v2 = H * G2 / (c["batch_size"] * c["devices"])
    v3 = (3 * mu / 2 + 9 * L / 2) * G2 * (H - 1) * H + (14 * mu + 24 * L) * a1 * H**3 * G2 / gamma
    terms = [
        L * a**3 / (4 * s) * c["distance2"],
        L * T**2 / (mu * H * s) * v1,
        8 * L * T * (T + 2 * a + 1) / (mu**2 * H**2 * s) * v2,
        64 * L * T / (mu**3 * H**3 * s) * v3,
    ]
    bound = convergence_bound(**CONSTANTS | change)
    found = [bound.initial, bound.noise, bound.variance, bound.compression]
    assert found == pytest.approx([float(term) for term in terms], rel=1e-12)
    assert bound.total == pytest.approx(float(sum(terms)), rel=1e-12)


def test_the_schedules_are_the_papers():
    assert learning_rate(0, convexity=0.5, local_steps=4, a=100) == 8 / (0.5 * 4 * 100)
    assert learning_rate(60, convexity=0.5, local_steps=4, a=100) == 8 / (0.5 * 4 * 160)
    assert power_scalar(60, a=100) == 160.0**2


def test_contraction_of_the_papers_experiment():
    """d = 258 898, φ = (0.2, 0.05): eight bits are few, four too few for Lemma 1."""
    exact = (1 - Fraction(12945, 2**14)) * Fraction(51780 + 12945, 258898)
    assert contraction(51780, 12945, 8, 258898) == pytest.approx(float(exact))
    assert contraction(51780, 12945, 16, 258898) == pytest.approx(64725 / 258898, rel=2e-5)
    with pytest.raises(BadInput, match=r"k_local = 12945: must be below 2\^\(2q−2\) = 64"):
        contraction(51780, 12945, 4, 258898)


def test_unquantised_values_have_no_quantiser_term():
    assert contraction(3, 4, 32, 10) == 0.7
    assert contraction(0, 10**20, 32, 10**20) == 1.0


def test_smallest_a_is_the_first_allowed():
    for change in ({}, {"local_steps": 9}, {"gamma": 0.01}):
        c = CONSTANTS | change
        names = ("gamma", "local_steps", "smoothness", "convexity")
        a = smallest_a(**{name: c[name] for name in names})
        limit = max(4 * c["local_steps"] / c["gamma"], 32 * c["smoothness"] / c["convexity"])
        assert math.nextafter(a, 0.0) == limit
        assert 0.0 < convergence_bound(**c | {"a": a}).total < math.inf
        with pytest.raises(BadInput, match="a = "):
            convergence_bound(**c | {"a": limit})


# Where the theory is silent ---------------------------------------------------------------------

INF, NAN = math.inf, math.nan
BOUND = [
    ("a", 64.0),  # 32L/μ itself
    ("a", INF),
    ("a", NAN),
    ("gamma", 0.0),
    ("gamma", -0.1),
    ("gamma", 1.0 + 1e-9),
    ("gamma", NAN),
    ("smoothness", 1.4),  # below μ
    ("smoothness", INF),
    ("convexity", 0.0),
    ("convexity", NAN),
    ("local_steps", 0),
    ("batch_size", 0),
    ("devices", 0),
    ("rounds", 0),
    ("k_global", -1),
    ("gradient2", -1.0),
    ("noise", -1e-9),
    ("noise", INF),
    ("distance2", NAN),
]


@pytest.mark.parametrize(("name", "value"), BOUND)
def test_bound_refuses(name, value):
    with pytest.raises(BadInput, match=rf"^{name} = .*must be") as error:
        convergence_bound(**CONSTANTS | {name: value})
    assert "\n" not in str(error.value)


def test_more_local_steps_or_stronger_compression_need_a_larger_a():
    with pytest.raises(BadInput, match=r"^a = 90.0: .* = 96$"):
        convergence_bound(**CONSTANTS | {"local_steps": 9})
    with pytest.raises(BadInput, match=r"^a = 90.0: .* = 160$"):
        convergence_bound(**CONSTANTS | {"gamma": 0.05})


@pytest.mark.parametrize(
    ("k_global", "k_local", "bits", "dim", "name"),
    [
        (3, 4, 2, 10, "k_local"),  # K[l] = 2^(2q−2)
        (3, 64, 4, 100, "k_local"),
        (0, 0, 16, 10, "k_local"),
        (3, 8, 16, 10, "k_local"),  # more than lie outside of the global mask
        (3, -1, 16, 10, "k_local"),
        (-1, 3, 16, 10, "k_global"),
        (11, 0, 16, 10, "k_global"),
        (0, 0, 16, 0, "dim"),
        (3, 1, 1, 10, "bits"),
        (3, 1, 0, 10, "bits"),
        (3, 1, 25, 10, "bits"),
        (3, 1, 33, 10, "bits"),
    ],
)
def test_contraction_refuses(k_global, k_local, bits, dim, name):
    with pytest.raises(BadInput, match=rf"^{name} = .*must be"):
        contraction(k_global, k_local, bits, dim)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: learning_rate(-1, convexity=1, local_steps=1, a=1), "t"),
        (lambda: learning_rate(1, convexity=0, local_steps=1, a=1), "convexity"),
        (lambda: learning_rate(1, convexity=1, local_steps=0, a=1), "local_steps"),
        (lambda: learning_rate(1, convexity=1, local_steps=1, a=0), "a"),
        (lambda: power_scalar(-1, a=1), "t"),
        (lambda: power_scalar(1, a=-1), "a"),
        (lambda: smallest_a(gamma=0, local_steps=1, smoothness=1, convexity=1), "gamma"),
        (lambda: smallest_a(gamma=1, local_steps=1, smoothness=1, convexity=2), "smoothness"),
    ],
)
def test_schedules_refuse(call, name):
    with pytest.raises(BadInput, match=rf"^{name} = .*must be"):
        call()


# How the bound moves ----------------------------------------------------------------------------


relaxed = settings(deadline=None)  # a busy machine is no failure


@st.composite
def legal(draw):
    """Constants that Theorem 1 allows."""
    positive = st.floats(1e-3, 1e3)
    size = st.integers(1, 50)
    convexity = draw(positive)
    c = {
        "convexity": convexity,
        "smoothness": convexity * draw(st.floats(1.0, 100.0)),
        "gamma": draw(st.floats(0.01, 1.0)),
        **{name: draw(size) for name in ("local_steps", "batch_size", "devices", "k_global")},
        **{name: draw(positive) for name in ("gradient2", "noise", "distance2")},
        "rounds": draw(st.integers(1, 10**6)),
    }
    names = ("gamma", "local_steps", "smoothness", "convexity")
    least = smallest_a(**{name: c[name] for name in names})
    return c | {"a": least * draw(st.floats(1.01, 10.0))}


@relaxed
@given(legal())
def test_the_bound_falls_once_rounds_pass_twice_a(c):
    rounds = [math.ceil(2 * c["a"]) * 2**i for i in range(6)]
    totals = [convergence_bound(**c | {"rounds": t}).total for t in rounds]
    assert totals == sorted(totals, reverse=True)
    assert convergence_bound(**c | {"rounds": 10**9 * rounds[0]}).total < 1e-8 * totals[0]


@relaxed
@given(legal(), st.floats(1.1, 10.0), st.integers(2, 5))
def test_terms_move_with_noise_mask_and_devices(c, more, times):
    bound = convergence_bound(**c)
    near = lambda value: pytest.approx(value, rel=1e-9)
    louder = convergence_bound(**c | {"noise": more * c["noise"]})
    wider = convergence_bound(**c | {"k_global": times * c["k_global"]})
    larger = convergence_bound(**c | {"devices": times * c["devices"]})
    assert louder.noise == near(more * bound.noise)
    assert wider.noise == near(times * bound.noise)
    assert larger.noise == near(bound.noise / times**2)
    assert larger.variance == near(bound.variance / times)
    for other in (louder, wider, larger):
        assert other.initial == bound.initial
        assert other.compression == bound.compression


@relaxed
@given(legal(), st.floats(1.01, 2.0))
def test_weaker_compression_shrinks_its_term(c, more):
    gamma = min(more * c["gamma"], 1.0)
    assume(gamma > c["gamma"])
    weaker = convergence_bound(**c | {"gamma": gamma})
    assert weaker.compression < convergence_bound(**c).compression


@relaxed
@given(st.integers(1, 10**6), st.data())
def test_gamma_is_a_share_that_grows_with_bits_and_the_global_mask(dim, data):
    k_global = data.draw(st.integers(0, dim))
    k_local = data.draw(st.integers(0 if k_global else 1, dim - k_global if k_global else dim))
    bits = data.draw(st.sampled_from([*range(2, 25), 32]))
    assume(bits == 32 or k_local < 4 ** (bits - 1))
    gamma = contraction(k_global, k_local, bits, dim)
    assert 0.0 < gamma <= (k_global + k_local) / dim <= 1.0
    if bits < 24:
        assert gamma <= contraction(k_global, k_local, bits + 1, dim)
    if k_global + k_local < dim:
        assert gamma < contraction(k_global + 1, k_local, bits, dim)
