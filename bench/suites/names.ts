/** Suites by their names. */
import { abort } from './abort.js'
import { cold } from './cold.js'
import { delay } from './delay.js'
import { devices } from './devices.js'
import { graph } from './graph.js'
import { grouped } from './grouped.js'
import { levels } from './levels.js'
import { memory } from './memory.js'
import { mixed } from './mixed.js'
import { monotone } from './monotone.js'
import { peers } from './peers.js'
import { promises } from './promises.js'
import { queue } from './queue.js'
import { resident } from './resident.js'
import { rna } from './rna.js'
import { semirings } from './semirings.js'
import { small } from './small.js'
import { sparse } from './sparse.js'
import { structure } from './structure.js'
import type { Suite } from './suite.js'

export const suites = {
  resident,
  grouped,
  small,
  monotone,
  levels,
  structure,
  graph,
  sparse,
  rna,
  semirings,
  delay,
  promises,
  cold,
  abort,
  mixed,
  memory,
  queue,
  devices,
  peers,
} satisfies Record<string, Suite>

export type SuiteName = keyof typeof suites

export const suiteNames = Object.keys(suites) as SuiteName[]
