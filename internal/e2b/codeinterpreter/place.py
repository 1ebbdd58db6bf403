"""Writes the files of an environment. Runs in the template as root, standard library only.

usage: place.py FOLDER   (FOLDER holds files.json, a list of {path, mode, name}, and the contents by name)
"""

import json
import os
import sys

UID, GID = 1000, 100


def folders(path):
    if os.path.isdir(path):
        return
    folders(os.path.dirname(path))
    os.mkdir(path)
    os.chown(path, UID, GID)
    os.chmod(path, 0o755)


with open(os.path.join(sys.argv[1], "files.json"), encoding="utf-8") as file:
    entries = json.load(file)
for entry in entries:
    with open(os.path.join(sys.argv[1], entry["name"]), "rb") as file:
        content = file.read()
    folders(os.path.dirname(entry["path"]))
    with open(entry["path"], "wb") as file:
        file.write(content)
    os.chown(entry["path"], UID, GID)
    os.chmod(entry["path"], int(entry["mode"], 8))
