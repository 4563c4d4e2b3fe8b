/** What the tests need to know of the machine. */
import { explainBackend, info } from '../../lib/index.js'

/** Why CUDA can't be used here; undefined where it can. */
export function withoutCuda(): string | undefined {
  const { backend, reason } = explainBackend()
  // Without what is known of WebGPU.
  return backend === 'cuda' ? undefined : reason.replace(/; and WebGPU .*/, '')
}

/** Why the laboratory's kernels aren't there; undefined where they are. */
export function withoutLaboratory(): string | undefined {
  const { addon, cuda } = info()
  if (addon.kind === 'lab') return undefined
  return cuda.built ? 'the laboratory is not built: npm run build -- lab' : cuda.status
}

/** The name of tests that are skipped for a reason, if there is one. */
export const named = (what: string, reason: string | undefined) =>
  reason === undefined ? what : `${what} (skipped: ${reason})`

/** Why there aren't two GPUs that can be used; undefined where there are. */
export function withoutTwo(): string | undefined {
  const reason = withoutCuda() ?? explainBackend({ device: 1 }).reason
  return info().cuda.devices.length > 1 && explainBackend({ device: 1 }).backend === 'cuda'
    ? undefined
    : reason
}

/** Whether products of few levels run on the first GPU's tensor cores. */
export const tensorCores = (): boolean => info().cuda.devices[0]?.tensorCores === 'exact exponents (checked)'
