"""Every allocator by name."""

from airfeel.catalogue import Catalogue, Entry

ALLOCATORS = Catalogue(
    "allocators",
    "radio.allocator",
    {
        "paper": Entry(
            "airfeel.radio.allocation.allocators.paper:Paper",
            "bottleneck matching, greedy completion, water-filling (Algorithm 2)",
        ),
        "equal-power": Entry(
            "airfeel.radio.allocation.allocators.paper:Paper",
            "the same with equal power",
            {"fill": "equal"},
        ),
        "exchange": Entry(
            "airfeel.radio.allocation.allocators.exchange:Exchange",
            "never more slots than the paper's",
        ),
        "exact": Entry(
            "airfeel.radio.allocation.allocators.exact:Exact", "the fewest slots, if time allows"
        ),
        "sum-rate": Entry(
            "airfeel.radio.allocation.allocators.plain:SumRate", "the largest sum of rates"
        ),
        "round-robin": Entry("airfeel.radio.allocation.allocators.plain:RoundRobin", "in turn"),
    },
    makes="airfeel.radio.allocation.links:Allocator",
)
