"""The pages stay true: links lead to files, and NOTATION.md names code where it stands."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "airfeel"
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)\)")
SKIPPED = {".git", ".venv", "node_modules", "runs", "build", "dist", "site"}
PAGES = sorted(
    page
    for page in ROOT.rglob("*.md")
    if not any(part in SKIPPED for part in page.relative_to(ROOT).parts)
)
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "NOTATION.md").read_text("utf-8").splitlines()
    if line.startswith("|")
][2:]


def slug(heading):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def broken(page, root=ROOT):
    """The links of a page that lead nowhere in this repository."""
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.resolve().is_relative_to(root) or not file.exists():
            yield target
        elif anchor:
            text = FENCE.sub("", file.read_text("utf-8"))
            if anchor not in map(slug, re.findall(r"^#+ (.*)$", text, re.MULTILINE)):
                yield target


def test_the_pages_are_looked_at():
    names = {page.relative_to(ROOT).as_posix() for page in PAGES}
    assert {"README.md", "docs/using.md", "examples/flower_app/README.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_or_a_heading(page):
    assert list(broken(page)) == []


def test_a_broken_link_is_seen(tmp_path):
    page = tmp_path / "page.md"
    links = "[a](none.md) [b](#nowhere) [c](https://example.org) [d](#here)"
    page.write_text(f"{links}\n# Here\n", "utf-8")
    assert list(broken(page, tmp_path)) == ["none.md", "#nowhere"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_notation_names_the_file_in_which_the_code_stands(row):
    file = PACKAGE / row[-1].strip("`")
    word = re.search(r"`([\w.]+)`", row[1])[1].rpartition(".")[2]
    assert re.search(rf"\b{word}\b", file.read_text("utf-8")), f"{file}: {word}"


def test_the_citation_file_cites_this_software_and_refers_to_the_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert (cited["type"], cited["version"]) == ("software", version)
    assert "preferred-citation" not in cited  # it would be cited in place of the software
    assert [paper["identifiers"][0]["value"] for paper in cited["references"]] == [
        "arXiv:2202.08420"
    ]
