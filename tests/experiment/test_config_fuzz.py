"""Whatever is in a settings file: a resolved config or a one-line error, never a traceback."""

import tomllib

import tomli_w
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from airfeel.settings.config import Experiment
from airfeel.settings.load import experiment, load
from airfeel.storage.store import as_toml
from airfeel.types import BadInput

SECTIONS = {
    name: list(field.annotation.model_fields) for name, field in Experiment.model_fields.items()
}
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 300)
    | st.integers()
    | st.floats()
    | st.floats(0, 1)
    | st.text(max_size=8)
    | st.sampled_from(["tcs-h", "iid", "rayleigh", "trace", "float64", "thrifty", "a:b", "mlp"])
)
values = scalars | st.lists(scalars, max_size=4) | st.dictionaries(st.text(max_size=4), scalars)
keys = st.sampled_from(sorted(SECTIONS)).flatmap(
    lambda s: st.tuples(st.just(s), st.sampled_from(SECTIONS[s]) | st.text(max_size=6))
)


def outcome(make):
    try:
        found = make()
    except BadInput as error:
        text, found = str(error), None
    else:
        text = "fine"
        assert isinstance(found, Experiment)
    assert text
    assert len(text.splitlines()) == 1, text
    return found


@settings(max_examples=600, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(keys, values), max_size=6))
@example([(("model", "options"), {"": None})])
def test_any_table(changes):
    table = {}
    for (section, key), value in changes:
        table.setdefault(section, {})[key] = value
    found = outcome(lambda: experiment(table))
    if found is not None:
        assert experiment(tomllib.loads(as_toml(found))) == found


@settings(max_examples=600, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.text(max_size=6) | st.sampled_from(sorted(SECTIONS)), values, max_size=4))
def test_any_top_level(table):
    outcome(lambda: experiment(table))


@settings(max_examples=600, suppress_health_check=list(HealthCheck))
@given(
    st.text(max_size=30)
    | keys.flatmap(lambda k: st.text(max_size=12).map(lambda v: f"{k[0]}.{k[1]}={v}"))
)
def test_any_override(text):
    outcome(lambda: load("digits-tcs-h", [text]))


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(content=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_file(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    outcome(lambda: load(path))


def test_a_written_config_reads_back():
    for name in ("digits-tcs-h", "paper-noniid-top-k"):
        e = load(name)
        assert experiment(tomllib.loads(as_toml(e))) == e
        assert tomli_w.dumps(tomllib.loads(as_toml(e))) == as_toml(e)
