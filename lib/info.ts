/** Describes the library on this machine: the build, the devices, and the backend that `auto` selects. */

import { explainBackend } from './backend.js'
import type { BackendName } from './backend-name.js'
import { configureCpu, limitPinned } from './environment.js'
import { natively } from './errors.js'
import { type AddonOrigin, driverTraces, largerAddons } from './load.js'
import { addon, addonOrigin, buildAgain, type NativeDescription, version } from './native.js'
import { cores, exists, processor, runtime } from './platform.js'
import { gpuName, knownGpu } from './webgpu/look.js'
import type { GpuDescription } from './webgpu/with-gpu.js'

/** Result of {@link info}. */
export interface Info {
  /** The package's version. */
  version: string
  /** The C++ compiler that built the addon. */
  compiler: string
  /** The version of Node.js. */
  node: string
  /** The loaded addon. `larger` lists the installed addons with more features, which MPMML_ADDON can select. */
  addon: AddonOrigin & { readonly larger: readonly ('cuda' | 'lab')[] }
  /** The CUDA backend and the GPUs. */
  cuda: {
    /** Whether this addon has the CUDA backend. */
    built: boolean
    /** One line about the CUDA build, or the reason why CUDA wasn't built. */
    status: string
    /** Version of the CUDA toolkit that built the addon; '' without CUDA. */
    toolkit: string
    /** The architectures that the kernels were compiled for, for example "sm_90", "compute_90". */
    architectures: string[]
    /** Version of CUDA that the driver supports; '' without a driver. */
    driver: string
    /**
     * The GPUs, each with the rows of the thesis' Table 1.2, and whether products of few levels run on its
     * tensor cores (`tensorCores`). The first use, or the first call of info(), checks the tensor cores.
     */
    devices: Record<string, number | string>[]
    /**
     * Pinned host memory for results, in bytes: the limit, the allocated memory, and the memory that arrays
     * use.
     */
    pinned: { limit: number; held: number; used: number }
    /** Reason why CUDA can't be used, and what to do; '' if it can be used. */
    reason: string
  }
  /** The CPU backend and the processor. */
  cpu: {
    /** The name of the processor. */
    model: string
    /** Logical cores that this process may use. */
    cores: number
    /** The instruction set that products on the CPU use here. */
    simd: string
    /** The instruction sets that products on the CPU could use here, best first: those that MPMML_CPU_ISA may name. */
    instructionSets: string[]
    /** Largest number of threads of a product on the CPU. */
    threads: number
  }
  /** WebGPU, as far as earlier calls have examined it. `looked` is false before the first such call. */
  webgpu: {
    /** Whether a call has looked for a GPU. */
    looked: boolean
    /** Name of the GPU; '' if none was found. */
    name: string
    /** Properties of the adapter; null if none was found. */
    adapter: GpuDescription['adapter']
    /** Device limits that matter to the library, by WebGPU's names. */
    limits: Readonly<Record<string, number>>
    /** Whether sums of float32 round to nearest; otherwise WebGPU computes none of them. */
    roundsToNearest: boolean
    /**
     * Reason why WebGPU can't be used: no GPU, or a failed self-test; '' if it can be used, or before the first
     * search.
     */
    reason: string
  }
  /** Backend that `auto` selects, and the reason. */
  auto: { backend: BackendName; reason: string }
}

function webGpuInfo(): Info['webgpu'] {
  const gpu = knownGpu()
  if (!gpu) return { looked: false, name: '', adapter: null, limits: {}, roundsToNearest: false, reason: '' }
  return { ...gpu, looked: true, name: gpu.adapter ? gpuName(gpu) : '' }
}

/**
 * Returns the reason why CUDA can't be used, and what to do if the machine has a GPU but the build has no
 * CUDA backend.
 */
export function cudaReason(
  built: boolean,
  reason: string,
  isThere: (path: string) => boolean = exists,
): string {
  // The texts of other reasons include a remedy.
  const ways = new Map([
    ['nvcc was not found', `install the CUDA toolkit with nvcc, 12.0 or newer, then run: ${buildAgain()}`],
    ['built without CUDA, because no NVIDIA driver was found', `run: ${buildAgain()}`],
  ])
  const [, way] = [...ways].find(([known]) => reason.includes(known)) ?? []
  const trace = built || way === undefined ? undefined : driverTraces.find(isThere)
  return trace === undefined ? reason : `${reason}. This machine has an NVIDIA driver (${trace}): ${way}`
}

/**
 * Returns native code's description of the build and the machine. Throws OptionError if a setting of the CPU
 * backend is invalid.
 */
export function describeMachine(): NativeDescription {
  configureCpu()
  return natively(() => addon.describe())
}

/**
 * Returns the version, the build, the GPUs, the CPU and the backend that `auto` selects.
 *
 * @throws ArgumentError (ERR_MPMML_OPTION) if MPMML_BACKEND, MPMML_NUM_THREADS, MPMML_CPU_ISA or
 * MPMML_PINNED_MEMORY_MIB is invalid.
 * @example
 * const { version, cpu, auto } = info()
 * console.log(typeof version, cpu.threads > 0, ['cuda', 'cpu'].includes(auto.backend)) // string true true
 */
export function info(): Info {
  const { compiler, cuda, cpu } = describeMachine()
  limitPinned()
  const { backend, reason } = explainBackend()
  return {
    version,
    compiler,
    node: runtime,
    addon: { ...addonOrigin, larger: largerAddons(addonOrigin) },
    cuda: {
      built: cuda.built,
      status: addonOrigin.kind === 'wasm' ? 'WebAssembly has no CUDA' : cuda.status,
      toolkit: cuda.toolkit,
      architectures: cuda.architectures,
      driver: cuda.driver,
      devices: cuda.devices.map((device, index) => ({ ...device, tensorCores: addon.tensorCores(index) })),
      pinned: addon.pinnedUse(),
      reason: cudaReason(cuda.built, cuda.reason),
    },
    cpu: {
      model: processor() || 'unknown',
      cores: cores(),
      simd: cpu.simd,
      instructionSets: cpu.instructionSets,
      threads: cpu.threads,
    },
    webgpu: webGpuInfo(),
    auto: { backend, reason },
  }
}
