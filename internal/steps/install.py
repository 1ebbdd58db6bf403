"""Installs a hash-locked set into the system site-packages. Runs as root in the base, standard library only.

usage: install.py REQUIREMENTS REPORT   (REQUIREMENTS is in the canonical form: one requirement with its hashes a line)

REPORT gets {"installed": {name: version}}. Lines for the builder start with "datalayer: ".
"""

import base64
import json
import os
import re
import ssl
import subprocess
import sys
import sysconfig
import urllib.error
import urllib.parse
import urllib.request
from importlib import metadata


INDEX = "/run/secrets/datalayer-index-url"


def normalize(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def step_environment():
    # What the base or the daemon says about pip must not change what a lock installs.
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_"))}
    if os.path.exists(INDEX):
        # pip's configuration files would go before a file of ours, and its log masks a password in this variable.
        with open(INDEX, encoding="utf-8") as file:
            kept.update(PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL=file.read())
    return kept


def certificates():
    for path in ("/run/secrets/datalayer-index-ca", "/run/secrets/datalayer-ca-bundle"):
        if os.path.exists(path):
            return ["--cert=" + path]
    return []


def index_address():
    """The package index, its login apart; None where pip's own configuration says which."""
    if not os.path.exists(INDEX):
        return None, None
    with open(INDEX, encoding="utf-8") as file:
        address = urllib.parse.urlsplit(file.read())
    return address._replace(netloc=address.netloc.rpartition("@")[2]), address


def index_options():
    bare, _ = index_address()
    # pip asks nothing of a plain HTTP index unless told to: hashes protect what comes from it.
    return ["--trusted-host=" + bare.netloc] if bare and bare.scheme == "http" else []


class Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects as pip does: the login of the index stays with its own scheme, host and port, or goes from HTTP to HTTPS."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        before, after = origin(req.full_url), origin(newurl)
        if request and before != after and (before, after) != (("http", after[1], 80), ("https", before[1], 443)):
            request.remove_header("Authorization")
        if request:
            # The next address may be one that no proxy is asked for; where one is, this is added again.
            request.remove_header("Proxy-authorization")
        return request


def origin(url):
    address = urllib.parse.urlsplit(url)
    return address.scheme, address.hostname, address.port or {"http": 80, "https": 443}.get(address.scheme)


def ask_index(lines):
    """Says how the index answers for the packages: pip's log is silent on a refused login and on a failing index."""
    bare, address = index_address()
    if not bare:
        return
    trusted = [option.partition("=")[2] for option in certificates()]
    for line in lines:
        if " @ " in line.partition(" ; ")[0]:
            continue
        name = normalize(re.match(r"[A-Za-z0-9._-]+", line).group())
        request = urllib.request.Request(urllib.parse.urlunsplit(bare).rstrip("/") + f"/{name}/")
        if address.username:
            login = ":".join(urllib.parse.unquote(part or "") for part in (address.username, address.password))
            request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
        try:
            context = ssl.create_default_context(cafile=trusted[0] if trusted else None)
            opener = urllib.request.build_opener(Redirects, urllib.request.HTTPSHandler(context=context))
            opener.open(request, timeout=20).close()
        except urllib.error.HTTPError as error:
            print(f"datalayer: index answered {error.code} {error.reason} for {name}", file=sys.stderr)
            if error.code != 404:
                return
        except (OSError, ValueError) as error:
            print(f"datalayer: index did not answer: {error}", file=sys.stderr)
            return


def pip(*arguments, capture=False):
    # -B: what pip imports is not ours to compile; what it installs it compiles all the same.
    command = [sys.executable, "-I", "-B", "-X", "utf8", "-m", "pip", *arguments]
    return subprocess.run(
        command, env=step_environment(), text=True, errors="replace",
        stdout=subprocess.PIPE if capture else None, stderr=subprocess.PIPE if capture else None,
    )


def problems():
    """What `pip check` finds: {problem: line}. A problem is the same whichever version of the other package is there."""
    result = pip("check", "--disable-pip-version-check", capture=True)
    if result.returncode not in (0, 1):
        print(f"datalayer: pip check ended with status {result.returncode}\n{result.stderr}", file=sys.stderr)
        raise SystemExit(1)
    if result.returncode == 0:
        return {}
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    return {line.partition(", but you have ")[0]: line for line in lines}


def externally_managed():
    return os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))


def distributions():
    found = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            # The first on sys.path is the one that is imported.
            found.setdefault(normalize(name), distribution)
    return found


def main():
    requirements_path, report_path = sys.argv[1:]
    with open(requirements_path, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line]
    names = {line: normalize(re.match(r"[A-Za-z0-9._-]+", line).group()) for line in lines}

    installed = distributions()
    # pip cannot uninstall what dpkg installed, since it has no RECORD: install beside it, in front on sys.path.
    apt_owned = {name for name in names.values() if name in installed and installed[name].read_text("RECORD") is None}
    before = problems()

    common = [
        "install", "--require-hashes", "--no-deps", "--no-build-isolation", "--root-user-action=ignore", "--no-input",
        "--no-cache-dir", "--disable-pip-version-check", "--progress-bar=off",
    ]
    if externally_managed():
        common.append("--break-system-packages")
    common += certificates() + index_options()
    for extra, chosen in (
        ([], [line for line in lines if names[line] not in apt_owned]),
        (["--ignore-installed"], [line for line in lines if names[line] in apt_owned]),
    ):
        if not chosen:
            continue
        part = os.path.join(os.path.dirname(report_path), "requirements.txt")
        with open(part, "w", encoding="utf-8") as file:
            file.write("\n".join(chosen) + "\n")
        code = pip(*common, *extra, "-r", part).returncode
        os.remove(part)
        if code:
            ask_index(chosen)
            print(f"datalayer: pip install ended with status {code}", file=sys.stderr)
            return 1

    new = sorted(line for found, line in problems().items() if found not in before)
    for line in new:
        print(f"datalayer: new problem: {line}", file=sys.stderr)
    if new:
        return 2

    importable = subprocess.run(
        [sys.executable, "-I", "-B", "-c", LIST], env=step_environment(), text=True, stdout=subprocess.PIPE, check=True
    ).stdout
    found = json.loads(importable)
    with open(report_path, "w", encoding="utf-8") as report:
        json.dump({"installed": {name: found[name] for name in names.values() if name in found}}, report)
    return 0


# Asked of a new interpreter: this one has cached what site-packages held before.
LIST = """
import json, re
from importlib import metadata
found = {}
for d in metadata.distributions():
    name = d.metadata["Name"]
    if name:
        found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), d.version)
print(json.dumps(found))
"""

if __name__ == "__main__":
    sys.exit(main())
