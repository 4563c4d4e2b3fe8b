/** A process that finishes plans from messages, for tests of several concurrent processes. */
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
