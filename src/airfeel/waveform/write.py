"""What the experiments leave behind: a page, a table, every point, and a picture."""

import base64
import csv
import html
import io
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template

from airfeel.analysis.tables import Sheet
from airfeel.reports.page import table
from airfeel.storage import atomic
from airfeel.storage.environment import facts
from airfeel.types import BadInput
from airfeel.waveform.picture import curves, draw
from airfeel.waveform.scene import Finding

_ABOUT = (
    "N = 20 devices on M = 25 sub-channels of S = 12 sub-carriers of 15 kHz (S = 72 beside it in "
    "W6), transforms of 512 points with a prefix of 36 samples, TDL-A of 100 ns with delays "
    "rounded to samples. NMSE is ‖found − wanted‖²/‖Σx‖². Marks are measured in samples, lines "
    "are what the symbol-level model or a closed form says."
)
_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>airfeel: waveform</title>
<style>
$css
th, td { text-align: left; white-space: normal; }
figure img { width: 100%; height: auto; background: #ffffff; }
</style>
</head>
<body>
<header>
  <p class="kicker">airfeel waveform · seed $seed</p>
  <h1>The air in samples</h1>
  <p class="verdict">$verdict</p>
  <div class="scroll card" tabindex="0" role="region" aria-label="Experiments">$summary</div>
  <p class="note">$about</p>
</header>
<main>
<section aria-labelledby="curves-title">
  <h2 id="curves-title">Samples beside the model</h2>
  <div class="pair">
$figures
  </div>
</section>
<p class="note">$where</p>
</main>
</body>
</html>
""")


def verdict(findings: Sequence[Finding]) -> str:
    """How many passed, in one line; which did not."""
    judged = [each for each in findings if each.passed is not None]
    failed = [each.key for each in judged if not each.passed]
    skipped = [each.key for each in findings if each.passed is None]
    said = f"{len(judged) - len(failed)} of {len(judged)} experiments pass"
    said += f"; {', '.join(failed)} fail" if failed else ""
    return f"{said}; {', '.join(skipped)} not judged." if skipped else f"{said}."


def sheet(findings: Sequence[Finding]) -> Sheet:
    """The table of experiments."""
    word = {True: "pass", False: "FAIL", None: "not judged"}
    rows = [[f.key, word[f.passed], f.title, f.rule, f.found] for f in findings]
    return Sheet(["", "", "experiment", "passes if", "found"], rows)


def write(findings: Sequence[Finding], out: Path, seed: int) -> list[Path]:
    """waveform.html, waveform.md, points.csv and waveform.png into a folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        picture = draw(findings, out / "waveform.png")
        texts = {
            "waveform.html": _page(findings, out, seed),
            "waveform.md": _markdown(findings, seed),
            "points.csv": _points(findings),
        }
        paths = [
            atomic.write(out / name, text.encode(), durable=False) for name, text in texts.items()
        ]
        return [*paths, picture]
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written ({error.strerror or error})") from error


def _page(findings: Sequence[Finding], out: Path, seed: int) -> str:
    css = resources.files("airfeel.reports") / "assets" / "page.css"
    made = sheet(findings)
    return _PAGE.substitute(
        css=css.read_text("utf-8"),
        seed=seed,
        verdict=html.escape(verdict(findings)),
        summary=table(made.head, made.rows),
        about=html.escape(_ABOUT),
        figures="\n".join(_figure(each, out) for each in curves(findings)),
        where=html.escape(_where()),
    )


def _figure(finding: Finding, out: Path) -> str:
    """One experiment's curve, within the page."""
    path = draw([finding], out / f".{finding.key}.svg")
    picture = base64.b64encode(path.read_bytes()).decode()
    path.unlink()
    caption = html.escape(f"{finding.key}: {finding.title}")
    return (
        f"<figure><figcaption>{caption}</figcaption>"
        f'<img alt="{caption}" src="data:image/svg+xml;base64,{picture}"></figure>'
    )


def _markdown(findings: Sequence[Finding], seed: int) -> str:
    lines = ["# The air in samples", "", f"`airfeel waveform --seed {seed}`: {verdict(findings)}"]
    lines += ["", sheet(findings).markdown(), "", _ABOUT, "", "![curves](waveform.png)", ""]
    return "\n".join([*lines, _where(), ""])


def _where() -> str:
    """Machine, versions and commit."""
    told, versions = facts(), facts()["versions"]
    return (
        f"{told['machine']['system']}, Python {versions['python']}, NumPy {versions['numpy']}; "
        f"commit {told['commit'] or 'unknown'}."
    )


def _points(findings: Sequence[Finding]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["experiment", "curve", "x", "measured", "expected"])
    silent = [each for each in findings if not each.axis]  # points without a curve
    for finding in (*silent, *curves(findings)):
        for p in finding.points:
            rows.writerow([finding.key, p.label, f"{p.x:.6g}", f"{p.measured:.6g}", p.expected])
    return text.getvalue()
