import { Sandbox } from '@e2b/code-interpreter'
import { assert, call } from './calls.mjs'

const sandbox = await call('Sandbox.create', () =>
  Sandbox.create({ envs: { GREETING: 'hello' }, timeoutMs: 60_000, network: { allowPublicTraffic: false } }))
const printed = []
const execution = await call('runCode', () => sandbox.runCode('print("hi")\n1+1', { envs: { X: '1' }, onStdout: (message) => printed.push(message.line) }))
assert.equal(execution.text, '2')
assert.deepEqual(execution.logs.stdout, ['hi\n'])
assert.deepEqual(printed, ['hi\n'])
const failed = await call('runCode, error', () => sandbox.runCode('raise ValueError("no")'))
assert.equal(failed.error.name, 'ValueError')
assert.equal(failed.error.value, 'no')

const context = await call('createCodeContext', () => sandbox.createCodeContext({ language: 'python', cwd: '/tmp' }))
assert.equal(context.cwd, '/tmp')
assert.equal((await call('runCode, in a context', () => sandbox.runCode('2+3', { context }))).text, '5')
assert.ok((await call('listCodeContexts', () => sandbox.listCodeContexts())).some((one) => one.id === context.id))
await call('restartCodeContext', () => sandbox.restartCodeContext(context))
await call('removeCodeContext', () => sandbox.removeCodeContext(context))
await call('runCode, in a removed context', async () => {
  await assert.rejects(sandbox.runCode('1+1', { context }), /not found/)
})
await call('files.write', () => sandbox.files.write('/tmp/x', 'x'))
assert.equal((await call('commands.run', () => sandbox.commands.run('echo $GREETING'))).stdout, 'hello\n')
assert.equal(await call('sandbox.kill', () => sandbox.kill()), true)
// The SDK leaves a timer of a minute behind.
process.exit(0)
