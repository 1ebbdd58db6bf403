"""Holds the base against what a template needs, and prepares what the later steps rely on. Root, standard library only.

usage: prepare.py [PYTHON]   (PYTHON is the "major.minor" that the base must have)

Lines for the builder start with "datalayer: ".
"""

import os
import pwd
import sys

HOME, WORKDIR, USER, UID, GID = "/home/datalayer", "/home/datalayer/content", "datalayer", 1000, 100

faults = []
python = "%d.%d" % sys.version_info[:2]
if len(sys.argv) > 1 and sys.argv[1] != python:
    faults.append(f"the base has Python {python}, and python_version is {sys.argv[1]}")
try:
    account = pwd.getpwnam(USER)
    if (account.pw_uid, account.pw_gid) != (UID, GID):
        faults.append(f"the base's user {USER} is {account.pw_uid}:{account.pw_gid}, and the contract says {UID}:{GID}")
except KeyError:
    faults.append(f"the base has no user {USER}, so it does not satisfy sandbox-contract/v1")
for fault in faults:
    print("datalayer: " + fault, file=sys.stderr)
if faults:
    sys.exit(1)
# E2B would make a folder that is not there for a group that is not there either.
for folder in (HOME, WORKDIR):
    if not os.path.isdir(folder):
        os.mkdir(folder, 0o755)
        os.chown(folder, UID, GID)
