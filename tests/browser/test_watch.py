"""Runs that go on, watched in a real browser; and who else knocks at the door."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from airfeel.reports.live import Watched
from airfeel.reports.serve import Server
from airfeel.runs.runner import run
from small import small
from stored import store, unsealed
from waiting import until

pytest.importorskip("plotly", reason='the page needs pip install "airfeel[report]"')
pytest.importorskip("selenium", reason="browser tests need selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

EVIL = "x</script><img src=x onerror=document.title='owned'>"


class Slow:
    """A run that takes its time."""

    def begin(self, experiment, world):
        pass

    def row(self, row):
        time.sleep(0.4)

    def end(self, summary):
        pass


@pytest.fixture
def served(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    server = Server(Watched([folder]))
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server, folder
    server.close()
    thread.join()


def rounds(browser):
    script = "return document.getElementById('plot-rounds')?.data?.map(t => [t.name, t.x.length])"
    return dict(browser.execute_script(script) or [])


def test_curves_and_tables_grow_while_a_run_writes(browser, served):
    server, folder = served
    browser.get(server.address)
    assert "Waiting for the first round" in browser.page_source
    store(folder / "first", "top-k", 0)
    until(lambda: rounds(browser).get("top-k") == 13)
    browser.get_log("browser")
    going = threading.Thread(target=run, args=(small("tcs-h"), folder / "second", [Slow()]))
    going.start()
    until(lambda: 1 < rounds(browser).get("tcs-h", 0) < 13, 60)
    assert "not finished" in browser.find_element(By.ID, "runs-body").text
    heads = browser.find_elements(By.CSS_SELECTOR, "#runs-body thead th")
    heads[2].click()
    browser.find_element(By.ID, "filter").send_keys("TCS")
    assert list(rounds(browser)) == ["tcs-h"]
    going.join()
    until(lambda: rounds(browser).get("tcs-h") == 13)
    assert list(rounds(browser)) == ["tcs-h"]  # still filtered, and still sorted
    assert browser.find_elements(By.CSS_SELECTOR, "#runs-body th[aria-sort]")
    assert "not finished" not in browser.find_element(By.ID, "runs-body").text
    browser.find_element(By.ID, "filter").send_keys(Keys.BACKSPACE * 3)
    assert sorted(rounds(browser)) == ["tcs-h", "top-k"]
    assert browser.find_element(By.ID, "live").text == "live"
    assert browser.get_log("browser") == []


def test_a_name_stays_text_when_it_comes_later(browser, served):
    server, folder = served
    store(folder / "a", "tcs-h", 0)
    browser.get(server.address)
    until(lambda: rounds(browser))
    path = unsealed(store(folder.parent / "b", "top-k", 0)) / "config.toml"
    path.write_text(path.read_text("utf-8").replace('"top-k"', json.dumps(EVIL)), "utf-8")
    path.parent.rename(folder / "b")
    until(lambda: EVIL in browser.find_element(By.ID, "legend").text)
    assert EVIL in browser.find_element(By.ID, "runs-body").text
    assert browser.find_elements(By.CSS_SELECTOR, "img[src='x']") == []
    assert browser.title != "owned"


def ask(server, path, method="GET", **headers):
    call = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    call.putrequest(method, path, skip_host="Host" in headers)
    for name, values in headers.items():
        for value in values if isinstance(values, list) else [values]:
            call.putheader(name, value)
    call.endheaders()
    answer = call.getresponse()
    return answer.status, answer.read(), answer.headers


def test_only_the_right_address_is_answered(served):
    server, folder = served
    store(folder / "a", "tcs-h", 0)
    before = sorted(folder.rglob("*"))
    token, ours = server.token, f"127.0.0.1:{server.port}"
    status, page, headers = ask(server, f"/{token}/")
    assert (status, b"What was run" in page) == (200, True)
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers
    assert ask(server, f"/{token}/", Host=f"localhost:{server.port}")[0] == 200
    status, text, _ = ask(server, f"/{token}/state?since=")
    number = json.loads(text)["number"]
    assert ask(server, f"/{token}/state?since={number}")[:2] == (204, b"")
    refused = {
        "/": {}, "/state": {}, f"/{token}": {"Host": "evil.example"}, f"/{token}x/": {},
        f"/{token}/state": {"Host": f"evil.example:{server.port}"},
        f"/{token}/?": {"Host": [ours, "evil.example"]}, f"/{token}/?a": {"Host": []},
        f"/{token}/state?x": {"Origin": "http://evil.example"},
        f"/{token}/state?y": {"Origin": "null"},
        f"/{token}/../{token}/": {}, f"/{token}/a/config.toml": {}, f"/{token}/%2e%2e/": {},
        f"/{token}//etc/passwd": {}, f"http://evil.example/{token}/": {}, "/" + "x" * 9999: {},
    }  # fmt: skip
    for path, more in refused.items():
        status, content, _ = ask(server, path, **more)
        assert status in (403, 404), path
        assert token.encode() not in content
        assert len(content) < 30
    for method in ("POST", "PUT", "HEAD", "OPTIONS", "CONNECT", "X"):
        assert ask(server, f"/{token}/", method)[0] == 501
    assert sorted(folder.rglob("*")) == before  # runs are only read


def test_it_listens_on_this_machine_alone_and_waits_for_nobody(served):
    server, folder = served
    store(folder / "a", "tcs-h", 0)
    with socket.create_connection(("127.0.0.1", server.port)) as idle:  # says nothing
        idle.sendall(b"GET / HT")
        assert ask(server, f"/{server.token}/")[0] == 200
    with socket.socket() as other, pytest.raises(OSError):  # noqa: PT011
        other.bind(("127.0.0.1", server.port))
    assert server._http.server_address[0] == "127.0.0.1"


def test_broken_and_vanished_runs_are_told_and_harm_no_other(served):
    server, folder = served
    store(folder / "a", "tcs-h", 0)
    number, shown = server.watched.state()
    assert server.watched.state()[0] == number
    (folder / "b").mkdir()
    (folder / "b" / "rounds.csv").write_text("round\n")
    later, shown = server.watched.state()
    assert later > number
    assert "b: is no run folder" in shown["told"]["lacks"]
    assert server.watched.state()[0] == later  # told once
    for path in (folder / "a").iterdir():
        path.unlink() if path.is_file() else None
    assert "tcs-h" in server.watched.state()[1]["told"]["title"]


def test_the_command_says_its_address_and_ends_on_ctrl_c(tmp_path):
    store(tmp_path / "a", "tcs-h", 0)
    program = "from airfeel.cli import main; main()"
    command = [sys.executable, "-c", program, "watch", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().split()[2]
        port, token = address.removeprefix("http://127.0.0.1:").split("/")[:2]
        call = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        call.request("GET", f"/{token}/")
        assert call.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        assert "the runs go on" in process.stdout.read()
        assert process.wait(30) == 0
