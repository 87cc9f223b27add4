"""One asking of the nodes: what the server asked of whom, and the instruction to each of them."""

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message, RecordDict

from airfeel import handed
from airfeel.compression.codecs import Whole
from airfeel.flower import protocol
from airfeel.flower.agreement import agree
from airfeel.flower.allowed import Allowed
from airfeel.flower.fleet import Broadcast, Fleet
from airfeel.flower.listen import Ear
from airfeel.flower.protocol import Asked, Instruction
from airfeel.flower.refusals import refuse_round
from airfeel.radio.scheduling.power_constraint import Limit, Limits
from airfeel.types import BadInput, Codec, Fading, Invited, MakePlan, Scheme, Turn


@dataclass(frozen=True)
class Asking:
    """What the nodes were asked; a round that was discarded is asked again in another asking."""

    number: int
    turn: Turn
    fading: Fading | None  # None in round 0
    invited: Invited
    ear: Ear
    codec: str  # as it is told to the nodes
    mask: bytes  # empty where nodes derive it themselves
    limit: Limit | None  # the rule that devices apply before they speak
    asked: Mapping[int, int]  # device of each node that was sent an instruction
    tokens: Mapping[int, bytes]  # of each node's instruction
    began: float = field(default_factory=time.perf_counter)
    received: int = 0  # octets of introductions
    sent: int = 0  # octets
    dense: int = 0  # octets of the messages that the other strategy would have sent

    @property
    def expected(self) -> dict[int, Asked]:
        """What the answer of each node must repeat."""
        return {
            node: Asked(device, self.number, self.tokens[node])
            for node, device in self.asked.items()
        }


def begin(
    number: int,
    turn: Turn,
    scheme: Scheme,
    allowed: Allowed,
    fleet: Fleet,
    nodes: Iterable[int],
    *,
    seed: int,
    weight: str,
) -> Asking:
    """The sky, who is asked, and how they are to speak; in round 0 everybody, as they are.

    nodes: those that are there. weight: the metric by which nodes' metrics are weighted.
    """
    codec: Codec = Whole()
    reachable = fleet.reachable(nodes)
    fading, invited, limit = None, Invited(reachable), None
    if turn.round > 0:
        codec = scheme.codec
        fading = handed.sky(turn, scheme.fade)
        invited = handed.guests(turn, scheme.invite, fading)
        refuse_round(scheme, fading, invited)
        invited = Invited(reachable & invited.who)
    told = allowed.write(codec)
    theirs = allowed.read(told)
    agreed, mask = agree(codec, theirs, turn.within("codec"), seed)
    if fading is not None:
        limit = _limit_of(scheme.plan, turn, len(agreed.support))
    asked = {fleet.node[int(n)]: int(n) for n in np.flatnonzero(invited.who)}
    return Asking(
        number=number,
        turn=turn,
        fading=fading,
        invited=invited,
        ear=Ear(theirs.spelling, agreed, turn.state.theta, weight),
        codec=told,
        mask=mask,
        limit=limit,
        asked=asked,
        tokens={node: secrets.token_bytes(8) for node in asked},
    )


def instruct(
    asking: Asking, draft: Message, model: Broadcast, fleet: Fleet, device: int, seed: int
) -> Message:
    """The other strategy's message, with our instruction in place of the model.

    fleet: knows which version of the model the node holds, and which answer was the last to count.
    """
    names = [k for k, v in draft.content.items() if isinstance(v, ArrayRecord)]
    if len(names) != 1:
        raise BadInput(
            f"wrapped strategy: sends {len(names)} ArrayRecords; must send one, the model"
        )
    whole, updates = model.to(fleet.known[device])
    instruction = Instruction(
        asking=asking.number,
        round=asking.turn.round,
        device=device,
        version=model.version,
        checksum=model.checksum,
        model=names[0],
        codec=asking.codec,
        token=asking.tokens[draft.metadata.dst_node_id],
        mask=asking.mask,
        updates=updates,
        session=fleet.session,
        counted=fleet.counted.get(device, 0),
        seed=seed,
        **_radio(asking, device),
    )
    content = RecordDict({k: v for k, v in draft.content.items() if k not in names})
    content[protocol.RECORD] = protocol.write(instruction)
    if whole is not None:
        content[names[0]] = model.layout.record(whole)
    to = draft.metadata
    return Message(content, to.dst_node_id, to.message_type, ttl=to.ttl, group_id=to.group_id)


def _limit_of(plan: MakePlan, turn: Turn, symbols: int) -> Limit | None:
    """The rule that devices can apply before they speak, if the plan has one."""
    return plan.limit(turn, symbols) if isinstance(plan, Limits) else None


def _radio(asking: Asking, device: int) -> dict[str, Any]:
    """What a device must know to apply the rule; nothing where there is none."""
    if asking.limit is None or asking.fading is None:
        return {}
    return {
        "scalar": asking.limit.scalar,
        "budget": float(asking.limit.budget[device]),
        "gains": tuple(asking.fading.gain[device].tolist()),
    }
