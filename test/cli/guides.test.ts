/** Every code block of README.md and the guides runs, and prints the stated output. */
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import * as algebra from '../../lib/algebra.js'
import { errorClasses } from '../../lib/errors.js'
import * as graph from '../../lib/graph.js'
import * as rna from '../../lib/rna.js'
import { operations } from '../../lib/semirings/rules.js'
import * as semirings from '../../lib/semirings.js'
import { l1Distance } from '../../lib/semirings.js'
import { browserFiles } from '../../native/wasm/files.mjs'
import { writeByHand } from '../support/arrays.js'
import { useFolder } from '../support/folder.js'
import { withoutCuda } from '../support/machine.js'
import { declaredIn, lacks, needsQueue, onQueue, outputOf, type Ran, runAll } from '../support/programs.js'
import { RedisServer, redisProgram } from '../support/redis.js'
import { upload } from '../support/s3-arrays.js'
import { S3Server } from '../support/s3-server.js'
import { describeUnless } from '../support/skip.js'
import { cli, root, runMpmml, runProgram, succeeds, writeNumbers } from './support.js'

const path = useFolder()

const pages = [
  'README.md',
  'binding.gyp.md',
  'bench/data/README.md',
  'examples/service/README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

interface Block {
  place: string
  language: string
  code: string
}

const blocks = pages.flatMap((page): Block[] => {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^( *)```(\S*)\n(.*?)^\1```$/gms)].map(([, , language, code], index) => ({
    place: `${page}, block ${index + 1}`,
    language: language!,
    code: code!,
  }))
})

const inLanguage = (...languages: string[]) =>
  blocks.filter(({ language }) => languages.includes(language)).map((block) => [block.place, block] as const)

it('contains only blocks of languages that are run here', () => {
  expect(blocks.length).toBeGreaterThan(50)
  // Blocks without a language are formulas.
  expect(blocks.filter(({ language }) => !['js', 'ts', 'sh', 'html', ''].includes(language))).toEqual([])
})

it.each(inLanguage('html'))('maps imports of %s to files of the packages', (_, { code }) => {
  const [, map] = /^<script type="importmap">(.+)<\/script>$/s.exec(code.trim())!
  const { imports } = JSON.parse(map!) as { imports: Record<string, string> }
  const folders: Record<string, string> = { mpmml: '/mpmml/', '@mpmml/wasm': '/mpmml/wasm/' }
  for (const [name, file] of Object.entries(imports)) {
    const folder = folders[name]!
    expect(file.startsWith(folder), file).toBe(true)
    const inPackage = file.slice(folder.length)
    if (name === 'mpmml') expect(existsSync(join(root, 'dist', inPackage)), file).toBe(true)
    else expect(browserFiles).toContain(inPackage)
  }
})

/** Definitions that the text of a page assumes. */
const said: Record<string, string> = {
  matrix: "import { matrix } from 'mpmml'",
  mpmm: "import { mpmm } from 'mpmml'",
  a: 'const a = matrix(2, 3, [1, 6, 2, 8, 3, 4])',
  b: 'const b = matrix(3, 2, [2, 5, 3, 3, 1, 6])',
  source: 'const source = matrix(1, 1)',
  device: "const device = await (await import('mpmml')).openDevice()",
}

/** Returns the program of a block, with the definitions that its text assumes. */
function programOf(code: string): string {
  const missing = (text: string) => Object.keys(said).filter((name) => lacks(text, name))
  const declared = declaredIn(code)
  const first = missing(code)
  const names = Object.keys(said).filter(
    (name) =>
      !declared.includes(name) &&
      (first.includes(name) || missing(first.map((one) => said[one]).join('\n')).includes(name)),
  )
  return `${names.map((name) => said[name]).join('\n')}\n${code}`
}

describe('programs', () => {
  const all = inLanguage('js', 'ts').filter(([, { code }]) => redisProgram || !needsQueue(code))
  const results = new Map<string, Ran>()

  beforeAll(async () => {
    const redis = redisProgram ? await RedisServer.start() : undefined
    const run = async (those: typeof all, name: string) => {
      const codes = those.map(([, { code }]) => programOf(redis ? onQueue(code, redis.url) : code))
      const ran = await runAll(codes, path(name), path('.'))
      for (const [index, [place]] of those.entries()) results.set(place, ran[index]!)
    }
    // Programs that subscribe to diagnostics channels run separately, because they would receive messages of
    // other programs.
    const listens = ([, { code }]: (typeof all)[number]) => code.includes('node:diagnostics_channel')
    await run(
      all.filter((one) => !listens(one)),
      'programs',
    )
    await run(all.filter(listens), 'listeners')
    await redis?.end()
  })

  it.each(all)('print the stated output: %s', (place, { code }) => {
    const { lines, error } = results.get(place)!
    if (code.includes("'mpmml/lab'") && withoutCuda() !== undefined) {
      // The addon may be built without CUDA. The variant must exist in builds with CUDA.
      expect(error).toMatch(/ERR_MPMML_NO_CUDA|None of them is for CUDA/)
      const [, variant] = /'(\w+_maxplus_\w+)'/.exec(code)!
      expect(readFileSync(join(root, 'lib/variant-names.ts'), 'utf8')).toContain(`'${variant}'`)
      return
    }
    expect(error).toBeUndefined()
    const output = outputOf(code)
    if (output.length > 0) expect(lines).toEqual(output)
  })

  it('print output in most cases', () => {
    const saying = inLanguage('js').filter(([, { code }]) => outputOf(code).length > 0)
    expect(saying.length).toBeGreaterThan(20)
  })
})

