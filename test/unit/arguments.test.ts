/**
 * Calls every public function with wrong values for every argument and wrong options: each call returns a value or throws an error of
 * this library with a code.
 */
import { afterAll, describe, expect, it } from 'vitest'
import * as algebra from '../../lib/algebra.js'
import * as arrays from '../../lib/arrays.js'
import * as files from '../../lib/files.js'
import * as graph from '../../lib/graph.js'
import * as core from '../../lib/index.js'
import * as lab from '../../lib/lab.js'
import * as queue from '../../lib/queue.js'
import * as rna from '../../lib/rna.js'
import * as schedule from '../../lib/schedule.js'
import * as semirings from '../../lib/semirings.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'

const inFolder = useFolder()
const home = process.cwd()
// Some wrong values are names of output files, which must not appear in the project.
process.chdir(inFolder())
afterAll(() => {
  process.chdir(home)
})

const bare = () => Object.create(null)

/** Wrong values of every type, each made anew for each call. */
const wrongValues: readonly [string, () => unknown][] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['{}', () => ({})],
  ['an object without a prototype', bare],
  ['7', () => 7],
  ['-1.5', () => -1.5],
  ['NaN', () => Number.NaN],
  ["''", () => ''],
  ['the name of a member of objects', () => 'constructor'],
  ['a symbol', () => Symbol('s')],
  ['[]', () => []],
  ['[undefined]', () => [undefined]],
  ['[null]', () => [null]],
  ['a function', () => () => {}],
  ['a bigint', () => 5n],
  ['true', () => true],
  ['a date', () => new Date(0)],
  ['an object of a symbol', () => ({ data: Symbol('a'), kind: 7n, id: 7n, shape: bare(), stages: bare() })],
]

type Call = (...args: unknown[]) => unknown

/** Valid arguments of a function. */
interface Case {
  readonly args: readonly unknown[]
  /** Whether the last argument is an object of options. */
  readonly options?: boolean
}

const a = core.matrix(2, 2, [1, 2, 3, 4])
const list = { nodes: 2, from: [0, 1], to: [1, 0], weight: [2, -3] }
const forward = { nodes: 2, from: [0], to: [1], weight: [2] }
const named = { nodes: ['a', 'b'], from: ['a'], to: ['b'], weight: [2] }
const machine = { gpu: { name: 'none' }, driver: '', toolkit: '', architectures: [], mpmml: '', commit: null }
const maxPlus = semirings.kBest('max-plus', 2)
const onGraph: Case = { args: [forward, {}], options: true }

let names = 0
/** Name of a file that doesn't exist yet. */
const fresh = (ending: string) => inFolder(`${names++}${ending}`)
const [npy, csv, npz, mtx] = ['a.npy', 'a.csv', 'a.npz', 'e.mtx'].map((name) => inFolder(name)) as [
  string,
  string,
  string,
  string,
]
const entries = {
  shape: [2, 2] as const,
  row: Int32Array.of(0),
  col: Int32Array.of(1),
  value: Int32Array.of(5),
}
await files.writeNpy(npy, a)
await files.writeMatrix(csv, a)
await files.writeNpz(npz, { a: core.matrix(1, 2, [1, 2]) })
await files.writeEntries(mtx, entries)
const plan = await arrays.planBlocks({ kind: 'multiply', a: npy, b: npy, c: fresh('.npy') })
const job = { name: 'c-0-0', stage: 0 }

/** A graph of another library, with an edge from a to b. */
const graphology = {
  forEachNode: (each: Call) => void ['a', 'b'].map((node) => each(node)),
  forEachEdge: (each: Call) => void each('e', { weight: 2 }, 'a', 'b', {}, {}, false),
}

