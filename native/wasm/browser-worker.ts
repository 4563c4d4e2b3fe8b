/** Entry point of the worker. native/wasm/bundle.mjs bundles it as worker.mjs. */
import type { Port, Reply, Request } from './messages.js'
import { startModule } from './modules.js'
import { serve } from './worker.js'

serve(globalThis as unknown as Port<Reply, Request>, ({ start, kind, threads }) =>
  startModule(kind, start, threads),
)
