"""On the path of one SuperNode alone: its ClientApp means harm. Python imports this at its start.

AIRFEEL_ATTACKS names what it does, one attack after the other from round 1 on. In round 0 it is
honest, as one who wants to be trusted would be. What it does is in `attacks.py` beside this file.
"""

import importlib.abc
import importlib.util
import sys


class Turncoat(importlib.abc.MetaPathFinder):
    """Lets the module of the client's mod be loaded, and turns its replies."""

    def find_spec(self, name, path, target=None):
        if name != "airfeel.flower.mod":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def turned(module):
            load(module)
            import attacks

            attacks.turn(module)

        spec.loader.exec_module = turned
        return spec


sys.meta_path.insert(0, Turncoat())