const cases: Record<string, Record<string, Case>> = {
  files: {
    fileFormatOf: { args: ['a.npy'] },
    isSparseFile: { args: [npz, {}], options: true },
    parseMatrix: { args: ['7\n', { format: 'csv' }], options: true },
    combineDuplicates: { args: [entries, 'max-plus'] },
    npzNames: { args: [npz, {}], options: true },
    readNpz: { args: [npz, {}], options: true },
    writeNpz: { args: [inFolder('b.npz'), { a }, {}], options: true },
    readEntries: { args: [mtx, {}], options: true },
    writeEntries: { args: [inFolder('b.mtx'), entries, {}], options: true },
    writeText: { args: [inFolder('a.txt'), 'text', {}], options: true },
    formatNpy: { args: [a] },
    parseNpy: { args: [files.formatNpy(a), {}], options: true },
    readNpy: { args: [npy, {}], options: true },
    writeNpy: { args: [inFolder('b.npy'), a, {}], options: true },
    readMatrix: { args: [csv, {}], options: true },
    writeMatrix: { args: [inFolder('b.csv'), a, {}], options: true },
  },
  arrays: {
    doneJobs: { args: [plan, 0, {}], options: true },
    finish: { args: [plan, {}], options: true },
    isDone: { args: [plan, job, {}], options: true },
    runBlock: { args: [plan, job, {}], options: true },
    allJobs: { args: [plan] },
    jobsOf: { args: [plan, 0] },
    multiplyArrays: { args: [npy, npy, fresh('.npy'), { overwrite: true }], options: true },
    shortestPathsArrays: { args: [npy, fresh('.npy'), { overwrite: true }], options: true },
    planBlocks: {
      args: [{ kind: 'multiply', a: npy, b: npy, c: fresh('.npy'), overwrite: true }],
      options: true,
    },
  },
  core: {
    mpmm: { args: [a, a, {}], options: true },
    mpmmSync: { args: [a, a, {}], options: true },
    mpmmGrouped: { args: [[{ a, b: a }], {}], options: true },
    plan: { args: [a, a, {}], options: true },
    openDevice: { args: [{ backend: 'cpu' }], options: true },
    matrix: { args: [1, 1, [1]] },
    zeroOf: { args: ['max-plus', 'int32'] },
    pinned: { args: ['int32', 2] },
    explainBackend: { args: [{}], options: true },
    info: { args: [] },
    variants: { args: [] },
  },
  algebra: {
    ...Object.fromEntries(
      [
        'maximumCycleMean',
        'minimumCycleMean',
        'componentCycleMeans',
        'cycleTimes',
        'criticalGraph',
        'eigenvectors',
        'earliestStarts',
        'latestStarts',
      ].map((name) => [name, onGraph]),
    ),
    star: { args: [forward, {}], options: true },
    plus: { args: [forward, {}], options: true },
    power: { args: [list, 2, {}], options: true },
    weightMatrix: { args: [list, {}], options: true },
    reverseEdges: { args: [list] },
    trajectory: { args: [list, [0, 0], { steps: 1 }], options: true },
    periodicRegime: { args: [list, [0, 0], {}], options: true },
    leftResidual: { args: [a, a, {}], options: true },
    rightResidual: { args: [a, a, {}], options: true },
    greatestSubsolution: { args: [a, core.matrix(2, 1, [1, 2]), {}], options: true },
  },
  graph: {
    ...Object.fromEntries(
      [
        'shortestPaths',
        'longestPaths',
        'widestPaths',
        'transitiveClosure',
        'reducePaths',
        'components',
        'topologicalOrder',
        'spanningTree',
      ].map((name) => [name, onGraph]),
    ),
    toEdgeList: { args: [graphology, {}], options: true },
    parseGraph: { args: ['0,1\n', { format: 'csv' }], options: true },
    readGraph: { args: [csv, {}], options: true },
    mostReliablePaths: { args: [{ ...forward, weight: Float64Array.of(0.5) }, {}], options: true },
    kShortestPaths: { args: [named, 'a', 'b', 2, {}], options: true },
    prepareGraph: { args: [named, {}], options: true },
    nearestSources: { args: [named, 'a', {}], options: true },
    pathEdges: { args: [named, ['a', 'b'], {}], options: true },
    verifyPaths: {
      args: [forward, { distances: core.matrix(2, 2, [0, 2, 2 ** 31 - 1, 0]) }, {}],
      options: true,
    },
  },
  rna: {
    nussinov: { args: ['GGGAAACCC', {}], options: true },
    bpmax: { args: ['GGG', 'CCC', {}], options: true },
    parseFasta: { args: ['>one\nGGG\n', {}], options: true },
    readFasta: { args: [inFolder('none.fasta'), {}], options: true },
  },
  semirings: {
    semiring: {
      args: [{ name: 'x', lanes: 'int32', zero: 0, plus: (x: never) => x, times: (x: never) => x }],
    },
    checkSemiring: { args: [maxPlus, {}], options: true },
    counting: { args: ['max-plus'] },
    kBest: { args: ['max-plus', 2] },
    lexicographic: { args: ['max-plus', 'min-plus'] },
  },
  lab: {
    intensityOf: { args: [{ family: 'pipelined', parameters: { accumulator: 'int32' } }] },
    machine: { args: [0] },
    newResults: { args: [machine] },
    peaks: { args: [] },
    resultsCsv: { args: [{ machine, points: [] }] },
    roofsOver: { args: [{ operations: 1, deviceMemory: 1 }, { global: 1, shared: 1 }, true] },
    spread: { args: [[1, 2]] },
    tensorPeak: { args: [{ gpu: {}, peak: null }] },
    writeResults: { args: [inFolder('results.json'), { machine, points: [] }] },
    readResults: { args: [inFolder('results.json')] },
    microbench: { args: ['reg-reg', {}], options: true },
    microbenchOccupancy: { args: ['reg-reg', {}], options: true },
    calculateOccupancy: { args: [{ registers: 32, threads: 256, gpu: 'sm_61' }], options: true },
    occupancy: { args: ['none', {}], options: true },
    measure: { args: ['none', {}], options: true },
    bandwidth: { args: ['copy', {}], options: true },
    ceiling: { args: [{}], options: true },
    refusedVariants: { args: [] },
    bandwidths: { args: [] },
    microbenches: { args: [] },
    ceilingName: { args: ['int32', 'max-plus'] },
    cpuCeilingName: { args: ['max-plus'] },
  },
}

