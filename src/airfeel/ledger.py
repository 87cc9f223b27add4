"""The books: every cost of a round, recomputed from Fading, Plan and Delivery."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float64
from torch import Tensor

from airfeel import handed
from airfeel.compression.masks import overlap
from airfeel.radio.energy import segment_energy
from airfeel.radio.impairments.packets import digital_slots, own_bits, own_slots
from airfeel.radio.transmission.air import analog_energy
from airfeel.segments import air_slots
from airfeel.types import (
    BadInput,
    Costs,
    Delivery,
    Fading,
    Happened,
    Meter,
    Plan,
    Reading,
    Report,
    Said,
    Turn,
)

_NAN = float("nan")


def account(
    meters: Sequence[Meter], turn: Turn, said: Said, fading: Fading, plan: Plan, delivery: Delivery
) -> Costs:
    """Slots, bits and energy of one round: the uplink's, and what further meters read.

    Args:
        meters: of the scheme.
        turn: the round.
        said: bits [n] and segment energies [n M] of the n invited devices.
        fading: gains |h| [N M] and noise σ0² [W].
        plan: who speaks, with which powers [W].
        delivery: what arrived, for the meters.
    """
    costs = uplink(said, fading, plan)
    if not meters:
        return costs
    energy, slots, columns = costs.energy, 0, dict[str, float]()
    for i, meter in enumerate(meters):
        reading = handed.call(turn, f"meters.{i}", meter, said, fading, plan, delivery)
        if not isinstance(reading, Reading):
            made = type(reading).__name__
            raise BadInput(f"meter {type(meter).__name__}: returns {made}; must return a Reading")
        if isinstance(meter.columns, str):
            told = f"columns = {meter.columns!r}: must be a tuple of names"
            raise BadInput(f"meter {type(meter).__name__}: {told}")
        if set(reading.columns) != set(meter.columns):
            wrong = f"fills {sorted(reading.columns)}, must fill {sorted(meter.columns)}"
            raise BadInput(f"meter {type(meter).__name__}: {wrong}")
        slots += _slots(meter, reading.slots)
        energy = energy if reading.energy is None else energy + _energies(meter, reading, turn)
        columns |= {name: float(value) for name, value in reading.columns.items()}
    return Costs(costs.slots_air, costs.slots_digital, costs.bits, energy, slots, columns)


def _slots(meter: Meter, slots: int) -> int:
    if slots < 0 or int(slots) != slots:
        raise BadInput(
            f"meter {type(meter).__name__}: slots = {slots}: must be a whole number from 0"
        )
    return int(slots)


def _energies(meter: Meter, reading: Reading, turn: Turn) -> Float64[np.ndarray, "N"]:
    energy = np.asarray(reading.energy, dtype=np.float64)
    if energy.shape != (turn.world.devices,) or not np.isfinite(energy).all() or energy.min() < 0:
        wanted = f"must be {turn.world.devices} finite numbers from 0"
        raise BadInput(f"meter {type(meter).__name__}: energy of shape {energy.shape}: {wanted}")
    return energy


def uplink(said: Said, fading: Fading, plan: Plan) -> Costs:
    """Slots, bits and energy of the uplink.

    A scheduled device spends P[g]_n in the air and its own U[l]_n slots times its digital power,
    U[l]_n = ⌈Q/R_n⌉ (section III), as often as its packet is sent; batches follow each other,
    within a batch the slowest sets the time.

    Args:
        said: bits [n] and segment energies [n M] of the n invited devices.
        fading: gains |h| [N M] and noise σ0² [W].
        plan: who speaks, with which powers [W].
    """
    n, m = fading.gain.shape
    energy, bits = np.zeros(n), own_bits(said, plan)
    talked = plan.active if plan.reporting is None else plan.active | plan.reporting
    spoken = plan.active[said.devices]
    who = said.devices[spoken]
    if plan.scalar > 0.0:
        energy[who] = analog_energy(said, fading, plan, spoken)
    own = own_slots(said, fading, plan)
    energy += own * plan.power.sum(axis=1)
    analog = plan.scalar > 0.0 and len(who) > 0
    return Costs(
        slots_air=air_slots(said.symbols.shape[1], m, said.lanes) if analog else 0,
        slots_digital=digital_slots(said, fading, plan),
        bits=_total(bits[talked]),
        energy=energy,
    )


def report_on(
    turn: Turn, happened: Happened, notes: Sequence[str], ideal: Float[Tensor, "D"] | None
) -> Report:
    """The round as the books see it.

    Args:
        turn: the round, with the state before it.
        happened: all values of the round.
        notes: names of the codec's notes that rows show.
        ideal: the mean update that no channel touched; None where it is not wanted.
    """
    said, decoded = happened.said, happened.decoded
    loss = said.loss[said.finite]
    noted = {} if decoded is None else decoded.notes
    own = {name: float(noted.get(name, _NAN)) for name in notes}
    return Report(
        round=turn.round,
        fading=happened.fading,
        plan=happened.plan,
        costs=happened.costs,
        update_norm=_energy(happened.moved) ** 0.5,
        distortion=_NAN
        if ideal is None or decoded is None
        else _ratio(_energy(decoded.update - ideal), _energy(ideal)),
        mask_overlap=overlap(said.agreed.support, turn.state.support),
        train_loss=float(loss.mean()) if len(loss) else _NAN,
        columns={**happened.costs.columns, **own},
        **_feedback(said, happened.plan),
    )


def _feedback(said: Said, plan: Plan) -> dict[str, float]:
    """What part of the needed energy error feedback makes: medians, where symbols go by air."""
    if said.feedback is None or not plan.scalar > 0.0:
        return {}
    active, known = plan.active[said.devices], said.finite & np.isfinite(said.feedback)
    groups = {"feedback_scheduled": known & active, "feedback_unscheduled": known & ~active}
    return {k: float(np.median(said.feedback[some])) for k, some in groups.items() if some.any()}


def _total(bits: np.ndarray) -> float:
    """A sum; of equal numbers their product, which does not depend on an order."""
    if len(bits) and (bits == bits[0]).all():
        return float(bits[0]) * len(bits)
    return float(bits.sum())


def _energy(x: Float[Tensor, "D"]) -> float:
    """‖x‖² in float64."""
    return float(segment_energy(x, 1)[0])


def _ratio(error: float, signal: float) -> float:
    return error / signal if signal > 0.0 else _NAN
