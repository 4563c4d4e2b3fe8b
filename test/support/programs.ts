/** Programs in the documentation: blocks of guides and examples of doc comments, with their stated output. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { root, runProgram } from '../cli/support.js'

/** Entry points of the package by import name, 'mpmml' and 'mpmml/graph', and the URLs of their compiled files. */
export const entries: ReadonlyMap<string, string> = new Map(
  Object.entries(
    (
      JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
        exports: Record<string, { default?: string }>
      }
    ).exports,
  ).flatMap(([name, { default: file }]) =>
    file?.endsWith('.js') ? [[`mpmml${name.slice(1)}`, pathToFileURL(join(root, file)).href] as const] : [],
  ),
)

/** Names that a program imports and declares. */
export const declaredIn = (code: string): string[] =>
  [...code.matchAll(/\b(?:import|const|let|using|function|class) (\{[^}]+\}|\[[^\]]+\]|\w+)/g)].flatMap(
    ([, names]) => names!.match(/\w+/g) ?? [],
  )

/** Returns whether a program uses a name that it doesn't declare. */
export const lacks = (code: string, name: string): boolean =>
  new RegExp(`(?<!['\\w]|(?<!\\.\\.)\\.)${name}\\b(?!:)`).test(code) && !declaredIn(code).includes(name)

/**
 * The program with this checkout's library as mpmml, for any supported Node.js. Node.js 20 doesn't support
 * `using`.
 */
export const runnable = (code: string): string =>
  code
    .replace(/^(await )?using /gm, 'const ')
    .replace(/'(mpmml(?:\/[\w-]+)?)'/g, (word, name) => (entries.has(name) ? `'${entries.get(name)}'` : word))

/** Stated output lines of a program: after console.log, or below it. */
export function outputOf(code: string): string[] {
  const lines: string[] = []
  let below = false
  for (const line of code.split('\n')) {
    const [logs, behind] = /console\.log\(.+?\)(?: \/\/ (.+))?$/.exec(line) ?? []
    const comment: string | undefined = below ? /^\s*\/\/ (.+)$/.exec(line)?.[1] : undefined
    if (behind !== undefined) lines.push(behind)
    if (comment !== undefined) lines.push(comment)
    below = comment !== undefined || (logs !== undefined && behind === undefined)
  }
  return lines
}

/** The queue that programs in the docs name. */
const QUEUE = 'redis://127.0.0.1:6379'

/** Returns whether a program needs a queue. */
export const needsQueue = (code: string): boolean => code.includes(QUEUE)

/** The program with the address of a running queue. */
export const onQueue = (code: string, url: string): string => code.replaceAll(QUEUE, url)

/** Output of a program, and its error. */
export interface Ran {
  lines: string[]
  error?: string
}

/**
 * Runs programs in sequence in one process, because starting a process for each would take longer than the
 * programs. The process must end by itself. `cwd` is the working folder of all programs. Without it each
 * program has a separate folder in `folder`, with its files.
 */
export async function runAll(codes: readonly string[], folder: string, cwd?: string): Promise<Ran[]> {
  const all = codes.map((code, index) => {
    const own = join(folder, `${index}`)
    const file = join(own, 'program.mjs')
    mkdirSync(own, { recursive: true })
    writeFileSync(file, `${runnable(code)}\n`)
    return [cwd ?? own, pathToFileURL(file).href]
  })
  const program = `
    import { format } from 'node:util'
    const results = []
    for (const [folder, url] of ${JSON.stringify(all)}) {
      process.chdir(folder)
      const lines = []
      console.log = (...values) => lines.push(...format(...values).trimEnd().split('\\n'))
      try {
        await import(url)
        results.push({ lines })
      } catch (error) {
        results.push({ lines, error: String(error) + ' ' + error.code })
      }
    }
    process.stdout.write(JSON.stringify(results))
  `
  // tune() writes to the cache.
  const env = { XDG_CACHE_HOME: join(folder, 'cache') }
  const outcome = await runProgram(process.execPath, ['--input-type=module', '--eval', program], { env })
  expect(outcome).toMatchObject({ status: 0, stderr: '' })
  return JSON.parse(outcome.stdout)
}
