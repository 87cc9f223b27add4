"""One turn of the server: what it asked, and the instruction that each device gets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message, RecordDict
from jaxtyping import Bool

from airfeel.flower import protocol
from airfeel.flower.fleet import Broadcast
from airfeel.flower.listen import Ear
from airfeel.flower.protocol import Instruction
from airfeel.radio.plan import HybridPlan
from airfeel.radio.schedule import power_left
from airfeel.types import BadInput, Fading, Scheme, State, World, at_round


@dataclass(frozen=True)
class Turn:
    """One asking of the nodes."""

    number: int
    round: int
    fading: Fading | None  # None in round 0
    invited: Bool[np.ndarray, "N"]
    ear: Ear
    asked: Mapping[int, int]  # device of each node that was sent an instruction
    received: int  # octets of introductions
    began: float
    sent: int = 0  # octets
    dense: int = 0  # octets of the messages that the other strategy would have sent


def instruct(
    turn: Turn,
    draft: Message,
    model: Broadcast,
    known: int,
    radio: Mapping[str, Any],
    **about: Any,
) -> Message:
    """The other strategy's message, with our instruction in place of the model.

    known: version of the model that the node holds; radio: of `radio_of`; about: the rest of it.
    """
    names = [k for k, v in draft.content.items() if isinstance(v, ArrayRecord)]
    if len(names) != 1:
        raise BadInput(
            f"wrapped strategy: sends {len(names)} ArrayRecords; must send one, the model"
        )
    whole, updates = model.to(known)
    instruction = Instruction(
        turn=turn.number,
        round=turn.round,
        version=model.version,
        checksum=model.checksum,
        model=names[0],
        compress=protocol.write_part(turn.ear.compress),
        updates=updates,
        **radio,
        **about,
    )
    content = RecordDict({k: v for k, v in draft.content.items() if k not in names})
    content[protocol.RECORD] = protocol.write(instruction)
    if whole is not None:
        content[names[0]] = model.layout.record(whole)
    to = draft.metadata
    return Message(content, to.dst_node_id, to.message_type, ttl=to.ttl, group_id=to.group_id)


def radio_of(
    scheme: Scheme, world: World, state: State | None, fading: Fading | None, device: int
) -> dict[str, Any]:
    """What a device must know to apply the power rule itself; nothing in round 0."""
    if fading is None or state is None:
        return {}
    power = power_left(world, state)
    found: dict[str, Any] = {
        "power": float(power[device]),
        "gains": tuple(fading.gain[device].tolist()),
    }
    plan = scheme.plan
    if isinstance(plan, HybridPlan):
        alpha = np.broadcast_to(np.asarray(plan.alpha, float), power.shape)
        found["alpha"] = float(alpha[device]) if plan.power_rule else float("inf")
        found["scalar"] = at_round(plan.power_scalar, state.round + 1)
    return found