/** Writes the files that the command lines of the guides name. */
function prepare(): void {
  if (existsSync(path('A.npy'))) return
  for (const name of ['A', 'B', 'C0']) writeNumbers(path(`${name}.npy`), [2, 2], [0, -3, -1, -2])
  const arcs = [1, 2, 3, 4, 5].map((node) => `a ${node} ${(node % 5) + 1} ${node}\n`)
  writeFileSync(path('roads.gr'), `p sp 5 5\n${arcs.join('')}`)
  writeFileSync(path('closest.json'), JSON.stringify({ ...l1Distance.toJSON(), dtype: 'int32' }))
  writeFileSync(path('roads.csv'), 'A,B,1800\nB,C,2400\n')
  for (const name of ['house.csv', 'rail.csv']) copyFileSync(join(root, 'examples', name), path(name))
  const strand = '>one\nGGGGAAAACCCC\n'
  for (const name of ['s', 'strands', 'query', 'QUERY', 'target', 'targets', 'TARGET']) {
    writeFileSync(path(`${name}.fasta`), strand)
  }
  writeFileSync(path('timetable.csv'), '0,1,5\n1,0,6\n1,2,1\n2,2,4\n')
  writeFileSync(path('plan.csv'), 'from,to,weight\n0,1,10\n1,2,8\n')
  writeFileSync(path('edges.csv'), 'from,to,weight\n0,1,5\n1,0,6\n')
  writeFileSync(path('more.csv'), 'C,D,600\n')
  copyFileSync(join(root, 'test/cli/fixtures/osmnx.graphml'), path('vaduz.graphml'))
  copyFileSync(join(root, 'test/cli/fixtures/h200-ladder.json'), path('results.json'))
}

/** Commands that run fast and need no GPU. The test only parses all other commands. */
const atOnce = [
  'multiply',
  'plan',
  'paths',
  'star',
  'cycle-mean',
  'show',
  'convert',
  'rna',
  'bpmax',
  'doctor',
  'completion',
  'info',
  'variants',
  'demo',
]

const helps = new Map<string, Promise<string>>()
function helpOf(command: string): Promise<string> {
  const help = helps.get(command) ?? succeeds([command, '--help'])
  helps.set(command, help)
  return help
}

/** Starts an S3 server with the bucket that the guides name. */
async function bucketWithA(): Promise<S3Server> {
  const server = await S3Server.start()
  writeByHand(path('in-bucket'), { shape: [2, 2], data: Int32Array.of(0, -3, -1, -2) }, { chunks: [2, 2] })
  upload(server, path('in-bucket'), 'A.zarr')
  return server
}

async function mpmmlLine(words: string[], comment: string): Promise<void> {
  const [command] = words
  if (command !== undefined) {
    const help = await helpOf(command)
    const options = [...`${words.join(' ')} ${comment}`.matchAll(/(?<![\w-])--?[a-z][\w-]*/g)]
    for (const [option] of options) expect(help, `${command} ${option}`).toMatch(new RegExp(`${option}\\b`))
  }
  if (command !== undefined && !atOnce.includes(command) && !words.includes('--from')) return
  if (words.includes('--queue')) return
  prepare()
  const args = words.map((word) => (word === 'GRAPH' ? 'roads.gr' : word))
  if (args.includes('A.npz:a')) {
    await succeeds(['convert', 'A.npy', 'A.npz:a'], { cwd: path('.') })
  }
  const server = args.some((word) => word.startsWith('s3://')) ? await bucketWithA() : undefined
  const { status, stderr } = await runMpmml(args, {
    cwd: path('.'),
    ...(server && { env: server.environment }),
  })
  await server?.end()
  expect({ status, stderr }, args.join(' ')).toEqual({ status: 0, stderr: '' })
}

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}

/** Checks of command lines whose programs may be missing on this machine. */
const others: Record<string, (words: string[]) => void> = {
  // test/packages/runtimes.test.ts runs Deno with these flags.
  deno: (words) => {
    const flags = words.filter((word) => word.startsWith('--'))
    const runtimes = readFileSync(join(root, 'test/packages/runtimes.test.ts'), 'utf8')
    for (const flag of flags) expect(runtimes).toContain(flag)
  },
  python3: (words) => expect(words.slice(0, 2)).toEqual(['-m', 'http.server']),
  // The CUDA toolkit includes nsys. GPU tests check its recordings.
  nsys: (words) => expect(words[0]).toBe('profile'),
}

