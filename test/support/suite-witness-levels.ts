/** Witnesses of products that a GPU's tensor cores compute: of few levels, and of truth values. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type DenseMatrix,
  type Device,
  type DeviceMatrix,
  type MatrixLike,
  type MatrixStructure,
  type OperandArray,
  openDevice,
  type ProductStructure,
  type VariantName,
  variants,
} from '../../lib/index.js'
import { type Algebra, zeroOf } from './algebras.js'
import { layoutsOf, type Size } from './cases.js'
import { belongs, structuredOracle } from './expected-structure.js'
import { witnessOracle } from './expected-witness.js'
import { Random } from './generators.js'
import { tensorCores } from './machine.js'
import type { Strided } from './oracle.js'
import { elements, type Made, made } from './resident.js'
import { expectWitness, startsFor } from './suite-witness.js'
import { exponentVariants } from './table.js'
import { untyped } from './untyped.js'

type Any = MatrixLike<OperandArray>
const { product, productNow } = untyped<true>()

interface Choice {
  backend: 'cpu' | 'cuda'
  variant?: VariantName
}

/** How many levels an element is below the best of all, by its row of A or column of B, and its k; null is zero. */
type Level = (random: Random, line: number, k: number) => number | null
type Path = 'exponent' | 'exponent-wide' | 'exponent-bounded'

const all: Path[] = ['exponent', 'exponent-wide', 'exponent-bounded']
const byLines: Path[] = ['exponent', 'exponent-wide']

const upTo =
  (most: number, zeros = 0): Level =>
  (random) =>
    random.chance(zeros) ? null : random.integer(0, most)
/** Lines that are far apart, with their best elements in different places. Of float32 fewer than 2^24 steps. */
const anything: Level = (random, line) => random.integer(0, 100_000) + 300_000 * (line % 41)
const equal: Level = () => 0
const best: Record<string, Level> = {
  'from place to place on': (_, line, k) => (k >= line ? 0 : 1),
  'again in every tile': (_, line, k) => (k % 64 === line % 64 ? 0 : 1),
  'alone, others far below': (_, line, k) => (k === (line * 7) % 131 ? 0 : 31),
  'alone, others zero': (_, line, k) => (k === (line * 7) % 131 ? 0 : null),
  'last in its tile': (_, line, k) => (k === 64 * (line % 3) + 63 ? 0 : 1),
  'last in its tile of 62 steps': (_, line, k) => (k === 62 * (line % 3) + 61 ? 0 : 1),
  'first of 31 steps': (_, line, k) => (k === 31 * (line % 5) ? 0 : 1),
}
const emptyLines =
  (level: Level): Level =>
  (random, line, k) =>
    line % 5 === 3 ? null : level(random, line, k)

const cases: [string, Level, Level, Path[]][] = [
  ['all equal', equal, equal, all],
  ['few levels, many ties', upTo(2), upTo(2), all],
  ['16 levels', upTo(15), upTo(15), all],
  ['31 levels in B, anything in A', anything, upTo(31), all],
  ['31 levels in A, anything in B', upTo(31), anything, all],
  ['37 levels in B, anything in A', anything, upTo(37), ['exponent-wide']],
  ['37 levels in A, anything and empty columns in B', upTo(37), emptyLines(anything), ['exponent-wide']],
  ['zeros in both, 41 levels', upTo(20, 0.3), upTo(21, 0.3), byLines],
  ['zeros in both, 49 levels', upTo(24, 0.3), upTo(25, 0.3), ['exponent-wide']],
  ['mostly zeros', upTo(3, 0.97), upTo(3, 0.97), byLines],
  ['empty rows', emptyLines(upTo(9)), upTo(9), all],
  ['empty rows and columns', emptyLines(upTo(9)), emptyLines(upTo(9)), byLines],
  ...Object.entries(best).flatMap(([name, level]): [string, Level, Level, Path[]][] => [
    [`the best of A ${name}`, level, equal, all],
    [`the best of B ${name}`, equal, level, all],
  ]),
  [
    'the best of both from place to place on',
    best['from place to place on']!,
    best['from place to place on']!,
    all,
  ],
]

