"""Without flwr everything else works, and the error names the extra to install."""

import subprocess
import sys
import textwrap


def test_without_flwr_the_extra_is_named():
    code = """
        import sys
        sys.modules["flwr"] = None  # as if it were not installed
        import airfeel, airfeel.flower
        try:
            from airfeel.flower import AirMod
        except airfeel.BadInput as error:
            print(error)
        print(hasattr(airfeel.flower, "anything"))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == [
        'flwr is missing: install it with pip install "airfeel[flower]"',
        "False",
    ], done.stderr
