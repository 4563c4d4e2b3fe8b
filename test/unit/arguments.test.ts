/**
 * Calls every public function with wrong values for every argument: each call returns a value or throws an error of this library
 * with a code.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import * as algebra from '../../lib/algebra.js'
import * as files from '../../lib/files.js'
import * as graph from '../../lib/graph.js'
import * as core from '../../lib/index.js'
import * as lab from '../../lib/lab.js'
import * as rna from '../../lib/rna.js'
import * as semirings from '../../lib/semirings.js'

const folder = mkdtempSync(join(tmpdir(), 'mpmml-arguments-'))
const home = process.cwd()
// Some wrong values are names of output files, which must not appear in the project.
process.chdir(folder)
afterAll(() => {
  process.chdir(home)
  rmSync(folder, { recursive: true, force: true })
})

/** Wrong values of every type. */
const wrongValues: readonly [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['{}', {}],
  ['an object without a prototype', Object.create(null)],
  ['5', 5],
  ['-1.5', -1.5],
  ['NaN', Number.NaN],
  ['a string', 'text'],
  ['the name of a member of objects', 'constructor'],
  ['a symbol', Symbol('s')],
  ['an array', []],
  ['an array of null', [null]],
  ['a function', () => {}],
  ['a bigint', 5n],
  ['true', true],
  ['a date', new Date(0)],
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

const [npy, csv] = [join(folder, 'a.npy'), join(folder, 'a.csv')]
const npz = join(folder, 'a.npz')
const mtx = join(folder, 'a.mtx')
await files.writeNpy(npy, core.matrix(2, 2, [1, 2, 3, 4]))
await files.writeMatrix(csv, core.matrix(2, 2, [1, 2, 3, 4]))
await files.writeNpz(npz, { a: core.matrix(1, 1, [1]) })
const entries = {
  shape: [1, 1] as const,
  row: Int32Array.of(0),
  col: Int32Array.of(0),
  value: Int32Array.of(5),
}
await files.writeEntries(mtx, entries)

/** A graph of another library, with an edge from a to b. */
const graphology = {
  forEachNode: (each: Call) => void ['a', 'b'].map((node) => each(node)),
  forEachEdge: (each: Call) => void each('e', { weight: 2 }, 'a', 'b', {}, {}, false),
}

const cases: Record<string, Record<string, Case>> = {
  files: {
    fileFormatOf: { args: ['a.npy'] },
    isSparseFile: { args: [npz, {}], options: true },
    parseMatrix: { args: ['7\n', { format: 'csv' }, 'it'] },
    combineDuplicates: { args: [entries, 'max-plus'] },
    npzNames: { args: [npz] },
    readNpz: { args: [npz, {}], options: true },
    writeNpz: { args: [join(folder, 'b.npz'), { a }, {}], options: true },
    readEntries: { args: [mtx, {}], options: true },
    writeEntries: { args: [join(folder, 'b.mtx'), entries, {}], options: true },
    writeText: { args: [join(folder, 'a.txt'), 'text', {}], options: true },
    formatNpy: { args: [a] },
    parseNpy: { args: [files.formatNpy(a), {}], options: true },
    readNpy: { args: [npy, {}], options: true },
    writeNpy: { args: [join(folder, 'b.npy'), a, {}], options: true },
    readMatrix: { args: [csv, {}], options: true },
    writeMatrix: { args: [join(folder, 'b.csv'), a, {}], options: true },
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
    parseGraph: { args: ['0,1\n', { format: 'csv' }, 'it'] },
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
    readFasta: { args: [join(folder, 'none.fasta'), {}], options: true },
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
    writeResults: { args: [join(folder, 'results.json'), { machine, points: [] }] },
    readResults: { args: [join(folder, 'results.json')] },
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

const modules = { core, files, algebra, graph, rna, semirings, lab } as unknown as Record<
  string,
  Record<string, unknown>
>

/** Returns the error of a call, or null if the call returns a value. */
async function errorOf(
  call: Call,
  args: readonly unknown[],
): Promise<{ code?: unknown; name?: string; message?: string } | null> {
  try {
    const given = (await call(...args)) as { close?: () => unknown } | undefined
    if (given instanceof core.Device) await given.close()
    return null
  } catch (error) {
    return error as Error
  }
}

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

  it.each(Object.entries(cases[module]!))('throw only errors with codes: %s', async (name, { args }) => {
    const call = exported[name] as Call
    const attempts: [string, readonly unknown[]][] = [...args.keys()].flatMap((at) =>
      wrongValues.map(
        ([label, value]) =>
          [`argument ${at}: ${label}`, args.map((arg, index) => (index === at ? value : arg))] as [
            string,
            unknown[],
          ],
      ),
    )
    // In these attempts several arguments are wrong or missing.
    for (const [label, value] of wrongValues) attempts.push([`all: ${label}`, args.map(() => value)])
    for (let count = 0; count < args.length; count++)
      attempts.push([`${count} arguments`, args.slice(0, count)])
    const bad: string[] = []
    for (const [label, given] of attempts) {
      const error = await errorOf(call, given)
      if (error === null || String(error.code).startsWith('ERR_MPMML_')) continue
      bad.push(`${label}: ${error.name}: ${error.message}`)
    }
    expect(bad).toEqual([])
  })

  const withOptions = Object.entries(cases[module]!).filter(([, { options }]) => options)
  it.each(withOptions)('reject unknown options: %s', async (name, { args }) => {
    const call = exported[name] as Call
    for (const unknown of ['nosuch', 'Signal', '']) {
      const options = { ...(args.at(-1) as object), [unknown]: 1 }
      expect(await errorOf(call, [...args.slice(0, -1), options]), unknown).toMatchObject({
        code: 'ERR_MPMML_OPTION',
      })
    }
  })
})

it('rejects onProgress in plan(), which would never call the listener', async () => {
  const options = { onProgress: () => {} } as never
  await expect(core.plan(a, a, options)).rejects.toMatchObject({
    code: 'ERR_MPMML_OPTION',
    message: expect.stringContaining('onProgress'),
  })
})
