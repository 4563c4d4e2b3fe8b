/** Slow suites are sharded over the files of a folder, which can run concurrently. */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Shard of a list that a file runs. The shards of all files together are the list. */
export type Part = <T>(list: readonly T[]) => T[]

export const whole: Part = (list) => [...list]

/** Index of this file in its folder, and the number of files. */
export function partOf(url: string): Part {
  const files = readdirSync(new URL('.', url)).filter((name) => name.endsWith('.test.ts'))
  const index = files.sort().indexOf(fileURLToPath(url).split(/[\\/]/).at(-1)!)
  const start = (length: number, at: number) => Math.floor((at * length) / files.length)
  return (list) => list.slice(start(list.length, index), start(list.length, index + 1))
}
