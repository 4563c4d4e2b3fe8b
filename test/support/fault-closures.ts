/** Operations other than products whose allocations fail: closures, paths, witnesses, custom semirings and RNA. */
import { expect } from 'vitest'
import { star } from '../../lib/algebra.js'
import { shortestPaths, verifyPaths } from '../../lib/graph.js'
import { type Device, type DeviceMatrix, matrix, mpmm } from '../../lib/index.js'
import { bpmax, type FoldResult, nussinov } from '../../lib/rna.js'
import { type Operation, same, UNTOUCHED, type Where } from './fault-attempts.js'
import { Random, randomMatrix } from './generators.js'
import { shortestDistances } from './graph-oracle.js'
import { type Dense, dense, oracle, type Strided } from './oracle.js'
import { expectStructure, randomStrand, scoreOfPairs } from './rna-expect.js'
import { foldTable } from './rna-oracle.js'
import { greatestSums } from './user-semirings.js'

const NODES = 90
const MOST = 2 ** 31 - 1

/** Weights of a sparse graph, and all distances by the definition of Floyd–Warshall. */
function graph() {
  const random = new Random(9)
  const weights = Int32Array.from({ length: NODES * NODES }, () =>
    random.integer(0, 9) === 0 ? random.integer(1, 100) : MOST,
  )
  const data = shortestDistances(weights, NODES)
  return { weights: matrix(NODES, NODES, weights), distances: { data, rows: NODES, cols: NODES, batch: 1 } }
}
const { weights, distances } = graph()
const nodes = [3, 70, 21]
const ofNodes: Dense = {
  ...distances,
  rows: nodes.length,
  data: Int32Array.from(nodes.flatMap((i) => [...distances.data.slice(i * NODES, (i + 1) * NODES)])) as never,
}
const untouched = (rows: number, cols: number) =>
  matrix(rows, cols, new Int32Array(rows * cols).fill(UNTOUCHED))

const [x, y] = [randomMatrix(150, 140, 1), randomMatrix(140, 130, 2)]
const product = oracle(x, y) as Dense

/** Fails unless each witness is the first step that decides its element. */
function expectWitness(witness: Int32Array, { data, rows, cols }: Dense) {
  const first = (i: number, j: number) => {
    for (let k = 0; k < 140; k++)
      if (x.data[i * 140 + k]! + y.data[k * 130 + j]! === data[i * cols + j]) return k
    return -1
  }
  const expected = Int32Array.from({ length: rows * cols }, (_, at) =>
    first(Math.floor(at / cols), at % cols),
  )
  expect(witness).toEqual(expected)
}

const truths = (rows: number, cols: number, seed: number) => {
  const source = new Random(seed)
  const data = Uint8Array.from({ length: rows * cols }, () => (source.integer(0, 11) === 0 ? 1 : 0))
  return { data, shape: [rows, cols] }
}
const [p, q] = [truths(520, 700, 3), truths(700, 500, 4)]
/** Witnesses of their product over or-and: the first step with two true elements. */
const firstTrue = Int32Array.from({ length: 520 * 500 }, (_, at) => {
  const [i, j] = [Math.floor(at / 500), at % 500]
  for (let k = 0; k < 700; k++) if (p.data[i * 700 + k] && q.data[k * 500 + j]) return k
  return -1
})

