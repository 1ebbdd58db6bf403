import assert from 'node:assert/strict'

// call makes one call of the SDK and says so; what it throws ends the run.
export async function call(name, run) {
  try {
    const result = await run()
    console.log(`call ${name}`)
    return result
  } catch (error) {
    console.error(`${name}:`, error)
    process.exit(1)
  }
}

// refused wants a call to throw an error of a class with the words, and gives it.
export function refused(name, type, words, run) {
  return call(name, async () => {
    const error = await run().then(() => assert.fail('nothing was thrown'), (thrown) => thrown)
    assert.ok(error instanceof type, `${error?.constructor?.name} instead of ${type.name}: ${error}`)
    assert.match(String(error.message), words)
    return error
  })
}

export { assert }
