/** Programs in the docs: a block of a guide or an example of a doc comment, and what it says that it prints. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../cli/support.js'

/** The package's entry points as they are imported, 'mpmml' and 'mpmml/graph', and the URLs of their compiled files. */
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

/** The names that a program imports and declares. */
export const declaredIn = (code: string): string[] =>
  [...code.matchAll(/\b(?:import|const|let|using|function|class) (\{[^}]+\}|\[[^\]]+\]|\w+)/g)].flatMap(
    ([, names]) => names!.match(/\w+/g) ?? [],
  )

/** Whether a program uses a name that it doesn't declare. */
export const lacks = (code: string, name: string): boolean =>
  new RegExp(`(?<!['\\w]|(?<!\\.\\.)\\.)${name}\\b(?!:)`).test(code) && !declaredIn(code).includes(name)

/** The program with this checkout's library as mpmml, for any supported Node.js: 20 has no `using` yet. */
export const runnable = (code: string): string =>
  code
    .replace(/^(await )?using /gm, 'const ')
    .replace(/'(mpmml(?:\/[\w-]+)?)'/g, (word, name) => (entries.has(name) ? `'${entries.get(name)}'` : word))

/** The lines that a program says it prints: behind console.log, or below it. */
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

/** Whether a program needs a queue. */
export const needsQueue = (code: string): boolean => code.includes(QUEUE)

/** The program with a queue that is there.. */
export const onQueue = (code: string, url: string): string => code.replaceAll(QUEUE, url)
