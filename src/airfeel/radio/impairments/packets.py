"""Packets of the digital phase: the rates that are chosen, those that are met, tries and slots."""

import numpy as np
from jaxtyping import Bool, Float64, Int64

from airfeel.radio.allocation.power import needed_slots, rates
from airfeel.radio.allocation.rounding import SPENT
from airfeel.types import Fading, Plan, Said


def chosen_rates(
    power: Float64[np.ndarray, "n M"], fading: Fading, who: Int64[np.ndarray, "n"]
) -> Float64[np.ndarray, "n"]:
    """R_n = Σ_m ψ(P_{n,m}|h_{n,m}|²/(μσ0²)) [bits/slot]: the rates of packets, as believed.

    Args:
        power: digital power of some devices on each sub-channel [W].
        fading: gains [N M] as they are believed, noise σ0² [W], and the link's ψ and margin μ.
        who: ids of these devices.

    >>> sky = Fading(np.array([[1.0, 2.0]]), noise=1.0)
    >>> chosen_rates(np.array([[3.0, 0.0]]), sky, np.array([0]))
    array([2.])
    """
    if fading.link is None:
        return rates(power, fading.gain2[who], fading.noise)
    snr = power * fading.gain2[who] / (fading.noise * fading.link.margin)
    return fading.link.rates(snr)


def met_rates(
    power: Float64[np.ndarray, "n M"], fading: Fading, who: Int64[np.ndarray, "n"]
) -> Float64[np.ndarray, "n"]:
    """C_n = Σ_m ψ(P_{n,m}|h_{n,m}|²/σ0²) [bits/slot] of the channel that packets meet, no margin.

    Args:
        power: digital power of some devices on each sub-channel [W].
        fading: true gains [N M], noise σ0² [W], and the link's ψ.
        who: ids of these devices.
    """
    met2 = np.square(fading.met[who])
    if fading.link is None:
        return rates(power, met2, fading.noise)
    return fading.link.rates(power * met2 / fading.noise)


def attempts(fading: Fading, plan: Plan) -> tuple[Int64[np.ndarray, "N"], Bool[np.ndarray, "N"]]:
    """How often each device's packet is sent, and whose is lost all the same.

    With incremental redundancy a packet of rate R_n is decoded after k tries with k·C_n ≥ R_n:
    tries = min(L, ⌈R_n/C_n⌉), and it is lost iff tries·C_n < R_n. Who has no packet makes no try.

    Args:
        fading: true gains [N M], noise σ0² [W], and the link with L.
        plan: digital powers [N M] in W, rates [N] in bits/slot, batches [N], and the most tries
            that each device can pay for.

    >>> from airfeel.types import Link
    >>> one = np.ones(1)
    >>> plan = Plan(one > 0, (), np.zeros(1, int), np.zeros((1, 1), int), one[None], 2.0 * one,
    ...     0, 3, 0.0, one, one)
    >>> [attempts(Fading(one[None], 1.0, one[None], link=Link(transmissions=n)), plan)
    ...     for n in (1, 3)]
    [(array([1]), array([ True])), (array([2]), array([False]))]
    """
    talking = plan.batch >= 0
    tries = talking.astype(np.int64)
    if fading.truth is None:
        return tries, np.zeros(len(tries), dtype=bool)
    who = np.flatnonzero(talking)
    asked, borne = plan.rate[who] * SPENT, met_rates(plan.power[who], fading, who)
    most = np.full(len(who), 1 if fading.link is None else fading.link.transmissions)
    if plan.most_tries is not None:
        most = np.minimum(most, plan.most_tries[who])
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(borne > 0.0, np.ceil(asked / borne), np.inf)
    tries[who] = np.maximum(np.minimum(wanted, most), 1).astype(np.int64)
    lost = np.zeros(len(tries), dtype=bool)
    lost[who] = tries[who] * borne < asked
    return tries, lost


def own_bits(said: Said, plan: Plan) -> Float64[np.ndarray, "N"]:
    """Q of each device with the numbers that it reports; these alone of who says nothing else.

    Args:
        said: bits [n] of the n invited devices.
        plan: bits of reports, and who sends nothing else.
    """
    bits, side = np.zeros(len(plan.batch)), np.broadcast_to(plan.side, plan.batch.shape)
    bits[said.devices] = said.bits + side[said.devices]
    return bits if plan.reporting is None else np.where(plan.reporting, side, bits)


def first_slots(said: Said, fading: Fading, plan: Plan) -> Float64[np.ndarray, "N"]:
    """⌈Q/R_n⌉, the slots of each device's packet, sent once (section III).

    Args:
        said: bits Q [n] of the n invited devices.
        fading: gains [N M] as they are believed, noise σ0² [W], link.
        plan: who speaks digitally, with which powers [W].
    """
    bits, own = own_bits(said, plan), np.zeros(len(plan.batch))
    who = np.flatnonzero(plan.batch >= 0)
    own[who] = needed_slots(chosen_rates(plan.power[who], fading, who), bits[who])
    return own


def digital_slots(said: Said, fading: Fading, plan: Plan) -> int:
    """U[l], with all tries: batches follow each other, within a batch the slowest sets the time.

    Args:
        said: bits Q [n] of the n invited devices.
        fading: gains [N M] as they are believed and as they are met, noise σ0² [W], link.
        plan: who speaks digitally, when, and with which powers [W].
    """
    own = own_slots(said, fading, plan)
    taken = sum(int(own[plan.batch == g].max(initial=0)) for g in range(len(plan.owner)))
    return max(taken, plan.window)


def own_slots(said: Said, fading: Fading, plan: Plan) -> Float64[np.ndarray, "N"]:
    """U[l]_n = tries·⌈Q/R_n⌉, the slots in which each device sends its packet.

    Args:
        said: bits Q [n] of the n invited devices.
        fading: gains [N M] as they are believed and as they are met, noise σ0² [W], link.
        plan: who speaks digitally, with which powers [W].
    """
    first = first_slots(said, fading, plan)
    return first if fading.link is None else first * attempts(fading, plan)[0]
