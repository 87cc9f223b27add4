"""Run the app on this machine, in Flower's simulation engine or as a real deployment.

    python run.py simulation
    python run.py deployment -c 'training.rounds=10 scheme.bits=8'

A deployment is a SuperLink and one SuperNode for each device, all separate processes that talk over
TLS with certificates made here; each SuperNode has a key that was registered, and no other may
connect. Everything listens on 127.0.0.1 alone, everything that Flower keeps
is in --folder, and every process is ended when the run is over.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

APP = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
_RAY_CLUSTER = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # at 0, Ray stays on 127.0.0.1


class Federation:
    """A SuperLink with its nodes; use it in a `with` statement."""

    def __init__(self, folder: Path, *, simulation: bool = False) -> None:
        self.folder = folder.resolve()
        self.simulation = simulation
        self.port = free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Federation":
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob("*.log"):
            old.unlink()
        try:
            self._start_link()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start_link(self) -> None:
        command = ["flower-superlink", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--disable-runtime-dependency-installation"]
        if self.simulation:
            command += ["--simulation", "--insecure"]
            lines = ["insecure = true"]
        else:
            certificates = self.folder / "certificates"
            subprocess.run([APP / "make_certificates.sh", certificates], check=True)
            command += [*self._tls(), "--enable-supernode-auth"]
            lines = [f'root-certificates = "{certificates / "ca.crt"}"']
        lines = ["[superlink.here]", f'address = "127.0.0.1:{self.port}"', *lines]
        (self.folder / "config.toml").write_text("\n".join(lines) + "\n", "utf-8")
        self._start("superlink", command)
        self._until_listening("superlink", self.port)

    def _tls(self) -> list[str]:
        certificates = self.folder / "certificates"
        names = {"--ssl-ca-certfile": "ca.crt", "--ssl-certfile": "server.pem"}
        names["--ssl-keyfile"] = "server.key"
        return [word for flag, name in names.items() for word in (flag, str(certificates / name))]

    def register(self, names: list[str], seconds: float = 180.0) -> None:
        """Make a key for each name, and tell the SuperLink that it belongs to this federation."""
        keys = self.folder / "keys"
        keys.mkdir(mode=0o700, exist_ok=True)
        asked = []
        for name in names:
            (keys / name).unlink(missing_ok=True)
            make = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-C", name]
            subprocess.run([*make, "-f", str(keys / name)], check=True)
            tell = [BIN / "flwr", "supernode", "register", keys / f"{name}.pub", "here"]
            asked.append(subprocess.Popen([*tell, "--name", name], env=self._env, cwd=self.folder))
        if any(process.wait(seconds) for process in asked):
            raise RuntimeError("a key could not be registered")

    def start_node(self, device: int, devices: int, name: str = "", **env: str) -> None:
        """The SuperNode of one device; name: of its key, if that is not the device's own."""
        config = f"partition-id={device} num-partitions={devices}"
        command = ["flower-supernode", "--superlink", f"127.0.0.1:{self.port}"]
        command += ["--root-certificates", str(self.folder / "certificates" / "ca.crt")]
        command += ["--auth-supernode-private-key", str(self.folder / "keys" / _key(device, name))]
        command += ["--host", "127.0.0.1", "--port", str(free_port()), *self._tls()]
        self._start(name or f"node-{device}", [*command, "--node-config", config], env)

    def kill(self, name: str) -> None:
        """End a process at once, as a power cut would, and what it has started."""
        process = self.processes.pop(name)
        for pid in [*descendants(process.pid), process.pid]:
            end(pid, signal.SIGKILL)
        process.wait(10)

    def submit(self, settings: str = "", seconds: float = 120.0) -> str:
        """Send the app to the SuperLink, whose log then streams into run.log; the run's id."""
        command = ["flwr", "run", str(APP), "here", "--stream"]
        if settings:
            command += ["--run-config", settings]
        if self.simulation:
            command += ["--federation-config", f"num-supernodes={devices_of(settings)}"]
        self._start("run", command)
        end_of_patience = time.monotonic() + seconds
        while not (found := re.search(r"started run (\d+)", self.log("run"))):
            if self.processes["run"].poll() is not None or time.monotonic() > end_of_patience:
                raise RuntimeError(f"the run was not started:\n{self.log('run')}")
            time.sleep(0.2)
        return found[1]

    def wait(self, run: str, seconds: float) -> dict:
        """What the SuperLink says of the run when it has ended: its status, and the traffic."""
        end_of_patience = time.monotonic() + seconds
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.processes["run"].wait(seconds)  # the stream of its log, which may break off
        while not (found := self._status(run)).get("status", "").startswith("finished"):
            if time.monotonic() > end_of_patience:
                raise TimeoutError(f"run {run}: not over after {seconds:.0f} s; {found}")
            time.sleep(3.0)
        if found["status"] != "finished:completed":
            told = f"{found['status']} {found['status-details']}"
            raise RuntimeError(f"run {run}: {told}\n{self.log('run')[-4000:]}")
        return found

    def _status(self, run: str) -> dict:
        """What the SuperLink says of a run; nothing where it does not answer."""
        command = [BIN / "flwr", "list", "here", "--run-id", run, "--format", "json"]
        done = subprocess.run(command, env=self._env, capture_output=True, text=True, timeout=600)
        with contextlib.suppress(ValueError, KeyError, IndexError):
            return json.loads(done.stdout[done.stdout.index("{") :])["runs"][0]
        return {}

    def stop(self) -> None:
        """End every process, and whatever they have started."""
        tree = [pid for p in self.processes.values() for pid in (*descendants(p.pid), p.pid)]
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        for pid in tree:
            end(pid, signal.SIGKILL)
        self.processes.clear()

    def log(self, name: str) -> str:
        """What a process has printed."""
        return (self.folder / f"{name}.log").read_text("utf-8", errors="replace")

    @property
    def _env(self) -> dict[str, str]:
        quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
        quiet |= {"RAY_USAGE_STATS_ENABLED": "0", _RAY_CLUSTER: "0"}
        path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
        return {**os.environ, **quiet, "FLWR_HOME": str(self.folder), "PATH": path}

    def _start(self, name: str, command: list[str], env: dict[str, str] | None = None) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [BIN / command[0], *command[1:]],
                env={**self._env, **(env or {})},
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
            )

    def _until_listening(self, name: str, port: int, seconds: float = 60.0) -> None:
        end_of_patience = time.monotonic() + seconds
        while self.processes[name].poll() is None and time.monotonic() < end_of_patience:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.2)
        raise RuntimeError(f"{name} does not listen on port {port}:\n{self.log(name)[-2000:]}")


