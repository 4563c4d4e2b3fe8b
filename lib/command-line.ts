/**
 * Options of functions, from which the command line of this package parses arguments. Only `bench` imports
 * this module; it is no subpath of the package.
 */

import { beginSet, layoutSet, runSet } from './arrays/options.js'
import { backend, device, devices } from './backend.js'
import { semiring } from './built-in-semirings.js'
import { pathSet } from './graph/options.js'
import { reduction } from './graph/reduction.js'
import { parameterSet } from './lab/parameters.js'
import { overflow, variant } from './product/options.js'
import { workerSet } from './queue/options.js'
import { interactionSet } from './rna/options.js'

export { type CsvKind, inspectCsv, namedNodeInCsv } from './files/csv-look.js'
export type { Option } from './options.js'

/** Options by name. Each name has the same meaning in all functions. */
export const libraryOptions = {
  ...{ semiring, backend, device, devices, variant, overflow },
  ...{ memory: layoutSet.memory, chunks: layoutSet.chunks, shards: layoutSet.shards, codec: layoutSet.codec },
  ...beginSet,
  deviceMemory: runSet.deviceMemory,
  ...{ limit: pathSet.limit, method: pathSet.method, reduce: reduction },
  ...{ queue: workerSet.queue, name: workerSet.name, lockDuration: workerSet.lockDuration },
  ...{ roots: workerSet.roots, concurrency: workerSet.concurrency },
  ...{ weights: interactionSet.weights, minLoop: interactionSet.minLoop },
  ...{ window: interactionSet.window, top: interactionSet.top },
  ...parameterSet,
} as const
