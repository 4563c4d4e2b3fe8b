/** The option `structure`: the same for both backends, for arrays and matrices on a device, by itself and in groups. */

import { describe, expect, it } from 'vitest'
import {
  type DenseMatrix,
  type DeviceMatrix,
  type GroupedProduct,
  type MatrixLike,
  type MatrixStructure,
  type MpmmResult,
  matrix,
  mpmm,
  mpmmSync,
  type OperandArray,
  openDevice,
  type ProductStructure,
  plan,
  type Variant,
  variants,
} from '../../lib/index.js'
import { type Algebra, algebras, arrayOf, zeroOf } from './algebras.js'
import { policies, type Size } from './cases.js'
import { expectError, thrown } from './expect.js'
import { belongs, type Given, type Structured, structuredOracle } from './expected-structure.js'
import { listOf, Random } from './generators.js'
import { caught, elements, type Made, made } from './resident.js'
import { type Options, untyped } from './untyped.js'

type Any = MatrixLike<OperandArray>
const { product, productNow, group } = untyped<boolean>()

const maxPlus: Algebra = { semiring: 'max-plus', type: 'int32' }
const upper: ProductStructure = { a: 'upper', b: 'upper', c: 'upper' }

const structures: Record<string, ProductStructure> = {
  'upper × upper': upper,
  'upper × upper, all of C': { a: 'upper', b: 'upper' },
  'lower × upper': { a: 'lower', b: 'upper' },
  'strictly lower × strictly lower': { a: 'strictly-lower', b: 'strictly-lower', c: 'strictly-lower' },
  'upper × strictly lower to lower': { a: 'upper', b: 'strictly-lower', c: 'lower' },
  'a part of C': { c: { band: [2, 9] } },
  'one diagonal': { a: { band: [0, 0] }, b: { band: [0, 0] } },
  'one diagonal beside the middle': { a: { band: [-5, 5] }, c: { band: [3, -3] } },
  'narrow bands': { a: { band: [3, 4] }, b: { band: [7, 1] }, c: { band: [10, 5] } },
  'no elements of A': { a: { band: [-4, 2] } },
  'no elements of C': { c: { band: [-4, 2] } },
  'a band beyond the matrix': { a: { band: [-5000, Number.POSITIVE_INFINITY] }, b: 'upper' },
  'bands that have all': { a: { band: [5000, 5000] }, b: { band: [9000, Number.POSITIVE_INFINITY] } },
}

/** Around tiles and slabs, primes, long and thin. */
const sizes: Size[] = [
  [1, 1, 1],
  [2, 3, 2],
  [17, 33, 31],
  [64, 64, 64],
  [67, 41, 83],
  [129, 127, 65],
  [5, 211, 130],
  [130, 300, 3],
]

/** What may stand outside of a structure: nothing that the semiring could compute with. */
function garbage({ semiring, type }: Algebra, random: Random): number {
  if (type === 'uint8') return random.pick([1, 255])
  if (type === 'int32') return random.pick([2 ** 31 - 1, 2 ** 31 - 2, -(2 ** 31) + 1, -(2 ** 31), 7])
  if (semiring === 'max-times') return random.pick([-3, Number.NaN, Number.POSITIVE_INFINITY, -0.5])
  return random.pick([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e30])
}

interface Filling {
  spread?: number
  center?: number
  zeros?: number
  /** What stands outside; garbage if left out. */
  outside?: number
}

/** A matrix with values inside the structure, and garbage outside. */
function filled(
  algebra: Algebra,
  shape: number[],
  structure: MatrixStructure | undefined,
  seed: number,
  { spread = 60, center = 0, zeros = 0.1, outside }: Filling = {},
): Made {
  const random = new Random(seed)
  const [rows, cols] = shape.slice(-2) as [number, number]
  const length = shape.reduce((count, size) => count * size, 1)
  const least = algebra.semiring === 'max-times' ? 0 : -spread >> 1
  const values = listOf(length, (index) => {
    const [i, j] = [Math.floor(index / cols) % rows, index % cols]
    if (!belongs(structure, i, j)) return outside ?? garbage(algebra, random)
    if (random.chance(zeros)) return zeroOf(algebra)
    if (algebra.type === 'uint8') return random.pick([0, 0, 0, 1, 255])
    return center + random.integer(least, spread >> 1)
  })
  const array = arrayOf[algebra.type] as { from(values: number[]): OperandArray }
  return made(array.from(values), shape)
}

