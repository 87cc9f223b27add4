"""What the field asks for is one file and one line: parts of a stranger run, and resume."""

import pytest
from stranger import left, stopped_and_resumed

import airfeel
from small import small

PARTS = {  # a scheme, and the one setting that names the part
    "votes in the air": ("tcs-h", "scheme", "codec", "own_parts:Votes"),
    "votes in packets": ("tcs-d", "scheme", "codec", "own_parts:Votes"),
    "channel estimates": ("tcs-h", "scheme", "fade", {"name": "own_parts:Estimated", "error": 0.3}),
    "estimates of digital links": ("tcs-d", "scheme", "fade", "own_parts:Estimated"),
    "selective fading": ("tcs-h", "radio", "fading", "own_parts:Selective"),
    "weights by size in the air": ("tcs-h", "scheme", "codec", "own_parts:BySize"),
    "weights by size in packets": ("tcs-d", "scheme", "codec", "own_parts:BySize"),
    "weights by size": ("fedavg", "scheme", "codec", "own_parts:BySize"),
    "cost of computing": ("tcs-h", "radio", "meters", ["own_parts:Compute", "latency"]),
    "FedAdam": ("tcs-h", "scheme", "step", {"name": "own_parts:Adam", "rate": 0.02}),
    "local momentum": ("top-k", "training", "rule", "own_parts:Nesterov"),
    "proximal term": ("tcs-h", "training", "rule", {"name": "proximal", "mu": 0.1}),
    "no memory": ("tcs-h", "scheme", "memory", "none"),
    "a rate that falls": ("fedavg", "training", "learning_rate", {"name": "1/t", "start": 0.2}),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_one_setting_and_resumes(name, home):
    scheme, section, key, choice = PARTS[name]
    uneven = {"partition": "dirichlet", "alpha": 0.3}
    e = small(scheme, data=uneven, **{section: {key: choice}})
    airfeel.run(e, home / "whole")
    assert stopped_and_resumed(e, home / "cut") == left(home / "whole")
    airfeel.run(small(scheme, data=uneven), home / "usual")
    assert left(home / "usual")[0] != left(home / "whole")[0]