/** Tiles have 128 lines, and 64 steps, or 62 of the path `exponent-wide`. */
const sizes: Size[] = [
  [130, 150, 66],
  [1, 1, 1],
  [3, 64, 131],
  [129, 65, 2],
  [21, 300, 33],
  [9, 62, 11],
  [11, 125, 9],
]

const algebras = [
  { semiring: 'max-plus', type: 'int32' },
  { semiring: 'min-plus', type: 'int32' },
  { semiring: 'max-plus', type: 'float32' },
  { semiring: 'min-plus', type: 'float32' },
] as const

/** Rows of A or columns of B: in float32 with steps of 1/2. */
function filled(side: 'A' | 'B', algebra: Algebra, level: Level, shape: number[], seed: number): Made {
  const random = new Random(seed)
  const [rows, cols] = shape.slice(-2) as [number, number]
  const count = shape.reduce((product, size) => product * size, 1)
  const sign = algebra.semiring === 'max-plus' ? 1 : -1
  const step = algebra.type === 'float32' ? 0.5 : 1
  const values = Array.from({ length: count }, (_, index) => {
    const [row, col] = [Math.floor(index / cols) % rows, index % cols]
    const below = side === 'A' ? level(random, row, col) : level(random, col, row)
    // No −0, which both operands may not have.
    return below === null ? zeroOf(algebra) : sign * step * (7 - below) + 0
  })
  return made(algebra.type === 'float32' ? Float32Array.from(values) : Int32Array.from(values), shape)
}

const accumulators: Record<Path, string> = {
  exponent: 'exponent',
  'exponent-wide': 'exponentwide',
  'exponent-bounded': 'exponentbounded',
}

