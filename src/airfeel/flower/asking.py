"""One asking of the nodes: what the server asked of whom, and the instruction to each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flwr.app import ArrayRecord, Message, RecordDict

from airfeel.flower import protocol
from airfeel.flower.fleet import Broadcast
from airfeel.flower.listen import Ear
from airfeel.flower.protocol import Asked, Instruction
from airfeel.radio.limit import Limit, Limits
from airfeel.types import BadInput, Fading, Invited, MakePlan, Turn


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
    received: int  # octets of introductions
    began: float
    tokens: Mapping[int, bytes]  # of each node's instruction
    sent: int = 0  # octets
    dense: int = 0  # octets of the messages that the other strategy would have sent

    @property
    def expected(self) -> dict[int, Asked]:
        """What the answer of each node must repeat."""
        return {
            node: Asked(device, self.number, self.tokens[node])
            for node, device in self.asked.items()
        }


def instruct(
    asking: Asking, draft: Message, model: Broadcast, known: int, device: int, **about: Any
) -> Message:
    """The other strategy's message, with our instruction in place of the model.

    known: version of the model that the node holds; about: the rest of the instruction.
    """
    names = [k for k, v in draft.content.items() if isinstance(v, ArrayRecord)]
    if len(names) != 1:
        raise BadInput(
            f"wrapped strategy: sends {len(names)} ArrayRecords; must send one, the model"
        )
    whole, updates = model.to(known)
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
        **_radio(asking, device),
        **about,
    )
    content = RecordDict({k: v for k, v in draft.content.items() if k not in names})
    content[protocol.RECORD] = protocol.write(instruction)
    if whole is not None:
        content[names[0]] = model.layout.record(whole)
    to = draft.metadata
    return Message(content, to.dst_node_id, to.message_type, ttl=to.ttl, group_id=to.group_id)


def limit_of(plan: MakePlan, turn: Turn, symbols: int) -> Limit | None:
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
