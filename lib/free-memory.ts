/** Estimates the memory that this process can still allocate. */
import { readFileSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'

/**
 * Returns the available memory in bytes, within the limit of a container. Node.js before 20.13 ignores such
 * limits.
 */
export function availableMemory(): number {
  const available = process.availableMemory?.() ?? freemem()
  const limit = process.constrainedMemory?.() ?? 0
  if (limit === 0 || limit >= totalmem()) return available
  // The limit counts the system's file cache as used, but the system reclaims it on demand.
  return Math.min(limit, available + cachedFiles())
}

/** Files with the statistics of the container's control group, version 2 and version 1. */
const statistics = ['/sys/fs/cgroup/memory.stat', '/sys/fs/cgroup/memory/memory.stat']

/** Bytes of files in the cache of this process' group. */
function cachedFiles(): number {
  for (const path of statistics) {
    try {
      const text = readFileSync(path, 'utf8')
      return [...text.matchAll(/^(?:in)?active_file (\d+)$/gm)].reduce(
        (sum, [, bytes]) => sum + Number(bytes),
        0,
      )
    } catch {}
  }
  return 0
}