/** Functions that measure are excluded, because they take long. */
const elsewhere = new Set(['cpuCeiling', 'cpuNaiveLoop', 'tune', 'tuneWebGpu'])

const modules = { core, files, arrays, algebra, graph, rna, semirings, lab } as unknown as Record<
  string,
  Record<string, unknown>
>

/** Modules whose functions reject every wrong value, except for those below. */
const strict = ['files', 'arrays']
const accepted = new Set([
  ...['{}', 'an object without a prototype', '[]', 'a date', 'a function'].map(
    (value) => `writeNpz 1 ${value}`,
  ),
  // isSparseFile returns false for a name without an extension.
  "isSparseFile 0 ''",
  "writeText 1 ''",
])

/** Wrong values that are options without any property, or none. */
const emptyOptions = ['undefined', '{}', 'an object without a prototype', '[]', 'a date']

/** Returns the error of a call, or null if the call returns a value. */
async function errorOf(
  call: Call,
  args: readonly unknown[],
): Promise<{ code?: unknown; name?: string; message?: string } | null> {
  try {
    const given = (await call(...args)) as { close?: () => unknown } | undefined
    if (given instanceof core.Device) await given.close()
    // Generators throw at the call or during iteration.
    else if (typeof given === 'object' && given !== null && Symbol.iterator in given)
      Array.from(given as Iterable<unknown>)
    return null
  } catch (error) {
    return error as Error
  }
}

