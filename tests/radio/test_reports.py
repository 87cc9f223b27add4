"""Numbers that devices report: free, or 32 bits of each who tells one, also if it is silent then.

Six devices on eight sub-channels, D = 102, of which 31 entries by air and 10 of each device's own.
"""

import math

import numpy as np
import pytest

from airfeel.build.setup import build
from airfeel.types import Reason
from small import play, small

N, M, D, NOISE, POWER = 6, 8, 102, 1e-6, 5e-3
ENTRY = math.log2(D) + 6  # bits of an entry with its place
TOP_K, LOCAL = 41 * ENTRY + 32, 10 * ENTRY + 32  # with the quantiser's norm
UNEQUAL = {"power": [1e-4, 5e-3, 1e-3, 5e-3, 2e-4, 5e-3]}


def played(scheme, rounds=4, strict=True, /, **changes):
    own = {"strict_bits": strict, **changes.pop("scheme", {})}
    return play(build(small(scheme, scheme=own, **changes)), rounds)


def screened(scheme, screen, strict=True, **changes):
    kept = {"screen": {"name": screen, "scheduled": 2}}
    return played(scheme, 4, strict, scheme=kept, **changes)


def slots_of(report, bits):
    """Slots of each who sends so many bits, from powers and gains alone."""
    snr = report.plan.power * report.fading.gain**2 / NOISE
    rate = np.log2(1.0 + snr).sum(axis=1)
    return [math.ceil(b / r - 1e-9) if b else 0 for b, r in zip(bits, rate, strict=True)]


