"""Tells the builder what the template has, and removes what the steps brought. Root, standard library only.

usage: finish.py FOLDER

Lines for the builder: "datalayer-python VERSION", and "datalayer-package NAME VERSION" for each package of the lock.
"""

import os
import platform
import re
import shutil
import sys
from importlib import metadata


def normalize(name):
    return re.sub(r"[-_.]+", "-", name).lower()


print("datalayer-python " + platform.python_version())
lock = os.path.join(sys.argv[1], "lock", "requirements.txt")
if os.path.exists(lock):
    found = {}
    for distribution in metadata.distributions():
        if distribution.metadata["Name"]:
            # The first on sys.path is the one that is imported.
            found.setdefault(normalize(distribution.metadata["Name"]), distribution.version)
    with open(lock, encoding="utf-8") as file:
        names = {normalize(re.match(r"[A-Za-z0-9._-]+", line).group()) for line in file if line.strip()}
    for name in sorted(names & found.keys()):
        print(f"datalayer-package {name} {found[name]}")
shutil.rmtree(sys.argv[1])
