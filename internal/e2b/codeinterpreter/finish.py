"""Tells the builder what the template has, and removes what the steps brought. Root, standard library only.

usage: finish.py FOLDER

For the builder: "datalayer-python=VERSION;", "datalayer-package=NAME=VERSION;" for each package of the lock, and at last
"datalayer-end;". E2B logs what a program prints as it comes out of a pipe, so that a line may be logged in parts.
"""

import os
import platform
import re
import shutil
import sys
from importlib import metadata


def normalize(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def tell(*words):
    print("=".join(words) + ";", flush=True)


tell("datalayer-python", platform.python_version())
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
        tell("datalayer-package", name, found[name])
tell("datalayer-end")
shutil.rmtree(sys.argv[1])
