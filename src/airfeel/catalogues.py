"""Every part that settings can name: a new one is a file of its own and one line here.

Schemes, allocators, screens, amplitudes, and what belongs to data and training, have theirs in
`entries/`.

Factories are text, so that nothing is imported before it is used; `airfeel list`, the schema of
the settings and the contract tests read these catalogues.
"""

from airfeel.catalogue import Catalogue, Entry
from airfeel.entries.allocators import ALLOCATORS
from airfeel.entries.learning import (
    AUGMENTS,
    BACKENDS,
    DATASETS,
    LOGGERS,
    MODELS,
    PARTITIONS,
    RULES,
    SERIES,
)
from airfeel.entries.schemes import SCHEMES
from airfeel.entries.speaking import AMPLITUDES, SCREENS

FADINGS = Catalogue(
    "channels",
    "radio.fading",
    {
        "none": Entry("airfeel.radio.fading:Constant", "the same gain everywhere"),
        "rayleigh": Entry("airfeel.radio.fading:Rayleigh", "no line of sight"),
        "rician": Entry("airfeel.radio.fading:Rician", "a line of sight, and scattered paths"),
        "nakagami": Entry("airfeel.radio.fading:Nakagami", "milder or harsher than Rayleigh"),
        "tdl": Entry("airfeel.radio.tdl:Tdl", "tapped delay lines A to E of TR 38.901"),
        "sionna": Entry("airfeel.radio.sionna:SionnaSky", "TDL, CDL, UMi, UMa: airfeel[sionna]"),
        "trace": Entry("airfeel.radio.trace:Trace", "measured gains or paths from a file"),
    },
    makes="airfeel.radio.fading:Draw",
)
SKIES = Catalogue(
    "skies",
    "scheme.fade",
    {"block": Entry("airfeel.radio.fading:Sky", "block fading: one draw of gains per round")},
    makes="airfeel.types:Fade",
)
INVITES = Catalogue(
    "invitations (who trains)",
    "scheme.invite",
    {
        "everyone": Entry("airfeel.radio.invite:Everyone", "everyone with power left (tcs-h)"),
        "anyone": Entry("airfeel.radio.invite:Anyone", "everyone, with or without power (fedavg)"),
        "random": Entry(
            "airfeel.radio.invite:RandomDevices",
            "scheme.scheduled devices at random (tcs-d, top-k)",
        ),
        "round-robin": Entry("airfeel.radio.invite:RoundRobin", "scheme.scheduled devices in turn"),
        "best-channel": Entry(
            "airfeel.radio.invite:BestChannel",
            "the scheme.scheduled devices that could send most",
        ),
        "pf-snr": Entry("airfeel.radio.invite:PfSnr", "those of best channels for their own mean"),
        "energy-queue": Entry(
            "airfeel.radio.queues:EnergyQueue",
            "who is worth its energy, by queues of energy owed; all of them speak",
        ),
        "interior": Entry("airfeel.radio.invite:Interior", "devices of largest mean gain (baa)"),
        "proportional-fair": Entry(
            "airfeel.radio.invite:ProportionalFair",
            "the same over the share of late rounds in which they were heard",
        ),
    },
    makes="airfeel.types:Invite",
)
SCHEDULES = {  # who speaks, of those who trained: rules within a plan
    "power": "who can afford the air (tcs-h)",
    "thrifty": "the same, without slow devices while more are heard per slot",
    "all": "everyone, whatever the air costs (for theory)",
}
CODECS = Catalogue(
    "codecs",
    "scheme.codec",
    {
        "time-correlated": Entry(
            "airfeel.compress.codecs:TimeCorrelated", "a shared mask, and each device's own rest"
        ),
        "top-k": Entry("airfeel.compress.codecs:TopK", "each device's own largest entries"),
        "air-signs": Entry(
            "airfeel.compress.air_signs:AirSigns",
            "signs by air, and memory of their sizes (ef-obda)",
        ),
        "dithered-energies": Entry(
            "airfeel.compress.energies:DitheredEnergies", "energies under shared signs (ncairfl)"
        ),
        "paired-energies": Entry(
            "airfeel.compress.energies:PairedEnergies", "signed values as two energies (reed)"
        ),
        "whole": Entry("airfeel.compress.codecs:Whole", "everything, as it is"),
        "measured": Entry(
            "airfeel.compress.measured:Measurements",
            "a projection of each device's largest entries, recovered by message passing (a-dsgd)",
        ),
        "signs": Entry(
            "airfeel.compress.signs:Signs", "one bit of each entry, and their vote (signsgd, obda)"
        ),
        "scaled-signs": Entry(
            "airfeel.compress.signs:ScaledSigns",
            "one bit of each entry, and their mean size (ef-signsgd)",
        ),
        "quantised": Entry(
            "airfeel.compress.buckets:Quantised", "every entry in levels, bucket by bucket (qsgd)"
        ),
        "extremes": Entry(
            "airfeel.compress.extremes:Extremes",
            "largest or smallest entries at their mean, as many as are granted (d-dsgd)",
        ),
        "qsparse": Entry(
            "airfeel.compress.buckets:Qsparse",
            "each device's own largest entries, in levels or signs that contract",
        ),
    },
    makes="airfeel.types:Codec",
)
MASKS = Catalogue(
    "mask rules",
    "scheme.mask",
    {
        "top": Entry(
            "airfeel.compress.mask_rules:Top", "largest entries of the last global update"
        ),
        "age-top-k": Entry(
            "airfeel.compress.mask_ages:AgeTopK", "of the largest entries those that waited longest"
        ),
        "fair-k": Entry(
            "airfeel.compress.mask_ages:FairK", "the largest entries, and some that waited longest"
        ),
        "rand-k": Entry("airfeel.compress.mask_ages:RandK", "entries by chance, the same for all"),
        "cyclic": Entry("airfeel.compress.mask_ages:Cyclic", "all entries in turn"),
        "expected-backlog": Entry(
            "airfeel.compress.mask_rules:ExpectedBacklog",
            "the largest product of an entry's rate and its rounds of waiting (backlog)",
        ),
    },
    makes="airfeel.types:Mask",
)
MEMORIES = Catalogue(
    "memories",
    "scheme.memory",
    {
        "error-feedback": Entry("airfeel.compress.memory:ErrorMemory", "the rest is sent later"),
        "none": Entry("airfeel.compress.memory:NoMemory", "what was not sent is lost"),
        "dgc": Entry("airfeel.compress.momenta:Dgc", "what was not sent gathers momentum"),
        "signum": Entry(
            "airfeel.compress.momenta:Signum", "a running mean of updates; nothing is subtracted"
        ),
    },
    makes="airfeel.types:Memory",
)
PLANS = Catalogue(
    "plans",
    "scheme.plan",
    {
        "hybrid": Entry(
            "airfeel.radio.plan:HybridPlan", "power rule for the air, then Algorithm 2"
        ),
        "digital": Entry("airfeel.radio.plan:DigitalPlan", "whoever trained speaks, digitally"),
        "shares": Entry(
            "airfeel.radio.share_plan:SharePlan",
            "whoever trained sends the share that it can afford, at the least error (backlog)",
        ),
        "air": Entry(
            "airfeel.radio.air_plan:AirPlan",
            "whoever trained speaks as loud as scheme.amplitude says (baa, cotaf and others)",
        ),
        "drift": Entry(
            "airfeel.radio.queues:Drift", "of all who trained, who is worth its energy by queues"
        ),
        "fast": Entry(
            "airfeel.radio.fast:Fast", "the scheme's plan for those who are worth their slots"
        ),
        "free": Entry("airfeel.radio.plan:FreePlan", "whoever trained is heard, at no cost"),
    },
    makes="airfeel.types:MakePlan",
)
TRANSMITS = Catalogue(
    "transmissions",
    "scheme.transmit",
    {
        "hybrid": Entry("airfeel.radio.air:Hybrid", "global parts by air, own parts digitally"),
        "digital": Entry("airfeel.radio.digital:Orthogonal", "all parts digitally"),
        "square-law": Entry(
            "airfeel.radio.square_law:SquareLaw", "powers are measured, phases unknown (ncairfl)"
        ),
        "measured": Entry(
            "airfeel.radio.measured:Measured",
            "symbols by air; own entries stay in their device's memory (a-dsgd, ca-dsgd)",
        ),
    },
    makes="airfeel.types:Transmit",
)
STEPS = Catalogue(
    "server steps",
    "scheme.step",
    {
        "add": Entry("airfeel.server.steps:Add", "the model moves by the update itself"),
        "hold": Entry(
            "airfeel.server.hold:Hold", "the newest value of each entry is kept, for masks by age"
        ),
        "fedavgm": Entry("airfeel.server.steps:FedAvgM", "momentum on the global update"),
        "fedadam": Entry(
            "airfeel.server.adaptive:Adaptive",
            "each entry in units of its own late size",
            {"second": "adam"},
        ),
        "fedyogi": Entry(
            "airfeel.server.adaptive:Adaptive",
            "the same, whose units grow and shrink slowly",
            {"second": "yogi"},
        ),
    },
    makes="airfeel.types:Step",
)
METERS = Catalogue(
    "meters",
    "radio.meters",
    {
        "latency": Entry("airfeel.radio.meters:Latency", "seconds of the uplink in a round"),
        "compute": Entry("airfeel.radio.meters:Compute", "energy of local training"),
    },
    makes="airfeel.types:Meter",
)
CATALOGUES = (
    SCHEMES,
    FADINGS,
    SKIES,
    INVITES,
    CODECS,
    MASKS,
    MEMORIES,
    PLANS,
    AMPLITUDES,
    SCREENS,
    TRANSMITS,
    STEPS,
    METERS,
    ALLOCATORS,
    RULES,
    SERIES,
    BACKENDS,
    DATASETS,
    PARTITIONS,
    AUGMENTS,
    MODELS,
    LOGGERS,
)
__all__ = [
    "ALLOCATORS",
    "AMPLITUDES",
    "AUGMENTS",
    "BACKENDS",
    "CATALOGUES",
    "CODECS",
    "DATASETS",
    "FADINGS",
    "INVITES",
    "LOGGERS",
    "MASKS",
    "MEMORIES",
    "METERS",
    "MODELS",
    "PARTITIONS",
    "PLANS",
    "RULES",
    "SCHEDULES",
    "SCHEMES",
    "SCREENS",
    "SERIES",
    "SKIES",
    "STEPS",
    "TRANSMITS",
]
