/** Programs in processes of their own, which use the output of `npm run build:ts`. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { PATIENCE } from './patience.js'

const dist = new URL('../../dist/', import.meta.url)

/** Reason why the compiled library can't be used; undefined if it can. */
export const withoutBuild = existsSync(new URL('lib/index.js', dist)) ? undefined : 'run npm run build:ts'

/** URL of a compiled module of the library as a literal for programs. */
export const inDist = (file: string) => JSON.stringify(new URL(file, dist).href)

export interface ChildOptions {
  /** Changes of the environment. */
  env?: NodeJS.ProcessEnv
  /** Options of Node.js. */
  flags?: string[]
  cwd?: string
}

/** Runs a module and returns its end and its output, without white space around `stdout`. */
export function runModule(text: string, { env, flags = [], cwd }: ChildOptions = {}) {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [...flags, '--input-type=module', '--eval', text],
    { encoding: 'utf8', timeout: PATIENCE, cwd, env: { ...process.env, ...env } },
  )
  return { status, signal, stdout: stdout.trim(), stderr }
}

/** Outcome of a program that ends by itself. */
export const ended = (stdout: string, status = 0) => ({ status, signal: null, stdout, stderr: '' })

/** Runs a module and returns its output. Throws an error if it fails or writes to `stderr`. */
export function readOutput(text: string, options?: ChildOptions): string {
  const { stdout, ...end } = runModule(text, options)
  if (end.status !== 0 || end.stderr !== '') throw new Error(`the program failed: ${JSON.stringify(end)}`)
  return stdout
}
