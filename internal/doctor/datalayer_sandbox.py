#!/bin/sh
''':'
# sh runs these lines, and Python takes them for a string. `env python3` would find none where PATH is empty or lacks
# /usr/local/bin, and that has to be a failed row. -I keeps PYTHON* variables away, -B leaves no byte-code.
for python in python3 /usr/local/bin/python3 /usr/bin/python3; do
	command -v "$python" >/dev/null 2>&1 && exec "$python" -I -B "$0" "$@"
done
echo "datalayer-sandbox: no python3 on PATH, in /usr/local/bin or in /usr/bin" >&2
exit 127
'''

# Holds the sandbox that it runs in against sandbox-contract/v1. Standard library of Python 3.8 only.
# A row that cannot be looked at fails. Rows, report and exit status have the form that other doctors of the contract have.

import sys

sys.dont_write_bytecode = True

import argparse
import json
import os
import platform
import pwd
import re
import shlex
import shutil
import stat
import time

NAME = "datalayer-sandbox"
VERSION = "1"
CONTRACT = "sandbox-contract/v1"
SYSTEM = "linux"
MACHINES = ("x86_64", "amd64")
FAMILIES = ("debian", "ubuntu")
USER = "datalayer"
UID = 1000
GID = 100
HOME = "/home/datalayer"
WORKDIR = "/home/datalayer/content"
RESERVED_PATH = "/opt/datalayer"
KERNEL_PACKAGES = ("ipykernel", "jupyter_client")
LOCALE = "C.UTF-8"
TIMEZONE = "UTC"
# The names that the time zone database has for UTC.
UTC = ("UTC", "UTC0", "UCT", "Universal", "Zulu", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu")
# Where Debian and Red Hat keep all authorities in one file.
BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")

# Seconds: how long the orphan lives, how long PID 1 may take to reap it, and how long a slow machine may take to end it.
ORPHAN_LIVES = 0.1
REAPED_WITHIN = 0.6
ENDED_WITHIN = 5.0
POLL = 0.05


def attempt(look, *arguments):
    """What a look at the sandbox finds, or None where it cannot be had. No row passes with None."""
    try:
        return look(*arguments)
    except Exception:
        return None


def readable(value):
    """Text of bytes, or of a string that the file system gave. What is no UTF-8 becomes a mark, as JSON must hold it."""
    return None if value is None else os.fsencode(value).decode("utf-8", "replace")


def variable(name):
    """An environment variable; one that is empty counts as unset."""
    return readable(os.environb.get(os.fsencode(name))) or None


def read(path):
    # Opening a pipe would wait for its writer.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(path + " is no file")
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def os_release():
    text = attempt(read, "/etc/os-release")
    if text is None:
        text = read("/usr/lib/os-release")
    return parse_os_release(text)


def parse_os_release(text):
    """The assignments of an os-release file, which are those of a shell (os-release(5))."""
    found = {}
    for line in text.splitlines():
        name, assigned, value = line.strip().partition("=")
        if assigned and not name.startswith("#"):
            try:
                found[name] = "".join(shlex.split(value)[:1])
            except ValueError:
                found[name] = value
    return found


def try_to_write(directory):
    """Creates a file and removes it. Gives whether it was created, and what went wrong or None."""
    path = os.path.join(directory, ".{}-{}-{}".format(NAME, os.getpid(), os.urandom(8).hex()))
    created = False
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        created = True
        os.unlink(path)
    except OSError as error:
        return created, error.strerror
    return created, None


def reserved_path():
    if not os.path.isdir(RESERVED_PATH):
        return "missing"
    return "writable" if try_to_write(RESERVED_PATH)[0] else "read-only"


def kernel_version(name):
    import site
    from importlib import metadata

    # A kernel's interpreter also looks where -I does not.
    paths = [path for path in (variable("PYTHONPATH") or "").split(os.pathsep) if path] + sys.path
    user_site = attempt(site.getusersitepackages)
    if user_site and sys.prefix == sys.base_prefix:
        paths.append(user_site)
    for distribution in metadata.distributions(name=name, path=paths):
        return distribution.version
    return None


def timezone():
    zone = variable("TZ") or (attempt(read, "/etc/timezone") or "").strip()
    if not zone:
        found = (attempt(os.readlink, "/etc/localtime") or "").rpartition("zoneinfo/")
        zone = found[2] if found[1] else time.tzname[0]
    return zone


def bundle_paths():
    try:
        import ssl

        defaults = ssl.get_default_verify_paths()
        return (defaults.cafile, defaults.openssl_cafile) + BUNDLES
    except Exception:
        return BUNDLES


def ca_bundle():
    for path in bundle_paths():
        found = attempt(os.stat, path) if path else None
        if found and stat.S_ISREG(found.st_mode) and found.st_size > 0:
            return path
    return None


def leave_orphan():
    """Starts a process whose parent ends at once, and gives its id."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            orphan = os.fork()
            if orphan:
                os.write(tell, str(orphan).encode())
            else:
                time.sleep(ORPHAN_LIVES)
        finally:
            os._exit(0)
    os.close(tell)
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        # Who started the doctor ignores SIGCHLD, and so does the doctor: the child is gone already.
        pass
    try:
        return int(os.read(told, 32))
    finally:
        os.close(told)


def processes():
    """State and parent of each process, by id (proc_pid_stat(5))."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/" + name + "/stat", encoding="latin-1") as file:
                    # The name before it may hold blanks and parentheses.
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except (OSError, ValueError):
                continue
            found[int(name)] = state, int(parent)
    return found


