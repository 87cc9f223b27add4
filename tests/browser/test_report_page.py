"""The report page in a real browser, opened from a file."""

import base64
import csv
import json
import re
import shutil

import numpy as np
import pytest

import airfeel
from airfeel.reports import runs
from airfeel.reports.write import write
from airfeel.storage import records
from small import small
from stored import store_some, unsealed
from waiting import until

pytest.importorskip("plotly", reason='the page needs pip install "airfeel[report]"')
pytest.importorskip("selenium", reason="browser tests need selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

EVIL = "x</script><img src=x onerror=document.title='owned'><b>'\"&"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = store_some(tmp_path_factory.mktemp("runs"))
    for path in (folder / "top-k-0", folder / "top-k-1"):  # a scheme with a hostile name
        text = (path / "config.toml").read_text("utf-8").replace('"top-k"', json.dumps(EVIL))
        (unsealed(path) / "config.toml").write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def address(folder):
    groups, spare = runs.load([folder])
    return write(groups, folder, ["html"], spare)[0].as_uri()


@pytest.fixture
def page(browser, address):
    """The page, freshly opened; the console stays silent all through a test."""
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(address)
    yield browser
    assert browser.get_log("browser") == []


def find(page, selector):
    return page.find_element(By.CSS_SELECTOR, selector)


def text(page, selector):
    return find(page, selector).text


def traces(page, key):
    script = f"return document.getElementById('plot-{key}').data"
    return page.execute_script(script + ".map(t => [t.name, t.meta || '', t.x ? t.x.length : 0])")


def slide(page, value):
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    page.execute_script(script, find(page, "#budget-slider"), value)


def test_nothing_is_fetched_and_no_text_becomes_markup(page, address):
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"].endswith("WillBeSent")]
    assert asked[0] == address
    assert all(url == address or url.startswith("data:") for url in asked)
    assert page.title.startswith("airfeel: ")
    assert page.find_elements(By.CSS_SELECTOR, "img[src='x']") == []
    assert EVIL in [button.text for button in page.find_elements(By.CSS_SELECTOR, "#legend button")]
    assert EVIL in text(page, "#budget-table")


def test_every_chart_has_its_traces(page):
    lines = [t for t in traces(page, "rounds") if not t[1]]
    assert len(lines) == 3
    assert all(count == 13 for _, _, count in lines)  # 12 rounds and the start
    assert len([t for t in traces(page, "rounds") if t[1] == "band"]) == 6
    assert any("free" in name for name, *_ in traces(page, "blocks"))
    assert len([t for t in traces(page, "scheduled") if not t[1]]) == 3
    assert [t[0] for t in traces(page, "overlap") if not t[1]] == ["tcs-h"]
    assert [t[0] for t in traces(page, "slots")] == ["air", "digital"]
    assert {t[2] for t in traces(page, "energy")} == {6}
    assert "scheduled" in [t[0] for t in traces(page, "reasons")]
    for key in ("rounds", "blocks", "scheduled", "overlap"):
        assert page.find_elements(By.CSS_SELECTOR, f"#plot-{key} .scatterlayer path.js-line")
    for key in ("slots", "reasons"):
        assert page.find_elements(By.CSS_SELECTOR, f"#plot-{key} .bars path")


def test_the_legend_hides_a_group_everywhere(page):
    button = find(page, "#legend button")
    before = len(traces(page, "rounds")), len(traces(page, "energy"))
    button.send_keys(Keys.ENTER)
    assert button.get_attribute("aria-pressed") == "false"
    assert (len(traces(page, "rounds")), len(traces(page, "energy"))) == (
        before[0] - 3,
        before[1] - 1,
    )
    button.send_keys(Keys.SPACE)
    assert len(traces(page, "rounds")) == before[0]


def test_the_slider_changes_tables_and_line(page):
    start = text(page, "#budget-table"), text(page, "#savings-table")
    assert text(page, "#budget-value").replace(",", "").split()[0].isdigit()
    slide(page, 0)
    assert text(page, "#budget-value") == "0 resource blocks"
    assert (text(page, "#budget-table"), text(page, "#savings-table")) != start
    line = "return document.getElementById('plot-blocks').layout.shapes[0].x0"
    assert page.execute_script(line) == 0
    find(page, "#budget-slider").send_keys(Keys.END)
    assert page.execute_script(line) > 0
    assert "ended at" in text(page, "#budget-table")


def test_the_slider_starts_where_the_summary_compares(page):
    summary = find(page, "header tbody tr td").text
    assert find(page, "#budget-table tbody tr td").text == summary


def test_the_inspector_steps_by_buttons_and_keys(page):
    said = lambda: text(page, "#inspector-text")
    assert ", round 4: " in said()
    assert not find(page, "#inspector-previous").is_enabled()
    find(page, "#inspector-next").click()
    assert ", round 8: " in said()
    body = find(page, "#inspector-body")
    body.send_keys(Keys.ARROW_RIGHT)
    assert ", round 12: " in said()
    assert not find(page, "#inspector-next").is_enabled()
    body.send_keys(Keys.ARROW_RIGHT)
    assert ", round 12: " in said()
    body.send_keys(Keys.ARROW_LEFT)
    assert ", round 8: " in said()
    find(page, "#inspector-table tbody tr:nth-child(5)").click()
    assert "device 4: " in said()
    body.send_keys(Keys.ARROW_UP)
    assert "device 3: " in said()
    assert find(page, "#inspector-device").get_attribute("value") == "3"
    sky = find(page, "#plot-sky .nsewdrag")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", sky)
    ActionChains(page).move_to_element_with_offset(sky, 0, -sky.size["height"] // 2 + 4).perform()
    ActionChains(page).click().perform()
    until(lambda: "device 0: " in said())


def test_the_inspector_shows_the_sky_the_owners_and_the_water(page):
    sky = "return document.getElementById('plot-sky').data"
    assert page.execute_script(sky + "[0].z.map(row => row.length)") == [8] * 6
    owned = page.execute_script(sky + "[1].y")
    rows = [row.text for row in page.find_elements(By.CSS_SELECTOR, "#inspector-table tbody tr")]
    assert {n for n, row in enumerate(rows) if "✓ scheduled" in row} == set(owned)
    bars = page.execute_script("return document.getElementById('plot-water').data.map(t => t.y)")
    device = int(find(page, "#inspector-device").get_attribute("value"))
    levels = [floor + power for floor, power in zip(*bars, strict=True) if power > 0]
    assert len(bars[0]) == owned.count(device)
    assert max(levels) == pytest.approx(min(levels), rel=1e-4)  # water stands level


def test_the_inspector_shows_belief_beside_truth_and_who_was_lost(browser, tmp_path):
    e = small("tcs-d", csi={"error": 0.3}, run={"record_every": 1}, training={"rounds": 3})
    airfeel.run(e, tmp_path / "run")
    kept = [records.read(path) for path in records.paths(tmp_path / "run")]
    at = next(i for i, each in enumerate(kept) if each.lost.any() and not each.lost.all())
    groups, spare = runs.load([tmp_path / "run"])
    browser.get(write(groups, tmp_path, ["html"], spare)[0].as_uri())
    for _ in range(at):
        find(browser, "#inspector-next").click()
    seen = kept[at]
    why = browser.find_elements(By.CSS_SELECTOR, "#inspector-table tbody td:nth-child(2)")
    for n, cell in enumerate(why):
        assert ("its packet was lost after 1 try: met less than believed" in cell.text) == bool(
            seen.lost[n]
        )
        assert cell.text.startswith("✓" if seen.plan.active[n] and not seen.lost[n] else "✗")
    table = browser.execute_script("return charts.sky.table()")
    assert table["head"][2:4] == ["gain |h|", "met"]
    shown = np.array([row[2:4] for row in table["rows"]]).reshape(*seen.fading.gain.shape, 2)
    np.testing.assert_allclose(shown[..., 0], seen.fading.gain, rtol=1e-6)
    np.testing.assert_allclose(shown[..., 1], seen.fading.truth, rtol=1e-6)
    assert not np.allclose(shown[..., 0], shown[..., 1])
    assert browser.get_log("browser") == []


def test_a_table_is_behind_every_chart_and_comes_as_csv(page, tmp_path):
    where = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    keys = [e.get_attribute("data-chart") for e in page.find_elements(By.CSS_SELECTOR, "figure")]
    assert len(keys) == 12
    for key in keys:
        find(page, f"#table-{key} summary").send_keys(Keys.ENTER)
        link = find(page, f"#table-{key} a")
        until(lambda link=link: link.get_attribute("href"))
        assert page.find_elements(By.CSS_SELECTOR, f"#table-{key} tbody tr")
        page.execute_script("arguments[0].click()", link)
        until((tmp_path / f"{key}.csv").is_file)
    with (tmp_path / "rounds.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["group", "rounds", "mean accuracy", "standard deviation"]
    assert {row[0] for row in rows} == {"tcs-h", "fedavg", EVIL}
    assert len(rows) == 39


def cells(page, selector, column):
    rows = page.find_elements(By.CSS_SELECTOR, f"{selector} tbody tr")
    return [row.find_elements(By.CSS_SELECTOR, "th, td")[column].text for row in rows]


def test_a_click_on_a_head_sorts_and_another_turns_it_round(page):
    head = page.find_elements(By.CSS_SELECTOR, "#summary thead th")
    names = [th.text for th in head]
    at = names.index("blocks")
    head[at].click()
    up = [int(text.replace(",", "")) for text in cells(page, "#summary", at)]
    assert up == sorted(up)
    assert head[at].get_attribute("aria-sort") == "ascending"
    head[at].send_keys(Keys.ENTER)
    assert [int(t.replace(",", "")) for t in cells(page, "#summary", at)] == sorted(up)[::-1]
    head[0].click()
    assert cells(page, "#summary", 0) == sorted(cells(page, "#summary", 0), key=str.lower)
    assert head[at].get_attribute("aria-sort") is None


def test_axes_from_zero_and_of_the_error_at_a_click(page):
    axis = "return document.getElementById('plot-rounds').layout.yaxis"
    first = page.execute_script("return document.getElementById('plot-rounds').data.at(-1).y")
    assert page.execute_script(axis + ".type") in (None, "linear")
    fit, zero, log = page.find_elements(By.CSS_SELECTOR, "#scales button")
    zero.click()
    assert page.execute_script(axis + ".range[0]") == 0
    log.click()
    assert page.execute_script(axis + ".type") == "log"
    error = page.execute_script("return document.getElementById('plot-rounds').data.at(-1).y")
    assert error == pytest.approx([1 - value for value in first])
    assert text(page, "#title-rounds") == "Test error against rounds"
    fit.click()
    assert text(page, "#title-rounds") == "Test accuracy against rounds"


def test_a_filter_keeps_groups_and_runs_that_hold_a_word(page):
    find(page, "#filter").send_keys("TCS-H")
    assert {name for name, *_ in traces(page, "rounds")} == {"tcs-h"}
    rows = page.find_elements(By.CSS_SELECTOR, "#runs-body tbody tr")
    assert {row.text.split()[0] for row in rows if row.is_displayed()} == {"tcs-h"}
    find(page, "#filter").send_keys(Keys.BACKSPACE * 5)
    assert len({name for name, *_ in traces(page, "rounds")}) == 3


def test_the_page_says_what_was_run(page):
    told = text(page, "#ran-body")
    for words in ("data set", "devices N\n6", "sub-channels M\n8", "learning rate η", "torch"):
        assert words in told
    assert text(page, ".command").startswith("airfeel compare ")


def test_paper_has_whole_charts(page):
    """Printed on A4, no chart is wider than its frame, and each stays on one page."""
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    wide = (
        "return [...document.querySelectorAll('figure')].filter(f => f.clientWidth).map(f =>"
        " [f.getBoundingClientRect().right, f.querySelector('.main-svg').getBoundingClientRect()"
        ".right, getComputedStyle(f).breakInside])"
    )
    sheet = page.execute_script("return document.body.getBoundingClientRect().right")
    for right, drawn, _ in page.execute_script(wide):
        assert drawn <= right <= sheet + 1
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    pdf = page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    found = re.findall(rb"/MediaBox ?\[([\d. ]+)\]", base64.b64decode(pdf))
    assert found
    for box in found:
        assert [round(float(x)) for x in box.split()[2:]] == [595, 842]
    assert page.execute_script("return document.documentElement.className") == ""


def test_many_groups_have_no_bands_and_a_button_points_at_one(browser, folder, tmp_path):
    for bits in range(2, 10):
        path = shutil.copytree(folder / "tcs-h-0", tmp_path / "runs" / str(bits))
        text = (path / "config.toml").read_text("utf-8")
        changed = re.sub(r"^bits = \d+", f"bits = {bits}", text, flags=re.MULTILINE)
        (unsealed(path) / "config.toml").write_text(changed, "utf-8")
    browser.get(write(runs.load([tmp_path / "runs"])[0], tmp_path / "out")[0].as_uri())
    assert len(traces(browser, "rounds")) == 8
    assert not any(meta == "band" for _, meta, _ in traces(browser, "rounds"))
    ActionChains(browser).move_to_element(find(browser, "#legend button")).perform()
    width = "return document.getElementById('plot-rounds').data.map(t => t.line.width)"
    until(lambda: browser.execute_script(width) == [3.5] + [1] * 7)
    browser.execute_script("const s = document.getElementById('colour-by'); s.value = 0;"
                           "s.dispatchEvent(new Event('change'))")  # fmt: skip
    colour = "return new Set(data.groups.map(g => g.colour)).size"
    assert browser.execute_script(colour) == 8
    assert "bits per value q" in find(browser, "#ran-body").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_in_any_light(page, address, scheme):
    size = {"width": 375, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    light = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
    try:
        page.get(address)
        find(page, "#table-energy summary").send_keys(Keys.ENTER)
        assert page.execute_script("return document.documentElement.scrollWidth") == 375
        ink = page.execute_script("return document.getElementById('plot-rounds').layout.font.color")
        assert (int(ink[1:3], 16) > 128) == (scheme == "dark")
        wide = "return [...document.querySelectorAll('.plot')].map(p => p.clientWidth)"
        assert max(page.execute_script(wide)) <= 375
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_page_without_records_or_costs(browser, folder, tmp_path):
    free = shutil.copytree(folder / "fedavg-0", tmp_path / "a")
    shutil.rmtree(free / "records")
    browser.get_log("browser")
    browser.get(write(runs.load([free])[0], tmp_path / "out")[0].as_uri())
    assert find(browser, "#inspector-none").is_displayed()
    assert not find(browser, "#budget").is_displayed()
    assert len(traces(browser, "rounds")) == 1
    assert browser.get_log("browser") == []
