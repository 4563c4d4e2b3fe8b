/** The worker's file. native/wasm/bundle.mjs makes worker.mjs of it. */
import type { Port, Reply, Request } from '../../lib/remote/messages.js'
import { serve } from '../../lib/remote/service.js'
import { withWebGpuNames } from '../../lib/webgpu/names.js'
import { gpuFunctions } from '../../lib/webgpu/session.js'
import { withGpu } from '../../lib/webgpu/with-gpu.js'
import { startModule } from './modules.js'

serve(globalThis as unknown as Port<Reply, Request>, async ({ start, kind, threads }) => {
  const addon = withWebGpuNames(await startModule(kind, start!, threads))
  const findGpu = async () => navigator.gpu ?? null
  return { ...withGpu(addon, gpuFunctions(addon as never, findGpu)) }
})