/** Fails unless `c` has these elements; NaN is itself. */
function expectValues(c: Any, values: number[], what: string): void {
  const came = elements(c)
  expect(came.length, what).toBe(values.length)
  const same = (x: number, y: number) => x === y || (Number.isNaN(x) && Number.isNaN(y))
  const wrong = came.findIndex((value, index) => !same(value, values[index]!))
  if (wrong < 0) return
  const count = came.filter((value, index) => !same(value, values[index]!)).length
  expect.fail(
    `${what}: C ${wrong} is ${came[wrong]} and should be ${values[wrong]}; ${count} of ${came.length} differ`,
  )
}

function expectWitness(witness: Any, expected: Structured, what: string): void {
  const came = elements(witness)
  const wrong = came.findIndex((k, index) => k !== expected.witness[index])
  if (wrong < 0) return
  const count = came.filter((k, index) => k !== expected.witness[index]).length
  expect.fail(
    `${what}: witness ${wrong} is ${came[wrong]} and should be ${expected.witness[wrong]}; ${count} of ${came.length} differ`,
  )
}

/** Options as they are for elements of this type. */
function optionsOf({ semiring, type }: Algebra, options: Options): Options {
  const all: Options = { ...options, semiring }
  if (type === 'float32' || type === 'float64') delete all.overflow
  return all
}

/** Computes a product into a new matrix and into one that holds something, and checks both; an overflow must be an error. */
function expectStructured(
  algebra: Algebra,
  a: Made,
  b: Made,
  given: Given,
  options: Options,
  what: string,
): MpmmResult | undefined {
  const all = optionsOf(algebra, { ...options, structure: given.structure })
  if (given.c0) all.accumulate = given.c0 as DenseMatrix
  if (given.overflow) all.overflow = given.overflow
  if (algebra.type === 'float32' || algebra.type === 'float64') delete all.overflow
  const expected = structuredOracle(algebra, a, b, given)
  const before = filled(algebra, expected.shape, undefined, 77)
  const out = { ...before, data: before.data.slice() } as Made
  if (expected.overflows && (given.overflow ?? 'throw') === 'throw') {
    expectError(
      thrown(() => productNow(a, b, { ...all, out: out as never })),
      'ERR_MPMML_OVERFLOW',
      'C[',
    )
    expectValues(out, elements(before), `${what}, out after an overflow`)
    expectError(
      thrown(() => productNow(a, b, all)),
      'ERR_MPMML_OVERFLOW',
    )
    return undefined
  }
  const result = productNow(a, b, all)
  expectValues(result.c, expected.values, what)
  productNow(a, b, { ...all, out: out as never })
  expectValues(out, structuredOracle(algebra, a, b, { ...given, before }).values, `${what}, into out`)
  return result
}

const operands = (
  algebra: Algebra,
  [m, k, n]: Size,
  structure: ProductStructure,
  seed: number,
  filling?: Filling,
) => ({
  a: filled(algebra, [m, k], structure.a, seed, filling),
  b: filled(algebra, [k, n], structure.b, seed + 1, filling),
})

