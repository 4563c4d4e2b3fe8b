/** Arrays of another realm, such as a vm's or jsdom's, whose classes differ but have the same names. */
import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { earliestStarts, greatestSubsolution, maximumCycleMean, star, trajectory } from '../../lib/algebra.js'
import { formatNpy, parseNpy, writeEntries } from '../../lib/files.js'
import { parseGraph, shortestPaths, transitiveClosure, verifyPaths } from '../../lib/graph.js'
import { matrix, mpmm, openDevice } from '../../lib/index.js'
import { useFolder } from '../support/folder.js'

const path = useFolder()

/** Constructors of a realm. */
interface Realm {
  int32(...values: number[]): Int32Array
  float64(...values: number[]): Float64Array
  bytes(values: Uint8Array): Uint8Array
  list(...values: number[]): number[]
}

const here = { Int32Array, Float64Array, Uint8Array, Array }
const elsewhere = runInNewContext('({ Int32Array, Float64Array, Uint8Array, Array })') as typeof here
const realm = (types: typeof here): Realm => ({
  int32: (...values) => types.Int32Array.from(values),
  float64: (...values) => types.Float64Array.from(values),
  bytes: (values) => types.Uint8Array.from(values),
  list: (...values) => types.Array.from(values),
})
const [own, other] = [realm(here), realm(elsewhere)]

const edges = ({ int32, list }: Realm) => ({
  nodes: 3,
  from: int32(0, 1, 2),
  to: list(1, 2, 0),
  weight: int32(4, 2, 5),
})

const entries = ({ int32, float64 }: Realm) => ({
  shape: [2, 2] as [number, number],
  row: int32(0, 1),
  col: int32(1, 0),
  value: float64(0.5, 2),
})

const calls: Record<string, (of: Realm) => unknown> = {
  products: async ({ int32 }) => {
    const a = matrix(2, 2, int32(1, 2, 3, 4))
    return (await mpmm(a, a, { accumulate: matrix(2, 2, int32(9, 9, 0, 0)) })).c
  },
  'resident matrices': async ({ float64 }) => {
    const device = await openDevice({ backend: 'cpu' })
    try {
      return await (await device.upload(matrix(1, 2, float64(1, 2)))).download()
    } finally {
      await device.close()
    }
  },
  star: async ({ int32 }) => (await star(matrix(2, 2, int32(-1, 2, -3, 0)))).c,
  'paths of edges': async (of) => (await shortestPaths(edges(of))).distances,
  'paths of edges in float64': async (of) =>
    (await shortestPaths({ ...edges(of), weight: of.float64(0.5, 1, 2) })).distances,
  'paths of a matrix, from and to nodes': async ({ int32 }) => {
    const weights = matrix(2, 2, int32(0, 5, 7, 0))
    return (await shortestPaths(weights, { sources: int32(1, 0), targets: int32(1) })).distances
  },
  'what reaches what': async (of) =>
    (await transitiveClosure({ ...edges(of), weight: of.bytes(Uint8Array.of(1, 0, 1)) })).distances,
  verifying: async (of) => {
    const { distances } = await shortestPaths(edges(of), { sources: of.int32(0) })
    return verifyPaths(edges(of), { distances, semiring: 'min-plus', sources: of.int32(0) })
  },
  'cycle means': (of) => maximumCycleMean(edges(of)),
  'start times': (of) =>
    earliestStarts({ ...edges(of), weight: of.int32(4, 2, -9) }, { durations: of.int32(1, 2, 3) }),
  trajectories: async ({ int32 }) =>
    trajectory(matrix(2, 2, int32(3, 7, 2, 4)), int32(1, 0), {
      steps: 2,
      input: { b: matrix(2, 1, int32(0, 0)), u: matrix(1, 2, int32(50, 0)) },
    }),
  'trajectories of edges': async (of) => trajectory(edges(of), of.int32(1, 0, 2), { steps: 3 }),
  residuals: async ({ float64 }) =>
    greatestSubsolution(matrix(2, 2, float64(3, 7, 2, 4)), matrix(2, 1, float64(7, 3))).then(({ x }) => x),
  'files of entries': async (of) => {
    await writeEntries(path('a.mtx'), entries(of))
    return readFileSync(path('a.mtx'), 'utf8')
  },
  'bytes of a .npy file': ({ bytes }) => parseNpy(bytes(formatNpy(matrix(1, 2, [3, 4])))),
  'bytes of a graph': ({ bytes }) =>
    parseGraph(bytes(Buffer.from('p sp 2 1\na 1 2 7\n')), { format: 'dimacs' }),
}

describe('arrays of another realm', () => {
  it('are no instances of the classes here', () => {
    expect(other.int32(1) instanceof Int32Array).toBe(false)
    expect(Object.getPrototypeOf(other.list(1))).not.toBe(Array.prototype)
  })

  it.each(Object.entries(calls))('work in %s', async (_, call) => {
    // JSON makes arrays of two realms comparable by their elements. The timings are excluded.
    const shown = async (of: Realm) =>
      JSON.stringify(await call(of), (key, value) => (key === 'timing' ? undefined : value))
    expect(await shown(other)).toBe(await shown(own))
  })
})
