"""Every part that settings can name: a new one is a file of its own and one line here.

Factories are text, so that nothing is imported before it is used; `airfeel list`, the schema of
the settings and the contract tests read these catalogues.
"""

from airfeel.catalogue import Catalogue, Entry

SCHEMES = Catalogue(
    "schemes",
    "scheme.name",
    {
        "tcs-h": Entry(
            "airfeel.schemes.tcs_h:tcs_h",
            "Global mask by air, local masks digitally; who can afford the air is scheduled.",
        ),
        "tcs-d": Entry(
            "airfeel.schemes.tcs_d:tcs_d",
            "Global part quantised without indices, local part with them; random devices.",
        ),
        "top-k": Entry(
            "airfeel.schemes.top_k:top_k",
            "K = K[g] + K[l] entries with their indices; random devices.",
        ),
        "fedavg": Entry(
            "airfeel.schemes.fedavg:fedavg", "Every device's whole update, at no cost."
        ),
        "backlog": Entry(
            "airfeel.schemes.backlog:backlog",
            "All by air: a moving mask, the share that each can afford, memory of the rest.",
        ),
    },
)
FADINGS = Catalogue(
    "channels",
    "radio.fading",
    {
        "none": Entry("airfeel.radio.fading:Constant", "the same gain everywhere"),
        "rayleigh": Entry("airfeel.radio.fading:Rayleigh", "no line of sight"),
        "rician": Entry("airfeel.radio.fading:Rician", "a line of sight, and scattered paths"),
        "nakagami": Entry("airfeel.radio.fading:Nakagami", "milder or harsher than Rayleigh"),
        "tdl": Entry("airfeel.radio.tdl:Tdl", "tapped delay lines A to E of TR 38.901"),
        "trace": Entry("airfeel.radio.trace:Trace", "measured gains from an .npy file"),
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
        "whole": Entry("airfeel.compress.codecs:Whole", "everything, as it is"),
        "measured": Entry(
            "airfeel.compress.measured:Measurements",
            "a projection of each device's largest entries, recovered by message passing (a-dsgd)",
        ),
        "signs": Entry(
            "airfeel.compress.signs:Signs", "one bit of each entry, and their vote (signsgd, obda)"
        ),
    },
    makes="airfeel.types:Codec",
)
MASKS = Catalogue(
    "mask rules",
    "scheme.mask",
    {
        "top": Entry(
            "airfeel.compress.mask_rules:Top", "the largest entries of the last global update"
        ),
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
        "error-feedback": Entry(
            "airfeel.compress.memory:ErrorMemory", "what was not sent is sent later"
        ),
        "none": Entry("airfeel.compress.memory:NoMemory", "what was not sent is lost"),
    },
    makes="airfeel.types:Memory",
)
PLANS = Catalogue(
    "plans",
    "scheme.plan",
    {
        "hybrid": Entry(
            "airfeel.radio.plan:HybridPlan", "the power rule for the air, then Algorithm 2"
        ),
        "digital": Entry("airfeel.radio.plan:DigitalPlan", "whoever trained speaks, digitally"),
        "shares": Entry(
            "airfeel.radio.share_plan:SharePlan",
            "whoever trained sends the share that it can afford, at the least error (backlog)",
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
    {"add": Entry("airfeel.server.steps:Add", "the model moves by the update itself")},
    makes="airfeel.types:Step",
)
METERS = Catalogue(
    "meters",
    "radio.meters",
    {"latency": Entry("airfeel.radio.meters:Latency", "seconds of the uplink in a round")},
    makes="airfeel.types:Meter",
)
ALLOCATORS = Catalogue(
    "allocators",
    "radio.allocator",
    {
        "paper": Entry(
            "airfeel.radio.allocators.paper:Paper",
            "bottleneck matching, greedy completion, water-filling (Algorithm 2)",
        ),
        "equal-power": Entry(
            "airfeel.radio.allocators.paper:Paper", "the same with equal power", {"fill": "equal"}
        ),
        "exchange": Entry(
            "airfeel.radio.allocators.exchange:Exchange",
            "never more slots than the paper's",
        ),
        "exact": Entry(
            "airfeel.radio.allocators.exact:Exact", "the fewest slots, where time allows"
        ),
        "sum-rate": Entry("airfeel.radio.allocators.plain:SumRate", "the largest sum of rates"),
        "round-robin": Entry("airfeel.radio.allocators.plain:RoundRobin", "in turn"),
    },
    makes="airfeel.radio.links:Allocator",
)
RULES = Catalogue(
    "local rules",
    "training.rule",
    {
        "sgd": Entry("airfeel.learn.rules:PlainSGD", "plain SGD"),
        "momentum": Entry("airfeel.learn.rules:Momentum", "heavy-ball momentum within a round"),
        "proximal": Entry("airfeel.learn.rules:Proximal", "FedProx's pull to the global model"),
    },
    makes="airfeel.learn.rules:Rule",
)
SERIES = Catalogue(
    "series over rounds",
    "training.learning_rate",
    {
        "cosine": Entry("airfeel.learn.series:Cosine", "half a cosine from start to end"),
        "step": Entry("airfeel.learn.series:Stairs", "times a factor every so many rounds"),
        "1/t": Entry("airfeel.learn.series:Inverse", "falls like 1/t"),
    },
    makes="collections.abc:Callable",
)
BACKENDS = Catalogue(
    "backends",
    "training.backend",
    {
        "auto": Entry("airfeel.learn.backends:fastest", "the fastest that can"),
        "torch": Entry("airfeel.learn.backends:Torch", "one device after the other, any model"),
        "stacked": Entry("airfeel.learn.backends:stacked", "devices at once; a GPU, small models"),
        "native": Entry("airfeel.learn.backends:compiled", "a C++ kernel, float32 on a CPU"),
    },
    makes="airfeel.learn.backends:Backend",
)
DATASETS = Catalogue(
    "data sets",
    "data.dataset",
    {
        "digits": Entry(
            "airfeel.data.datasets:digits",
            "1797 handwritten digits of 8×8 pixels; embedded, works offline",
        ),
        "fashion-mnist": Entry(
            "airfeel.data.datasets:fashion_mnist",
            "70 000 pieces of clothing of 28×28 pixels; airfeel data fetch fashion-mnist",
        ),
        "cifar10": Entry(
            "airfeel.data.datasets:cifar10",
            "60 000 colour photographs of 32×32 pixels; airfeel data fetch cifar10",
        ),
        "synthetic": Entry(
            "airfeel.data.datasets:synthetic",
            "Gaussian classes or a linear model of any shape, made from the seed",
        ),
        "file": Entry("airfeel.data.own:file", "your own arrays: file:my.npz"),
        "given": Entry("airfeel.data.own:given", "handed in from Python: airfeel.run(e, data=…)"),
    },
)
PARTITIONS = Catalogue(
    "partitions",
    "data.partition",
    {
        "iid": Entry("airfeel.data.shards:Iid", "equal shards at random"),
        "classes": Entry(
            "airfeel.data.shards:ByClasses", "data.classes_per_device classes on each device"
        ),
        "dirichlet": Entry(
            "airfeel.data.shards:Dirichlet", "classes in proportions drawn with data.alpha"
        ),
        "fixed-size": Entry("airfeel.data.shards:FixedSize", "so many samples on each device"),
    },
    makes="airfeel.data.shards:Partition",
)
MODELS = Catalogue(
    "models",
    "model.name",
    {
        "paper-cnn": Entry(
            "airfeel.learn.models:paper_cnn",
            "The paper's network: 258 898 parameters for 3×32×32 inputs and 10 classes.",
        ),
        "small-cnn": Entry(
            "airfeel.learn.models:small_cnn",
            "Two padded convolutions (16 and 32 channels) with pooling.",
        ),
        "mlp": Entry("airfeel.learn.models:mlp", "One hidden layer with ReLU."),
        "logistic": Entry("airfeel.learn.models:logistic", "Softmax regression: convex."),
        "linear": Entry("airfeel.learn.models:linear", "Linear regression with squared error."),
    },
)
LOGGERS = Catalogue(
    "loggers",
    "run.loggers",
    {"tensorboard": Entry("airfeel.experiment.loggers:TensorBoard", "event files of TensorBoard")},
    makes="airfeel.experiment.loop:Watcher",
)
CATALOGUES = tuple(each for each in tuple(globals().values()) if isinstance(each, Catalogue))
