"""The settings by section: types, units, legal ranges and one line of help for each."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from airfeel.catalogue import Choice
from airfeel.catalogues import (
    ALLOCATORS,
    AMPLITUDES,
    AUGMENTS,
    CODECS,
    DATASETS,
    FADINGS,
    INVITES,
    LOGGERS,
    MASKS,
    MEMORIES,
    METERS,
    PARTITIONS,
    PLANS,
    SCHEMES,
    SCREENS,
    SKIES,
    STEPS,
    TRANSMITS,
)
from airfeel.ranges import AtLeastHalf, Below1, Count, NotNegative, Positive, Share, Whole
from airfeel.settings.fields import (
    Changes,
    Each,
    EachRound,
    Options,
    later,
    named,
)

Seed = Annotated[int, Field(ge=0, lt=2**128, strict=True)]
_Tapped = Literal["A", "B", "C", "D", "E"]
_Clustered = Literal["cdl-A", "cdl-B", "cdl-C", "cdl-D", "cdl-E", "umi", "uma"]
Threads = Annotated[int, Field(ge=0, le=4096, strict=True)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Data(Section):
    """The samples, and how they are spread over the devices."""

    dataset: Annotated[Choice, named(DATASETS)] = Field(
        "digits", description="a data set by name, module:factory, or file:my.npz"
    )
    partition: Annotated[Choice, named(PARTITIONS)] = Field(
        "iid", description="how samples are dealt to devices: a name, or module:factory"
    )
    classes_per_device: Count = Field(2, description="classes on a device, for partition = classes")
    alpha: Positive = Field(0.5, description="concentration, for partition = dirichlet")
    minimum: Count = Field(1, description="fewest samples on a device, for partition = dirichlet")
    dir: Annotated[str | None, Changes.NOTHING] = Field(None, description="folder of the data sets")
    standardise: bool = Field(True, description="inputs of zero mean and unit variance by channel")
    shape: tuple[Count, Count, Count] = Field((1, 8, 8), description="one synthetic sample")
    classes: Whole = Field(10, description="synthetic classes; 0 for regression")
    samples: Count = Field(2000, description="synthetic training samples")
    test_samples: Count = Field(500, description="synthetic test samples")
    validation: Below1 = later(
        0.0,
        description="share of the training samples held out of training: accuracy is measured on "
        "them, not on the test samples; 0 is off",
    )
    augment: tuple[Annotated[Choice, named(AUGMENTS)], ...] = later(
        (), description="random transforms of training images, in this order"
    )


class SchemeChoice(Section):
    """The algorithm."""

    name: Annotated[str, named(SCHEMES, tables=False)] = Field(
        "tcs-h", description="a scheme by name, or module:factory"
    )
    global_sparsity: Share = Field(0.2, description="φ[g], share of the model in the global mask")
    local_sparsity: Share = Field(0.05, description="φ[l], share of the model in a local mask")
    bits: Annotated[int, Field(strict=True)] = Field(16, description="q: 2 to 24, or 32")
    scheduled: Count | None = Field(
        None,
        description="devices invited at random; left out: 65 % of all, half for ncairfl and reed",
    )
    scheduler: str | None = Field(
        None,
        description="invite and schedule in one word: power, random, round-robin, best-channel, "
        "proportional-fair, thrifty or all",
    )
    strict_bits: bool = Field(
        False, description="charge 32 bits for each quantiser's norm and each number reported"
    )
    options: Options = Field({}, description="of backlog, or of a user's own scheme")
    invite: Annotated[Choice, named(INVITES)] | None = later(
        description="who trains; left out: everyone for tcs-h, random for the digital schemes"
    )
    schedule: Literal["power", "thrifty", "all"] | None = later(
        description="who speaks of those who trained; left out: power for tcs-h, else all"
    )
    mask: Annotated[Choice, named(MASKS)] | None = later(
        description="rule of the global mask; left out: top"
    )
    memory: Annotated[Choice, named(MEMORIES)] | None = later(
        description="what devices keep of what was not sent; left out: error-feedback"
    )
    step: Annotated[Choice, named(STEPS)] | None = later(
        description="server optimiser; left out: add"
    )
    amplitude: Annotated[Choice, named(AMPLITUDES)] | None = later(
        description="how loud devices are in plan = air; left out: the scheme's own, or inversion"
    )
    screen: Annotated[Choice, named(SCREENS)] | None = later(
        description="who is kept of those who trained, before anything else; left out: all"
    )
    fade: Annotated[Choice, named(SKIES)] | None = later(
        description="in place of the sky, or around it"
    )
    codec: Annotated[Choice, named(CODECS)] | None = later(
        description="in place of the scheme's codec"
    )
    plan: Annotated[Choice, named(PLANS)] | None = later(
        description="in place of the scheme's plan"
    )
    transmit: Annotated[Choice, named(TRANSMITS)] | None = later(
        description="in place of the scheme's channel"
    )


class Radio(Section):
    """The uplink."""

    subchannels: Count = Field(25, description="M")
    fading: Annotated[Choice, named(FADINGS)] = Field(
        "rayleigh", description="how gains are drawn in a round"
    )
    fading_scale: Positive = Field(1.0, description="Rayleigh scale; E|h|² is twice its square")
    rician_factor: NotNegative = Field(1.0, description="line of sight over scattered power")
    trace: str | None = Field(None, description=".npy or .npz file, for fading = trace")
    mean_gain: Each = Field(1.0, description="factor on |h|², one or one for each device")
    noise: Positive = Field(1e-6, description="σ0², variance for one received element [W]")
    power: Each = Field(5e-3, description="P̄, average power limit [W], one or one for each device")
    power_scalar: EachRound = Field(
        5.0, description="σ_t, one number, one for each round, or a series by name"
    )
    alpha: Each = Field(1.0, description="aggressiveness of scheduling, one or one for each device")
    allocator: Annotated[Choice, named(ALLOCATORS)] = Field(
        "paper", description="who gets which sub-channel"
    )
    allocator_seconds: Positive = Field(
        10.0, description="time limit of allocator = exact in a round"
    )
    symbol_seconds: Positive = Field(
        1e-6,
        description="T_s, length of a slot: joules, width of a sub-channel, clocks, a cell's noise",
    )
    meters: tuple[Annotated[Choice, named(METERS)], ...] = later(
        (), description="further costs to be read"
    )
    nakagami_m: AtLeastHalf = later(1.0, description="of fading = nakagami; 1 is Rayleigh")
    profile: _Tapped | _Clustered = later(
        "A",
        description="of fading = tdl (A to E; D, E with a line of sight) or sionna (all of them)",
    )
    delay_spread: NotNegative = later(1e-7, description="of fading = tdl, root mean square [s]")
    carrier: Positive = later(3.5e9, description="carrier frequency [Hz]")
    speed: NotNegative = later(0.0, description="of the devices [m/s]")
    correlation: Literal["block", "jakes", "gauss-markov"] = later(
        "block", description="of rounds: block (independent), jakes or gauss-markov"
    )
    round_seconds: Positive = later(
        0.1, description="from one round to the next, for correlation [s]"
    )
    rho: Annotated[float, Field(gt=-1.0, lt=1.0)] | None = later(
        description="ρ of gauss-markov; left out: J0(2π·f_D·round_seconds)"
    )
    antennas: Annotated[int, Field(ge=1, le=4096, strict=True)] = later(
        1, description="R, of the base station"
    )
    receiver: Literal["centroid", "zf-sum", "uniform-forcing"] = later(
        "uniform-forcing", description="how several antennas are added up for the air"
    )


class Budget(Section):
    """When to stop, beside the round limit."""

    slots: Count | None = Field(None, description="C, uplink slots for the whole training")
    resource_blocks: Count | None = Field(None, description="the same as sub-channels × slots")
    target_accuracy: Annotated[Share | None, Changes.LENGTH] = Field(
        None, description="stop when the test accuracy reaches it"
    )
    convergence: Annotated[NotNegative, Changes.LENGTH] = Field(
        0.0, description="stop when ‖ĝ‖ ≤ this times ‖w‖ in a round that is not idle; 0 is off"
    )


class RunOptions(Section):
    """How the run is carried out."""

    seed: Annotated[Seed, Changes.SEED] = Field(
        0, description="decides every random number of the run"
    )
    eval_every: Annotated[Count, Changes.LOOKS] = Field(
        1, description="rounds between two looks at the test set"
    )
    eval_every_blocks: Annotated[Whole, Changes.RECORDS] = later(
        0,
        description="also evaluate the last round within every so many resource blocks; 0 is off",
    )
    eval_at_blocks: Annotated[tuple[Count, ...], Changes.RECORDS] = later(
        (), description="also evaluate the last round within each of these resource blocks"
    )
    idle_limit: Annotated[Count, Changes.LENGTH] = Field(
        100, description="idle rounds in a row after which the run has stalled"
    )
    checkpoint_every: Annotated[Whole, Changes.NOTHING] = Field(
        0, description="rounds between two checkpoints; 0 leaves it to checkpoint_minutes"
    )
    checkpoint_minutes: Annotated[Positive, Changes.NOTHING] = Field(
        2.0, description="minutes after which one is due anyhow"
    )
    record_every: Annotated[Whole, Changes.RECORDS] = Field(
        0, description="keep Fading and Plan of every so many rounds; 0 keeps none"
    )
    memory: Literal["ram", "file", "bfloat16"] = Field(
        "ram", description="error memory: in RAM, in a temporary file, or in RAM at half the size"
    )
    threads: Annotated[Threads, Changes.NOTHING] = Field(
        0, description="worker threads; 0 for all cores. Changes no result"
    )
    engine: Annotated[Literal["threads", "ray"], Changes.NOTHING] = Field(
        "threads", description="where devices are trained: here, or on a Ray cluster. As threads"
    )
    actors: Annotated[Whole, Changes.NOTHING] = Field(
        0, description="Ray actors that share the devices; 0 for one per CPU (GPU) of the cluster"
    )
    address: Annotated[str | None, Changes.NOTHING] = Field(
        None, description="Ray cluster: auto, host:port or ray://…; left out, one is started here"
    )
    loggers: Annotated[tuple[Annotated[Choice, named(LOGGERS)], ...], Changes.NOTHING] = later(
        (), description="where else rows are written"
    )
