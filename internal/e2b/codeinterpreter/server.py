"""Puts E2B's code-interpreter server into /opt/datalayer/code-interpreter. Runs in the base as root, standard library only.

usage: server.py FOLDER SOURCE [TARGET]

FOLDER holds manifest.json, server.lock, start.py and jupyter_server_config.py. SOURCE is the address or the folder of a
checkout of the server's repository at the manifest's commit. Each file is checked on its digest before and after the
edit, and nothing but what the manifest names is taken. Lines for the builder start with "datalayer: ".
"""

import hashlib
import http.client
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request


def fail(text):
    print("datalayer: " + text, file=sys.stderr)
    sys.exit(1)


def fetch(source, path):
    if not source.startswith(("https://", "http://")):
        with open(os.path.join(source, path), "rb") as file:
            return file.read()
    address = source.rstrip("/") + "/" + path
    for attempt in range(1, 4):
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            if attempt == 3 or error.code < 500 and error.code != 429:
                fail(f"{address} answered {error.code} {error.reason}")
        except (OSError, http.client.HTTPException) as error:
            if attempt == 3:
                fail(f"{address} did not answer, or not to the end: {error}")
        time.sleep(2**attempt)


def checked(path, content, want, when):
    found = hashlib.sha256(content).hexdigest()
    if found != want:
        fail(f"{path} has the SHA-256 {found} {when}, and {want} is pinned")


def edited(path, content, edits):
    text = content.decode()
    for edit in edits:
        if "drop_from" in edit:
            lines, kept, dropping, dropped = text.splitlines(keepends=True), [], False, 0
            for line in lines:
                dropping = dropping or edit["drop_from"] in line
                if not dropping:
                    kept.append(line)
                elif edit["drop_to"] in line:
                    dropping, dropped = False, dropped + 1
            if dropping or dropped != 1:
                fail(f"{path}: the lines to drop were found {dropped} times")
            text = "".join(kept)
            continue
        if text.count(edit["replace"]) != edit["count"]:
            fail(f"{path}: {edit['replace']} was found {text.count(edit['replace'])} times, not {edit['count']}")
        text = text.replace(edit["replace"], edit["by"])
    return text.encode()


def write(path, content, mode):
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)


def run(*command):
    # What the base says about pip must not change what a lock installs.
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_"))}
    code = subprocess.run(command, env=kept).returncode
    if code:
        fail(f"{command[2]} {command[3]} ended with status {code}")


def main():
    folder, source = sys.argv[1:3]
    target = sys.argv[3] if len(sys.argv) > 3 else "/opt/datalayer/code-interpreter"
    os.umask(0o022)
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    for entry in manifest["files"]:
        content = fetch(source, manifest["folder"] + "/" + entry["path"])
        checked(entry["path"], content, entry["sha256"], "as it comes")
        if "edits" in entry:
            content = edited(entry["path"], content, entry["edits"])
            checked(entry["path"], content, entry["edited_sha256"], "after the edit")
        write(os.path.join(target, "server", entry["path"]), content, 0o644)

    venv = target + "/venv"
    run(sys.executable, "-I", "-m", "venv", "--without-pip", venv)
    run(
        sys.executable, "-I", "-m", "pip", "--python", venv + "/bin/python", "install", "--require-hashes", "--no-deps",
        "--only-binary=:all:", "--root-user-action=ignore", "--no-input", "--no-cache-dir", "--disable-pip-version-check",
        "--progress-bar=off", "-r", os.path.join(folder, "server.lock"),
    )
    with open(os.path.join(folder, "jupyter_server_config.py"), "rb") as file:
        write(target + "/jupyter_server_config.py", file.read(), 0o644)
    with open(os.path.join(folder, "start.py"), "rb") as file:
        write(target + "/start", b"#!" + venv.encode() + b"/bin/python -I\n" + file.read(), 0o755)


main()
