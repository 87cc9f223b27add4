"""Every allocator by name."""

from airfeel.catalogue import Catalogue, Entry

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
        "exact": Entry("airfeel.radio.allocators.exact:Exact", "the fewest slots, if time allows"),
        "sum-rate": Entry("airfeel.radio.allocators.plain:SumRate", "the largest sum of rates"),
        "round-robin": Entry("airfeel.radio.allocators.plain:RoundRobin", "in turn"),
    },
    makes="airfeel.radio.links:Allocator",
)
