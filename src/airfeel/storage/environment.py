"""Where a run was carried out: the machine, the packages, the commit."""

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any


@cache
def facts() -> dict[str, Any]:
    """The machine, the packages and the commit, for the record; looked up once per process."""
    packages = ("airfeel", "torch", "numpy", "scipy")
    return {
        "versions": {"python": platform.python_version()}
        | {name: metadata.version(name) for name in packages},
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
        "commit": _commit(),
    }


def _commit() -> str | None:
    here = Path(__file__).parent
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return answer.stdout.strip() or None
