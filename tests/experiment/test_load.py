import pytest

from airfeel.schemes import SCHEMES
from airfeel.settings.load import load
from airfeel.settings.preset_names import presets


def test_a_preset_is_a_base_and_a_scheme_even_where_one_name_ends_as_another(monkeypatch):
    monkeypatch.setitem(SCHEMES._entries, "air-top-k", SCHEMES["top-k"])
    assert load("digits-air-top-k").scheme.name == "air-top-k"
    assert load("digits-top-k").scheme.name == "top-k"


@pytest.mark.parametrize("base", ["digits", "paper-iid", "paper-noniid"])
def test_a_preset_is_described_by_the_first_line_of_its_file(base):
    told = {presets()[f"{base}-{scheme}"] for scheme in SCHEMES}
    assert len(told) == 1
    assert not told.pop().startswith("#")
