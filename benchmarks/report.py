"""What a report of long runs costs: its size, the time to make it and the time to open it.

Made-up rows: 10 000 rounds × 20 devices, three schemes × two seeds, 100 recorded rounds per run.

    python benchmarks/report.py                 prints the table
    python benchmarks/report.py --out F         writes it to F as well (markdown)
    python benchmarks/report.py --rounds 1000   shorter runs
"""

import argparse
import csv
import platform
import shutil
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from airfeel.reports import runs
from airfeel.reports.write import write
from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.settings.load import load
from airfeel.storage import records
from airfeel.storage.rows import DEVICE_COLUMNS, round_line
from airfeel.storage.store import as_toml
from airfeel.types import Costs, Fading, Plan, Reason, Report

DEVICES, SUBCHANNELS, RECORDS = 20, 25, 100
COST = {"tcs-h": 400, "tcs-d": 1300, "top-k": 2000}  # digital slots a round
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-dev-shm-usage"
)


def make_run(folder: Path, scheme: str, seed: int, rounds: int) -> None:
    """A run folder with made-up rows."""
    rng = np.random.default_rng([seed, COST[scheme]])
    folder.mkdir(parents=True)
    settings = load(f"digits-{scheme}", run__seed=seed, training__rounds=rounds)
    (folder / "config.toml").write_text(as_toml(settings), "utf-8")
    digital = rng.integers(COST[scheme] // 2, 2 * COST[scheme], rounds + 1)
    digital[0] = 0
    accuracy = 0.95 - 0.85 * np.exp(-np.arange(rounds + 1) / (rounds / 8))
    accuracy += rng.normal(0.0, 0.01, rounds + 1)
    with (folder / "rounds.csv").open("w", newline="") as file:
        file.write(",".join(ROUND_COLUMNS) + "\n")
        for t in range(rounds + 1):
            row = dict.fromkeys(ROUND_COLUMNS, float(rng.random()))
            row |= {"round": t, "scheduled": int(rng.integers(DEVICES)), "slots_air": 39 * (t > 0)}
            row |= {"slots_digital": int(digital[t]), "slots": int(digital[t]) + 39 * (t > 0)}
            row |= {"resource_blocks": SUBCHANNELS * int(digital[: t + 1].sum() + 39 * t)}
            file.write(round_line(row | {"test_accuracy": float(accuracy[t])}))
    with (folder / "devices.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(DEVICE_COLUMNS)
        for t in range(1, rounds + 1):
            energy = (rng.random(DEVICES) * 0.1).tolist()
            writer.writerows(
                [t, n, 1, "scheduled", 0.13, 0.19, 27.5, repr(energy[n])] for n in range(DEVICES)
            )
    for t in range(rounds // RECORDS, rounds + 1, rounds // RECORDS):
        records.save(folder, make_report(t, rng))


def make_report(t: int, rng: np.random.Generator) -> Report:
    """A round in which everyone owns something."""
    owner = rng.permutation(np.arange(SUBCHANNELS) % DEVICES)
    power = np.zeros((DEVICES, SUBCHANNELS))
    power[owner, np.arange(SUBCHANNELS)] = 5e-3
    some = rng.random(DEVICES)
    plan = Plan(
        active=np.ones(DEVICES, dtype=bool),
        reason=(Reason.SCHEDULED,) * DEVICES,
        batch=np.zeros(DEVICES, dtype=np.int64),
        owner=owner[None],
        power=power,
        rate=some,
        slots_air=39,
        slots_digital=400,
        scalar=1.5,
        needed=some,
        budget=some,
    )
    fading = Fading(rng.rayleigh(1.0, (DEVICES, SUBCHANNELS)), 1e-6)
    return Report(t, fading, plan, Costs(39, 400, 0.0, some), 0.1, 0.1, 0.5, 0.1)


def seconds_to_open(page: Path, times: int = 5) -> list[float]:
    """From asking for the page to its last chart, in headless Chromium; nothing without one."""
    browser, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver_path:
        return []
    from selenium import webdriver

    taken = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as profile:
            options = webdriver.ChromeOptions()
            options.binary_location = browser
            for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
                options.add_argument(flag)
            driver = webdriver.Chrome(options, webdriver.ChromeService(driver_path))
            try:
                start = perf_counter()
                driver.get(page.as_uri())
                assert driver.execute_script("return document.querySelector('#plot-water .bars')")
                taken.append(perf_counter() - start)
            finally:
                driver.quit()
    return taken


def main() -> None:
    """Make the runs, the report, and open it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for scheme in COST:
            for seed in range(2):
                make_run(folder / f"{scheme}-{seed}", scheme, seed, given.rounds)
        start = perf_counter()
        groups, spare = runs.load([folder])
        page = write(groups, folder, ["html"], spare)[0]
        made = perf_counter() - start
        size = page.stat().st_size / 1e6
        opened = seconds_to_open(page)
    lines = [
        f"{len(COST)} schemes × 2 seeds × {given.rounds:,} rounds × {DEVICES} devices, "
        f"{RECORDS} recorded rounds per run; {platform.platform()}",
        "",
        "| what | value |",
        "|---|---:|",
        f"| size of report.html | {size:.2f} MB |",
        f"| time to make it from stored rows | {made:.1f} s |",
    ]
    if opened:
        middle, spread = statistics.median(opened), max(opened) - min(opened)
        lines.append(
            f"| time to open it, median of {len(opened)} (range) "
            f"| {middle:.1f} s ({spread:.1f} s) |"
        )
    else:
        lines.append("| time to open it | no chromium and chromedriver here |")
    text = "\n".join(lines) + "\n"
    print(text)
    if given.out:
        given.out.write_text(text, "utf-8")
    assert size < 10.0, "the page must stay below 10 MB"


if __name__ == "__main__":
    main()
