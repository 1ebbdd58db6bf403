import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import {
  AuthenticationError, BuildError, CommandExitError, FileNotFoundError, RateLimitError, Sandbox, SandboxNotFoundError, Template, TemplateError, waitForURL,
} from 'e2b'
import { assert, call, refused } from './calls.mjs'

mkdirSync('context/src', { recursive: true })
writeFileSync('context/requirements.txt', 'x==1\n')
writeFileSync('context/src/main.py', 'print("hi")\n')
symlinkSync('main.py', 'context/src/link.py')

const image = (password, user = 'ci') => Template({ fileContextPath: 'context' }).fromImage('registry.example:5000/team/env@sha256:aa', { username: user, password })
const full = image('registry-password')
  .setEnvs({ FOO: 'bar' })
  .runCmd('print-many-lines')
  .runCmd(['a', 'b'], { user: 'root' })
  .copy('requirements.txt', '/app/')
  .copy('src', '/app/src', { user: 'root', mode: 0o755 })
  .setUser('jovyan')
  .setWorkdir('/home/jovyan')
  .setStartCmd('start-me', waitForURL('http://localhost:49999/health'))

const lines = []
const built = await call('Template.build', () =>
  Template.build(full, 'my-tpl:v1', { tags: ['stable'], cpuCount: 4, memoryMB: 2048, onBuildLogs: (entry) => lines.push(entry.message) }))
assert.deepEqual([...built.tags].sort(), ['stable', 'v1'])
assert.equal(lines.filter((line) => line.includes('many lines')).length, 230)
assert.ok(lines.some((line) => line.includes('Build finished')))

const again = await call('Template.build, rebuilt', () => Template.build(full, 'my-tpl', { tags: ['v2'] }))
assert.equal(again.templateId, built.templateId)
assert.notEqual(again.buildId, built.buildId)

await refused('Template.build, wrong password', BuildError, /access denied to 'registry.example:5000\/other@sha256:bb'/, () =>
  Template.build(Template().fromImage('registry.example:5000/other@sha256:bb', { username: 'ci', password: 'wrong' }), 'my-tpl:bad'))
await refused('Template.build, failing step', BuildError, /failed to run command 'fail-here': exit status 7/, () =>
  Template.build(image('registry-password').runCmd('fail-here'), 'my-tpl:bad'))
