"""Tells which Python a base has. Runs in the base, standard library only."""

import json
import platform
import site
import sys

try:
    from importlib.metadata import version

    pip = version("pip")
except Exception:
    pip = None

# On Debian, the folder of what dpkg installs is on sys.path too, behind that of what pip does.
folders = [folder for folder in sys.path if folder in site.getsitepackages()]
found = {
    "python": platform.python_version(),
    "implementation": platform.python_implementation(),
    "prefix": sys.base_prefix,
    "pip": pip,
    "libc": " ".join(platform.libc_ver()).strip(),
    "site_packages": folders,
}
with open(sys.argv[1], "w") as report:
    json.dump(found, report)
