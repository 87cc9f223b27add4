"""The idea of backlog in one picture, drawn with the library's own kernels.

python experiments/backlog/picture.py docs/backlog.png
"""

import sys

import matplotlib
import numpy as np
import torch

from airfeel.parts import expected_backlog, least_error, regularised_shares

matplotlib.use("agg")
from matplotlib import pyplot as plt

SENT, WAITS, AIR, DARK = "#0f6fb5", "#c9d6df", "#d9822b", "#333333"


def mask(axes, rng: np.random.Generator) -> None:
    """Rate times wait of 28 entries, of which the seven largest go."""
    rate, wait = rng.gamma(0.7, 1.0, 28), rng.integers(1, 9, 28).astype(float)
    score = expected_backlog(torch.tensor(rate), torch.tensor(wait), 0.1).numpy()
    sent = np.zeros(28, bool)
    sent[np.argsort(-score, kind="stable")[:7]] = True
    axes.bar(np.arange(28), score, color=np.where(sent, SENT, WAITS), width=0.8)
    axes.axhline(score[sent].min(), color=DARK, linewidth=0.8, linestyle=":")
    axes.set(title="1  what has piled up goes", xlabel="entries of the model", xticks=[], yticks=[])
    axes.set_ylabel("rate × rounds of waiting")
    axes.text(27.6, score.max(), "the K largest: the mask", ha="right", va="top", color=SENT)


def shares(axes, rng: np.random.Generator) -> None:
    """What one device sends of eight segments when it cannot afford all of them."""
    gain2 = np.array([[1.7, 0.25, 0.9, 0.04, 0.5, 1.2, 0.12, 0.7]])
    energy = rng.uniform(0.6, 1.4, (1, 8))
    share = regularised_shares(energy, gain2, np.array([9.0]), 1.0)[0]
    place = np.arange(8)
    axes.bar(place, share, color=SENT, width=0.8)
    axes.bar(place, 1 - share, bottom=share, color=WAITS, width=0.8)
    axes.plot(place, gain2[0] / 1.75, color=AIR, marker="o", markersize=3, linewidth=1)
    axes.set(title="2  what one can afford of it is sent", xlabel="sub-channels of one device")
    axes.set(xticks=[], yticks=[0, 1], yticklabels=["0", "all"], ylim=(0, 1.22))
    axes.text(1.5, 1.05, "the rest stays in memory", color="#7b8b97")
    axes.text(7.4, 1.05, "gain", color=AIR, ha="right")


def loudness(axes, rng: np.random.Generator) -> None:
    """Noise, what is withheld, and their least sum."""
    n, m, noise = 12, 8, 2.0
    gain2, energy, budget = rng.exponential(1.0, (n, m)), np.ones((n, m)), np.full(n, 10.0)
    best = least_error(energy, gain2, budget, noise)
    tried = best * 10.0 ** np.linspace(-1.6, 1.6, 80)
    share = regularised_shares(energy, gain2, budget, tried[:, None])
    withheld = (np.square(1 - share) * energy).sum(axis=(1, 2))
    axes.loglog(tried, noise / tried, color=AIR, label="noise")
    axes.loglog(tried, withheld, color="#7b8b97", label="withheld")
    axes.loglog(tried, noise / tried + withheld, color=DARK, linewidth=2, label="error of the mean")
    at = noise / best + np.interp(best, tried, withheld)
    axes.plot([best], [at], "o", color=SENT)
    axes.annotate("σ$_t$", (best, at), (0, 8), textcoords="offset points", color=SENT, ha="center")
    axes.set(title="3  as loud as is best for all", xlabel="loudness σ²", ylim=(at / 30, at * 30))
    axes.set_xticks([], minor=False)
    axes.set_yticks([], minor=False)
    axes.minorticks_off()
    axes.legend(frameon=False, loc="lower left", fontsize=8)


def main(path: str) -> None:
    """Draw the three steps side by side."""
    rng = np.random.default_rng(4)
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left"})
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 2.9), constrained_layout=True)
    for axes, draw in zip(panels, (mask, shares, loudness), strict=True):
        draw(axes, rng)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main(sys.argv[1])
