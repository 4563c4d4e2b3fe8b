/** README.md and docs/ agree with the code. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { commandGroups } from '../../bench/commands.js'
import { drawn, pictures } from '../../docs/images/make.mjs'
import { sets, single } from '../../docs/measured.mjs'
import { filled, tables } from '../../docs/tables.mjs'
import { errorClasses } from '../../lib/errors.js'
import * as files from '../../lib/files.js'
import * as library from '../../lib/index.js'
import { matrix, mpmm } from '../../lib/index.js'
import { root, runProgram, succeeds } from './support.js'

const read = (page: string) => readFileSync(join(root, page), 'utf8')
const docs = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
const pages = [
  'README.md',
  'CHANGELOG.md',
  'binding.gyp.md',
  'bench/data/README.md',
  'examples/service/README.md',
  ...docs,
]
const readme = read('README.md')
const products = read('docs/products.md')
const errors = read('docs/errors.md')

it('lists every error, with its class, and no other', () => {
  const listed = [...errors.matchAll(/^\| `(ERR_MPMML_\w+)` \| `(\w+)` \|/gm)].map(([, code, name]) => [
    code,
    name,
  ])
  const known = Object.values(errorClasses).map((ErrorClass) => {
    const { code, name } = new ErrorClass('message')
    expect(library).toHaveProperty(name)
    return [code, name]
  })
  expect(known.length).toBeGreaterThan(10)
  expect(listed.sort()).toEqual(known.sort())
})

it('names every function of mpmml/files in docs', () => {
  const text = docs.map(read).join('\n')
  const names = Object.keys(files)
  expect(names.length).toBeGreaterThan(15)
  // An entry "read… and write…" documents both functions.
  const paired = (name: string) => name.replace(/^write(?=[A-Z])/, 'read')
  expect(names.filter((name) => !text.includes(`\`${name}`) && !text.includes(`\`${paired(name)}`))).toEqual(
    [],
  )
})

it('has a README of at most 120 lines', () => {
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120)
})

it('has the purpose, the installation and an example in the first fifteen lines of README.md', () => {
  const first = readme.split('\n').slice(0, 15).join('\n')
  for (const text of ['Node.js', 'npm start', 'npm install mpmml', 'await mpmm(a, b)'])
    expect(first).toContain(text)
})

it('has a picture of the laboratory and three of its commands in README.md', () => {
  const [, section] = /^## The laboratory\n(.+?)^## /ms.exec(readme)!
  expect(section).toContain('](docs/images/report.svg)')
  const named = [...section!.matchAll(/^npx mpmml ([\w-]+)/gm)].map(([, command]) => command!)
  expect(named.length).toBe(3)
  for (const command of named) expect(commandGroups.Laboratory).toContain(command)
})

describe('commands', () => {
  it('exist in mpmml, and all are shown', async () => {
    const help = await succeeds(['--help'])
    const existing = [...help.matchAll(/^ {2}([a-z][\w-]*) (?:\[|<| {2})/gm)].map(([, command]) => command!)
    const named = pages.flatMap((page) => [...read(page).matchAll(/npx mpmml ([\w-]+)/g)])
    const commands = new Set(named.map(([, command]) => command!))
    expect([...commands].sort()).toEqual(existing.filter((command) => command !== 'help').sort())
  })

  it('exist in npm', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/npm (?:run ([\w:]+)|(start|test)\b)/g)].map(([, run, short]) => run ?? short!),
    )
    expect(named.length).toBeGreaterThan(10)
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named))
  })
})

describe('semirings', () => {
  /** Returns the rows of a table of semirings: name and element types. */
  const rows = (page: string) =>
    [...page.matchAll(/^\| `'?([a-z]+-[a-z]+)'?`[^|]*\|[^|]+\|[^|]+\| ([a-z][a-z0-9, ]+) \|/gm)].map(
      ([, name, types]) => [name, types],
    )

  it('equal those of the library in docs/products.md, to which README.md links', () => {
    const there = library.variants().map(({ semiring, dtype }) => `${semiring} ${dtype}`)
    expect(rows(products).length).toBe(8)
    expect(readme).toContain('[eight semirings](docs/products.md#semirings)')
    const listed = rows(products).flatMap(([name, types]) =>
      types!.split(', ').map((type) => `${name} ${type}`),
    )
    expect(listed.sort()).toEqual([...new Set(there)].sort())
  })
})

