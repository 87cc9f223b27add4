import re
import shutil
import struct
import sys

import pytest

from airfeel.reports import runs
from airfeel.reports.figures import save_figures
from airfeel.reports.write import write
from airfeel.types import BadInput
from stored import store_some

pytest.importorskip("matplotlib")
NAMES = ["accuracy", "accuracy-rounds", "accuracy-blocks", "scheduled", "mask-overlap", "slots"]
NAMES += ["energy"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return store_some(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def groups(folder):
    return runs.load([folder])[0]


def test_pdf_has_ieee_widths_and_embedded_truetype_and_no_date(groups, tmp_path):
    made = save_figures(groups, tmp_path, ["pdf"])
    assert [path.name for path in made] == [f"{name}.pdf" for name in NAMES]
    for path in made:
        data = path.read_bytes()
        width = float(re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", data)[1])
        assert width == pytest.approx(72 * (7.16 if path.stem == "accuracy" else 3.5), abs=0.1)
        assert b"/FontFile2" in data
        assert b"/Type3" not in data
        assert b"CreationDate" not in data
    again = save_figures(groups, tmp_path, ["pdf"])[0].read_bytes()
    assert again == made[0].read_bytes()


def test_svg_holds_its_letters_and_png_prints_well(groups, tmp_path):
    svg, png = (save_figures(groups, tmp_path, [kind])[0] for kind in ("svg", "png"))
    text = svg.read_text("utf-8")
    assert "<text" not in text  # letters are outlines: no font is needed to show them
    assert "http://www.w3.org/2000/svg" in text
    width, _ = struct.unpack(">II", png.read_bytes()[16:24])
    assert width == pytest.approx(7.16 * 600, abs=2)


def test_labels_with_formulas_in_them_are_text(folder, tmp_path):
    path = shutil.copytree(folder / "tcs-h-0", tmp_path / "a") / "config.toml"
    text = path.read_text("utf-8").replace('"tcs-h"', '"a$_{b}$\\\\x%&#^~"')
    path.write_text(text, "utf-8")
    path.with_name("summary.json").unlink()  # it knows the settings' checksum
    assert save_figures(runs.load([tmp_path])[0], tmp_path, ["svg"])


def test_only_free_runs_have_no_costs_to_draw(folder, tmp_path):
    made = write(runs.load([folder / "fedavg-0"])[0], tmp_path / "out", ["html", "svg"])
    assert {p.stem for p in made if p.suffix == ".svg"} == {*NAMES[:4]}


def test_without_matplotlib_the_way_to_get_it_is_said(groups, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BadInput, match=r'matplotlib is missing.*pip install "airfeel\[report\]"'):
        save_figures(groups, tmp_path, ["pdf"])


def test_pgf_without_latex_is_refused_in_one_line(groups, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="--format pgf: needs pdflatex"):
        save_figures(groups, tmp_path, ["pgf", "svg"])
    assert list(tmp_path.glob("*.svg"))  # a format that fails stops no other


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pgf needs pdflatex, which is not here")
def test_pgf_of_any_label(folder, tmp_path):
    for share in ("0.1", "0.2"):
        path = shutil.copytree(folder / "tcs-h-0", tmp_path / share) / "config.toml"
        text = path.read_text("utf-8")
        path.write_text(text.replace("local_sparsity = 0.1", f"local_sparsity = {share}"), "utf-8")
    made = save_figures(runs.load([tmp_path])[0], tmp_path, ["pgf"])
    assert r"local\_sparsity" in made[0].read_text("utf-8")
