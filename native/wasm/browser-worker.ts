/** The worker's file: native/wasm/build.mjs makes worker.mjs of it. */
import { startModule } from './connect.js'
import { serve } from './worker.js'

serve(({ start, kind, threads }) => startModule(kind, start, threads))
