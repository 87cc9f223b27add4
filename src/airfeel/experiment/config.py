"""The settings of an experiment: one schema, with units and legal ranges."""

import math
from collections.abc import Collection
from enum import Enum
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.types import JsonValue

from airfeel.catalogue import look_up
from airfeel.compress.quantize import check_bits
from airfeel.learn.models import MODELS
from airfeel.radio.allocate import ALLOCATORS
from airfeel.radio.schedule import SCHEDULERS
from airfeel.schemes import SCHEMES
from airfeel.schemes.settings import THRIFTY
from airfeel.types import BadInput, Schedule

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, strict=True)]


def _toml(value: dict[str, Any]) -> dict[str, Any]:
    try:
        tomli_w.dumps(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"must hold what TOML can write ({error})") from None
    return value


Options = Annotated[dict[str, Any], AfterValidator(_toml)]


def _positive_each(value: Any) -> Schedule:
    """One positive number, or a list of them."""
    values = value if isinstance(value, list | tuple) else [value]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if not values or len(numbers) < len(values) or not all(0 < v < math.inf for v in numbers):
        raise ValueError("must be a number above 0, or a list of such numbers")
    return float(value) if values is not value else tuple(float(v) for v in values)


Each = Annotated[float | tuple[float, ...], BeforeValidator(_positive_each)]  # one, or one for each


class Changes(Enum):
    """The most that a setting can change; one without such a mark defines the experiment."""

    NOTHING = "no result at all"
    RECORDS = "which rounds are recorded"
    LOOKS = "what is measured, and in which unit"
    LENGTH = "when a run ends"
    SPEED = "how fast it is computed, and the last digits"
    SEED = "the random numbers"


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Data(Section):
    """The samples, and how they are spread over the devices."""

    dataset: str = Field("digits", description="digits, fashion-mnist, cifar10 or synthetic")
    partition: Literal["iid", "classes", "dirichlet"] = "iid"
    classes_per_device: Count = Field(2, description="classes on a device, for partition = classes")
    alpha: Positive = Field(0.5, description="concentration, for partition = dirichlet")
    minimum: Count = Field(1, description="fewest samples on a device, for partition = dirichlet")
    dir: Annotated[str | None, Changes.NOTHING] = Field(None, description="folder of the data sets")
    standardise: bool = Field(True, description="inputs of zero mean and unit variance by channel")
    shape: tuple[Count, Count, Count] = Field((1, 8, 8), description="one synthetic sample")
    classes: Annotated[int, Field(ge=0, strict=True)] = Field(
        10, description="synthetic classes; 0 for regression"
    )
    samples: Count = Field(2000, description="synthetic training samples")
    test_samples: Count = Field(500, description="synthetic test samples")


class Model(Section):
    """The network."""

    name: str = Field("mlp", description="a model by name, or module:factory")
    init: Literal["default", "xavier", "zeros"] = Field("default", description="initial weights")
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    hidden: Count = Field(64, description="hidden units of the mlp")
    buffers: Literal["refuse", "frozen"] = Field(
        "refuse", description="what to do with a model that has buffers, such as batch norm's"
    )
    options: Options = Field({}, description="arguments for a user's own factory")


class Training(Section):
    """Local SGD."""

    devices: Count = Field(20, description="N")
    local_steps: Count = Field(10, description="H, SGD iterations of a device in a round")
    batch_size: Count = Field(64, description="B")
    learning_rate: Each = Field(0.05, description="η, one number or one for each round")
    rounds: Annotated[Count | None, Changes.LENGTH] = Field(
        100, description="round limit; leave out for none"
    )
    dtype: Literal["float32", "float64"] = "float32"
    device: Annotated[str, Changes.SPEED] = Field(
        "cpu", description="compute device: cpu, cuda, cuda:1, …"
    )
    backend: Annotated[Literal["auto", "torch", "stacked", "native"], Changes.SPEED] = Field(
        "auto", description="what carries local SGD out; auto is the fastest that can"
    )


