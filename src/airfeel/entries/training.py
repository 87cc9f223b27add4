"""Data, models, local training and loggers by name."""

from airfeel.catalogue import Catalogue, Entry

RULES = Catalogue(
    "local rules",
    "training.rule",
    {
        "sgd": Entry("airfeel.training.rules:PlainSGD", "plain SGD"),
        "momentum": Entry("airfeel.training.rules:Momentum", "heavy-ball momentum within a round"),
        "proximal": Entry("airfeel.training.rules:Proximal", "FedProx's pull to the global model"),
    },
    makes="airfeel.training.rules:Rule",
)
AUGMENTS = Catalogue(
    "augmentations",
    "data.augment",
    {
        "crop": Entry("airfeel.training.augment:Crop", "random shifts, padded with black"),
        "flip": Entry("airfeel.training.augment:Flip", "horizontal flips"),
        "cutout": Entry("airfeel.training.augment:Cutout", "a black square at random"),
    },
    makes="airfeel.training.augment:Augmentation",
)
SERIES = Catalogue(
    "series over rounds",
    "training.learning_rate",
    {
        "cosine": Entry("airfeel.training.series:Cosine", "half a cosine from start to end"),
        "step": Entry("airfeel.training.series:Stairs", "times a factor every so many rounds"),
        "1/t": Entry("airfeel.training.series:Inverse", "falls like 1/t"),
    },
    makes="collections.abc:Callable",
)
BACKENDS = Catalogue(
    "backends",
    "training.backend",
    {
        "auto": Entry("airfeel.training.backends:fastest", "the fastest that can"),
        "torch": Entry("airfeel.training.backends:Torch", "one device after the other, any model"),
        "stacked": Entry(
            "airfeel.training.backends:stacked", "devices at once; a GPU, small models"
        ),
        "native": Entry("airfeel.training.backends:compiled", "a C++ kernel, float32 on a CPU"),
    },
    makes="airfeel.training.backends:Backend",
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
        "mnist": Entry(
            "airfeel.data.datasets:mnist",
            "70 000 handwritten digits of 28×28 pixels; airfeel data fetch mnist",
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
            "airfeel.training.models:paper_cnn",
            "The paper's network: 258 898 parameters for 3×32×32 inputs and 10 classes.",
        ),
        "small-cnn": Entry(
            "airfeel.training.models:small_cnn",
            "Two padded convolutions (16 and 32 channels) with pooling.",
        ),
        "mlp": Entry("airfeel.training.models:mlp", "One hidden layer with ReLU."),
        "logistic": Entry("airfeel.training.models:logistic", "Softmax regression: convex."),
        "linear": Entry("airfeel.training.models:linear", "Linear regression with squared error."),
    },
)
LOGGERS = Catalogue(
    "loggers",
    "run.loggers",
    {"tensorboard": Entry("airfeel.runs.loggers:TensorBoard", "event files of TensorBoard")},
    makes="airfeel.runs.loop:Watcher",
)
