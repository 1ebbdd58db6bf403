"""Tells which Python a base has. Runs in the base, standard library only."""

import json
import platform
import sys

try:
    from importlib.metadata import version

    pip = version("pip")
except Exception:
    pip = None

with open(sys.argv[1], "w") as report:
    json.dump({"python": platform.python_version(), "implementation": platform.python_implementation(), "pip": pip}, report)
