/** The worker's file. native/wasm/bundle.mjs makes worker.mjs of it. */
import type { Port, Reply, Request } from './messages.js'
import { startModule } from './modules.js'
import { serve } from './worker.js'

serve(globalThis as unknown as Port<Reply, Request>, ({ start, kind, threads }) =>
  startModule(kind, start, threads),
)
