"""Tells which distributions a new interpreter finds. Runs in the image, standard library only.

usage: installed.py REPORT   (REPORT gets {"installed": {name: version}})
"""

import json
import re
import sys
from importlib import metadata

found = {}
for distribution in metadata.distributions():
    name = distribution.metadata["Name"]
    if name:
        # The first on sys.path is the one that is imported.
        found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), distribution.version)
with open(sys.argv[1], "w", encoding="utf-8") as report:
    json.dump({"installed": found}, report)
