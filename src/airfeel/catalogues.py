"""Every part that settings can name: a new one is a file of its own and one line here.

Schemes, codecs, masks, allocators, screens, amplitudes, and what belongs to data and training, have
theirs in `entries/`.

Factories are text, so that nothing is imported before it is used; `airfeel list`, the schema of
the settings and the contract tests read these catalogues.
"""

from airfeel.catalogue import Catalogue, Entry
from airfeel.entries.allocators import ALLOCATORS
from airfeel.entries.compression import CODECS, MASKS, MEMORIES
from airfeel.entries.power_control import AMPLITUDES, SCREENS
from airfeel.entries.schemes import SCHEMES
from airfeel.entries.training import (
    AUGMENTS,
    BACKENDS,
    DATASETS,
    LOGGERS,
    MODELS,
    PARTITIONS,
    RULES,
    SERIES,
)

FADINGS = Catalogue(
    "channels",
    "radio.fading",
    {
        "none": Entry("airfeel.radio.channel.fading:Constant", "the same gain everywhere"),
        "rayleigh": Entry("airfeel.radio.channel.fading:Rayleigh", "no line of sight"),
        "rician": Entry(
            "airfeel.radio.channel.fading:Rician", "a line of sight, and scattered paths"
        ),
        "nakagami": Entry(
            "airfeel.radio.channel.fading:Nakagami", "milder or harsher than Rayleigh"
        ),
        "tdl": Entry("airfeel.radio.channel.tdl:Tdl", "tapped delay lines A to E of TR 38.901"),
        "sionna": Entry(
            "airfeel.radio.channel.sionna:SionnaSky", "TDL, CDL, UMi, UMa: airfeel[sionna]"
        ),
        "trace": Entry("airfeel.radio.channel.trace:Trace", "measured gains or paths from a file"),
    },
    makes="airfeel.radio.channel.fading:Draw",
)
SKIES = Catalogue(
    "skies",
    "scheme.fade",
    {
        "block": Entry(
            "airfeel.radio.channel.fading:Sky", "block fading: one draw of gains per round"
        )
    },
    makes="airfeel.types:Fade",
)
INVITES = Catalogue(
    "invitations (who trains)",
    "scheme.invite",
    {
        "everyone": Entry(
            "airfeel.radio.selection.device_selection:Everyone", "everyone with power left (tcs-h)"
        ),
        "anyone": Entry(
            "airfeel.radio.selection.device_selection:Anyone",
            "everyone, with or without power (fedavg)",
        ),
        "random": Entry(
            "airfeel.radio.selection.device_selection:RandomDevices",
            "scheme.scheduled devices at random (tcs-d, top-k)",
        ),
        "round-robin": Entry(
            "airfeel.radio.selection.device_selection:RoundRobin",
            "scheme.scheduled devices in turn",
        ),
        "best-channel": Entry(
            "airfeel.radio.selection.device_selection:BestChannel",
            "the scheme.scheduled devices that could send most",
        ),
        "pf-snr": Entry(
            "airfeel.radio.selection.device_selection:PfSnr",
            "those of best channels for their own mean",
        ),
        "energy-queue": Entry(
            "airfeel.radio.scheduling.queues:EnergyQueue",
            "who is worth its energy, by queues of energy owed; all of them speak",
        ),
        "interior": Entry(
            "airfeel.radio.selection.device_selection:Interior",
            "devices of largest mean gain (baa)",
        ),
        "proportional-fair": Entry(
            "airfeel.radio.selection.device_selection:ProportionalFair",
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
PLANS = Catalogue(
    "plans",
    "scheme.plan",
    {
        "hybrid": Entry(
            "airfeel.radio.scheduling.plan:HybridPlan", "power rule for the air, then Algorithm 2"
        ),
        "digital": Entry(
            "airfeel.radio.scheduling.plan:DigitalPlan", "whoever trained speaks, digitally"
        ),
        "shares": Entry(
            "airfeel.radio.scheduling.fraction_plan:SharePlan",
            "whoever trained sends the share that it can afford, at the least error (backlog)",
        ),
        "air": Entry(
            "airfeel.radio.scheduling.air_plan:AirPlan",
            "whoever trained speaks as loud as scheme.amplitude says (baa, cotaf and others)",
        ),
        "drift": Entry(
            "airfeel.radio.scheduling.queues:Drift",
            "of all who trained, who is worth its energy by queues",
        ),
        "fast": Entry(
            "airfeel.radio.scheduling.slot_efficient:Fast",
            "the scheme's plan for those who are worth their slots",
        ),
        "free": Entry(
            "airfeel.radio.scheduling.plan:FreePlan", "whoever trained is heard, at no cost"
        ),
    },
    makes="airfeel.types:MakePlan",
)
TRANSMITS = Catalogue(
    "transmissions",
    "scheme.transmit",
    {
        "hybrid": Entry(
            "airfeel.radio.transmission.air:Hybrid", "global parts by air, own parts digitally"
        ),
        "digital": Entry("airfeel.radio.transmission.digital:Orthogonal", "all parts digitally"),
        "square-law": Entry(
            "airfeel.radio.transmission.square_law:SquareLaw",
            "powers are measured, phases unknown (ncairfl)",
        ),
        "measured": Entry(
            "airfeel.radio.transmission.measured:Measured",
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
        "latency": Entry("airfeel.radio.cost_metrics:Latency", "seconds of the uplink in a round"),
        "compute": Entry("airfeel.radio.cost_metrics:Compute", "energy of local training"),
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
