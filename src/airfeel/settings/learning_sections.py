"""The settings of the network and of local training."""

from typing import Annotated, Literal

from pydantic import Field

from airfeel.catalogue import Choice
from airfeel.catalogues import BACKENDS, MODELS, RULES
from airfeel.ranges import Below1, Count, NotNegative, Positive
from airfeel.settings.fields import Changes, CountOrAll, EachRound, Options, Shares, later, named
from airfeel.settings.sections import Section


class Model(Section):
    """The network."""

    name: Annotated[str, named(MODELS, tables=False)] = Field(
        "mlp", description="a model by name, or module:factory"
    )
    init: Literal["default", "xavier", "kaiming", "zeros"] = Field(
        "default",
        description="initial weights: PyTorch's own, Xavier uniform, Kaiming normal (variance "
        "2/fan_in), or zeros; the last three with zero biases",
    )
    dropout: Shares = Field(
        0.0,
        description="share of units dropped in training: one number, before the last layer, or a "
        "list with one for each place; 0 is off",
    )
    hidden: Count = Field(64, description="hidden units of the mlp")
    buffers: Literal["refuse", "frozen"] = Field(
        "refuse", description="frozen keeps the buffers of a model, which must be constants"
    )
    options: Options = Field({}, description="arguments for a user's own factory")


class Training(Section):
    """Local SGD."""

    devices: Count = Field(20, description="N")
    local_steps: Count = Field(10, description="H, SGD iterations of a device in a round")
    batch_size: CountOrAll = Field(
        64, description="B, or all: every sample of a device in every step"
    )
    learning_rate: EachRound = Field(
        0.05, description="η, one number, one for each round, or a series by name"
    )
    rounds: Annotated[Count | None, Changes.LENGTH] = Field(
        100, description="round limit; leave out for none"
    )
    dtype: Literal["float32", "float64"] = Field(
        "float32", description="numbers that models and updates are made of"
    )
    device: Annotated[str, Changes.SPEED] = Field(
        "cpu", description="compute device: cpu, cuda, cuda:1, …"
    )
    backend: Annotated[Choice, named(BACKENDS), Changes.SPEED] = Field(
        "auto", description="what carries local SGD out; auto is the fastest that can"
    )
    weights: Literal["equal", "samples"] = later(
        "equal", description="how devices count in means: equally, or by their number of samples"
    )
    rule: Annotated[Choice, named(RULES)] | None = later(
        description="what a local step does; left out: plain SGD"
    )
    weight_decay: NotNegative = later(
        0.0,
        description="λ: a step's gradient has λw added, as in torch.optim.SGD; 0 is off",
    )
    clip_norm: Positive | None = later(
        description="largest norm of a step's gradient, after weight decay; left out: no limit"
    )
    label_smoothing: Below1 = later(
        0.0, description="of the labels in training, as torch.nn.CrossEntropyLoss; 0 is off"
    )
    update_clip: Positive | None = later(
        description="largest norm of a device's whole update of a round; left out: no limit"
    )