/** Runs a command line with several programs, one of which is mpmml. */
async function pipedLine(line: string): Promise<void> {
  prepare()
  const command = line.replaceAll('npx mpmml', `"${process.execPath}" "${cli}"`)
  const { status, stderr } = await runProgram('bash', ['-c', `set -o pipefail; ${command}`], {
    cwd: path('.'),
  })
  expect({ status, stderr }, line).toEqual({ status: 0, stderr: '' })
}

async function shellLine(line: string): Promise<void> {
  if (line.includes('npx mpmml') && line.includes(' | ')) return pipedLine(line)
  const [, command, comment] = /^(.*?)(?:\s+#\s*(.*))?$/.exec(line)!
  const words = command!.replace(/\s+>\s+\S+$/, '').split(/\s+/)
  while (/^[A-Z_0-9]+=/.test(words[0]!)) words.shift()
  const [program, first, ...rest] = words
  if (program === 'npx' && first === 'mpmml') return mpmmlLine(rest, comment ?? '')
  if (program === 'npx' && first === 'vitest') return expect(existsSync(join(root, rest[1]!))).toBe(true)
  if (program === 'npm') {
    const script = first === 'run' ? rest[0]! : first!
    const known = ['install', 'rebuild'].includes(script) || Object.hasOwn(scripts, script)
    return expect(known, line).toBe(true)
  }
  if (program === 'node') return expect(existsSync(join(root, first!)), line).toBe(true)
  if (program!.startsWith('.')) return expect(existsSync(join(root, program!)), line).toBe(true)
  if (program === 'curl') return
  expect(Object.keys(others), line).toContain(program)
  others[program!]!([first!, ...rest])
}

describe('lines of the shell', () => {
  it.each(inLanguage('sh'))('run: %s', async (_, { code }) => {
    for (const line of code.split('\n').filter((line) => line.trim() !== '')) await shellLine(line)
  })
})

const hasCurl = spawnSync('curl', ['--version']).status === 0
const curls = blocks
  .flatMap(({ place, code }) => code.split('\n').map((line) => [place, line] as const))
  .filter(([, line]) => line.startsWith('curl '))

describeUnless(!hasCurl && 'there is no curl', 'requests', () => {
  it('are answered by their example', async () => {
    expect(curls.length).toBeGreaterThan(1)
    const server = spawn(process.execPath, [join(root, 'examples/service/server.mjs')], {
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      const url = await new Promise<string>((resolve, reject) => {
        server.on('exit', () => reject(new Error('the server ended')))
        server.stdout.on('data', (text) => {
          const found = /http:\/\/[\d.]+:\d+/.exec(String(text))
          if (found) resolve(found[0])
        })
      })
      for (const [place, line] of curls) {
        const command = line
          .replace('http://127.0.0.1:3000', url)
          .replaceAll('@bench/', `@${root}/bench/`)
          .replace('curl', 'curl --silent --show-error --fail')
        const { status, stderr } = await runProgram('sh', ['-c', command], { cwd: path('.') })
        expect({ status, stderr }, place).toEqual({ status: 0, stderr: '' })
      }
    } finally {
      server.kill()
    }
  })
})

/** Pages that document all exports of an entry point, or all options. */
const documented: [page: string, names: () => string[]][] = [
  ['paths', () => Object.keys(graph)],
  ['rna', () => Object.keys(rna)],
  ['algebra', () => Object.keys(algebra)],
  [
    'semirings',
    () => [
      ...Object.keys(semirings),
      ...[...operations.values()]
        .filter(({ name, becomes }) => name !== 'argument' && becomes !== 'internal')
        .map(({ name }) => name),
    ],
  ],
]

describe.each(documented)('docs/%s.md', (page, names) => {
  const text = readFileSync(join(root, 'docs', `${page}.md`), 'utf8')

  it('names every function and operation, and only errors that exist', () => {
    const unnamed = names().filter((name) => !new RegExp(`\`${name}\\b`).test(text))
    expect(unnamed).toEqual([])
    expect(names().length).toBeGreaterThan(3)
    for (const [code] of text.matchAll(/ERR_MPMML_\w+/g)) expect(errorClasses).toHaveProperty(code)
  })
})

it.each(['rna', 'semirings'])('docs/%s.md has only programs that state their output', (page) => {
  const programs = inLanguage('js').filter(([place]) => place.startsWith(`docs/${page}.md`))
  expect(programs.length).toBeGreaterThan(2)
  expect(programs.filter(([, { code }]) => outputOf(code).length === 0)).toEqual([])
})

it('docs/semirings.md shows a semiring as it is printed', async () => {
  const text = readFileSync(join(root, 'docs', 'semirings.md'), 'utf8')
  const [, shown] = /prints the expression:\n\n```\n(.+?)\n```/s.exec(text)!
  const [, { code }] = inLanguage('js').find(([place]) => place.startsWith('docs/semirings.md'))!
  const program = `${code.replace(/^const \{ c \}.*/ms, '')}console.log(closest)`
  expect(await runAll([program], path('printed'))).toEqual([{ lines: shown!.split('\n') }])
})
