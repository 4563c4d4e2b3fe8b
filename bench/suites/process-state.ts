/** Reads the resources of the process, to detect leaks of calls. */
import { existsSync, readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface ProcessState {
  /** Resident memory in bytes. */
  rss: number
  /** Number of handles that keep the event loop alive. */
  handles: number
  /** Number of threads; null if the system doesn't report it. */
  threads: number | null
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const STATUS = '/proc/self/status'
const hasStatus = existsSync(STATUS)

/** Returns the resources after a garbage collection, whose finalizers release native memory. */
export async function processState(): Promise<ProcessState> {
  for (let pass = 0; pass < 3; pass++) {
    collect()
    // Finalizers run in later turns of the event loop.
    await turn()
  }
  const threads = hasStatus ? /^Threads:\s*(\d+)/m.exec(readFileSync(STATUS, 'utf8')) : null
  return {
    rss: process.memoryUsage.rss(),
    handles: process.getActiveResourcesInfo().length,
    threads: threads && Number(threads[1]),
  }
}