export function structureSuite(backend: 'cpu' | 'cuda'): void {
  describe('every semiring and type', () => {
    for (const algebra of algebras) {
      it.each(Object.entries(structures))(`${algebra.semiring} on ${algebra.type}: %s`, (name, structure) => {
        for (const size of algebra === algebras[0]
          ? sizes
          : ([
              [1, 1, 1],
              [17, 33, 31],
              [67, 41, 83],
            ] as Size[])) {
          const { a, b } = operands(algebra, size, structure, 5)
          expectStructured(algebra, a, b, { structure }, { backend }, `${name}, ${size}`)
        }
      })
    }
  })

  describe('values of every range path', () => {
    const fillings: Record<string, Filling> = {
      '6-bit': { spread: 60, zeros: 0 },
      '6-bit far from 0': { spread: 60, center: 900_000_000, zeros: 0 },
      '14-bit': { spread: 16_000 },
      '16-bit without zero': { spread: 40_000, zeros: 0 },
      large: { spread: 700_000_000 },
      'that overflow': { spread: 100_000_000, center: 1_073_700_000 },
    }
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      it.each(Object.entries(fillings))(`${semiring}: %s`, (name, filling) => {
        const algebra: Algebra = { semiring, type: 'int32' }
        for (const overflow of policies) {
          for (const structure of [upper, structures['narrow bands']!, { c: 'lower' } as const]) {
            const { a, b } = operands(algebra, [67, 90, 83], structure, 11, filling)
            expectStructured(algebra, a, b, { structure, overflow }, { backend }, `${name}, ${overflow}`)
          }
        }
      })
    }
  })

  describe('the option', () => readings(backend))
  describe('every variant', () => everyVariant(backend))
  describe('what else products can do', () => everythingElse(backend))
  describe('witness', () => witnesses(backend))
  describe('on a device', () => resident(backend))
}

/** The same elements, one column after the other. */
function inColumns(source: Made): Made {
  const [rows, cols] = source.shape as [number, number]
  const data = source.data.map(
    (_: number, index: number) => source.data[(index % rows) * cols + Math.floor(index / rows)]!,
  )
  return { ...source, data, strides: [1, rows] } as Made
}

function everyVariant(backend: 'cpu' | 'cuda'): void {
  const run = (variant: Variant, structure: ProductStructure): 'computed' | 'refused' => {
    const algebra: Algebra = { semiring: variant.semiring, type: variant.dtype }
    const size: Size = [67, 70, 83]
    // Small values have every path.
    const { a, b } = operands(algebra, size, structure, 3, { spread: 12 })
    try {
      expectStructured(algebra, a, b, { structure }, { variant: variant.name }, variant.name)
      const across = [a, b].map(inColumns)
      expectStructured(
        algebra,
        across[0]!,
        across[1]!,
        { structure },
        { variant: variant.name },
        'in columns',
      )
      return 'computed'
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_MPMML_VARIANT') throw error
      return 'refused'
    }
  }
  for (const variant of variants()) {
    if (variant.backend !== backend) continue
    it(variant.name, (context) => {
      const refusal = runnable(variant)
      if (refusal) return context.skip(refusal)
      const isThin = variant.family === 'thin' && variant.semiring === 'plus-times'
      for (const structure of [upper, { a: 'lower' }, { b: { band: [5, 20] }, c: 'lower' }] as const) {
        const outcome = run(variant, structure)
        // A GPU's other families may say that they can't.
        if (backend === 'cpu') expect(outcome).toBe(isThin ? 'refused' : 'computed')
      }
    })
  }
}

