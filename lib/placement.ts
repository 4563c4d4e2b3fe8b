/**
 * Where work is computed that names no backend: the one place of JavaScript that decides it, with all its estimates. A product of
 * arrays that isn't small is left to native code, which knows what each variant costs.
 */

import { availableParallelism } from 'node:os'
import { ALL_DEVICES, AUTO, automaticBackend, builtWithCuda, CPU, type Where } from './backend.js'
import { configureCpu, deviceMemoryLimit, limitPinned } from './environment.js'
import { addon } from './native.js'
import { LEFT_OUT } from './options.js'
import { loadTuning } from './tuning.js'

const { variants } = addon

/**
 * The most work of a product that JavaScript's thread computes itself: steps and elements, which take it some
 * microseconds. To wake another thread and to hear of its result takes about 25 µs. `auto` leaves these to the CPU.
 */
const MOST_AT_ONCE = 65_536

/** Steps ⊕, ⊗ of a closure or a power in arrays that the CPU does sooner than a GPU, the copies included. */
const MOST_STEPS_FOR_CPU = 2 ** 24

// Milliseconds, on an EPYC (Zen 4) and an H200. Only their ratios matter, and only roughly.
const PER_EDGE = 6e-6
const PER_NODE = 30e-6
/** n · log2(n) of these for the heap. */
const PER_COMPARISON = 3.5e-6
/** An element of a matrix, or an edge of a list, that is read and sorted. */
const PER_ELEMENT = 4e-6
const PER_LISTED = 50e-6
const PER_COPIED = 1e-6
const PER_STEP = { cuda: 1e-10, cpu: 6e-8 }
const PER_CALL = 0.1
/** A node of a graph that is divided by separators, and the edges of one that is so sparse that it may pay. */
const PER_DIVIDED = 20e-3
const MOST_EDGES_PER_NODE = 16

/** What options say about the place. */
export interface Asked extends Where {
  /** {@link LEFT_OUT} if none is asked for. */
  variant: number
}

/**
 * Gives native code the settings of the backends that `choice`, of the addon's list, leaves open.
 *
 * @returns `deviceMemory`: the most bytes of device memory that a product may take; 0: no limit.
 */
export function ready(choice: number): { mayUseCuda: boolean; deviceMemory: number } {
  const mayUseCuda = builtWithCuda && choice !== CPU
  configureCpu()
  if (mayUseCuda) {
    loadTuning()
    limitPinned()
  }
  return { mayUseCuda, deviceMemory: mayUseCuda ? deviceMemoryLimit() : 0 }
}

/** Where products of arrays are computed. */
export interface Place {
  /** A choice of the addon's list. */
  backend: number
  deviceMemory: number
  /** Whether JavaScript's thread computes them sooner than it hears of another thread's result. */
  atOnce: boolean
  mayUseCuda: boolean
}

/** `work`: the steps and elements of the product, if there is only one. */
export function placeOfProducts({ backend, variant }: Asked, work = Number.POSITIVE_INFINITY): Place {
  const isSmall = work <= MOST_AT_ONCE
  const automatic = backend === AUTO && variant === LEFT_OUT
  const asked = automatic ? automaticBackend() : backend
  const choice = automatic && asked === AUTO && isSmall ? CPU : asked
  const isOfCpu = variant !== LEFT_OUT && variants[variant]!.backend === 'cpu'
  const { mayUseCuda, deviceMemory } = ready(isOfCpu ? CPU : choice)
  return { backend: choice, deviceMemory, atOnce: isSmall && !mayUseCuda, mayUseCuda }
}

/** Where closures and powers of arrays are computed. */
export interface StepsPlace {
  /** A choice of the addon's list. */
  backend: number
  device: number
  /** Whether the CPU does the work if a GPU lacks the memory. */
  mayTryCpu: boolean
}

/** `steps`: about how many there are. A list of devices is taken as it is. */
export function placeOfSteps({ backend, device, devices }: Asked, steps: number): StepsPlace {
  const asked = backend === AUTO ? automaticBackend() : backend
  const isOpen = asked === AUTO && (devices === 0 || devices === ALL_DEVICES)
  const choice = isOpen && steps <= MOST_STEPS_FOR_CPU ? CPU : asked
  return {
    backend: choice,
    device: choice === CPU || device === LEFT_OUT ? 0 : device,
    mayTryCpu: isOpen && choice === AUTO,
  }
}

/** How much work a query for paths is. */
export interface PathsWork {
  readonly nodes: number
  /** At most. */
  readonly edges: number
  /** Whether they are in an edge list. */
  readonly listed: boolean
  /** Graphs. */
  readonly batch: number
  /** Searches of each graph. */
  readonly roots: number
  /** The backend of the device that the weights are on; null if they are in arrays. */
  readonly resident: 'cuda' | 'cpu' | null
  /** The backend that is asked for, as an index into the addon's list; AUTO if none is. */
  readonly backend: number
}

/** All pairs, in milliseconds. */
function closingOn(backend: 'cuda' | 'cpu', { nodes, batch, resident }: PathsWork): number {
  const elements = nodes * nodes
  const threads = backend === 'cpu' ? availableParallelism() : 1
  const moving = backend === 'cuda' && !resident ? 2 * elements * PER_COPIED : 0
  return PER_CALL + batch * ((elements * nodes * PER_STEP[backend]) / threads + moving)
}

type BackendOf = (steps: number) => Promise<'cuda' | 'cpu'>

/** The milliseconds of all pairs on the backend that computes them. */
async function closingTime(work: PathsWork, backendOf: BackendOf): Promise<number> {
  const { nodes, batch, resident, backend } = work
  if (resident) return closingOn(resident, work)
  if (backend === CPU || !builtWithCuda) return closingOn('cpu', work)
  return closingOn(await backendOf(batch * nodes ** 3), work)
}

/** The milliseconds of all pairs, if dissection may take less, so that it is worth a look; otherwise null. */
export async function dissectionBudget(work: PathsWork, backendOf: BackendOf): Promise<number | null> {
  const { nodes, edges, listed, resident } = work
  if (!listed || resident || edges > MOST_EDGES_PER_NODE * nodes) return null
  const closing = await closingTime(work, backendOf)
  return closing > PER_DIVIDED * nodes ? closing : null
}

/**
 * Whether searching takes less time than all pairs. `backendOf` says which backend so many steps of a closure are computed on: it looks
 * for a GPU, so it is only called if that matters.
 */
export async function searchIsCheaper(work: PathsWork, backendOf: BackendOf): Promise<boolean> {
  const { nodes, edges, listed, batch, roots, resident, backend } = work
  if (backend !== AUTO && backend !== CPU) return false
  const elements = nodes * nodes
  const heap = nodes * (PER_NODE + Math.log2(nodes + 2) * PER_COMPARISON)
  const reading = listed ? edges * PER_LISTED : elements * (PER_ELEMENT + (resident ? PER_COPIED : 0))
  const searches = Math.ceil(roots / availableParallelism())
  const searching = batch * (reading + searches * (edges * PER_EDGE + heap))
  if (!resident && backend !== CPU && builtWithCuda) {
    const [least, most] = [closingOn('cuda', work), closingOn('cpu', work)].sort((a, b) => a - b) as [
      number,
      number,
    ]
    if (searching < least) return true
    if (searching >= most) return false
  }
  return searching < (await closingTime(work, backendOf))
}