def orphan_zombies():
    """How many zombies PID 1 has once it could reap an orphan; None where /proc does not show it."""
    if os.readlink("/proc/self") != str(os.getpid()):
        return None
    orphan, started = leave_orphan(), time.monotonic()
    while True:
        found = processes()
        zombies = sum(1 for state, parent in found.values() if state == "Z" and parent == 1)
        waited = time.monotonic() - started
        ended = orphan not in found or found[orphan][0] == "Z"
        if orphan not in found and not zombies or ended and waited >= REAPED_WITHIN:
            return zombies
        if waited >= ENDED_WITHIN:
            return None
        time.sleep(POLL)


def look():
    """What the rows are judged by. Nothing of it judges."""
    name = os.uname()
    return {
        "system": name.sysname.lower(),
        "machine": name.machine,
        "os_release": attempt(os_release) or {},
        "user": attempt(lambda: readable(pwd.getpwuid(os.getuid()).pw_name)),
        "uid": os.getuid(),
        "gid": os.getgid(),
        "home": variable("HOME"),
        "home_is_directory": os.path.isdir(HOME),
        # The report's form has no place for a working directory that was removed.
        "cwd": attempt(lambda: readable(os.getcwdb())) or "",
        "workdir_fault": try_to_write(WORKDIR)[1],
        "python": readable(shutil.which("python3")),
        "pip": readable(shutil.which("pip")),
        "kernel": {package: attempt(kernel_version, package) for package in KERNEL_PACKAGES},
        "reserved_path": reserved_path(),
        "locale": variable("LC_ALL") or variable("LANG"),
        "timezone": attempt(timezone),
        "ca_bundle": attempt(ca_bundle),
        "pid1": (attempt(read, "/proc/1/comm") or "").strip() or None,
        "orphan_zombies": attempt(orphan_zombies),
    }


def or_unset(value):
    return "not set" if value is None else value


