/** Records the software, the hardware and the time of a measurement. */
import type { BackendChoice, BackendName } from '../lib/index.js'
import { info } from '../lib/index.js'
import { machine } from '../lib/lab.js'
import { commit } from './commit.js'

export interface RunEnvironment {
  mpmml: string
  commit: string | null
  measured: string
  cpu: { model: string; simd: string; cores: number }
  gpu: { name: string; driver: string; toolkit: string; maxClockMHz: number } | null
}

/**
 * Returns the backends that are measured, the GPU first.
 *
 * @param requested - 'auto' selects the GPU if one is usable, otherwise the CPU; 'all' selects both.
 * @throws ResourceError if a GPU is requested and no GPU is usable.
 */
export function backendsOf(requested: BackendChoice | 'all', device: number): BackendName[] {
  if (requested === 'cuda') machine(device)
  if (requested === 'cuda' || requested === 'webgpu' || requested === 'cpu') return [requested]
  if (info().cuda.reason !== '') return ['cpu']
  return requested === 'all' ? ['cuda', 'cpu'] : ['cuda']
}

/** @param device - the GPU that was measured; null if none was. */
export function runEnvironment(device: number | null): RunEnvironment {
  const { version, cpu, cuda } = info()
  const gpu = device === null ? undefined : cuda.devices[device]
  return {
    mpmml: version,
    commit: commit(),
    measured: new Date().toISOString(),
    cpu: { model: cpu.model, simd: cpu.simd, cores: cpu.cores },
    gpu: gpu
      ? {
          name: String(gpu.name),
          driver: cuda.driver,
          toolkit: cuda.toolkit,
          maxClockMHz: Number(gpu.maxClockMHz),
        }
      : null,
  }
}

/** Returns the header rows of a table that describe the environment. */
export function describeCircumstances({
  mpmml,
  commit,
  gpu,
  cpu,
}: RunEnvironment): [string, string | undefined][] {
  return [
    ['mpmml', mpmml + (commit ? `, commit ${commit}` : '')],
    [
      'GPU',
      gpu
        ? `${gpu.name}, at most ${gpu.maxClockMHz} MHz, driver for CUDA ${gpu.driver}, built with ${gpu.toolkit}`
        : undefined,
    ],
    ['CPU', `${cpu.model}, ${cpu.simd}`],
  ]
}