class SchemeChoice(Section):
    """The algorithm."""

    name: str = Field("tcs-h", description="a scheme by name, or module:factory")
    global_sparsity: Share = Field(0.2, description="φ[g], share of the model in the global mask")
    local_sparsity: Share = Field(0.05, description="φ[l], share of the model in a local mask")
    bits: Annotated[int, Field(strict=True)] = Field(16, description="q: 2 to 24, or 32")
    scheduled: Count | None = Field(
        None, description="devices a round of the digital schemes; 65 % of all if left out"
    )
    scheduler: str | None = Field(
        None,
        description="power, random, round-robin, best-channel, proportional-fair, thrifty or all; "
        "left out: power for tcs-h, random for the digital schemes",
    )
    strict_bits: bool = Field(False, description="charge 32 bits for each quantiser's norm")
    options: Options = Field({}, description="for a user's own scheme")


class Radio(Section):
    """The uplink."""

    subchannels: Count = Field(25, description="M")
    fading: Literal["none", "rayleigh", "rician", "trace"] = "rayleigh"
    fading_scale: Positive = Field(1.0, description="Rayleigh scale; E|h|² is twice its square")
    rician_factor: NotNegative = Field(1.0, description="line of sight over scattered power")
    trace: str | None = Field(None, description=".npy file of gains, for fading = trace")
    mean_gain: Each = Field(1.0, description="factor on |h|², one or one for each device")
    noise: Positive = Field(1e-6, description="σ0², variance for one received element [W]")
    power: Each = Field(5e-3, description="P̄, average power limit [W], one or one for each device")
    power_scalar: Each = Field(5.0, description="σ_t, one number or one for each round")
    alpha: Each = Field(1.0, description="aggressiveness of scheduling, one or one for each device")
    allocator: str = Field("paper", description="who gets which sub-channel, or module:factory")
    allocator_seconds: Positive = Field(
        10.0, description="time limit of allocator = exact in a round"
    )
    symbol_seconds: Annotated[Positive, Changes.LOOKS] = Field(
        1e-6, description="length of a slot, for energy in joules"
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

    seed: Annotated[int, Field(ge=0, strict=True), Changes.SEED] = 0
    eval_every: Annotated[Count, Changes.LOOKS] = Field(
        1, description="rounds between two looks at the test set"
    )
    idle_limit: Annotated[Count, Changes.LENGTH] = Field(
        100, description="idle rounds in a row after which the run has stalled"
    )
    checkpoint_every: Annotated[int, Field(ge=0, strict=True), Changes.NOTHING] = Field(
        0, description="rounds between two checkpoints; 0 leaves it to checkpoint_minutes"
    )
    checkpoint_minutes: Annotated[Positive, Changes.NOTHING] = Field(
        2.0, description="minutes after which one is due anyhow"
    )
    record_every: Annotated[int, Field(ge=0, strict=True), Changes.RECORDS] = Field(
        0, description="keep Fading and Plan of every so many rounds; 0 keeps none"
    )
    memory: Literal["ram", "file", "bfloat16"] = Field(
        "ram", description="error memory: in RAM, in a temporary file, or in RAM at half the size"
    )
    threads: Annotated[int, Field(ge=0, strict=True), Changes.NOTHING] = Field(
        0, description="worker threads; 0 for all cores. Changes no result"
    )
    engine: Annotated[Literal["threads", "ray"], Changes.NOTHING] = Field(
        "threads", description="where devices are trained: here, or on a Ray cluster. As threads"
    )
    actors: Annotated[int, Field(ge=0, strict=True), Changes.NOTHING] = Field(
        0, description="Ray actors that share the devices; 0 for one a CPU (GPU) of the cluster"
    )
    address: Annotated[str | None, Changes.NOTHING] = Field(
        None, description="Ray cluster: auto, host:port or ray://…; left out, one is started here"
    )


class Experiment(Section):
    """Everything that decides a run."""

    data: Data = Data()
    model: Model = Model()
    training: Training = Training()
    scheme: SchemeChoice = SchemeChoice()
    radio: Radio = Radio()
    budget: Budget = Budget()
    run: RunOptions = RunOptions()

    @property
    def slots(self) -> float:
        """C; infinite where the run has no budget."""
        if self.budget.resource_blocks is not None:
            return self.budget.resource_blocks // self.radio.subchannels
        return self.budget.slots if self.budget.slots is not None else float("inf")

    @property
    def scheduled(self) -> int:
        """Devices that a digital scheme invites in a round."""
        return self.scheme.scheduled or max(round(0.65 * self.training.devices), 1)

    @model_validator(mode="after")
    def _consistent(self) -> "Experiment":
        look_up(self.scheme.name, "scheme.name", SCHEMES)
        look_up(self.model.name, "model.name", MODELS)
        look_up(self.radio.allocator, "radio.allocator", ALLOCATORS)
        if self.scheme.scheduler not in (None, THRIFTY, *SCHEDULERS):
            legal = ", ".join((*SCHEDULERS, THRIFTY))
            raise BadInput(f"scheme.scheduler = {self.scheme.scheduler!r}: must be one of {legal}")
        _check_bits(self.scheme.bits)
        n, rounds = self.training.devices, self.training.rounds
        for key in ("power", "alpha", "mean_gain"):
            _length(f"radio.{key}", getattr(self.radio, key), n, "training.devices")
        if rounds is not None:
            _length(
                "training.learning_rate", self.training.learning_rate, rounds, "training.rounds"
            )
            _length("radio.power_scalar", self.radio.power_scalar, rounds, "training.rounds")
        if self.scheme.scheduled is not None and self.scheme.scheduled > n:
            wanted = self.scheme.scheduled
            raise BadInput(f"scheme.scheduled = {wanted}: must be at most training.devices = {n}")
        if self.scheme.global_sparsity + self.scheme.local_sparsity == 0:
            raise BadInput(
                "scheme.local_sparsity = 0: nothing is sent with global_sparsity = 0 too"
            )
        self._limits()
        return self

    def _limits(self) -> None:
        budget = self.budget
        if budget.slots is not None and budget.resource_blocks is not None:
            raise BadInput("budget.resource_blocks: give this or budget.slots, not both")
        if self.slots < 1:
            raise BadInput(
                f"budget.resource_blocks = {budget.resource_blocks}: must be at least one slot of "
                f"{self.radio.subchannels} sub-channels"
            )
        if self.training.rounds is None and self.slots == float("inf"):
            raise BadInput("training.rounds: without it a budget (budget.slots) is needed")
        if (self.radio.fading == "trace") != (self.radio.trace is not None):
            raise BadInput('radio.trace: give a file exactly when radio.fading = "trace"')


SECTIONS: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in Experiment.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
}


def settings_that_decide(
    e: Experiment, but: Collection[Changes] = (Changes.NOTHING,)
) -> dict[str, dict[str, JsonValue]]:
    """The settings as JSON, by section, without those marked as changing only what `but` names."""
    aside = {
        section: {k for k, f in keys.model_fields.items() if any(m in f.metadata for m in but)}
        for section, keys in SECTIONS.items()
    }
    return e.model_dump(mode="json", exclude=aside)


def _check_bits(bits: int) -> None:
    """Name the setting where the quantiser names its argument."""
    try:
        check_bits(bits)
    except BadInput as error:
        raise BadInput(f"scheme.{error}") from None


def _length(key: str, value: Schedule, wanted: int, of: str) -> None:
    if isinstance(value, tuple) and len(value) != wanted:
        raise BadInput(
            f"{key} has {len(value)} values: must be one, or one for each of {of} = {wanted}"
        )