describe('links', () => {
  /** Returns the anchor that GitHub derives from a heading. */
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')

  const anchorsOf = (page: string) =>
    [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!))

  /** Returns the targets of links and pictures in Markdown and HTML, and URLs in angle brackets. */
  const targetsOf = (page: string) =>
    [
      ...read(page).matchAll(
        /\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)|^\[[^\]]+\]: *(\S+)|(?:href|src)="([^"]+)"|<([a-z]+:\/\/[^>\s]+)>/gm,
      ),
    ].map(([, inline, reference, attribute, itself]) => (inline ?? reference ?? attribute ?? itself)!)

  it('lead to other sites by https', () => {
    const others = pages.flatMap(targetsOf).filter((target) => /^[a-z]+:/.test(target))
    expect(others.length).toBeGreaterThan(3)
    expect(others.filter((target) => !/^https:\/\/[\w.-]+\.[a-z]+(\/|$)/.test(target))).toEqual([])
  })

  it.each(pages)('lead from %s to files and headings that exist', (page) => {
    const targets = targetsOf(page).filter((target) => !/^[a-z]+:/.test(target))
    const dead = targets.filter((target) => {
      const [path, anchor] = target.split('#')
      const file = path ? join(dirname(page), path) : page
      return !existsSync(join(root, file)) || (anchor !== undefined && !anchorsOf(file).includes(anchor))
    })
    expect(dead).toEqual([])
  })

  it('lead from README.md to every page of docs, and from docs/README.md at once', () => {
    const reached = new Set(['README.md'])
    for (const page of reached) {
      for (const target of targetsOf(page)) {
        const file = join(dirname(page), target.split('#')[0]!)
        if (docs.includes(file)) reached.add(file)
      }
    }
    expect([...reached].sort()).toEqual(expect.arrayContaining(docs))
    const index = targetsOf('docs/README.md')
    for (const page of docs) if (page !== 'docs/README.md') expect(index).toContain(page.slice(5))
  })
})

it("has an example whose numbers are the library's", async () => {
  const [, a, b, c] =
    /Int32Array\.of\(([\d, ]+)\).*\n.*Int32Array\.of\(([\d, ]+)\).*\n.*c\.data = (\[[\d, ]+\])/.exec(readme)!
  const numbers = (list: string) => list.split(', ').map(Number)
  const result = await mpmm(matrix(2, 3, numbers(a!)), matrix(3, 2, numbers(b!)))
  expect([...result.c.data]).toEqual(JSON.parse(c!))
})

/** Returns the output of a program that uses the library in dist. */
async function printed(program: string): Promise<string> {
  const entry = (name: string) => JSON.stringify(pathToFileURL(join(root, 'dist', 'lib', `${name}.js`)).href)
  const code = program.replace(/'mpmml(?:\/(\w+))?'/g, (_, name) => entry(name ?? 'index'))
  const { stdout } = await runProgram(process.execPath, ['--input-type=module', '--eval', code])
  return stdout.trimEnd()
}

it('has an example of paths and cycles whose numbers are right', async () => {
  const code = /```js\n(import \{ shortestPaths \}.+?)```/s.exec(readme)![1]!
  const [, path, mean, cycle] = /path\(0, 3\) = (\[.+?\]).*\/\/ (\d+\/\d+), by the cycle ([\d → ]+)/s.exec(
    code,
  )!
  const found = await printed(
    `import { matrix } from 'mpmml'\n${code}\nconsole.log(JSON.stringify([path(0, 3), mean]))`,
  )
  const [nodes, best] = JSON.parse(found)
  expect(nodes).toEqual(JSON.parse(path!))
  expect(`${best.numerator}/${best.denominator}`).toBe(mean)
  expect([...best.cycle, best.cycle[0]].join(' → ')).toBe(cycle)
})

it('has an example of a witness in docs/products.md whose numbers are right', async () => {
  const code = /```js\n(const \{ c, witness \}.+?)```/s.exec(products)![1]!
  const [, c, witness] = /c\.data = (\[.+?\]), witness\.data = (\[.+?\])/.exec(code)!
  const found = await printed(
    `import { matrix, mpmm } from 'mpmml'\n${code}\nconsole.log(JSON.stringify([[...c.data], [...witness.data]]))`,
  )
  expect(JSON.parse(found)).toEqual([JSON.parse(c!), JSON.parse(witness!)])
})

