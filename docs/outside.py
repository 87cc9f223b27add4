"""A hook of MkDocs: pages beside docs/ join the site, notebooks too, and every public name.

Links to other files of the repository lead to its home.
"""

import base64
import importlib
import json
import posixpath
import re
import tomllib
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "NOTATION.md")
PAGES += ("results/README.md", "results/claims.md")
PAGES += ("results/bare/README.md", "results/bare/claims.md")
LINK = re.compile(r"(\]\()([^()\s:#]+)(#[^()\s]*)?(\))")
HOME = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]

DOORS = {
    "airfeel": "What most programs need.",
    "airfeel.parts": "What authors of parts need. [Writing a part](parts.md) shows each kind.",
    "airfeel.data": "Samples from arrays and functions. [Your own data](own-data.md) uses them.",
    "airfeel.theory": "Lemma 1 and Theorem 1 of the paper, and what is proven of `backlog`.",
    "airfeel.flower": "TCS-H in a [Flower federation](flower.md).",
    "airfeel.wire": "What a device sends, as bytes, and back.",
}
FLOWER = ("mod.AirMod", "strategy.AirStrategy", "bound.NormBound")
FLOWER += ("parts.Supplied", "parts.radio_only")  # its door opens only where flwr is installed


def reference():
    """The page of every public name, by the doors that they are imported from."""
    lines = ["# Python reference"]
    for door, what in DOORS.items():
        names = FLOWER if door == "airfeel.flower" else importlib.import_module(door).__all__
        lines += [f"## `{door}`", what]
        lines += [f"::: {door}.{name}" for name in names]
    return "\n\n".join(lines) + "\n"


def on_files(files, config):
    """Add what does not lie in docs/ as a page."""
    pages = {name: (ROOT / name).read_text("utf-8") for name in PAGES} | {"api.md": reference()}
    images = {p.relative_to(ROOT): p.read_bytes() for p in (ROOT / "results").rglob("*.png")}
    for book in (ROOT / "docs" / "tutorials").glob("*.ipynb"):
        page = Path("tutorials") / f"{book.stem}.md"
        pages[str(page)], drawn = shown(json.loads(book.read_text("utf-8")), book.stem)
        images |= {page.parent / name: content for name, content in drawn.items()}
    for name, content in {**pages, **images}.items():
        files.append(File.generated(config, Path(name).as_posix(), content=content))
    return files


def shown(book, name):
    """A notebook with its stored outputs as a page, and its images by their names."""
    parts, images = [], {}
    for cell in book["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/png" in data:
                image = f"{name}-{len(images)}.png"
                images[image] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![]({image})")
            else:
                parts.append(f"```\n{''.join(data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n", images


def on_page_markdown(markdown, page, config, files):
    """Links are written as they are in the repository; here they become the site's."""
    here = page.file.src_uri if page.file.src_uri in PAGES else f"docs/{page.file.src_uri}"
    return LINK.sub(lambda link: _moved(link, here, page.file.src_uri, files), markdown)


def _moved(link, here, uri, files):
    target = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[2]))
    inside = re.sub(r"\.ipynb$", ".md", target.removeprefix("docs/"))
    if files.get_file_from_path(inside) is not None:
        path = posixpath.relpath(inside, posixpath.dirname(uri) or ".")
    elif (ROOT / target).exists() and not target.startswith(".."):
        path = f"{HOME}/blob/main/{target}"
    else:
        path = link[2]  # MkDocs says what is wrong with it
    return f"{link[1]}{path}{link[3] or ''}{link[4]}"