def check_books(report, bits):
    """Bits, slots and digital energy of a round in which each device sends so many bits."""
    plan, costs, own = report.plan, report.costs, slots_of(report, bits)
    assert costs.bits == pytest.approx(sum(bits), rel=1e-12)
    batches = [[u for u, b in zip(own, plan.batch, strict=True) if b == g] for g in range(M)]
    assert costs.slots_digital == sum(max(batch, default=0) for batch in batches)
    air = np.where(plan.active, np.nan_to_num(plan.needed), 0.0)
    np.testing.assert_allclose(costs.energy, air + own * plan.power.sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize(
    ("scheme", "screen", "packet", "policy", "telling"),
    [
        ("top-k", "bn2", TOP_K, 0.0, 6),
        ("top-k", "bn2-c", TOP_K, 0.0, 6),
        ("top-k", "bc-bn2", TOP_K, 0.0, 4),  # only of those who could send most
        ("tcs-h", "bn2", LOCAL, 0.0, 6),
        ("analog", "bn2", 0.0, 0.0, 6),
        ("baa", "bn2", 0.0, 0.0, 6),  # one norm is what both ask for
        ("baa", "bn2-c", 0.0, 32.0, 6),  # that of what fits, and of those kept that of all
        ("ca-dsgd", "bn2", 0.0, 32.0, 6),  # that of x, and that of its projection
    ],
)
def test_what_a_screen_ranks_by_is_charged_of_all_who_tell_it(
    scheme, screen, packet, policy, telling
):
    heard = 0
    for _, _, report, _ in screened(scheme, screen):
        plan = report.plan
        kept, told = (np.array(plan.reason) != Reason.DROPPED), plan.active | plan.reporting
        assert (kept.sum(), told.sum()) == (2, telling)
        check_books(report, packet * plan.active + policy * kept + 32.0 * told)
        heard += int(plan.active.sum())
    assert heard > 0


def test_a_screen_that_knows_all_it_asks_for_costs_nothing():
    for _, _, report, _ in screened("top-k", "bc"):
        check_books(report, TOP_K * report.plan.active)


@pytest.mark.parametrize(
    ("scheme", "options", "numbers"),
    [
        ("baa", {}, 1),
        ("baa", {"center": True}, 2),
        ("baa", {"power_scalar": 1.0}, 0),
        ("airfl-mem", {}, 1),
        ("gbma", {}, 1),
        ("ca-dsgd", {}, 1),
        ("ncairfl", {}, 1),
        ("reed", {}, 1),
        ("cotaf", {}, 1),
        ("cotaf", {"norm": "last"}, 1),
        ("cotaf", {"norm": "bound", "bound": 2.0}, 0),
        ("obda", {}, 0),  # signs have a known energy
        ("ef-obda", {}, 0),
        ("a-dsgd", {}, 0),  # the pilot tells
        ("analog", {}, 0),
    ],
)
def test_numbers_that_a_loudness_is_made_of_are_charged_of_all_who_trained(
    scheme, options, numbers
):
    weak = {"mean_gain": [1.0, 0.3, 2.0, 1.0, 0.05, 1.5]}  # the fifth is quiet where gains decide
    for _, _, report, _ in played(scheme, 2, scheme={"options": options}, radio=weak):
        trained = np.array(report.plan.reason) != Reason.NOT_INVITED
        check_books(report, 32.0 * numbers * trained)
        assert (report.costs.slots_digital > 0) == (numbers > 0)


@pytest.mark.parametrize("scheme", ["top-k", "tcs-h", "baa", "d-dsgd"])
def test_without_strict_accounting_nobody_pays_for_a_norm(scheme):
    for _, _, report, _ in screened(scheme, "bn2", strict=False):
        assert report.plan.reporting is None
        assert not report.costs.energy[~report.plan.active].any()


def test_reports_take_no_sub_channels_from_packets():
    free, strict = (screened("tcs-h", "bn2", strict=s)[0][2].plan for s in (False, True))
    np.testing.assert_array_equal(strict.active, free.active)
    np.testing.assert_array_equal(strict.rate[free.active], free.rate[free.active])
    assert strict.reporting.sum() == N - free.active.sum()
    assert not set(strict.batch[strict.active]) & set(strict.batch[strict.reporting])


def test_who_cannot_afford_the_air_has_reported_all_the_same():
    """Aggressive devices run out of energy: the report is paid, and the whole limit is kept."""
    loud, turned_away = {"alpha": 40.0, "power_scalar": 4.0}, 0
    for _, after, report, _ in screened("tcs-h", "bn2", radio=loud, budget={"slots": 60}):
        plan = report.plan
        for n in (n for n, why in enumerate(plan.reason) if why is Reason.NO_ENERGY):
            assert plan.reporting[n]
            turned_away += 1
        check_books(report, LOCAL * plan.active + 32.0)
        assert (after.spent <= 60 * POWER * (1 + 1e-9)).all()
    assert turned_away > 0


def check_phase(report, room):
    """Grants of d-dsgd leave 32 bits of their room, which who is silent sends alone."""
    plan, bits = report.plan, np.where(report.plan.active | report.plan.reporting, 32.0, 0.0)
    for n in np.flatnonzero(plan.active):
        left = room[n] * plan.rate[n] * (1 + 1e-12) - 32.0
        fits = [q for q in range(1, D // 2 + 1) if math.log2(math.comb(D, q)) + 33 <= left]
        bits[n] += math.log2(math.comb(D, fits[-1])) + 33
    assert report.costs.bits == pytest.approx(sum(bits), rel=1e-9)
    slots = slots_of(report, bits)
    assert (np.array(slots) <= room).all()
    np.testing.assert_allclose(report.costs.energy, slots * plan.power.sum(axis=1), rtol=1e-9)


def test_whom_d_dsgd_drops_reports_on_the_sub_channels_that_were_its_own():
    for _, _, report, _ in screened("d-dsgd", "bn2"):
        assert report.plan.active.sum() == 2
        assert report.plan.reporting.sum() == N - 2
        assert report.costs.slots_digital == math.ceil(D / 2 / M)
        check_phase(report, np.full(N, math.ceil(D / 2 / M)))


def test_d_dsgd_by_norms_pays_for_telling_them():
    own = {"options": {"entries": "norm", "slots": 40}}
    for before, _, report, _ in played("d-dsgd", scheme=own):
        norm, rate = before.carry["norm"], report.plan.rate
        known = norm[np.isfinite(norm)]
        norm = np.where(np.isfinite(norm), norm, known.mean() if len(known) else 1.0)
        weight = np.divide(norm, rate, out=np.zeros(N), where=rate > 0.0)
        room = np.ceil(40 * weight / weight.sum() - 1e-9)
        assert report.plan.active.sum() == 4
        assert report.costs.slots_digital == room.sum()
        check_phase(report, room)


def test_a_norm_that_has_no_room_is_not_known():
    """The third device's channel carries no 32 bits: free numbers reach the base station."""
    deaf = {"mean_gain": [1.0, 1.0, 1e-7, 1.0, 1.0, 1.0]}
    own = {"options": {"entries": "norm", "slots": 40}, "invite": "everyone"}
    for strict in (False, True):
        for _, after, report, _ in played("d-dsgd", 3, strict, scheme=own, radio=deaf):
            known = np.isfinite(after.carry["norm"])
            assert known.tolist() == [True, True, not strict, True, True, True]
            assert not report.plan.active[2]


@pytest.mark.parametrize(
    ("scheme", "packet"), [("analog", 0.0), ("baa", 0.0), ("tcs-h", LOCAL), ("ncairfl", 0.0)]
)
def test_energy_queues_are_told_a_norm_by_all_who_train(scheme, packet):
    """Once, where the loudness needs it, too."""
    own = {"invite": {"name": "energy-queue", "weight": 3.0}}
    for _, after, report, _ in played(scheme, 6, scheme=own, radio=UNEQUAL):
        trained = np.array([why is not Reason.NOT_INVITED for why in report.plan.reason])
        check_books(report, packet * report.plan.active + 32.0 * trained)
        assert np.isfinite(after.carry["norm"][trained]).all()


def test_who_was_invited_and_cannot_afford_the_air_tells_the_queue_its_norm():
    own = {"invite": {"name": "energy-queue", "weight": 3.0}, "schedule": "power"}
    too_loud = 0
    for _, _, report, _ in played("tcs-h", 6, scheme=own, radio={**UNEQUAL, "power_scalar": 3.0}):
        too_loud += report.plan.reason.count(Reason.TOO_LOUD)
        told = np.array([why is not Reason.NOT_INVITED for why in report.plan.reason])
        check_books(report, LOCAL * report.plan.active + 32.0 * told)
    assert too_loud > 0


def test_energies_of_all_segments_tell_the_queue_the_norm_in_backlogs_rounds_with_reports():
    own = {"invite": {"name": "energy-queue", "weight": 3.0}, "options": {"every": 3}}
    for before, _, report, _ in played("backlog", 6, scheme=own):
        told = 32.0 * M if before.round % 3 == 0 else 32.0
        check_books(report, told * report.plan.active)
    free = played("backlog", 3, scheme={"options": {"every": 3}})
    assert [report.costs.bits for _, _, report, _ in free] == [32.0 * M * N, 0.0, 0.0]


@pytest.mark.parametrize(("constants", "told"), [("equal", 32.0), ("measured", 64.0)])
@pytest.mark.parametrize(("scheme", "packet"), [("analog", 0.0), ("tcs-h", LOCAL)])
def test_drift_is_told_by_all_what_they_need_and_for_measured_constants_their_norms(
    scheme, packet, constants, told
):
    own = {"plan": {"name": "drift", "weight": 3.0, "constants": constants}}
    silent = 0
    for _, _, report, _ in played(scheme, 8, scheme=own, radio=UNEQUAL):
        check_books(report, packet * report.plan.active + told)
        silent += int(report.plan.reporting.sum())
    assert silent > 0
