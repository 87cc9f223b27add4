"""The whole list of attacks on a real deployment: TLS, SuperNode authentication, processes.

    python tests/flower/attack.py        (make attack)

Four honest-looking SuperNodes with registered keys; one of them means harm from round 1 on. Beside
them a stranger whose key nobody registered, a stranger without a key, and a registered node that
claims another's device. Training must end with the bytes of the run without the attacker.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from attacks import NAMES  # noqa: E402
from hook import path_with_hook  # noqa: E402
from test_processes import SETTINGS, check, load_runner, told, wait_until  # noqa: E402

ATTACKER, CLAIMED = 3, 1
_LIMIT = 3600.0  # seconds for everything; it ends when it ends


def besiege(folder: Path, attacks: list[str]) -> str:
    """One training under these attacks, a round for each; the server's log of it."""
    settings = {**SETTINGS, "training.rounds": len(attacks), "least": 5, "timeout": 900}
    runner = load_runner()
    with runner.Federation(folder) as federation:
        federation.register([f"device-{n}" for n in range(4)])
        federation.register(["claimant"])
        turned = {"AIRFEEL_ATTACKS": ",".join(attacks), "AIRFEEL_ATTACKS_FOLDER": str(folder)}
        for n in range(4):
            federation.start_node(n, 4, **(turned if n == ATTACKER else {}))
        federation.start_node(CLAIMED, 4, name="claimant")
        refused(federation, runner)
        run = federation.submit(told(settings, folder / "out"), _LIMIT)
        federation.wait(run, _LIMIT)
        log = federation.log("run")
    heard = check(folder, settings, run, exact=True)
    assert heard[1:, [0, 1, 2]].all()
    assert not heard[1:, ATTACKER].any()
    for line in (f"(device {ATTACKER})", f"(device {CLAIMED}): partition-id = {CLAIMED}"):
        assert line in log, log[-4000:]
    assert log.count("its reply is lost") == len(attacks), log[-8000:]
    return log


def refused(federation, runner) -> None:
    """A key that nobody registered, and a node that makes one up, do not get in."""
    keys = federation.folder / "keys"
    make = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", str(keys / "stranger")]
    runner.subprocess.run(make, check=True)
    federation.start_node(0, 4, name="stranger")
    plain = ["flower-supernode", "--superlink", f"127.0.0.1:{federation.port}"]
    plain += ["--root-certificates", str(federation.folder / "certificates" / "ca.crt")]
    plain += ["--host", "127.0.0.1", "--port", str(runner.free_port()), *federation._tls()]
    federation._start("keyless", plain)
    for name in ("stranger", "keyless"):
        process = federation.processes.pop(name)
        wait_until(lambda process=process: process.poll() is not None)
        assert process.returncode != 0
        assert "Failed to initialize the connection" in federation.log(name)


def main() -> None:
    """All attacks, one training."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPATH"] = path_with_hook(Path(folder))
        log = besiege(Path(folder), NAMES)
    for line in log.splitlines():
        if "reply is lost" in line or "takes no part" in line:
            print(line)
    print(f"{len(NAMES)} attacks in {time.monotonic() - began:.0f} s: the bytes are right")


if __name__ == "__main__":
    main()
