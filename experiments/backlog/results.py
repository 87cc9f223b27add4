"""Small files and one page out of the leagues of this folder, for results/backlog.

    python experiments/backlog/results.py RUNS results/backlog

RUNS holds a folder for each league, named like its file (`airfeel league FILE --out RUNS/NAME`),
and for each sweep of K (`airfeel sweep FILE --out RUNS/NAME`). What is not there stays as it was
kept. Nothing is computed by hand: sentences are those of the leagues, ends are counted from rows.
"""

import collections
import csv
import shutil
import sys
from pathlib import Path

import edges
import glance
import long_runs
import noisy_k

HERE = Path(__file__).parent
TITLES = {"digits": "Digits", "fashion": "Fashion-MNIST", "cifar": "CIFAR-10"}
FIGURE = "![accuracy against resource blocks, rounds and joules](league.png)"


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def sentences(page: str) -> list[str]:
    """Those of a league's page."""
    return [line for line in page.splitlines() if line.startswith("- ")]


def keep(folder: Path, out: Path, figure: bool) -> None:
    """Copy what is small of a league."""
    out.mkdir(parents=True, exist_ok=True)
    page = (folder / "league.md").read_text("utf-8")
    for name in ("runs.csv", "tuning.csv"):
        shutil.copy(folder / name, out / name)
    if figure:
        shutil.copy(folder / "league.png", out / "league.png")
    else:
        page = page.replace(FIGURE + "\n\n", "")
    (out / "league.md").write_text(page, "utf-8")


def grid_of(runs: Path, names: list[str], kept: Path) -> noisy_k.Grid:
    """Accuracies over K: of sweeps, kept as a file, or of that file where they are gone."""
    if all((runs / name).is_dir() for name in names):
        noisy_k.write(noisy_k.read([runs / name for name in names]), kept)
    return noisy_k.load(kept)


def ended(out: Path) -> str:
    """How the runs of backlog have ended, counted from all rows."""
    leagues = sorted(out.rglob("runs.csv"))
    ends = collections.Counter(
        row["end"] for path in leagues for row in rows(path) if row["contender"] == "backlog"
    )
    told = ", ".join(f"{count} ended by {end}" for end, count in sorted(ends.items()))
    stalled = ends["stalled"] + ends["diverged"]
    return (
        f"**{stalled or 'No'} run of `backlog` stalled or diverged**: of {sum(ends.values())} runs "
        f"in {len(leagues)} leagues {told}."
    )


def tables(grid: noisy_k.Grid) -> list[str]:
    """Mean accuracy over seeds, over K and noise."""
    lines = []
    for split, slots in sorted({case[:2] for case in grid}):
        some = {case[2]: grid[case] for case in sorted(grid) if case[:2] == (split, slots)}
        widths = sorted({k for means in some.values() for k in means})
        lines += [f"{split}, {slots:,} slots:", "", f"| σ0² | {' | '.join(map(str, widths))} |"]
        lines += ["|---" * (len(widths) + 1) + "|"]
        for noise, means in some.items():
            best = max(means.values())
            cells = [f"**{m:.1f}**" if m == best else f"{m:.1f}" for m in means.values()]
            lines += [f"| {noise:g} | {' | '.join(cells)} |"]
        lines += [""]
    return lines


def main(runs: Path, out: Path) -> None:
    """Copy all leagues that were played, and write the page."""
    files = sorted(HERE.glob("*.toml"))
    problems = [f.stem for f in files if f.stem.partition("-")[0] in TITLES]
    others = [f.stem for f in files if f.stem not in problems]
    lines = [(HERE / "results-head.md").read_text("utf-8")]
    for name in (*problems, *others):
        if (runs / name / "league.md").is_file():
            keep(runs / name, out / name, name in problems)
        if not (out / name / "league.md").is_file():
            continue
        page = (out / name / "league.md").read_text("utf-8")
        about = (HERE / f"{name}.toml").read_text("utf-8").splitlines()[0].removeprefix("# ")
        lines += [f"## [{name}]({name}/league.md)", "", about, "", *sentences(page), ""]
    lines += ["## Long runs", "", (HERE / "results-long.md").read_text("utf-8")]
    lines += [*long_runs.lines(out)]
    grid = grid_of(runs, ["backlog-k-noise", "backlog-k-noise-long"], out / "k-noise.csv")
    lines += ["## K over noise", "", (HERE / "results-k.md").read_text("utf-8")]
    lines += [*tables(grid), *noisy_k.told(grid), ""]
    waits = grid_of(runs, ["backlog-k-wait", "backlog-k-wait-fashion"], out / "k-waits.csv")
    lines += ["## K over waits", "", (HERE / "results-waits.md").read_text("utf-8"), *tables(waits)]
    radios = [name for name in others if not name.startswith("ablations")]
    lines[1:1] = [
        *(ended(out), "", (HERE / "results-glance.md").read_text("utf-8")),
        *(*glance.table(out, problems), "", "Digits with two classes and another radio:", ""),
        *(*glance.table(out, radios), ""),
        *("## Edges of the grids", "", (HERE / "results-edges.md").read_text("utf-8")),
        *glance.table(out, [*problems, *radios], edges.HEAD, "tuning.csv", edges.lines_of),
        "",
    ]
    (out / "README.md").write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
