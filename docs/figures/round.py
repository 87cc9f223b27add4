"""Draws round.png: one round of TCS-H, with the numbers of examples/one_round.py.

python docs/figures/round.py [FILE]
"""

import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
BLUE, ORANGE, GREY, DARK = "#4477aa", "#ee7733", "#e6e6e6", "#333333"
WIDE = 0.62  # of a cell


def cells(axes, x, y, values, kinds):
    """A row of eight cells: by air, own and quantised, or left."""
    colours = {"air": BLUE, "own": ORANGE, "left": GREY, "": "white"}
    for i, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        box = plt.Rectangle((x + WIDE * i, y), WIDE, 0.5, fc=colours[kind], ec=DARK, lw=0.8)
        axes.add_patch(box)
        ink = "white" if kind in ("air", "own") else DARK
        text = "" if kind == "" else f"{value:.2f}".rstrip("0").rstrip(".").replace("-", "−")
        axes.text(x + WIDE * (i + 0.5), y + 0.25, text, ha="center", va="center", c=ink, fontsize=8)


def arrow(axes, start, end, colour):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.8})


def say(axes, x, y, text, **more):
    axes.text(x, y, text, **({"fontsize": 9, "color": DARK, "va": "center"} | more))


def draw(path):
    sys.path.insert(0, str(EXAMPLES))
    known = runpy.run_path(str(EXAMPLES / "one_round.py"))
    got, d = known["play"](known["GOOD"]), known["D"]
    mask = set(got["mask"].tolist())
    figure, axes = plt.subplots(figsize=(10, 6.2))
    axes.set(xlim=(0, 12.6), ylim=(0.0, 7.7))
    axes.axis("off")

    say(
        axes,
        0.1,
        7.35,
        "1  The mask: the 4 largest entries of the last update. Everybody knows it.",
    )
    cells(axes, 0.1, 6.6, known["LAST"], ["air" if i in mask else "left" for i in range(d)])

    say(
        axes,
        0.1,
        6.05,
        "2  Each device: local update + memory, of which it sends\n"
        "    the mask, and its 2 largest other entries.",
    )
    for n in range(2):
        y = 5.2 - 0.75 * n
        own = set(got["own"][n].tolist())
        kinds = ["air" if i in mask else "own" if i in own else "left" for i in range(d)]
        cells(axes, 0.1, y, got["x"][n], kinds)
        say(axes, 0.1 + WIDE * d + 0.15, y + 0.25, f"device {n}")

    arrow(axes, (1.6, 4.35), (1.6, 3.35), BLUE)
    arrow(axes, (4.3, 4.35), (4.3, 3.35), ORANGE)
    say(
        axes,
        0.2,
        3.0,
        "3  by air, all at once:\n    each inverts its channel,\n    the channel adds, noise joins",
        color=BLUE,
    )
    say(
        axes,
        3.9,
        3.0,
        "4  digitally: places and\n    quantised values, each on\n    its own sub-channel",
        color=ORANGE,
    )
    arrow(axes, (1.6, 2.6), (1.6, 1.75), BLUE)
    arrow(axes, (4.3, 2.6), (4.3, 1.75), ORANGE)

    everyone = set(got["own"].ravel().tolist())
    kinds = ["air" if i in mask else "own" if i in everyone else "" for i in range(d)]
    cells(axes, 0.1, 1.15, got["update"], kinds)
    say(
        axes,
        0.1,
        0.8,
        "5  The base station: the mean of what arrived moves the model,\n"
        "    and gives the mask of the next round.",
        va="top",
    )

    say(axes, 7.2, 6.05, "6  What is not sent, or rounded away, is remembered.")
    for n in range(2):
        kept = got["memory"][n].round(2)
        cells(axes, 7.2, 5.2 - 0.75 * n, kept, ["left" if value else "" for value in kept])
    say(axes, 7.2, 3.55, "What it costs", weight="bold")
    energy = ", ".join(f"{value:.2f}" for value in got["energy"])
    lines = [
        f"by air: {got['slots_air']} slots, however many devices speak",
        f"digitally: {got['digital']} slots, set by the slowest",
        f"{got['blocks']} resource blocks: slots times 2 sub-channels",
        f"energy: {energy} W·slots",
    ]
    for i, line in enumerate(lines):
        say(axes, 7.2, 3.15 - 0.38 * i, line)
    for i, (colour, what) in enumerate(((BLUE, "by air"), (ORANGE, "digital"), (GREY, "stays"))):
        axes.add_patch(plt.Rectangle((7.2 + 1.6 * i, 1.2), 0.35, 0.35, fc=colour, ec=DARK, lw=0.8))
        say(axes, 7.65 + 1.6 * i, 1.37, what)
    figure.savefig(path, dpi=140, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else HERE / "round.png")
