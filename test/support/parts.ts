/** Suites that take long are divided among the files of a folder, which can run at once. */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The share of a list that a file runs. The shares of all files together are the list. */
export type Part = <T>(list: readonly T[]) => T[]

export const whole: Part = (list) => [...list]

/** The part of this file among the tests of its folder: as many parts as there are files. */
export function partOf(url: string): Part {
  const files = readdirSync(new URL('.', url)).filter((name) => name.endsWith('.test.ts'))
  const index = files.sort().indexOf(fileURLToPath(url).split(/[\\/]/).at(-1)!)
  const start = (length: number, at: number) => Math.floor((at * length) / files.length)
  return (list) => list.slice(start(list.length, index), start(list.length, index + 1))
}
