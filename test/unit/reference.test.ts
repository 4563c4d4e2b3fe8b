/**
 * The API reference: every public symbol has a doc comment for its readers, and its examples print the stated output. The site with
 * the reference and the guides is tested too.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { root, runProgram } from '../cli/support.js'
import { useFolder } from '../support/folder.js'
import { withoutCuda } from '../support/machine.js'
import { entries, lacks, needsQueue, onQueue, outputOf, type Ran, runAll } from '../support/programs.js'
import { RedisServer, redisProgram } from '../support/redis.js'
import { siteSuite } from '../support/suite-site.js'

/** Parts of typedoc's JSON that the tests use. */
interface Part {
  kind: string
  text: string
}
interface Comment {
  summary: Part[]
  blockTags?: { tag: string; content: Part[] }[]
}
interface Reflection {
  name: string
  kind: number
  comment?: Comment
  children?: Reflection[]
  signatures?: Reflection[]
  getSignature?: Reflection
  parameters?: Reflection[]
  type?: { type: string; declaration?: Reflection }
  inheritedFrom?: unknown
}
const kinds = { variable: 32, function: 64, class: 128, constructor: 512, method: 2048, reference: 4194304 }

interface Example {
  place: string
  code: string
}

/** Public function, class, type, value, or a member of one, with its whole name. */
interface Symbol {
  name: string
  reflection: Reflection
  /** Whether the symbol is an export rather than a member of another symbol. */
  exported: boolean
  /** Kind of the owner of a member. */
  owner: number
}

const inFolder = useFolder()
const site = inFolder('site')
let symbols: Symbol[] = []
let examples: Example[] = []

const textOf = (parts: Part[] | undefined) => (parts ?? []).map(({ text }) => text).join('')
const commentsOf = ({ comment, signatures, getSignature }: Reflection): Comment[] =>
  [comment, getSignature?.comment, ...(signatures ?? []).map((one) => one.comment)].filter((one) => !!one)
const tagsOf = (reflection: Reflection, tag: string) =>
  commentsOf(reflection).flatMap(({ blockTags }) => (blockTags ?? []).filter((one) => one.tag === tag))
const isDescribed = (reflection: Reflection) =>
  commentsOf(reflection).some(({ summary }) => textOf(summary).trim() !== '')
const isFunction = ({ kind }: Reflection) => kind === kinds.function || kind === kinds.method

/**
 * Yields the symbols of an entry point or of a type, without inherited members and members that the language
 * calls.
 */
function* symbolsIn(owner: Reflection, path: string, exported: boolean): Generator<Symbol> {
  for (const reflection of owner.children ?? []) {
    const { kind, inheritedFrom } = reflection
    if (kind === kinds.reference || kind === kinds.constructor || inheritedFrom) continue
    if (reflection.name.startsWith('[')) continue
    const name = `${path}.${reflection.name}`
    yield { name, reflection, exported, owner: owner.kind }
    if (exported) yield* symbolsIn(reflection, name, false)
    if (exported && reflection.type?.declaration) yield* symbolsIn(reflection.type.declaration, name, false)
  }
}

beforeAll(async () => {
  const file = inFolder('reference.json')
  const outcome = await runProgram(process.execPath, [
    // Node.js 20 has only module.register(), which newer versions deprecate with warning DEP0205.
    '--disable-warning=DEP0205',
    join(root, 'docs/reference.mjs'),
    '--json',
    file,
    '--out',
    site,
  ])
  // A warning of typedoc, such as a dead link, is an error in the reference. The page to try the library needs the WebAssembly build,
  // which has tests of its own (test/browser).
  expect(outcome.stdout).toBe('')
  expect(outcome.stderr).toMatch(
    existsSync(join(site, 'try/index.html'))
      ? /^$/
      : /^The page to try the library isn't in the site: .+ makes what it needs\.\n$/,
  )
  expect(outcome.status).toBe(0)
  const project = JSON.parse(readFileSync(file, 'utf8')) as Reflection
  symbols = project.children!.flatMap((entry) => [...symbolsIn(entry, entry.name, true)])
  examples = symbols.flatMap(({ name, reflection }) =>
    tagsOf(reflection, '@example').map(({ content }) => ({
      place: name,
      code: /^```\w+\n(.*)\n```$/s.exec(textOf(content).trim())?.[1] ?? textOf(content),
    })),
  )
})

/** Returns the names of symbols with a problem, and the advice how to write their comment. */
const wrong = (those: Symbol[], advice: string) => those.map(({ name }) => `${name}: ${advice}`)

it('has all exports of the entry points', async () => {
  expect(symbols.length).toBeGreaterThan(500)
  for (const [entry, url] of entries) {
    const names = symbols.filter(({ exported }) => exported).map(({ name }) => name)
    for (const name of Object.keys(await import(url))) {
      expect(names).toContain(`${entry}.${name}`)
    }
  }
})

