import numpy as np
import pytest
from test_bad_input import fails
from test_cli import call

from airfeel.cli.allocation import outcomes
from airfeel.types import Fading


def test_table_of_a_drawn_sky(monkeypatch, capsys):
    out = call(monkeypatch, capsys, "allocate", "--devices", "5", "--subchannels", "6")
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    slots = {n: int(rows[n][1].replace(",", "")) for n in ("paper", "exchange", "round-robin")}
    assert slots["exchange"] <= slots["paper"]
    assert rows["exchange"][2] == "0.00%"
    assert "5 devices on 6 sub-channels" in out


@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_gains_from_a_file(monkeypatch, capsys, tmp_path, suffix):
    gain = np.random.default_rng(0).rayleigh(size=(5, 3))
    path = tmp_path / f"h{suffix}"
    np.save(path, gain) if suffix == ".npy" else np.savetxt(path, gain, delimiter=",")
    out = call(monkeypatch, capsys, "allocate", "--gains", str(path), "--allocators", "paper")
    assert "5 devices on 3 sub-channels, in 2 batches" in out
    assert "unknown" in out


def test_picture(monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "sky.png"
    call(
        monkeypatch, capsys, "allocate", "--devices", "3", "--subchannels", "4", "--plot", str(path)
    )
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--allocators", "pepar"], "did you mean 'paper'"),
        (["--allocators", ","], "must name at least one"),
        (["--noise", "0"], "--noise 0.0"),
        (["--power", "-1"], "--power -1.0"),
        (["--bits", "nan"], "--bits nan"),
        (["--gains", "nowhere.npy"], "--gains nowhere.npy"),
    ],
)
def test_bad_calls(monkeypatch, capsys, arguments, words):
    assert words in fails(monkeypatch, capsys, "allocate", *arguments)


def test_bad_gains(monkeypatch, capsys, tmp_path):
    for i, bad in enumerate([np.zeros(3), np.full((2, 2), -1.0), np.full((2, 2), np.nan)]):
        np.save(tmp_path / f"{i}.npy", bad if bad.ndim == 1 or i != 1 else bad * np.nan)
        fails(monkeypatch, capsys, "allocate", "--gains", str(tmp_path / f"{i}.npy"))
    (tmp_path / "x.csv").write_text("1,2\n3,pear\n")
    assert "cannot be read" in fails(
        monkeypatch, capsys, "allocate", "--gains", str(tmp_path / "x.csv")
    )


def test_fairness_is_jains_index():
    gain = np.array([[1.0, 0.0], [0.0, 3.0]])
    (found,) = outcomes(["paper"], Fading(gain, 1.0), np.ones(2), 10.0)
    a, b = np.log2(2.0), np.log2(10.0)
    np.testing.assert_allclose(found.rates, [a, b])
    assert found.fairness == pytest.approx((a + b) ** 2 / (2 * (a**2 + b**2)))
