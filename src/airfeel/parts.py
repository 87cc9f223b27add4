"""What authors of parts need, at one door: nouns, Protocols, ready parts to wrap, and kernels.

docs/parts.md says how a part of each kind is written; examples/own holds eleven.
"""

from airfeel.compress.average import average
from airfeel.compress.codecs import TimeCorrelated, TopK, Whole, mean_of, no_mask, value_bits
from airfeel.compress.markov import Markov
from airfeel.compress.mask_rules import ExpectedBacklog, Top, expected_backlog
from airfeel.compress.masks import top_k, top_k_outside
from airfeel.compress.measured import Measurements
from airfeel.compress.memory import ErrorMemory, NoMemory, residual
from airfeel.compress.projections import Cosine, Gaussian, Projection, projection
from airfeel.compress.quantize import quantize
from airfeel.compress.recovery import Recover, SoftThreshold, amp, soft_threshold
from airfeel.data.shards import Partition
from airfeel.errors import BadInput
from airfeel.learn.backends import Backend, Stacked, Torch
from airfeel.learn.local_sgd import LocalSGD
from airfeel.learn.rules import Momentum, PlainSGD, Proximal, Rule
from airfeel.radio.air import Hybrid, needed_energy, segment_energy, spent_energy, superpose
from airfeel.radio.air_plan import AirPlan
from airfeel.radio.allocators.paper import Paper
from airfeel.radio.digital import Orthogonal
from airfeel.radio.fading import Constant, Draw, Rayleigh, Rician, Sky, rayleigh, shape_of
from airfeel.radio.invite import Anyone, Everyone, RandomDevices, capacity, lowest
from airfeel.radio.links import Allocation, Allocator, Links
from airfeel.radio.loudness import Ask, Loud
from airfeel.radio.measured import Measured, Paced
from airfeel.radio.meters import Latency
from airfeel.radio.plan import Analog, DigitalPlan, FreePlan, HybridPlan, Planner, first_reasons
from airfeel.radio.power import rates
from airfeel.radio.receive import arrivals, deliver, receive
from airfeel.radio.remaining import allowed_energy, power_left
from airfeel.radio.share_plan import SharePlan
from airfeel.radio.shares import least_error, regularised_shares
from airfeel.ranges import Below1, Count, NotNegative, Positive, Share, about
from airfeel.ranges import Whole as WholeNumber
from airfeel.schemes.settings import Settings
from airfeel.segments import air_slots, by_value, segment_sizes, thinnest_mask
from airfeel.server.steps import Add
from airfeel.streams import Streams
from airfeel.types import (
    Agreed,
    Carries,
    Codec,
    Dataset,
    Decoded,
    Delivery,
    Fade,
    Fading,
    Happened,
    Invite,
    Invited,
    Learn,
    MakePlan,
    Mask,
    Memory,
    Meter,
    Moments,
    Plan,
    Reading,
    Reason,
    Received,
    Said,
    Scheme,
    Series,
    State,
    Step,
    Transmit,
    Turn,
    Words,
    World,
    at_round,
)

__all__ = [
    "Add",
    "Agreed",
    "AirPlan",
    "Allocation",
    "Allocator",
    "Analog",
    "Anyone",
    "Ask",
    "Backend",
    "BadInput",
    "Below1",
    "Carries",
    "Codec",
    "Constant",
    "Cosine",
    "Count",
    "Dataset",
    "Decoded",
    "Delivery",
    "DigitalPlan",
    "Draw",
    "ErrorMemory",
    "Everyone",
    "ExpectedBacklog",
    "Fade",
    "Fading",
    "FreePlan",
    "Gaussian",
    "Happened",
    "Hybrid",
    "HybridPlan",
    "Invite",
    "Invited",
    "Latency",
    "Learn",
    "Links",
    "LocalSGD",
    "Loud",
    "MakePlan",
    "Markov",
    "Mask",
    "Measured",
    "Measurements",
    "Memory",
    "Meter",
    "Moments",
    "Momentum",
    "NoMemory",
    "NotNegative",
    "Orthogonal",
    "Paced",
    "Paper",
    "Partition",
    "PlainSGD",
    "Plan",
    "Planner",
    "Positive",
    "Projection",
    "Proximal",
    "RandomDevices",
    "Rayleigh",
    "Reading",
    "Reason",
    "Received",
    "Recover",
    "Rician",
    "Rule",
    "Said",
    "Scheme",
    "Series",
    "Settings",
    "Share",
    "SharePlan",
    "Sky",
    "SoftThreshold",
    "Stacked",
    "State",
    "Step",
    "Streams",
    "TimeCorrelated",
    "Top",
    "TopK",
    "Torch",
    "Transmit",
    "Turn",
    "Whole",
    "WholeNumber",
    "Words",
    "World",
    "about",
    "air_slots",
    "allowed_energy",
    "amp",
    "arrivals",
    "at_round",
    "average",
    "by_value",
    "capacity",
    "deliver",
    "expected_backlog",
    "first_reasons",
    "least_error",
    "lowest",
    "mean_of",
    "needed_energy",
    "no_mask",
    "power_left",
    "projection",
    "quantize",
    "rates",
    "rayleigh",
    "receive",
    "regularised_shares",
    "residual",
    "segment_energy",
    "segment_sizes",
    "shape_of",
    "soft_threshold",
    "spent_energy",
    "superpose",
    "thinnest_mask",
    "top_k",
    "top_k_outside",
    "value_bits",
]