def judge(seen):
    """The rows: (id, whether it passes, what is expected, what is there, what is wrong if it does not pass)."""
    platform_name = seen["system"] + "/" + seen["machine"]
    release = seen["os_release"]
    families = [release.get("ID", "")] + release.get("ID_LIKE", "").split()
    missing = [package for package, version in seen["kernel"].items() if version is None]
    locale = (seen["locale"] or "").lower().replace("-", "").replace("_", "")
    # TZ may have a colon before the name of a zone.
    zone = re.sub("^:", "", seen["timezone"] or "")
    user = "has no name" if seen["user"] is None else "is " + seen["user"]
    if seen["home"] == HOME:
        home = HOME + " is no directory"
    else:
        home = "HOME is {}, not {}".format(or_unset(seen["home"]), HOME)
    if seen["orphan_zombies"] is None:
        init = "whether PID 1 reaps orphans cannot be observed"
    else:
        init = "PID 1 leaves orphans as zombies"
    return [
        ("architecture", seen["system"] == SYSTEM and seen["machine"] in MACHINES, "linux/amd64", platform_name,
         "this is " + platform_name),
        ("os", any(family in FAMILIES for family in families), "Debian-derived", release.get("PRETTY_NAME") or release.get("ID"),
         "os-release names neither Debian nor Ubuntu"),
        ("user", seen["user"] == USER, USER, seen["user"], "uid {} {}, not {}".format(seen["uid"], user, USER)),
        ("uid", seen["uid"] == UID, UID, seen["uid"], "the uid is {}, not {}".format(seen["uid"], UID)),
        ("gid", seen["gid"] == GID, GID, seen["gid"], "the gid is {}, not {}".format(seen["gid"], GID)),
        ("home", seen["home"] == HOME and seen["home_is_directory"], HOME, seen["home"], home),
        ("workdir", seen["workdir_fault"] is None, WORKDIR, seen["cwd"],
         "no file can be made in {}: {}".format(WORKDIR, seen["workdir_fault"])),
        ("python", seen["python"] is not None, "python3 on PATH", seen["python"], "PATH has no python3"),
        ("pip", seen["pip"] is not None, "pip on PATH", seen["pip"], "PATH has no pip"),
        ("kernel", not missing, list(KERNEL_PACKAGES), seen["kernel"], "not installed: " + ", ".join(missing)),
        ("reserved_path", seen["reserved_path"] == "read-only", RESERVED_PATH + " present and read-only", seen["reserved_path"],
         "{} is {}".format(RESERVED_PATH, seen["reserved_path"])),
        ("locale", locale == "c.utf8", LOCALE, seen["locale"], "LC_ALL or else LANG is {}, not {}".format(or_unset(seen["locale"]), LOCALE)),
        ("timezone", zone in UTC, TIMEZONE, seen["timezone"],
         "the time zone is {}, not {}".format(seen["timezone"] or "unknown", TIMEZONE)),
        ("ca_certificates", seen["ca_bundle"] is not None, "a CA bundle", seen["ca_bundle"], "there is no file of CA certificates"),
        ("init", seen["orphan_zombies"] == 0, "PID 1 reaps orphans", {"pid1": seen["pid1"], "orphanZombies": seen["orphan_zombies"]}, init),
    ]


def report(seen):
    rows = [
        {"id": row, "required": True, "ok": ok, "expected": expected, "actual": actual, "message": None if ok else wrong}
        for row, ok, expected, actual, wrong in judge(seen)
    ]
    failed = [row["id"] for row in rows if not row["ok"]]
    return {
        "doctor": NAME,
        "doctorVersion": VERSION,
        "contract": CONTRACT,
        "ok": not failed,
        "failed": failed[0] if failed else None,
        "rows": rows,
        "python": {"version": platform.python_version(), "executable": seen["python"], "pip": seen["pip"]},
        "kernel": seen["kernel"],
        "identity": {name: seen[name] for name in ("user", "uid", "gid", "home", "cwd")},
        "paths": {
            "writable": [] if "workdir" in failed else [WORKDIR],
            "readOnly": [] if "reserved_path" in failed else [RESERVED_PATH],
        },
        "locale": seen["locale"],
        "timezone": seen["timezone"],
        "caBundle": seen["ca_bundle"],
    }


def lines(found):
    for row in found["rows"]:
        yield "{} {} {}".format("ok" if row["ok"] else "FAIL", row["id"], row["message"] or "").rstrip()


def options():
    parser = argparse.ArgumentParser(prog=NAME, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=NAME + " " + VERSION)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    doctor = commands.add_parser("doctor", allow_abbrev=False, help="hold this sandbox against " + CONTRACT)
    doctor.add_argument("--json", action="store_true", help="print the report as one line of JSON")
    return parser.parse_args()


def complain(text):
    # Without a standard error, print would take standard output.
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def main():
    for stream in sys.stdout, sys.stderr:
        if stream is not None:
            # What an odd locale cannot write is no reason to end.
            stream.reconfigure(errors="backslashreplace")
    chosen = options()
    found = report(look())
    try:
        print(json.dumps(found, sort_keys=True) if chosen.json else "\n".join(lines(found)), flush=True)
    except OSError as error:
        complain("{}: the report cannot be written: {}".format(NAME, error.strerror))
        # Leaving as usual would try to write it again.
        os._exit(1)
    for row in found["rows"]:
        if not row["ok"]:
            complain("{} doctor: {} failed: {}".format(NAME, row["id"], row["message"]))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
