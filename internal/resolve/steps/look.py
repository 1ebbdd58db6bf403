"""Tells what a lock must know of a base. Runs in the base, standard library only.

usage: look.py REPORT PACKAGE...   (REPORT gets {"python", "implementation", "pip", "libc": [name, version], "packages": {name: version}})
"""

import json
import platform
import sys

try:
    from importlib import metadata
except ImportError:  # Python 3.7, of which no lock is made.
    metadata = None


def version(name):
    try:
        return metadata.version(name)
    except Exception:
        return None


report, names = sys.argv[1], sys.argv[2:]
found = {name: version(name) for name in names}
with open(report, "w", encoding="utf-8") as file:
    json.dump(
        {
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
            "pip": version("pip"),
            "libc": platform.libc_ver(),
            "packages": {name: known for name, known in found.items() if known},
        },
        file,
    )
