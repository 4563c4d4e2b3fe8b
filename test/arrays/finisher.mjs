/** A process that finishes the plans that it is sent, for tests of several at once. */
import { finish } from '../../dist/lib/arrays.js'

process.on('message', async (plan) => {
  try {
    await finish(plan)
    process.send({ error: null })
  } catch ({ code, message }) {
    process.send({ error: `${code}: ${message}` })
  }
})
process.send('ready')