/** Returns whether an error is one of the library, and not the message of a failed operation on a wrong value. */
const hasAdvice = ({ code, message }: { code?: unknown; message?: string }) =>
  /^ERR_MPMML_[A-Z_]+$/.test(String(code)) &&
  !/is not a function|Cannot (read|destructure|convert)/.test(String(message))

describe.each(Object.entries(modules))('the functions of %s', (module, exported) => {
  const functions = Object.entries(exported).filter(
    ([name, value]) => typeof value === 'function' && !/^[A-Z]/.test(name),
  )

  it('are all in the table', () => {
    const missing = functions
      .map(([name]) => name)
      .filter((name) => !cases[module]![name] && !elsewhere.has(name))
    expect(missing).toEqual([])
  })

  it.each(Object.entries(cases[module]!))(
    'throw only errors with codes: %s',
    async (name, { args, options }) => {
      const call = exported[name] as Call
      const bad: string[] = []
      const attempt = async (label: string, given: readonly unknown[], mayBeAccepted = true) => {
        const error = await errorOf(call, given)
        if (error === null ? mayBeAccepted : hasAdvice(error)) return
        bad.push(error === null ? `${label} is accepted` : `${label}: ${error.name}: ${error.message}`)
      }
      for (const [label, make] of wrongValues) {
        for (const at of args.keys()) {
          const isOptions = options && at === args.length - 1
          const given = args.map((arg, index) => (index === at ? make() : arg))
          const mayBeAccepted =
            !strict.includes(module) ||
            label === 'the name of a member of objects' ||
            (isOptions && emptyOptions.includes(label)) ||
            accepted.has(`${name} ${at} ${label}`)
          await attempt(`argument ${at}: ${label}`, given, mayBeAccepted)
        }
        // In these attempts several arguments are wrong or missing.
        await attempt(
          `all: ${label}`,
          args.map(() => make()),
        )
      }
      for (let count = 0; count < args.length; count++)
        await attempt(`${count} arguments`, args.slice(0, count), count > 0 || !strict.includes(module))
      expect(bad).toEqual([])
    },
  )
})

const device = await core.openDevice({ backend: 'cpu' })
const resident = await device.upload(a)
afterAll(() => device.close())
const withOptions: [string, (options: unknown) => unknown][] = [
  ...Object.entries(cases).flatMap(([module, table]) =>
    Object.entries(table).flatMap(([name, { args, options }]): [string, (options: unknown) => unknown][] =>
      options ? [[name, (given) => (modules[module]![name] as Call)(...args.slice(0, -1), given)]] : [],
    ),
  ),
  ['matrix.view', (options) => resident.view(options as never)],
  ['matrix.combine', (options) => resident.combine(resident, options as never)],
  ['parsePlan', (options) => schedule.parsePlan('id,days\n1,2\n', options as never)],
  ['multiplyOnQueue', (options) => queue.multiplyOnQueue(npy, npy, fresh('.npy'), options as never)],
  ['shortestPathsOnQueue', (options) => queue.shortestPathsOnQueue(npy, fresh('.npy'), options as never)],
  ['queueStatus', (options) => queue.queueStatus(options as never)],
  ['startWorker', (options) => queue.startWorker(options as never)],
  ['tune', (options) => lab.tune(options as never)],
]

it.each(withOptions)('rejects invalid options of %s', async (_, call) => {
  const called = async (options: unknown) => call(options)
  for (const name of ['unknownOption', 'Signal', ''])
    await expect(called({ [name]: 1 }), name).rejects.toEqual(coded('OPTION', `'${name}'`))
  await expect(called(null)).rejects.toEqual(coded('OPTION', /null/))
  await expect(called('text')).rejects.toEqual(coded('OPTION', /'text'/))
})

it('rejects onProgress in plan(), which would never call the listener', async () => {
  const options = { onProgress: () => {} } as never
  await expect(core.plan(a, a, options)).rejects.toMatchObject({
    code: 'ERR_MPMML_OPTION',
    message: expect.stringContaining('onProgress'),
  })
})
