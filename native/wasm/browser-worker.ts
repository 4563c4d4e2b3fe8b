/** The worker's file. native/wasm/bundle.mjs makes worker.mjs of it. */
import type { Port, Reply, Request } from '../../lib/remote/messages.js'
import { serve } from '../../lib/remote/service.js'
import { startModule } from './modules.js'

serve(globalThis as unknown as Port<Reply, Request>, ({ start, kind, threads }) =>
  startModule(kind, start!, threads),
)