describe('measured figures', () => {
  it('equal those of docs/measured.json and of the laboratory in tables', async () => {
    const all = await tables()
    const shown = docs.filter((page) => read(page).includes('<!-- table '))
    for (const page of shown) expect(filled(read(page), all)).toBe(read(page))
    const named = shown.flatMap((page) => [...read(page).matchAll(/^<!-- table (\w+) -->$/gm)])
    expect([...new Set(named.map(([, name]) => name))].sort()).toEqual(Object.keys(all).sort())
  })

  it('have a date, a machine, and commands with options that exist', async () => {
    for (const { date, on, command, what } of [...Object.values(sets), ...single]) {
      expect(date, what).toMatch(/^\d{4}-\d\d-\d\d$/)
      expect(on, what).not.toBe('')
      for (const [, words] of command.matchAll(/npx mpmml ([^`]+)/g)) {
        const help = await succeeds([words!.split(' ')[0]!, '--help'])
        for (const [option] of words!.matchAll(/--[\w-]+/g)) expect(help, command).toContain(option)
      }
    }
  })

  it('exist in single sentences', () => {
    expect(single.length).toBeGreaterThan(5)
    const flat = (page: string) => read(page).replaceAll(/\s+/g, ' ')
    expect(single.filter(({ page, figure }) => !flat(page).includes(figure))).toEqual([])
  })

  it('are measured ones in all sentences', () => {
    const known = new Set(
      Object.values(sets).flatMap(({ rows }) =>
        Object.values(rows).flatMap(([, ...values]) => values.map(String)),
      ),
    )
    // Pages without checked figures: the engineering log quotes old figures, and tables of the thesis and the
    // laboratory are generated from results.
    const apart = ['docs/notes.md', 'docs/thesis.md', 'docs/laboratory.md']
    const prose = pages.filter((page) => !apart.includes(page))
    const stated = prose.flatMap((page) =>
      [...read(page).matchAll(/(?<![\d.^])(\d[\d.]*) (?:TOPS|TFLOPS)\b/g)].map(([, number]) => [
        page,
        number!,
      ]),
    )
    expect(stated.length).toBeGreaterThan(5)
    expect(stated.filter(([, number]) => !known.has(number!))).toEqual([])
  })
})

it('names only kernels that exist', () => {
  const names = pages.flatMap((page) => [
    ...read(page).matchAll(/\b[a-z]+_(?:max|min|plus)[a-z]+_[if]\d\d\w*/g),
  ])
  expect(names.length).toBeGreaterThan(10)
  const known = read('lib/variant-names.ts')
  expect(names.map(([name]) => name).filter((name) => !known.includes(`'${name}'`))).toEqual([])
})

it('calls pages in the index by their titles', () => {
  const index = [...read('docs/README.md').matchAll(/^\| \[(.+?)\]\((.+?\.md)\)/gm)]
  expect(index.length).toBeGreaterThan(20)
  for (const [, name, page] of index) expect(/^# (.+)$/m.exec(read(`docs/${page}`))![1]).toBe(name)
})

it('shows the output of examples in docs/examples.md', () => {
  const shown = [...read('docs/examples.md').matchAll(/```sh\nnode ([^\n]+)\n```\n\n```\n(.*?)\n```/gs)]
  expect(shown.length).toBeGreaterThan(5)
  for (const [, line, output] of shown) {
    const printed = execFileSync(process.execPath, line!.split(' '), { cwd: root, encoding: 'utf8' })
    // The name of the processor differs between machines.
    expect(printed.replace(/^on .+ \(/, 'on … (').trimEnd(), line).toBe(output)
  }
})

describe('pictures', () => {
  it.each(Object.keys(pictures))('match their programs and have a dark theme: %s', (name) => {
    const picture = read(`docs/images/${name}.svg`)
    expect(drawn(name)).toBe(picture)
    expect(picture).toContain('<style>@media (prefers-color-scheme:dark){')
    // The library draws the picture of the project, with classes.
    if (name !== 'project') expect(picture).not.toMatch(/\b(class|style)=|var\(/)
  })

  it('are all drawn by `npm run pictures`, and all shown', () => {
    const there = readdirSync(join(root, 'docs', 'images')).filter((name) => name.endsWith('.svg'))
    expect(there.sort()).toEqual(
      Object.keys(pictures)
        .map((name) => `${name}.svg`)
        .sort(),
    )
    const text = pages.map(read).join('\n')
    expect(there.filter((name) => !text.includes(`images/${name})`))).toEqual([])
  })

  it('have the numbers of the alternative text in the picture of speeds', () => {
    const shown = [...read('docs/images/speed.svg').matchAll(/>(?:[a-z ]+ )?(\d+\.\d)</g)].map(
      ([, number]) => number,
    )
    const [, text] = /!\[([^\]]+)\]\(docs\/images\/speed\.svg\)/.exec(readme)!
    const stated = [...text!.matchAll(/\d+\.\d/g)].map(([number]) => number)
    expect(stated.length).toBeGreaterThan(5)
    expect(stated.sort()).toEqual(shown.sort())
  })
})