/** Operations on arrays. */
export function hostClosures(where: Where): Record<string, Operation> {
  const strands = ['GGGAAACCC', randomStrand(new Random(5), 60), randomStrand(new Random(6), 41)]
  const pairs: [string, string] = [randomStrand(new Random(7), 14), randomStrand(new Random(8), 11)]
  const operations: Record<string, Operation> = {
    'a closure into an array': async () => {
      const out = untouched(NODES, NODES)
      return {
        run: () => star(weights, { ...where, semiring: 'min-plus', out } as never),
        check: () => same(out, distances),
        unchanged: () => same(out, UNTOUCHED),
      }
    },
    'all paths': async () => ({
      run: () => shortestPaths(weights, { ...where, paths: true, method: 'closure' } as never),
      check: async (found: never) => {
        same((found as { distances: Strided }).distances as never, distances)
        await verifyPaths(weights, found)
      },
    }),
    'a product with its witness': async () => {
      const out = untouched(150, 130)
      return {
        run: () => mpmm(x, y, { ...where, out, witness: true } as never),
        check: (found: never) => {
          same(out, product)
          expectWitness((found as { witness: { data: Int32Array } }).witness.data, product)
        },
        unchanged: () => same(out, UNTOUCHED),
      }
    },
    'truth values with their witness': async () => {
      const out = { data: new Uint8Array(520 * 500).fill(UNTOUCHED), shape: [520, 500] }
      return {
        run: () => mpmm(p, q, { ...where, semiring: 'or-and', out, witness: true } as never),
        check: (found: never) => {
          const { data } = (found as { witness: { data: Int32Array } }).witness
          expect(data).toEqual(firstTrue)
          same(out as never, {
            ...product,
            rows: 520,
            cols: 500,
            data: firstTrue.map((k) => (k < 0 ? 0 : 1)) as never,
          })
        },
        unchanged: () => same(out as never, UNTOUCHED),
      }
    },
  }
  if (where.devices) return operations
  return {
    ...operations,
    'strands that fold': async () => ({
      run: () => nussinov(strands, where as never),
      check: (found: never) => {
        for (const [at, { score, pairs }] of (found as FoldResult[]).entries()) {
          expect(score).toBe(foldTable(strands[at]!)(0, strands[at]!.length - 1))
          expect(scoreOfPairs(strands[at]!, pairs, {})).toBe(score)
        }
      },
    }),
    'strands that interact': async () => ({
      run: () => bpmax(...pairs, where as never),
      check: (found: never) => expectStructure(...pairs, found),
    }),
  }
}

/** Operations on matrices of one device, or of several devices that act as one. */
export function deviceClosures(open: () => Device): Record<string, Operation> {
  type Found = { c: DeviceMatrix; witness?: DeviceMatrix }
  const dispose = (...all: (DeviceMatrix | undefined)[]) => {
    for (const each of all) each?.dispose()
  }
  const is = async (there: DeviceMatrix, expected: Dense) => same(await there.download(), expected)
  /** Product into some columns of an existing matrix; the other columns stay unchanged. */
  const into =
    (value: number, options: object, expected: Dense): Operation =>
    async () => {
      const [a, b] = [await open().upload(x), await open().upload(y)]
      const whole = await open().full([150, 200], value)
      const out = whole.view({ cols: [7, 137] })
      const end = () => dispose(a, b, out, whole)
      return {
        run: () => mpmm(a as never, b as never, { ...options, out } as never),
        check: async (found: never) => {
          const { witness } = found as Found
          await is(out, expected)
          if (witness)
            expectWitness(dense((await witness.download()) as Strided).data as Int32Array, expected)
          dispose(witness)
          end()
        },
        unchanged: async () => {
          same(await whole.download(), value)
          end()
        },
      }
    }
  /** Paths between all nodes, or from some nodes. */
  const paths =
    (options: object, expected: Dense): Operation =>
    async () => {
      const there = await open().upload(weights)
      return {
        run: () => shortestPaths(there, { ...options, paths: true } as never),
        check: async (found: never) => {
          const { distances, next } = found as { distances: DeviceMatrix; next: DeviceMatrix }
          await is(distances, expected)
          await verifyPaths(there, found)
          dispose(distances, next, there)
        },
        unchanged: async () => {
          await is(there, dense(weights as Strided))
          dispose(there)
        },
      }
    }
  return {
    'a closure': async () => {
      const [there, out] = [await open().upload(weights), await open().full([NODES, NODES], UNTOUCHED)]
      return {
        run: () => star(there, { semiring: 'min-plus', out } as never),
        check: async () => {
          await is(out, distances)
          dispose(there, out)
        },
        unchanged: async () => {
          same(await out.download(), UNTOUCHED)
          dispose(there, out)
        },
      }
    },
    'all paths': paths({}, distances),
    'paths from some nodes': paths({ sources: nodes }, ofNodes),
    'a product with its witness into a view': into(-7, { witness: true }, product),
    'a product over a semiring of one’s own into a view': into(-7, { semiring: greatestSums }, product),
    'its witness, too': into(-7, { semiring: greatestSums, witness: true }, product),
  }
}
