"""E2B's Python SDKs against the stand-in: each call that succeeds, or fails as it should, is said on stdout."""

import os
import sys

from e2b import (
    AuthenticationException,
    BuildException,
    CommandExitException,
    NotFoundException,
    Sandbox,
    SandboxQuery,
    Template,
    wait_for_url,
)
from e2b_code_interpreter import Sandbox as CodeSandbox


def call(name, run):
    result = run()
    print("call", name, flush=True)
    return result


def refused(name, kind, words, run):
    try:
        run()
    except kind as error:
        assert words in str(error), f"{name}: {words!r} is not in {error}"
        print("call", name, flush=True)
        return error
    raise AssertionError(f"{name}: nothing was raised")


os.makedirs("context/src")
for path, text in {"context/requirements.txt": "x==1\n", "context/src/main.py": "print()\n"}.items():
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def image(password):
    return Template(file_context_path="context").from_image("registry.example:5000/team/env@sha256:aa", username="ci", password=password)


full = (
    image("registry-password")
    .set_envs({"FOO": "bar"})
    .run_cmd("print-many-lines")
    .copy("requirements.txt", "/app/")
    .copy("src", "/app/src", user="root", mode=0o755)
    .set_user("jovyan")
    .set_workdir("/home/jovyan")
    .set_start_cmd("start-me", wait_for_url("http://localhost:49999/health"))
)
lines = []
built = call("Template.build", lambda: Template.build(full, "py-tpl:v1", tags=["stable"], cpu_count=4, memory_mb=2048, on_build_logs=lambda entry: lines.append(entry.message)))
assert sum("many lines" in line for line in lines) == 230, len(lines)
again = call("Template.build, rebuilt", lambda: Template.build(full, "py-tpl", tags=["v2"]))
assert again.template_id == built.template_id and again.build_id != built.build_id
refused("Template.build, failing step", BuildException, "failed to run command 'fail-here': exit status 7", lambda: Template.build(image("registry-password").run_cmd("fail-here"), "py-tpl:bad"))
refused(
    "Template.build, wrong password", BuildException, "access denied to",
    lambda: Template.build(Template().from_image("registry.example:5000/other@sha256:bb", username="ci", password="wrong"), "py-tpl:bad"),
)
refused("Template.build, unknown key", AuthenticationException, "Invalid API key", lambda: Template.build(full, "py-tpl", api_key="e2b_" + "f" * 40))
background = call("Template.build_in_background", lambda: Template.build_in_background(Template().from_template("py-tpl:v1"), "py-child"))
while call("Template.get_build_status", lambda: Template.get_build_status(background)).status.value != "ready":
    pass

assert call("Template.exists", lambda: Template.exists("py-tpl")) is True
assert call("Template.exists, absent", lambda: Template.exists("absent")) is False
assert call("Template.assign_tags", lambda: Template.assign_tags(f"py-tpl:{built.build_id}", ["prod", "default"])).build_id == built.build_id
assert {tag.tag for tag in call("Template.get_tags", lambda: Template.get_tags("py-tpl"))} >= {"prod", "default", "v1", "v2", "stable"}
call("Template.remove_tags", lambda: Template.remove_tags("py-tpl", "prod"))
refused("Template.remove_tags, default", Exception, "Cannot delete the 'default' tag", lambda: Template.remove_tags("py-tpl", "default"))

sandbox = call("Sandbox.create", lambda: Sandbox.create(f"acme-team/py-tpl:{built.build_id}", envs={"GREETING": "hello"}, metadata={"run": "p q"}, timeout=120))
assert call("commands.run", lambda: sandbox.commands.run("echo $GREETING")).stdout == "hello\n"
assert refused("commands.run, exit 3", CommandExitException, "", lambda: sandbox.commands.run("exit 3")).exit_code == 3
slow = call("commands.run, in the background", lambda: sandbox.commands.run("sleep 600", background=True))
assert slow.pid in [process.pid for process in call("commands.list", lambda: sandbox.commands.list())]
assert call("commands.kill", lambda: sandbox.commands.kill(slow.pid)) is True
call("files.write", lambda: sandbox.files.write("/home/jovyan/a.txt", "content"))
assert call("files.read", lambda: sandbox.files.read("/home/jovyan/a.txt")) == "content"
assert call("files.exists", lambda: sandbox.files.exists("/home/jovyan/a.txt")) is True
assert call("files.exists, absent", lambda: sandbox.files.exists("/nope")) is False
refused("files.read, absent", NotFoundException, "", lambda: sandbox.files.read("/nope"))
assert call("files.get_info", lambda: sandbox.files.get_info("/home/jovyan/a.txt")).size == 7
call("files.make_dir", lambda: sandbox.files.make_dir("/home/jovyan/new"))
call("files.rename", lambda: sandbox.files.rename("/home/jovyan/a.txt", "/home/jovyan/new/a.txt"))
assert [entry.name for entry in call("files.list", lambda: sandbox.files.list("/home/jovyan"))] == ["new"]
call("files.remove", lambda: sandbox.files.remove("/home/jovyan/new"))
assert call("sandbox.is_running", lambda: sandbox.is_running()) is True
call("sandbox.set_timeout", lambda: sandbox.set_timeout(60))
assert call("sandbox.get_info", lambda: sandbox.get_info()).template_id == built.template_id
listed = call("Sandbox.list", lambda: Sandbox.list(query=SandboxQuery(metadata={"run": "p q"})).next_items())
assert [one.sandbox_id for one in listed] == [sandbox.sandbox_id]
call("sandbox.pause", lambda: sandbox.pause())
resumed = call("Sandbox.connect", lambda: Sandbox.connect(sandbox.sandbox_id, timeout=30))
assert call("sandbox.kill", lambda: resumed.kill()) is True

interpreter = call("code_interpreter.Sandbox.create", lambda: CodeSandbox.create(envs={"GREETING": "hello"}, timeout=60))
execution = call("run_code", lambda: interpreter.run_code('print("hi")\n1+1', envs={"X": "1"}))
assert execution.text == "2" and execution.logs.stdout == ["hi\n"]
assert call("run_code, error", lambda: interpreter.run_code('raise ValueError("no")')).error.name == "ValueError"
context = call("create_code_context", lambda: interpreter.create_code_context(cwd="/tmp", language="python"))
assert call("run_code, in a context", lambda: interpreter.run_code("2+3", context=context)).text == "5"
assert context.id in [one.id for one in call("list_code_contexts", lambda: interpreter.list_code_contexts())]
call("restart_code_context", lambda: interpreter.restart_code_context(context))
call("remove_code_context", lambda: interpreter.remove_code_context(context))
assert call("code_interpreter.sandbox.kill", lambda: interpreter.kill()) is True
sys.exit(0)
