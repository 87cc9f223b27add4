"""Every scheme by name."""

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
        "qsgd": Entry(
            "airfeel.schemes.qsgd:qsgd", "Every entry in q bits, bucket by bucket; random devices."
        ),
        "signsgd": Entry(
            "airfeel.schemes.signs:signsgd",
            "One bit of each entry, and their majority; random devices.",
        ),
        "ef-signsgd": Entry(
            "airfeel.schemes.signs:ef_signsgd",
            "One bit of each entry, its mean size, and memory of the rest; random devices.",
        ),
        "qsparse": Entry(
            "airfeel.schemes.qsparse:qsparse",
            "K entries with their indices, in levels or signs that contract; random devices.",
        ),
        "d-dsgd": Entry(
            "airfeel.schemes.d_dsgd:d_dsgd",
            "As many entries at their mean as fit into a fixed digital phase; random devices.",
        ),
        "fedavg": Entry(
            "airfeel.schemes.fedavg:fedavg", "Every device's whole update, at no cost."
        ),
        "a-dsgd": Entry(
            "airfeel.schemes.a_dsgd:a_dsgd",
            "A projection of each device's largest entries by air, recovered by message passing.",
        ),
        "ca-dsgd": Entry(
            "airfeel.schemes.a_dsgd:ca_dsgd",
            "The same under fading: inverted where the channel is good, silent elsewhere.",
        ),
        "backlog": Entry(
            "airfeel.schemes.backlog:backlog",
            "All by air: a moving mask, the share that each can afford, memory of the rest.",
        ),
        "analog": Entry(
            "airfeel.schemes.analog:analog", "Every entry by air, by those who can afford it."
        ),
        "baa": Entry(
            "airfeel.schemes.baa:baa",
            "Every entry by air, silence on weak sub-channels, what is truncated is lost.",
        ),
        "airfl-mem": Entry(
            "airfeel.schemes.baa:airfl_mem",
            "The same with memory: what is truncated is sent later.",
        ),
        "cotaf": Entry(
            "airfeel.schemes.cotaf:cotaf",
            "Every entry by air, louder as updates shrink; nobody exceeds its budget.",
        ),
        "obda": Entry(
            "airfeel.schemes.obda:obda", "One bit of each entry by air, and their majority."
        ),
        "ef-obda": Entry(
            "airfeel.schemes.obda:ef_obda",
            "The same with memory of what signs do not tell and of what is truncated.",
        ),
        "gbma": Entry(
            "airfeel.schemes.gbma:gbma", "Every entry by air at one loudness, gains not inverted."
        ),
        "ncairfl": Entry(
            "airfeel.schemes.noncoherent:ncairfl",
            "Energies under shared random signs, no gains known, memory of the rest.",
        ),
        "reed": Entry(
            "airfeel.schemes.noncoherent:reed",
            "Signed values as pairs of energies, no gains known.",
        ),
    },
)