/** Why a variant can't run on this machine at all. */
function runnable({ name, semiring, dtype }: Variant): string | undefined {
  const array = arrayOf[dtype]
  const one = matrix(1, 1, new array(1) as Int32Array)
  try {
    mpmmSync(one, one, { variant: name, semiring })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function everythingElse(backend: 'cpu' | 'cuda'): void {
  it('accumulates to what is inside', () => {
    for (const algebra of algebras) {
      for (const structure of [upper, structures['narrow bands']!]) {
        const { a, b } = operands(algebra, [33, 70, 45], structure, 21)
        const c0 = filled(algebra, [33, 45], structure.c, 23)
        const what = `${algebra.semiring} on ${algebra.type}`
        expectStructured(algebra, a, b, { structure, c0 }, { backend }, what)
        const out = { ...c0, data: c0.data.slice() } as Made
        productNow(a, b, optionsOf(algebra, { backend, structure, accumulate: true, out: out as never }))
        expectValues(out, structuredOracle(algebra, a, b, { structure, c0, before: c0 }).values, what)
      }
    }
  })

  it('counts no step of which an element is outside, even if the other is ∞ or NaN', () => {
    for (const type of ['float32', 'float64'] as const) {
      for (const semiring of ['plus-times', 'max-plus', 'min-plus', 'max-min', 'max-times'] as const) {
        const algebra: Algebra = { semiring, type }
        for (const structure of [upper, { a: 'lower' }, structures['narrow bands']!] as ProductStructure[]) {
          const { a, b } = operands(algebra, [45, 50, 77], structure, 25)
          const odd = [Number.POSITIVE_INFINITY, Number.NaN, Number.NEGATIVE_INFINITY]
          for (const index of listOf(12, (i) => i)) {
            const value = semiring === 'max-times' ? Math.abs(odd[index % 3]!) : odd[index % 3]!
            const data = index % 2 ? a.data : b.data
            data[(index * 977) % data.length] = value
          }
          expectStructured(algebra, a, b, { structure }, { backend }, `${semiring} on ${type}`)
        }
      }
    }
  })

  it('takes batches, also of one shared operand', () => {
    for (const algebra of [maxPlus, { semiring: 'max-times', type: 'float32' }] as Algebra[]) {
      for (const [shapeA, shapeB] of [
        [
          [5, 20, 40],
          [5, 40, 37],
        ],
        [
          [20, 40],
          [5, 40, 37],
        ],
        [
          [5, 20, 40],
          [40, 37],
        ],
      ] as [number[], number[]][]) {
        const a = filled(algebra, shapeA, upper.a, 31)
        const b = filled(algebra, shapeB, upper.b, 32)
        expectStructured(algebra, a, b, { structure: upper }, { backend }, `${shapeA} by ${shapeB}`)
      }
    }
  })

  it('takes batches of parts of tables, whose diagonals are anywhere', () => {
    // Products of rows i and columns j of one table, as triangular recurrences have them.
    const n = 60
    const table = filled(maxPlus, [n, n], 'upper', 41)
    for (const [row, col, size] of [
      [0, 20, 20],
      [7, 31, 13],
      [5, 30, 25],
    ] as const) {
      const part = (i: number, j: number, rows: number, cols: number): Made =>
        ({ data: table.data, shape: [rows, cols], strides: [n, 1], offset: i * n + j }) as Made
      const a = part(row, row, size, col - row + size)
      const b = part(row, col, col - row + size, size)
      const structure: ProductStructure = { a: 'upper', b: { band: [col - row, Number.POSITIVE_INFINITY] } }
      expectStructured(maxPlus, a, b, { structure }, { backend }, `${row}, ${col}`)
    }
  })

  it('takes strides of all kinds', () => {
    for (const structure of [upper, { a: 'lower', b: { band: [3, 20] }, c: { band: [30, 4] } } as const]) {
      const { a, b } = operands(maxPlus, [40, 53, 37], structure, 51)
      const expected = structuredOracle(maxPlus, a, b, { structure })
      const turned = (source: Made): Made => {
        const [rows, cols] = source.shape as unknown as [number, number]
        const data = source.data.slice()
        source.data.forEach((value, index) => {
          data[(index % cols) * rows + Math.floor(index / cols)] = value
        })
        return { data, shape: [rows, cols], strides: [1, rows], offset: 0 } as unknown as Made
      }
      const spread = (source: Made): Made => {
        const [rows, cols] = source.shape as unknown as [number, number]
        const data = new Int32Array(2 * source.data.length + 1).fill(2 ** 31 - 1)
        source.data.forEach((value, index) => {
          data[2 * index + 1] = value
        })
        return { data, shape: [rows, cols], strides: [2 * cols, 2], offset: 1 } as unknown as Made
      }
      for (const left of [a, turned(a), spread(a)]) {
        for (const right of [b, turned(b), spread(b)]) {
          const { c } = productNow(left, right, { backend, structure })
          expectValues(c, expected.values, 'strides')
          const before = filled(maxPlus, [40, 37], undefined, 53)
          for (const out of [turned(before), spread(before)]) {
            productNow(left, right, { backend, structure, out: out as never })
            const { values } = structuredOracle(maxPlus, a, b, { structure, before })
            expectValues(out, values, 'strides of out')
          }
        }
      }
    }
  })

  it('takes int16 storage', () => {
    for (const semiring of ['max-plus', 'min-plus', 'max-min'] as const) {
      const algebra: Algebra = { semiring, type: 'int32' }
      const zero = semiring === 'min-plus' ? 32767 : -32768
      const narrow = (source: Made): Made =>
        made(
          Int16Array.from(source.data, (x) => (Math.abs(x) > 32767 ? zero : x)),
          [...source.shape],
        )
      const a = filled(algebra, [40, 50], 'upper', 61)
      const b = filled(algebra, [50, 45], 'upper', 62)
      for (const [left, right] of [
        [narrow(a), narrow(b)],
        [a, narrow(b)],
        [narrow(a), b],
      ] as const) {
        expectStructured(algebra, left, right, { structure: upper }, { backend }, semiring)
      }
    }
  })

  it('overflows only inside', () => {
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      const a = matrix(3, 3, new Int32Array(9).fill(2 ** 30))
      const b = matrix(3, 3, new Int32Array(9).fill(2 ** 30 - 2))
      b.data[8] = 2 ** 30 // Only C[i, 2] can overflow, and C[2, 2] is outside.
      const run = (structure: ProductStructure) => mpmmSync(a, b, { backend, semiring, structure })
      const one: ProductStructure = { a: { band: [0, 0] }, b: { band: [0, 0] } }
      expectError(
        thrown(() => run(one)),
        'ERR_MPMML_OVERFLOW',
        'C[2, 2]',
        '2147483648',
      )
      expect(
        run({ ...one, c: { band: [9, -1] } }).c.data.every((x) => x === zeroOf({ semiring, type: 'int32' })),
      ).toBe(true)
    }
  })

  it('has results where there are no steps', () => {
    const c0 = filled(maxPlus, [6, 5], undefined, 71)
    const out = made(c0.data.slice(), [6, 5])
    productNow(matrix(6, 0), matrix(0, 5), { backend, structure: { c: 'lower' }, out: out as never })
    expectValues(
      out,
      elements(c0).map((x, index) => (belongs('lower', Math.floor(index / 5), index % 5) ? -(2 ** 31) : x)),
      'K = 0',
    )
    expect(productNow(matrix(0, 3), matrix(3, 4), { backend, structure: upper }).c.data).toHaveLength(0)
  })

  it('computes what is larger than blocks of the caches as the masked product does', () => {
    for (const structure of [upper, structures['lower × upper']!, structures['narrow bands']!]) {
      const size: Size = [520, 700, 610]
      const [m, k, n] = size
      const { a, b } = operands(maxPlus, size, structure, 81, { spread: 50_000 })
      const masked = (source: Made, of: MatrixStructure | undefined, cols: number): Made =>
        made(
          source.data.map((x: number, index: number) =>
            belongs(of, Math.floor(index / cols), index % cols) ? x : -(2 ** 31),
          ) as Int32Array,
          [...source.shape],
        )
      const [left, right] = [masked(a, structure.a, k), masked(b, structure.b, n)]
      const whole = productNow(left, right, { backend, witness: true })
      const values = elements(masked(whole.c as Made, structure.c, n))
      const result = productNow(a, b, { backend, structure, witness: true })
      expectValues(result.c, values, `${m}`)
      expect(elements(result.witness!)).toEqual(
        elements(whole.witness!).map((x, index) =>
          belongs(structure.c, Math.floor(index / n), index % n) ? x : -1,
        ),
      )
    }
  })

  it('sees the one element inside that needs other sums, wherever it is', () => {
    // So many elements that each thread looks at some rows of them.
    const size: Size = [700, 700, 16]
    for (const [structure, row, col] of [
      [{ a: 'lower' }, 690, 600],
      [{ a: 'lower' }, 300, 300],
      [{ a: 'upper' }, 650, 699],
      [{ a: { band: [50, 60] } }, 500, 560],
    ] as const) {
      const { a, b } = operands(maxPlus, size, structure, 91, { spread: 60, zeros: 0 })
      a.data[row * 700 + col] = 1_000_000
      expectStructured(maxPlus, a, b, { structure }, { backend }, `${row}, ${col}`)
    }
  })

  it('computes in groups, each product with the structure of the group or its own', async () => {
    const tasks = listOf(40, (index) => index).map((index) => {
      const own = index % 3 === 0 ? Object.values(structures)[index % 10] : undefined
      const structure = own ?? upper
      const { a, b } = operands(maxPlus, [20 + (index % 7), 30, 25], structure, 100 + index)
      const before = filled(maxPlus, [20 + (index % 7), 25], undefined, 200 + index)
      const out = index % 2 === 0 ? made(before.data.slice(), [...before.shape]) : undefined
      return { a, b, own, structure, before, out }
    })
    const results = await group(
      tasks.map(({ a, b, own, out }) => ({ a, b, out, structure: own }) as GroupedProduct),
      { backend, structure: upper },
    )
    tasks.forEach(({ a, b, structure, before, out }, index) => {
      const given = out ? { structure, before } : { structure }
      expectValues(results[index]!.c, structuredOracle(maxPlus, a, b, given).values, `product ${index}`)
    })
    const wrong = caught(group([{ a: matrix(1, 1), b: matrix(1, 1), structure: 'upper' as never }]))
    expectError(await wrong, 'ERR_MPMML_OPTION', 'products[0].structure')
  })
}

function witnesses(backend: 'cpu' | 'cuda'): void {
  for (const algebra of algebras.filter(({ semiring }) => semiring !== 'plus-times')) {
    it(`${algebra.semiring} on ${algebra.type}`, () => {
      for (const [name, structure] of Object.entries(structures)) {
        for (const size of [
          [1, 1, 1],
          [17, 33, 31],
          [67, 141, 83],
          [3, 300, 70],
        ] as Size[]) {
          const { a, b } = operands(algebra, size, structure, 91, { spread: 20 })
          const c0 = filled(algebra, [size[0], size[2]], structure.c, 93, { spread: 30 })
          for (const given of [{ structure }, { structure, c0 }] as Given[]) {
            const options = optionsOf(algebra, { backend, structure, witness: true })
            if (given.c0) options.accumulate = given.c0 as DenseMatrix
            const { c, witness } = productNow(a, b, options)
            const expected = structuredOracle(algebra, a, b, given)
            expectValues(c, expected.values, `${name}, ${size}`)
            expectWitness(witness!, expected, `${name}, ${size}`)
          }
        }
      }
    })
  }
  it.each(['saturate', 'wrap'] as const)('of sums that overflow: %s', (overflow) => {
    const filling = { spread: 100_000_000, center: 1_073_700_000 }
    const { a, b } = operands(maxPlus, [40, 60, 50], upper, 95, filling)
    const { c, witness } = productNow(a, b, { backend, structure: upper, witness: true, overflow })
    const expected = structuredOracle(maxPlus, a, b, { structure: upper, overflow })
    expectValues(c, expected.values, overflow)
    expectWitness(witness!, expected, overflow)
  })
}

function resident(backend: 'cpu' | 'cuda'): void {
  it('computes into new matrices and into those that are there', async () => {
    await using device = await openDevice({ backend })
    for (const algebra of algebras) {
      for (const structure of [upper, structures['narrow bands']!]) {
        const { a, b } = operands(algebra, [33, 70, 45], structure, 121)
        const before = filled(algebra, [33, 45], undefined, 123)
        const [A, B, C] = await Promise.all([a, b, before].map((it) => device.upload(it as DenseMatrix)))
        const options = optionsOf(algebra, { structure })
        const what = `${algebra.semiring} on ${algebra.type}`
        const { c } = await product(A, B, options)
        const download = (it: unknown) => (it as DeviceMatrix).download()
        expectValues(await download(c), structuredOracle(algebra, a, b, { structure }).values, what)
        await product(A, B, { ...options, out: C as never })
        const into = structuredOracle(algebra, a, b, { structure, before })
        expectValues(await download(C), into.values, `${what}, into out`)
        // What was outside of the operands' structures is there for the next product.
        const second = await product(A, B, { ...options, structure: { ...structure, c: 'general' } })
        const general = structuredOracle(algebra, a, b, { structure: { ...structure, c: 'general' } })
        expectValues(await download(second.c), general.values, `${what}, again`)
        if (algebra.semiring === 'plus-times') continue
        const { witness } = await product(A, B, { ...options, witness: true })
        expectWitness(await download(witness), structuredOracle(algebra, a, b, { structure }), what)
      }
    }
  })

  it('multiplies a result that has garbage outside by itself, as a closure of a triangle does', async () => {
    await using device = await openDevice({ backend })
    let host = filled(maxPlus, [70, 70], 'upper', 131)
    const D = await device.upload(host as DenseMatrix<Int32Array>)
    for (let round = 0; round < 3; round++) {
      const out = await device.upload(host as DenseMatrix<Int32Array>)
      const { c } = await mpmm(round === 0 ? D : out, round === 0 ? D : out, { structure: upper })
      const { values } = structuredOracle(maxPlus, host, host, { structure: upper })
      expectValues(await c.download(), values, `round ${round}`)
      host = made(Int32Array.from(values), [70, 70])
    }
  })

  it('computes groups, and keeps what is outside', async () => {
    await using device = await openDevice({ backend })
    const tasks = await Promise.all(
      listOf(12, (index) => index).map(async (index) => {
        const { a, b } = operands(maxPlus, [30, 40, 35], upper, 140 + index)
        const before = filled(maxPlus, [30, 35], undefined, 160 + index)
        const [A, B, C] = await Promise.all([a, b, before].map((it) => device.upload(it as DenseMatrix)))
        return { a, b, before, A, B, C, isNew: index % 2 === 0 }
      }),
    )
    const results = await group(
      tasks.map(({ A, B, C, isNew }) => ({ a: A!, b: B!, out: isNew ? undefined : C! }) as GroupedProduct),
      { structure: upper },
    )
    for (const [index, { a, b, before, isNew }] of tasks.entries()) {
      const given = isNew ? { structure: upper } : { structure: upper, before }
      const c = await (results[index]!.c as unknown as DeviceMatrix).download()
      expectValues(c, structuredOracle(maxPlus, a, b, given).values, `product ${index}`)
    }
  })

  it.each(algebras)('computes groups of $semiring on $type whose products are alike', async (algebra) => {
    await using device = await openDevice({ backend })
    const [m, k, n] = [41, 50, 37] as const
    const load = (source: Made): Promise<DeviceMatrix> => device.upload(source as DenseMatrix)
    /** The same as a part of a transposed matrix. */
    const inPart = async (source: Made): Promise<DeviceMatrix> => {
      const data = new arrayOf[algebra.type](2 * m * n).fill(1)
      source.data.forEach((value: number, at: number) => {
        data[(at % n) * 2 * m + Math.floor(at / n)] = value
      })
      return (await load(made(data, [n, 2 * m]))).view({ cols: [0, m] }).transpose()
    }
    for (const structure of [upper, structures['narrow bands']!, { c: 'lower' } as const]) {
      const tasks = await Promise.all(
        listOf(14, (index) => index).map(async (index) => {
          // As far as bounds tell, no sum overflows: so a GPU needn't look at them one by one.
          const { a, b } = operands(algebra, [m, k, n], structure, 300 + 2 * index, { outside: 50 })
          const c0 =
            index % 2 ? filled(algebra, [m, n], structure.c, 500 + index, { outside: 50 }) : undefined
          const before = filled(algebra, [m, n], undefined, 400 + index)
          const out =
            index % 3 === 0 ? await load(before) : index % 3 === 1 ? await inPart(before) : undefined
          return { a, b, c0, before, out, A: await load(a), B: await load(b), C0: c0 && (await load(c0)) }
        }),
      )
      const results = await group(
        tasks.map(({ A, B, out, C0 }) => ({ a: A, b: B, out, accumulate: C0 }) as unknown as GroupedProduct),
        optionsOf(algebra, { structure }) as never,
      )
      for (const [index, { a, b, before, c0, out }] of tasks.entries()) {
        const c = await (results[index]!.c as unknown as DeviceMatrix).download()
        const given = { structure, c0, before: out && before }
        expectValues(c, structuredOracle(algebra, a, b, given).values, `product ${index}`)
      }
    }
  })

  it('names the product whose sum overflows among others that are alike', async () => {
    await using device = await openDevice({ backend })
    const [one, huge] = [await device.full([9, 9], 1), await device.full([9, 9], 2 ** 30)]
    const products: GroupedProduct[] = listOf(20, (index) => index).map((index) => {
      const a = index < 17 ? one : huge
      return { a, b: a }
    })
    const error = await caught(group(products, { structure: upper }))
    expectError(error, 'ERR_MPMML_OVERFLOW', 'products[17]: C[0, 0]')
    const results = await group(products, { structure: upper, overflow: 'saturate' })
    const first = async (index: number) =>
      (await (results[index]!.c as unknown as DeviceMatrix).download()).data[0]
    expect([await first(16), await first(17)]).toEqual([2, 2 ** 31 - 1])
  })
}

function readings(backend: 'cpu' | 'cuda'): void {
  const one = matrix(1, 1)
  it.each([
    ['upper', /structure must be an object/],
    [null, /structure must be an object/],
    [{ d: 'upper' }, /no option 'd' of option structure/],
    [{ a: 'triangular' }, /structure\.a must be 'general'/],
    [{ a: 7 }, /structure\.a must be 'general'/],
    [{ b: {} }, /structure\.b\.band must be an array/],
    [{ b: { bands: [1, 2] } }, /no option 'bands'/],
    [{ c: { band: [1] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: [1, 2, 3] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: [1, 2.5] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: [Number.NaN, 1] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: [Number.NEGATIVE_INFINITY, 1] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: ['1', 1] } }, /structure\.c\.band must be two numbers/],
  ])('%o is refused', async (structure, message) => {
    const options = { backend, structure } as never
    for (const error of [thrown(() => mpmmSync(one, one, options)), await caught(mpmm(one, one, options))]) {
      expectError(error, 'ERR_MPMML_OPTION', message as RegExp)
    }
  })

  it('shows in results and plans, and the steps that count in gops', async () => {
    const n = 150
    const { a, b } = operands(maxPlus, [n, n, n], upper, 1)
    const result = productNow(a, b, { backend, structure: upper })
    expect(result.structure).toEqual(upper)
    const { steps } = structuredOracle(maxPlus, a, b, { structure: upper })
    expect(steps).toBe((n * (n + 1) * (n + 2)) / 6)
    expect(result.gops).toBeCloseTo((2 * steps) / result.timing.kernelMs / 1e6, 6)
    const planned = await plan(a as DenseMatrix<Int32Array>, b as DenseMatrix<Int32Array>, {
      backend,
      structure: { a: { band: [0, 3] } },
    })
    expect(planned.structure).toEqual({ a: { band: [0, 3] }, b: 'general', c: 'general' })
    expect(productNow(one, one, { backend })).not.toHaveProperty('structure')
    expect(await plan(one, one, { backend })).not.toHaveProperty('structure')
  })

  it('is planned as it is computed', async () => {
    for (const filling of [{ spread: 60, zeros: 0 }, { spread: 40_000, zeros: 0 }, { spread: 900_000_000 }]) {
      const { a, b } = operands(maxPlus, [90, 100, 80], upper, 7, filling)
      const options = { backend, structure: upper, overflow: 'saturate' } as const
      const { path, variant } = await plan(
        a as DenseMatrix<Int32Array>,
        b as DenseMatrix<Int32Array>,
        options,
      )
      expect(productNow(a, b, options)).toMatchObject({ path, variant })
    }
  })

  it('counts exactly the steps of which both elements belong', () => {
    for (const structure of Object.values(structures)) {
      for (const size of sizes) {
        const { a, b } = operands(maxPlus, size, structure, 9)
        const { gops, timing } = productNow(a, b, { backend, structure })
        const { steps } = structuredOracle(maxPlus, a, b, { structure })
        expect((gops * timing.kernelMs * 1e6) / 2).toBeCloseTo(steps, 3)
      }
    }
  })
}
