/**
 * Options as the command line of this package has them: names, texts and values are those of the functions. It is an entry point of
 * `bench` alone, and no subpath of the package.
 */

import { beginSet, layoutSet, runSet } from './arrays/options.js'
import { backend, device, devices } from './backend.js'
import { semiring } from './built-in.js'
import { type CommandOption, commandOptionsOf } from './command-option.js'
import { pathSet } from './graph/options.js'
import { reduction } from './graph/reduction.js'
import { overflow, variant } from './product/options.js'
import { patienceSet, placeSet, workerSet } from './queue/options.js'
import { foldSet, interactionSet } from './rna/options.js'

export type { CommandOption } from './command-option.js'
export { type CsvLook, lookAtCsv, namedNodeInCsv } from './files/csv-look.js'

/**
 * The options of products.
 *
 * @example
 * const { flag, choices, parse } = commandOptions.backend
 * console.log(flag, choices.join(), parse('cpu')) // --backend <name> auto,cpu,cuda cpu
 */
export const commandOptions: Readonly<
  Record<'semiring' | 'backend' | 'device' | 'devices' | 'variant' | 'overflow', CommandOption>
> = commandOptionsOf({ semiring, backend, device, devices, variant, overflow })

/**
 * The options of work on arrays on disk.
 *
 * @example
 * console.log(arraysCommandOptions.chunks.parse('512x256')) // [ 512, 256 ]
 */
export const arraysCommandOptions: Readonly<
  Record<'memory' | 'deviceMemory' | 'chunks' | 'shards' | 'codec' | 'resume' | 'overwrite', CommandOption>
> = commandOptionsOf({
  memory: layoutSet.memory,
  deviceMemory: runSet.deviceMemory,
  chunks: layoutSet.chunks,
  shards: layoutSet.shards,
  codec: layoutSet.codec,
  ...beginSet,
})

/**
 * The options of best paths.
 *
 * @example
 * console.log(pathsCommandOptions.limit.parse('3600'), pathsCommandOptions.method.choices.join()) // 3600 auto,search,dissection,closure
 */
export const pathsCommandOptions: Readonly<Record<'limit' | 'method' | 'reduce', CommandOption>> =
  commandOptionsOf({ limit: pathSet.limit, method: pathSet.method, reduce: reduction })

/**
 * The options of queues and their workers.
 *
 * @example
 * console.log(queueCommandOptions.lockDuration.flag, queueCommandOptions.lockDuration.parse('30')) // --lock <seconds> 30000
 */
export const queueCommandOptions: Readonly<
  Record<'queue' | 'name' | 'roots' | 'concurrency' | 'memory' | 'lockDuration', CommandOption>
> = commandOptionsOf({
  ...placeSet,
  ...patienceSet,
  roots: workerSet.roots,
  concurrency: workerSet.concurrency,
  memory: workerSet.memory,
})

/**
 * The options of folding and interaction.
 *
 * @example
 * console.log(rnaCommandOptions.weights.parse('3,2,1')) // { GC: 3, AU: 2, GU: 1 }
 */
export const rnaCommandOptions: Readonly<Record<'weights' | 'minLoop' | 'window' | 'top', CommandOption>> =
  commandOptionsOf({
    weights: foldSet.weights,
    minLoop: foldSet.minLoop,
    window: interactionSet.window,
    top: interactionSet.top,
  })
