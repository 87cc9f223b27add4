"""What Flower's processes import at their start, when a test has put it on their path.

Flower gives the process of an app 30 seconds to start, which is little on a machine that is very
busy; a node that is gone is still noticed after a minute. And where AIRFEEL_ATTACKS is set, the mod
of a ClientApp means harm: see `attacks.py`.
"""

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
_TEXT = f"""
import importlib.abc, importlib.util, os, sys

def patient(module):
    module.HEARTBEAT_DEFAULT_INTERVAL = 600

def turned(module):
    if "AIRFEEL_ATTACKS" in os.environ:
        sys.path.insert(0, {str(HERE)!r})
        import attacks
        attacks.turn(module)

CHANGES = {{
    "flwr.supercore.corestate.in_memory_corestate": patient,
    "flwr.supercore.corestate.sql_corestate": patient,
    "airfeel.flower.mod": turned,
}}

class Hook(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        change = CHANGES.pop(name, None)
        if change is None:
            return None
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def changed(module):
            load(module)
            change(module)

        spec.loader.exec_module = changed
        return spec

sys.meta_path.insert(0, Hook())
"""


def path_with_hook(folder: Path) -> str:
    """PYTHONPATH for processes that are to import it."""
    hook = folder / "hook" / "sitecustomize.py"
    hook.parent.mkdir(parents=True, exist_ok=True)
    hook.write_text(_TEXT, "utf-8")
    return os.pathsep.join([str(hook.parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
