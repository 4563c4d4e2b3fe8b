/**
 * Selects the backend of work whose options name none. This file has all cost estimates of JavaScript code.
 * Native code selects the backend of large products of arrays, because it estimates the cost of each variant.
 */

import { ALL_DEVICES, AUTO, automaticBackend, builtWithCuda, CPU, WEBGPU, type Where } from './backend.js'
import type { BackendName } from './backend-name.js'
import { configureCpu, deviceMemoryLimit, limitPinned } from './environment.js'
import { addon } from './native.js'
import { UNSET } from './options.js'
import { cores } from './platform.js'
import { loadTuning } from './tuning.js'

const { backendChoices, variants } = addon

/**
 * Limit of the work, in steps and elements, of a product that JavaScript's thread computes itself, in some
 * microseconds. Waking another thread and receiving its result takes about 25 µs. `auto` computes products
 * within the limit on the CPU.
 */
const MAX_SYNCHRONOUS_WORK = 65_536

/**
 * Number of steps ⊕, ⊗ of a closure or a power in arrays up to which the CPU is faster than a GPU, copies
 * included.
 */
const MAX_STEPS_FOR_CPU = 2 ** 24

// Costs in milliseconds, measured on an EPYC (Zen 4) and an H200. Only their approximate ratios matter.
const MS_PER_EDGE = 6e-6
const PER_NODE = 30e-6
/** Cost of a comparison in the heap; a search needs about n · log2(n) comparisons. */
const PER_COMPARISON = 3.5e-6
/** Cost of reading and sorting an element of a matrix, or an edge of a list. */
const PER_ELEMENT = 4e-6
const MS_PER_LISTED = 50e-6
const PER_COPIED = 1e-6
const MS_PER_STEP = { cuda: 1e-10, webgpu: 1e-9, cpu: 6e-8 }
const PER_CALL = 0.1
/**
 * Cost per node of dividing a graph by separators, and limit of the edges per node of a graph for which
 * dividing may be worthwhile.
 */
const PER_DIVIDED = 20e-3
const MAX_EDGES_PER_NODE = 16

/** Options that restrict the backend and the devices. */
export interface PlacementRequest extends Where {
  /** Index of the kernel variant; {@link UNSET} if none is requested. */
  variant: number
}

/**
 * Passes the settings of the backends that `choice` permits to native code. `choice` is an index into the
 * addon's list.
 *
 * @returns `deviceMemory`: limit in bytes of the device memory of a product; 0 means no limit.
 */
export function ready(choice: number): { mayUseCuda: boolean; deviceMemory: number } {
  const mayUseCuda = builtWithCuda && choice !== CPU && choice !== WEBGPU
  configureCpu()
  if (mayUseCuda) {
    loadTuning()
    limitPinned()
  }
  return { mayUseCuda, deviceMemory: mayUseCuda || choice === WEBGPU ? deviceMemoryLimit() : 0 }
}

/** Backend and limits of products of arrays. */
export interface Placement {
  /** A choice of the addon's list. */
  backend: number
  deviceMemory: number
  /**
   * Whether JavaScript's thread computes the products faster than it would receive another thread's result.
   */
  atOnce: boolean
  mayUseCuda: boolean
}

/**
 * Selects the place of products of arrays. `work` is the number of steps and elements of a single product.
 */
export function placeProduct(
  { backend, variant }: PlacementRequest,
  work = Number.POSITIVE_INFINITY,
): Placement {
  const isSmall = work <= MAX_SYNCHRONOUS_WORK
  const automatic = backend === AUTO && variant === UNSET
  const requested = automatic ? automaticBackend() : backend
  const choice = automatic && requested === AUTO && isSmall ? CPU : requested
  const ofVariant = variant === UNSET ? undefined : variants[variant]!.backend
  if (choice === WEBGPU || ofVariant === 'webgpu') {
    return { backend: WEBGPU, ...ready(WEBGPU), atOnce: false }
  }
  const { mayUseCuda, deviceMemory } = ready(ofVariant === 'cpu' ? CPU : choice)
  return { backend: choice, deviceMemory, atOnce: isSmall && !mayUseCuda, mayUseCuda }
}