def _key(device: int, name: str = "") -> str:
    """The file of a SuperNode's key, and the name that it is registered by."""
    return name or f"device-{device}"


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def descendants(pid: int) -> list[int]:
    """Processes that a process has started, and those that they have started."""
    children: dict[int, list[int]] = {}
    for child, parent in parents():
        children.setdefault(parent, []).append(child)
    tree, fresh = [], [pid]
    while fresh:
        fresh = [child for parent in fresh for child in children.get(parent, [])]
        tree += fresh
    return tree


def parents() -> Iterator[tuple[int, int]]:
    """Every process of this machine, and its parent."""
    if not Path("/proc/self/stat").exists():
        listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True)
        yield from (tuple(map(int, line.split())) for line in listed.stdout.splitlines())
        return
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            yield int(stat.parent.name), int(stat.read_text().rpartition(")")[2].split()[1])


def end(pid: int, how: signal.Signals) -> None:
    """Send a signal to a process that may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, how)


def devices_of(settings: str) -> int:
    """How many devices the settings have."""
    given = [word.partition("=")[2] for word in settings.split() if "training.devices" in word]
    config = tomllib.loads((APP / "pyproject.toml").read_text("utf-8"))["tool"]["flwr"]["app"]
    return int(given[-1] if given else config["config"]["training"]["devices"])


def main() -> None:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", choices=["simulation", "deployment"])
    parser.add_argument("-c", "--run-config", default="", help="settings, as for flwr run")
    parser.add_argument("--folder", type=Path, default=Path("flower-run"))
    parser.add_argument("--seconds", type=float, default=3600.0, help="at most")
    asked = parser.parse_args()
    out = (asked.folder / "out").resolve()
    settings = f'out="{out}" {asked.run_config}'.strip()
    devices = devices_of(settings)
    with Federation(asked.folder, simulation=asked.engine == "simulation") as federation:
        if asked.engine == "deployment":
            federation.register([f"device-{device}" for device in range(devices)])
            for device in range(devices):
                federation.start_node(device, devices)
        run = federation.submit(settings)
        print(f"run {run} with {devices} devices; logs in {federation.folder}", flush=True)
        done = federation.wait(run, asked.seconds)
        traffic = re.search(r"uplink .*", federation.log("run"))
    print(f"finished; results in {out}")
    print(traffic[0] if traffic else "")
    print((out / "accuracy.csv").read_text("utf-8"))
    if asked.engine == "deployment":
        print(f"SuperLink's own count of octets: {done['network-traffic']}")


if __name__ == "__main__":
    main()
