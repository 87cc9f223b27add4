"""What authors of parts need, at one door: nouns, Protocols, ready parts to wrap, and kernels.

docs/parts.md says how a part of each kind is written; examples/own holds eleven.
"""

from airfeel.compression.average import average
from airfeel.compression.buckets import Qsparse, Quantised
from airfeel.compression.codecs import TimeCorrelated, TopK, Whole, mean_of, no_mask, value_bits
from airfeel.compression.extremes import Extremes, one_sided
from airfeel.compression.markov import Markov
from airfeel.compression.mask_ages import AgeTopK, Cyclic, FairK, RandK
from airfeel.compression.mask_rules import ExpectedBacklog, Top, expected_backlog
from airfeel.compression.masks import top_k, top_k_outside
from airfeel.compression.measured import Measurements
from airfeel.compression.memory import ErrorMemory, NoMemory, residual
from airfeel.compression.momenta import Dgc, Signum
from airfeel.compression.norms import Normed, largest_norm
from airfeel.compression.projections import Cosine, Gaussian, Projection, projection
from airfeel.compression.quantize import quantize
from airfeel.compression.recovery import Recover, SoftThreshold, amp, soft_threshold
from airfeel.compression.signs import ScaledSigns, Signs
from airfeel.data.shards import Partition
from airfeel.errors import BadInput
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.links import Allocation, Allocator, Links
from airfeel.radio.allocation.power import rates
from airfeel.radio.channel.fading import Constant, Draw, Rayleigh, Rician, Sky, rayleigh, shape_of
from airfeel.radio.cost_metrics import Compute, Latency
from airfeel.radio.energy import needed_energy, segment_energy, spent_energy
from airfeel.radio.power_budget import allowed_energy, power_left
from airfeel.radio.power_control.amplitude import Paced
from airfeel.radio.power_control.power_context import Ask, Loud
from airfeel.radio.power_control.regularized_inversion import least_error, regularised_shares
from airfeel.radio.scheduling.air_plan import AirPlan
from airfeel.radio.scheduling.fraction_plan import SharePlan
from airfeel.radio.scheduling.frame import WindowPlan
from airfeel.radio.scheduling.plan import DigitalPlan, FreePlan, HybridPlan
from airfeel.radio.scheduling.planner import Analog, Planner, first_reasons
from airfeel.radio.scheduling.queues import Drift, EnergyQueue, queue_after, worth_hearing
from airfeel.radio.scheduling.slot_efficient import Fast
from airfeel.radio.selection.device_filters import (
    BestCapacity,
    CapacityThenNorm,
    LargestNorm,
    LargestReach,
)
from airfeel.radio.selection.device_selection import (
    Anyone,
    Everyone,
    RandomDevices,
    capacity,
    lowest,
)
from airfeel.radio.selection.payload_budget import Granted, Reach, RealRates, most_entries
from airfeel.radio.transmission.air import Hybrid, superpose
from airfeel.radio.transmission.digital import Orthogonal
from airfeel.radio.transmission.measured import Measured
from airfeel.radio.transmission.receive import arrivals, deliver, receive
from airfeel.ranges import Below1, Count, NotNegative, Positive, Share, about
from airfeel.ranges import Whole as WholeNumber
from airfeel.schemes.settings import Settings
from airfeel.segments import air_slots, by_value, segment_sizes, thinnest_mask
from airfeel.server.adaptive import Adaptive
from airfeel.server.hold import Hold
from airfeel.server.steps import Add, FedAvgM
from airfeel.streams import Streams
from airfeel.training.backends import Backend, Stacked, Torch
from airfeel.training.local_sgd import LocalSGD
from airfeel.training.rules import Momentum, PlainSGD, Proximal, Rule
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
    Screen,
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
    "Adaptive",
    "Add",
    "AgeTopK",
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
    "BestCapacity",
    "CapacityThenNorm",
    "Carries",
    "Codec",
    "Compute",
    "Constant",
    "Cosine",
    "Count",
    "Cyclic",
    "Dataset",
    "Decoded",
    "Delivery",
    "Dgc",
    "DigitalPlan",
    "Draw",
    "Drift",
    "EnergyQueue",
    "ErrorMemory",
    "Everyone",
    "ExpectedBacklog",
    "Extremes",
    "Fade",
    "Fading",
    "FairK",
    "Fast",
    "FedAvgM",
    "FreePlan",
    "Gaussian",
    "Granted",
    "Happened",
    "Hold",
    "Hybrid",
    "HybridPlan",
    "Invite",
    "Invited",
    "LargestNorm",
    "LargestReach",
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
    "Normed",
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
    "Qsparse",
    "Quantised",
    "RandK",
    "RandomDevices",
    "Rayleigh",
    "Reach",
    "Reading",
    "RealRates",
    "Reason",
    "Received",
    "Recover",
    "Rician",
    "Rule",
    "Said",
    "ScaledSigns",
    "Scheme",
    "Screen",
    "Series",
    "Settings",
    "Share",
    "SharePlan",
    "Signs",
    "Signum",
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
    "WindowPlan",
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
    "largest_norm",
    "least_error",
    "lowest",
    "mean_of",
    "most_entries",
    "needed_energy",
    "no_mask",
    "one_sided",
    "power_left",
    "projection",
    "quantize",
    "queue_after",
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
    "worth_hearing",
]
