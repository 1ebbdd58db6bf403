"""Starts Jupyter Server and E2B's code-interpreter server, as the user of the sandbox, and ends when either does.

E2B runs it once, at the end of the build, and keeps what it started in the snapshot that sandboxes begin from. What
kernels see of the environment is therefore decided here.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

TARGET = os.path.dirname(os.path.abspath(__file__))
WORKDIR = "/home/datalayer/content"
# A server that does not come up within this time is a failed build, which shows the end of the log.
PATIENCE = 90


def environment():
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER_", "PYTHON"))}
    variables.update(HOME="/home/datalayer", LANG="C.UTF-8", LC_ALL="C.UTF-8", TZ="UTC")
    try:
        with open("/opt/datalayer/environment.json", encoding="utf-8") as file:
            variables.update(json.load(file))
    except FileNotFoundError:
        pass
    return variables


def answers(address):
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def main():
    if os.getuid() == 0:
        sys.exit("datalayer: the code-interpreter server is not started as root: kernels would be root")
    log = tempfile.NamedTemporaryFile(prefix="code-interpreter-", suffix=".log", delete=False)
    variables, processes = environment(), []

    def start(command, env, cwd):
        processes.append(subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def end(code):
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        sys.exit(code)

    def wait_for(address):
        began = time.monotonic()
        while not answers(address):
            if time.monotonic() - began > PATIENCE or any(process.poll() is not None for process in processes):
                with open(log.name, errors="replace") as text:
                    sys.stderr.write("".join(text.readlines()[-40:]))
                print(f"datalayer: {address} did not answer", file=sys.stderr)
                end(1)
            time.sleep(0.2)

    signal.signal(signal.SIGTERM, lambda *_: end(0))
    base = getattr(sys, "_base_executable", sys.executable)
    start([base, "-m", "jupyter_server", "--config=" + TARGET + "/jupyter_server_config.py"], variables, WORKDIR)
    wait_for("http://127.0.0.1:8888/api/status")
    start(
        [sys.executable, "-m", "uvicorn", "main:app", "--host", "0.0.0.0", "--port", "49999", "--workers", "1",
         "--no-access-log", "--no-use-colors", "--timeout-keep-alive", "640"],
        {**variables, "PYTHONDONTWRITEBYTECODE": "1"}, TARGET + "/server",
    )
    wait_for("http://127.0.0.1:49999/health")
    print("datalayer: the code-interpreter server is ready", flush=True)
    while all(process.poll() is None for process in processes):
        time.sleep(1)
    end(1)


main()