export function witnessLevelsSuite(backend: 'cpu' | 'cuda'): void {
  const computes = backend === 'cuda' && tensorCores()
  /** Options that choose each variant for these paths, and those that leave the choice to the planner. */
  const choicesFor = ({ semiring, type }: Algebra, paths: Path[]): Choice[] => [
    { backend },
    ...(computes ? paths : []).flatMap((path) =>
      exponentVariants(semiring, accumulators[path], type).map((variant) => ({ backend, variant })),
    ),
  ]

  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend })
  })
  afterAll(() => device.close())

  describe.each(algebras)('$semiring on $type', (algebra) => {
    const { semiring } = algebra
    it.each(cases)('%s', (_, levelA, levelB, paths) => {
      for (const [m, k, n] of sizes) {
        const a = filled('A', algebra, levelA, [m, k], 1)
        const b = filled('B', algebra, levelB, [k, n], 2)
        const expected = witnessOracle(algebra, a, b)
        const c0 = startsFor(expected, algebra, 3)
        const accumulated = witnessOracle(algebra, a, b, 'throw', c0)
        // Operands without a finite element have no levels.
        const hasLevels = expected.witness.some((step) => step >= 0)
        for (const choice of choicesFor(algebra, hasLevels ? paths : [])) {
          const what = `${choice.variant ?? 'by itself'}, ${m} × ${k} × ${n}`
          const options = { ...choice, semiring, witness: true } as const
          const result = productNow(a, b, options)
          expectWitness(result, expected, what)
          if (choice.variant) expect(result.variant).toBe(choice.variant)
          expectWitness(productNow(a, b, { ...options, accumulate: c0 as never }), accumulated, `${what}, C0`)
          const out = made(c0.data.slice(), [m, n])
          const inPlace = { ...options, accumulate: true, out } as never
          expectWitness(productNow(a, b, inPlace), accumulated, `${what}, in place`)
        }
      }
    })

    const [m, k, n] = [70, 150, 133]
    const choices = () => choicesFor(algebra, all.slice(0, algebra.type === 'float32' ? 2 : 3))
    const operands = (items?: number, others?: number) =>
      [
        filled('A', algebra, upTo(3), items === undefined ? [m, k] : [items, m, k], 4),
        filled('B', algebra, upTo(3), others === undefined ? [k, n] : [others, k, n], 5),
      ] as const

    it.each(Object.keys(layoutsOf))('operands and results that are %s', (name) => {
      const [a, b] = operands()
      const laidOut = (source: Made): Any => {
        const layout = layoutsOf[name]! as unknown as (source: Any) => Strided
        const { data, ...rest } = layout({ ...source, data: Int32Array.from(source.data, (_, at) => at) })
        const from = source.data as Int32Array
        return {
          ...rest,
          data: (from.constructor as Int32ArrayConstructor).from(data, (at) => from[at] ?? 0),
        }
      }
      const expected = witnessOracle(algebra, a, b)
      const c0 = startsFor(expected, algebra, 6)
      for (const choice of choices()) {
        const options = { ...choice, semiring, witness: true } as const
        expectWitness(productNow(laidOut(a), laidOut(b), options), expected, name)
        const out = { ...options, accumulate: true, out: laidOut(c0) } as never
        expectWitness(productNow(a, b, out), witnessOracle(algebra, a, b, 'throw', c0), `${name}, out`)
      }
    })

    it.each([
      [3, 3],
      [1, 3],
      [3, 1],
    ])('batches of %i and %i', (items, others) => {
      const [a, b] = operands(items, others)
      const expected = witnessOracle(algebra, a, b)
      for (const choice of choices()) {
        expectWitness(productNow(a, b, { ...choice, semiring, witness: true }), expected, 'a batch')
      }
    })

    it('of matrices on a device', async () => {
      const [a, b] = operands()
      const there = [await device.upload(a as DenseMatrix), await device.upload(b as DenseMatrix)]
      const expected = witnessOracle(algebra, a, b)
      for (const { variant } of choices()) {
        // Twice, because packed forms stay.
        for (const turn of ['first', 'second']) {
          const options = { semiring, witness: true, ...(variant && { variant }) } as const
          const result = await product(there[0], there[1], options)
          const [c, witness] = [result.c, result.witness] as unknown as DeviceMatrix[]
          expectWitness({ c: await c!.download(), witness: await witness!.download() }, expected, turn)
          for (const matrix of [c, witness]) matrix!.dispose()
        }
      }
      for (const matrix of there) matrix.dispose()
    })

    it('with structures', () => {
      const structures: ProductStructure[] = [
        { a: 'upper', b: 'upper', c: 'upper' },
        { a: 'lower', b: 'upper' },
        { c: { band: [20, 70] } },
        { a: { band: [3, 90] }, b: { band: [70, 1] }, c: { band: [10, 100] } },
      ]
      for (const structure of structures) {
        const within =
          (level: Level, own: MatrixStructure | undefined, side: 'A' | 'B'): Level =>
          (random, line, at) =>
            belongs(own, ...((side === 'A' ? [line, at] : [at, line]) as [number, number]))
              ? level(random, line, at)
              : 500
        const a = filled('A', algebra, within(upTo(3), structure.a, 'A'), [m, k], 7)
        const b = filled('B', algebra, within(upTo(3), structure.b, 'B'), [k, n], 8)
        const expected = structuredOracle(algebra, a, b, { structure })
        // A band makes zeros of both operands, which bounded differences don't allow.
        const paths = structure.a && structure.b ? byLines : all
        for (const choice of choicesFor(algebra, algebra.type === 'float32' ? [] : paths)) {
          const result = productNow(a, b, { ...choice, semiring, structure, witness: true })
          const what = `${JSON.stringify(structure)}, ${choice.variant ?? 'by itself'}`
          expect(elements(result.c), what).toEqual(expected.values)
          expect(elements(result.witness), what).toEqual(expected.witness)
        }
      }
    })
  })

  it.each(['max-plus', 'min-plus'] as const)('%s of Int16Arrays', (semiring) => {
    const algebra = { semiring, type: 'int32' } as const
    const narrow = ({ data, shape }: Made) =>
      made(
        Int16Array.from(data, (x) =>
          x === zeroOf(algebra) ? (semiring === 'max-plus' ? -32768 : 32767) : x,
        ),
        [...shape],
      )
    const a = filled('A', algebra, upTo(20, 0.2), [70, 150], 9)
    const b = filled('B', algebra, upTo(20, 0.2), [150, 133], 10)
    const expected = witnessOracle(algebra, a, b)
    for (const choice of choicesFor(algebra, byLines)) {
      expectWitness(
        productNow(narrow(a), narrow(b), { ...choice, semiring, witness: true }),
        expected,
        'int16',
      )
    }
  })

  it('the planner takes the same path with a witness', async () => {
    // Enough for a GPU to be busy.
    const [m, k, n] = [1500, 1400, 1600]
    const algebra = { semiring: 'max-plus', type: 'int32' } as const
    const a = filled('A', algebra, upTo(15), [m, k], 11)
    const b = filled('B', algebra, upTo(15), [k, n], 12)
    const there = [await device.upload(a as DenseMatrix), await device.upload(b as DenseMatrix)]
    const without = await product(there[0], there[1], {})
    const { c, witness, path } = await product(there[0], there[1], { witness: true })
    if (computes) expect(path).toBe('exponent')
    expect(path).toBe(without.path)
    const download = async (matrix: unknown) => elements(await (matrix as DeviceMatrix).download())
    const [values, steps] = [await download(c), await download(witness)]
    for (let index = 0; index < m * n; index += 7919) {
      const [row, col] = [Math.floor(index / n), index % n]
      const sums = Array.from({ length: k }, (_, step) => a.data[row * k + step]! + b.data[step * n + col]!)
      const greatest = Math.max(...sums)
      expect([values[index], steps[index]]).toEqual([greatest, sums.indexOf(greatest)])
    }
    for (const matrix of [without.c, c, witness, ...there]) (matrix as unknown as DeviceMatrix).dispose()
  })

  /** A tile has 1024 steps, and its bits are in an order of their own. */
  describe('truth values', () => {
    const algebra = { semiring: 'or-and', type: 'uint8' } as const
    const counts = variants().filter(({ family }) => backend === 'cuda' && family === 'boolean')
    const truths = (shape: [number, number], isTrue: (row: number, col: number) => boolean) =>
      made(
        Uint8Array.from({ length: shape[0] * shape[1] }, (_, index) =>
          isTrue(Math.floor(index / shape[1]), index % shape[1]) ? 3 : 0,
        ),
        shape,
      )
    const random = new Random(13)
    const kinds: [string, (row: number, k: number) => boolean, (k: number, col: number) => boolean][] = [
      ['all true', () => true, () => true],
      ['none', () => false, () => true],
      ['from place to place on', (row, k) => k >= row * 17, (k, col) => k >= col],
      ['alone', (row, k) => k === (row * 37) % 1100, () => true],
      ['rare', () => random.chance(0.03), () => random.chance(0.03)],
      ['very rare', () => random.chance(0.005), () => random.chance(0.01)],
    ]
    it.each(kinds)('%s', (_, isTrueA, isTrueB) => {
      for (const [m, k, n] of [
        [70, 1100, 66],
        [20, 2100, 31],
        [5, 1024, 7],
        [131, 40, 2],
      ] as Size[]) {
        const [a, b] = [truths([m, k], isTrueA), truths([k, n], isTrueB)]
        const expected = witnessOracle(algebra, a, b)
        const c0 = startsFor(expected, algebra, 14)
        const accumulated = witnessOracle(algebra, a, b, 'throw', c0)
        const structure = { c: 'upper' } as const
        const upper = structuredOracle(algebra, a, b, { structure })
        for (const variant of [undefined, ...(computes ? counts : []).map(({ name }) => name)]) {
          const options = { backend, semiring: 'or-and', witness: true, ...(variant && { variant }) } as const
          const what = `${variant ?? 'by itself'}, ${m} × ${k} × ${n}`
          expectWitness(productNow(a, b, options as never), expected, what)
          const start = { ...options, accumulate: c0 } as never
          expectWitness(productNow(a, b, start), accumulated, `${what}, C0`)
          const { witness } = productNow(a, b, { ...options, structure } as never)
          expect(elements(witness), `${what}, upper`).toEqual(upper.witness)
        }
      }
    })
  })
}