await refused('Template.build, bad name', BuildError, /400: Invalid name/, () => Template.build(full, 'bad name!'))
await refused('Template.build, too large', BuildError, /Memory can't be higher than 8192 MiB/, () => Template.build(full, 'my-tpl', { memoryMB: 1 << 20 }))
await refused('Template.build, unknown base template', BuildError, /template 'acme-team\/absent' not found/, () =>
  Template.build(Template().fromTemplate('absent'), 'my-tpl:bad'))
await refused('Template.build, unknown key', AuthenticationError, /Invalid API key/, () =>
  Template.build(full, 'my-tpl', { apiKey: 'e2b_00000000000000000000000000000000000000ff' }))

const background = await call('Template.buildInBackground', () => Template.buildInBackground(Template().fromTemplate('my-tpl:v1').runCmd('c'), 'child'))
let status
do {
  status = await call('Template.getBuildStatus', () => Template.getBuildStatus(background, { logsOffset: 0 }))
} while (status.status !== 'ready')
assert.ok(status.logEntries.length > 3)

assert.equal(await call('Template.exists', () => Template.exists('my-tpl')), true)
assert.equal(await call('Template.exists, team and name', () => Template.exists('acme-team/my-tpl')), true)
assert.equal(await call('Template.exists, absent', () => Template.exists('absent')), false)
const assigned = await call('Template.assignTags', () => Template.assignTags(`my-tpl:${built.buildId}`, ['prod', 'default']))
assert.equal(assigned.buildId, built.buildId)
const tags = await call('Template.getTags', () => Template.getTags('my-tpl'))
assert.deepEqual(tags.filter((tag) => tag.buildId === built.buildId).map((tag) => tag.tag), ['default', 'prod', 'stable', 'v1'])
await call('Template.removeTags', () => Template.removeTags('my-tpl', 'prod'))
await refused('Template.removeTags, default', TemplateError, /Cannot delete the 'default' tag/, () => Template.removeTags('my-tpl', 'default'))

const sandbox = await call('Sandbox.create', () =>
  Sandbox.create(`acme-team/my-tpl:${built.buildId}`, { envs: { GREETING: 'hello' }, metadata: { run: 'a b' }, timeoutMs: 120_000 }))
const ran = await call('commands.run', () => sandbox.commands.run('echo $GREETING'))
assert.equal(ran.stdout, 'hello\n')
const exit = await refused('commands.run, exit 3', CommandExitError, /./, () => sandbox.commands.run('exit 3'))
assert.equal(exit.exitCode, 3)
const slow = await call('commands.run, in the background', () => sandbox.commands.run('sleep 600', { background: true, stdin: true }))
assert.ok((await call('commands.list', () => sandbox.commands.list())).some((process) => process.pid === slow.pid))
await call('commands.sendStdin', () => sandbox.commands.sendStdin(slow.pid, 'text'))
const joined = await call('commands.connect', () => sandbox.commands.connect(slow.pid))
assert.equal(joined.pid, slow.pid)
assert.equal(await call('commands.kill', () => sandbox.commands.kill(slow.pid)), true)
await call('commands.wait', () => Promise.all([slow, joined].map((one) => one.wait().catch((error) => error))))

await call('files.write', () => sandbox.files.write('/home/jovyan/a.txt', 'content'))
await call('files.write, two', () => sandbox.files.write([{ path: '/home/jovyan/b.txt', data: 'b' }, { path: '/home/jovyan/d/c.txt', data: 'c' }]))
assert.equal(await call('files.read', () => sandbox.files.read('/home/jovyan/a.txt')), 'content')
assert.equal((await call('files.getInfo', () => sandbox.files.getInfo('/home/jovyan/a.txt'))).size, 7)
assert.equal(await call('files.exists, absent', () => sandbox.files.exists('/nope')), false)
await refused('files.read, absent', FileNotFoundError, /./, () => sandbox.files.read('/nope'))
assert.equal(await call('files.makeDir', () => sandbox.files.makeDir('/home/jovyan/new')), true)
await call('files.rename', () => sandbox.files.rename('/home/jovyan/a.txt', '/home/jovyan/new/a.txt'))
assert.deepEqual((await call('files.list', () => sandbox.files.list('/home/jovyan'))).map((entry) => entry.name), ['b.txt', 'd', 'new'])
await call('files.remove', () => sandbox.files.remove('/home/jovyan/new'))

assert.equal(await call('sandbox.isRunning', () => sandbox.isRunning()), true)
await call('sandbox.setTimeout', () => sandbox.setTimeout(60_000))
const info = await call('sandbox.getInfo', () => sandbox.getInfo())
assert.equal(info.templateId, built.templateId)
assert.equal(info.metadata.run, 'a b')
const listed = await call('Sandbox.list', () => Sandbox.list({ query: { metadata: { run: 'a b' }, state: ['running'] }, limit: 10 }).nextItems())
assert.deepEqual(listed.map((one) => one.sandboxId), [sandbox.sandboxId])
await call('sandbox.getMetrics', () => sandbox.getMetrics())
await call('sandbox.pause', () => sandbox.pause())
const resumed = await call('Sandbox.connect', () => Sandbox.connect(sandbox.sandboxId, { timeoutMs: 30_000 }))
assert.equal((await call('commands.run, resumed', () => resumed.commands.run('echo back'))).stdout, 'back\n')
assert.equal(await call('sandbox.kill', () => resumed.kill()), true)
assert.equal(await call('sandbox.isRunning, ended', () => sandbox.isRunning()), false)
assert.equal(await call('Sandbox.kill, ended', () => Sandbox.kill(sandbox.sandboxId)), false)
await refused('Sandbox.connect, ended', SandboxNotFoundError, /./, () => Sandbox.connect(sandbox.sandboxId))
await refused('Sandbox.create, absent', Error, /template 'acme-team\/absent' not found/, () => Sandbox.create('absent'))

// The driver refuses what is built under this name, first with Retry-After, then without.
await call('Template.build, after a 429 that names a time', () => Template.build(Template().fromTemplate('my-tpl:v1'), 'limited'))
await refused('Template.build, 429 without a time', RateLimitError, /concurrent template builds/, () => Template.build(Template().fromTemplate('my-tpl:v1'), 'limited'))
