/** Properties of the machine that tests depend on. */
import { explainBackend, info } from '../../lib/index.js'

/** Reason why CUDA can't be used here; undefined if it can. */
export function withoutCuda(): string | undefined {
  const { backend, reason } = explainBackend()
  // The clause about WebGPU is removed.
  return backend === 'cuda' ? undefined : reason.replace(/; and WebGPU .*/, '')
}

/** Reason to skip tests of a machine without CUDA; undefined on such a machine. */
export const withCuda = () => (withoutCuda() === undefined ? 'a GPU can be used here' : undefined)

/** Reason to skip tests of missing permissions; false unless the user is root. */
export const asRoot = process.getuid?.() === 0 && 'root may write everywhere'

/** Reason why the laboratory's kernels don't exist; undefined if they do. */
export function withoutLaboratory(): string | undefined {
  const { addon, cuda } = info()
  if (addon.kind === 'lab') return undefined
  return cuda.built ? 'the laboratory is not built: npm run build -- lab' : cuda.status
}

/** Reason why two usable GPUs don't exist; undefined if they do. */
export function withoutTwo(): string | undefined {
  const reason = withoutCuda() ?? explainBackend({ device: 1 }).reason
  return info().cuda.devices.length > 1 && explainBackend({ device: 1 }).backend === 'cuda'
    ? undefined
    : reason
}

/** Returns whether products of a small range run on the first GPU's tensor cores. */
export const tensorCores = (): boolean => info().cuda.devices[0]?.tensorCores === 'exact exponents (checked)'