/** Backend and device of closures and powers of arrays. */
export interface ClosurePlacement {
  /** A choice of the addon's list. */
  backend: number
  device: number
  /** Whether the CPU computes the work if the memory of a GPU doesn't suffice. */
  mayTryCpu: boolean
}

/**
 * Selects the backend of a closure or a power with about `steps` operations. A list of devices is not
 * changed.
 */
export function placeClosure(
  { backend, device, devices }: PlacementRequest,
  steps: number,
): ClosurePlacement {
  const requested = backend === AUTO ? automaticBackend() : backend
  const isOpen = requested === AUTO && (devices === 0 || devices === ALL_DEVICES)
  const choice = isOpen && steps <= MAX_STEPS_FOR_CPU ? CPU : requested
  return {
    backend: choice,
    device: choice === CPU || choice === WEBGPU || device === UNSET ? 0 : device,
    // If only the environment names 'webgpu', the CPU computes work that WebGPU rejects.
    mayTryCpu: (isOpen && choice === AUTO) || (backend === AUTO && choice === WEBGPU),
  }
}

/**
 * Returns the backend that {@link placeClosure} would select for about `steps` steps, without opening a
 * device.
 */
function backendOfSteps(request: PlacementRequest, steps: number): BackendName {
  const { backend, device } = placeClosure(request, steps)
  if (backend !== AUTO) return backendChoices[backend] as BackendName
  return addon.explain(device).backend
}

/** Size of a path query. */
export interface PathsWork {
  readonly nodes: number
  /** Upper bound of the number of edges. */
  readonly edges: number
  /** Whether the edges are in an edge list. */
  readonly listed: boolean
  /** Number of graphs. */
  readonly batch: number
  /** Number of searches per graph. */
  readonly roots: number
  /** The backend of the device that the weights are on; null if they are in arrays. */
  readonly resident: BackendName | null
  /** Options for the place of closures. */
  readonly placement: PlacementRequest
}

/** Returns the estimated duration of all pairs, in milliseconds. */
function closingOn(backend: BackendName, { nodes, batch, resident }: PathsWork): number {
  const elements = nodes * nodes
  const threads = backend === 'cpu' ? cores() : 1
  const moving = backend !== 'cpu' && !resident ? 2 * elements * PER_COPIED : 0
  return PER_CALL + batch * ((elements * nodes * MS_PER_STEP[backend]) / threads + moving)
}

/**
 * Returns the fastest method for paths: 'search' or 'closure'. A number means dissection if it takes less
 * than this number of milliseconds, which all pairs would take. Searches for a GPU only if it affects the
 * result.
 */
export function cheapestPaths(work: PathsWork): 'search' | 'closure' | number {
  const { nodes, edges, listed, batch, roots, resident, placement } = work
  const elements = nodes * nodes
  const heap = nodes * (PER_NODE + Math.log2(nodes + 2) * PER_COMPARISON)
  const reading = listed ? edges * MS_PER_LISTED : elements * (PER_ELEMENT + (resident ? PER_COPIED : 0))
  const searching = batch * (reading + Math.ceil(roots / cores()) * (edges * MS_PER_EDGE + heap))
  const isOpen = !resident && placement.backend !== CPU && builtWithCuda
  const closing = (isOpen ? (['cuda', 'cpu'] as const) : [resident ?? 'cpu']).map((backend) =>
    closingOn(backend, work),
  )
  if (searching < Math.min(...closing)) return 'search'
  const mayDivide = listed && edges <= MAX_EDGES_PER_NODE * nodes
  if (!mayDivide && searching >= Math.max(...closing)) return 'closure'
  const known = isOpen ? closingOn(backendOfSteps(placement, batch * nodes ** 3), work) : closing[0]!
  if (searching < known) return 'search'
  return mayDivide && known > PER_DIVIDED * nodes ? known : 'closure'
}
