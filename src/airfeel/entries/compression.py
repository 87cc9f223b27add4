"""Codecs, mask rules and error-feedback memories by name."""

from airfeel.catalogue import Catalogue, Entry

CODECS = Catalogue(
    "codecs",
    "scheme.codec",
    {
        "time-correlated": Entry(
            "airfeel.compression.codecs:TimeCorrelated", "a shared mask, and each device's own rest"
        ),
        "top-k": Entry("airfeel.compression.codecs:TopK", "each device's own largest entries"),
        "air-signs": Entry(
            "airfeel.compression.air_signs:AirSigns",
            "signs by air, and memory of their sizes (ef-obda)",
        ),
        "dithered-energies": Entry(
            "airfeel.compression.energies:DitheredEnergies", "energies under shared signs (ncairfl)"
        ),
        "paired-energies": Entry(
            "airfeel.compression.energies:PairedEnergies", "signed values as two energies (reed)"
        ),
        "whole": Entry("airfeel.compression.codecs:Whole", "everything, as it is"),
        "measured": Entry(
            "airfeel.compression.measured:Measurements",
            "a projection of each device's largest entries, recovered by message passing (a-dsgd)",
        ),
        "signs": Entry(
            "airfeel.compression.signs:Signs",
            "one bit of each entry, and their vote (signsgd, obda)",
        ),
        "scaled-signs": Entry(
            "airfeel.compression.signs:ScaledSigns",
            "one bit of each entry, and their mean size (ef-signsgd)",
        ),
        "quantised": Entry(
            "airfeel.compression.buckets:Quantised",
            "every entry in levels, bucket by bucket (qsgd)",
        ),
        "extremes": Entry(
            "airfeel.compression.extremes:Extremes",
            "largest or smallest entries at their mean, as many as are granted (d-dsgd)",
        ),
        "qsparse": Entry(
            "airfeel.compression.buckets:Qsparse",
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
            "airfeel.compression.mask_rules:Top", "largest entries of the last global update"
        ),
        "age-top-k": Entry(
            "airfeel.compression.mask_ages:AgeTopK",
            "of the largest entries those that waited longest",
        ),
        "fair-k": Entry(
            "airfeel.compression.mask_ages:FairK",
            "the largest entries, and some that waited longest",
        ),
        "rand-k": Entry(
            "airfeel.compression.mask_ages:RandK", "entries by chance, the same for all"
        ),
        "cyclic": Entry("airfeel.compression.mask_ages:Cyclic", "all entries in turn"),
        "expected-backlog": Entry(
            "airfeel.compression.mask_rules:ExpectedBacklog",
            "the largest product of an entry's rate and its rounds of waiting (backlog)",
        ),
    },
    makes="airfeel.types:Mask",
)
MEMORIES = Catalogue(
    "memories",
    "scheme.memory",
    {
        "error-feedback": Entry("airfeel.compression.memory:ErrorMemory", "the rest is sent later"),
        "none": Entry("airfeel.compression.memory:NoMemory", "what was not sent is lost"),
        "dgc": Entry("airfeel.compression.momenta:Dgc", "what was not sent gathers momentum"),
        "signum": Entry(
            "airfeel.compression.momenta:Signum", "a running mean of updates; nothing is subtracted"
        ),
    },
    makes="airfeel.types:Memory",
)