it('describes every symbol, every member and every option', () => {
  const undescribed = symbols.filter(({ reflection }) => !isDescribed(reflection))
  expect(wrong(undescribed, 'say in its doc comment what it is, with its shape or its unit')).toEqual([])
})

it('describes parameters, or their members, that have no named type', () => {
  const undescribed = symbols.flatMap(({ name, reflection }) => {
    const signature = reflection.signatures?.find(({ comment }) => comment) ?? reflection.signatures?.[0]
    return (signature?.parameters ?? [])
      .filter(({ type, comment }) => {
        const members = type?.type === 'reflection' && (type.declaration?.children ?? [])
        return members && !textOf(comment?.summary) && !members.every(isDescribed)
      })
      .map((parameter) => `${name}: describe ${parameter.name} with @param, or each of its members`)
  })
  expect(undescribed).toEqual([])
})

it('states the errors of every function', () => {
  const silent = symbols.filter(
    ({ reflection, owner, exported }) =>
      isFunction(reflection) &&
      (exported || owner === kinds.class) &&
      tagsOf(reflection, '@throws').length === 0,
  )
  const advice = 'write @throws with the classes and codes of its errors, or "@throws Nothing."'
  expect(wrong(silent, advice)).toEqual([])
})

it('names only errors that exist', async () => {
  const { errorClasses } = await import('../../lib/errors.js')
  const codes = Object.keys(errorClasses)
  const classes = Object.values(errorClasses).map((ErrorClass) => new ErrorClass('message').name)
  for (const { name, reflection } of symbols) {
    for (const { content } of tagsOf(reflection, '@throws')) {
      const text = textOf(content)
      for (const [code] of text.matchAll(/ERR_MPMML_\w+/g)) expect(codes, name).toContain(code)
      for (const [one] of text.matchAll(/\b[A-Z]\w+Error\b/g)) {
        expect([...classes, 'MpmmlError', 'RangeError'], name).toContain(one)
      }
    }
  }
})

it('has an example of every function, class and value', () => {
  const without = symbols.filter(
    ({ reflection, exported, owner }) =>
      ((exported && [kinds.function, kinds.class, kinds.variable].includes(reflection.kind)) ||
        (reflection.kind === kinds.method && owner === kinds.class)) &&
      tagsOf(reflection, '@example').length === 0,
  )
  const advice =
    'write an @example of some lines with console.log(…) // and what it prints; names of the library need no import'
  expect(wrong(without, advice)).toEqual([])
})

it('has examples that state their output', () => {
  expect(examples.length).toBeGreaterThan(80)
  // Examples with `catch` may have no output, because some errors can't be shown.
  const silent = examples.filter(
    (example) =>
      outputOf(example.code).length === 0 && !example.code.includes('catch') && !needsServer(example),
  )
  expect(silent.map(({ place }) => place)).toEqual([])
})

/** Examples for a queue run only with a server: the tests of the queue cover them. */
const needsServer = ({ place }: Example) => place.startsWith('mpmml/queue.')

it('has examples for a queue that could run', async () => {
  for (const { place, code } of examples.filter(needsServer)) {
    const file = inFolder('queue.mjs')
    writeFileSync(file, code)
    expect(await runProgram(process.execPath, ['--check', file]), place).toMatchObject({ status: 0 })
  }
})

/** Returns imports for names that examples use without importing them. */
async function availableNames(): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (const name of ['readFile', 'stat', 'writeFile']) names.set(name, 'node:fs/promises')
  // The first entry point that exports a name provides the name, starting with 'mpmml'.
  for (const [entry, url] of entries) {
    for (const name of Object.keys(await import(url))) if (!names.has(name)) names.set(name, entry)
  }
  return names
}

/** Runs examples with the imports that they omit. */
async function runExamples(those: readonly Example[]): Promise<Ran[]> {
  const names = await availableNames()
  const codes = those.map(({ code }) => {
    const imports = [...names]
      .filter(([name]) => lacks(code, name))
      .map(([name, from]) => `import { ${name} } from '${from}'\n`)
    return imports.join('') + code
  })
  return runAll(codes, inFolder('examples'))
}

it('has examples that print the stated output', async () => {
  const redis = redisProgram ? await RedisServer.start() : undefined
  const here = examples
    .filter(({ code }) => redis || !needsQueue(code))
    .map(({ place, code }) => ({ place, code: redis ? onQueue(code, redis.url) : code }))
  const results = await runExamples(here)
  await redis?.end()
  const needsGpu = /ERR_MPMML_NO_CUDA|None of them is for CUDA/
  const outcomes = here.map(({ place, code }, index) => {
    const { lines, error } = results[index]!
    const refused =
      place.startsWith('mpmml/lab.') && withoutCuda() !== undefined && needsGpu.test(error ?? '')
    return { place, error: refused ? undefined : error, lines: refused ? outputOf(code) : lines }
  })
  const said = here.map(({ place, code }) => ({ place, error: undefined, lines: outputOf(code) }))
  expect(outcomes).toEqual(said)
})

describe('the site', () => siteSuite(site))
