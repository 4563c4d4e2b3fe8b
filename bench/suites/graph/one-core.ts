/** The process in which witness.ts measures with one thread. */
import { measureOneCore, type OneCore } from './witness.js'

process.once('message', async (request: OneCore) => {
  const found = await measureOneCore(request)
  process.send!(found, () => process.disconnect())
})
// The parent process is gone.
process.once('disconnect', () => process.exit())
