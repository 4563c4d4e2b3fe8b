/** The worker's file. native/wasm/bundle.mjs makes worker.mjs of it. */
import { startModule } from './modules.js'
import { serve } from './worker.js'

serve(({ start, kind, threads }) => startModule(kind, start, threads))
