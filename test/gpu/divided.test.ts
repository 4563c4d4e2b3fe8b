/**
 * Stream-K: products whose last tiles are divided among blocks, and products with whole tiles only. The
 * choice depends on the GPU's multiprocessors, so the sizes cover both on small and on large GPUs. The ranges
 * of blocks end within tiles and at their ends. A tile has few parts or many. Some products have whole waves
 * of tiles before the divided ones.
 */
import { describe, it } from 'vitest'
import { EPSILON, matrix, mpmm, mpmmSync, type VariantName } from '../../lib/index.js'
import { expectElements, expectProduct } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { dense, type Strided } from '../support/oracle.js'
import { expectIs } from '../support/resident.js'
import { describeUnless } from '../support/skip.js'

type Size = readonly [m: number, k: number, n: number]

/** Few tiles and many steps; the last tiles of each dimension are partial. */
const deep: Size[] = [
  [128, 4096, 64],
  [1, 3000, 1],
  [100, 700, 50],
  [130, 2500, 140],
  [260, 2048, 260],
  [500, 640, 700],
]

const int32 = [
  'pipelined_maxplus_i32_128x64x16_8x8_st4_sl4',
  'pipelined_maxplus_i32_128x64x16_8x8_st4_sl4_acc16',
  'pipelined_minplus_i32_128x64x16_8x8_st4_sl4',
  'pipelined_minplus_i32_128x64x16_8x8_st4_sl4_acc16',
] as const
const float32 = [
  'pipelined_maxplus_f32_64x128x16_8x8_st3_sl4',
  'pipelined_maxplus_f32_128x64x16_8x8_st4_sl4',
  'pipelined_minplus_f32_64x128x16_8x8_st3_sl4',
] as const

const semiringOf = (variant: VariantName) => (variant.includes('minplus') ? 'min-plus' : 'max-plus')

/**
 * Values within each variant's range, and zeros of the semiring. Lanes of 16 bits have room for a range of 16
 * 000.
 */
function integers(
  shape: number[],
  seed: number,
  variant: VariantName,
  noValues = 0.1,
): { data: Int32Array; shape: number[] } {
  const random = new Random(seed)
  const none = semiringOf(variant) === 'min-plus' ? 2 ** 31 - 1 : EPSILON
  const most = variant.endsWith('acc16') ? 7000 : 300_000_000
  const length = shape.reduce((product, size) => product * size, 1)
  const data = Int32Array.from({ length }, () =>
    random.chance(noValues) ? none : random.integer(-most, most),
  )
  // One row has only zeros of the semiring.
  data.fill(none, 0, shape.at(-1))
  return { data, shape }
}

const expectSame = (c: Strided, expected: Strided) => expectElements(c, dense(expected))

describeUnless(withoutCuda(), 'cuda', () => {
  describe.each(int32)('%s', (variant) => {
    const semiring = semiringOf(variant)
    const options = { backend: 'cuda', variant, semiring } as const

    it.each(deep)('computes %i × %i by %i columns', (m, k, n) => {
      expectProduct(integers([m, k], 1, variant), integers([k, n], 2, variant), options)
    })

    it('accumulates, once per result', () => {
      const [m, k, n] = [300, 1500, 200]
      const accumulate = integers([m, n], 3, variant)
      const a = integers([m, k], 4, variant),
        b = integers([k, n], 5, variant)
      expectProduct(a, b, { ...options, accumulate })
      const out = { data: accumulate.data.slice(), shape: [m, n] }
      mpmmSync(a, b, { ...options, accumulate: out, out })
      expectSame(out, mpmmSync(a, b, { backend: 'cpu', semiring, accumulate }).c)
    })

    it('computes batches, each result in its entry', () => {
      for (const [batch, m, k, n] of [
        [3, 200, 700, 130],
        [7, 129, 1300, 65],
      ] as const) {
        expectProduct(integers([batch, m, k], 6, variant), integers([batch, k, n], 7, variant), {
          ...options,
          semiring,
        })
      }
    })

    it('accepts views', () => {
      const whole = integers([400, 1000], 8, variant)
      const a = { data: whole.data, shape: [900, 300], strides: [1, 1000], offset: 2003 }
      const b = { data: whole.data, shape: [300, 250], strides: [1000, 1], offset: 17 }
      expectProduct(a, b, options)
    })

    it('does not divide structured products', () => {
      const a = integers([700, 700], 9, variant),
        b = integers([700, 700], 10, variant)
      const structure = { a: 'lower', b: 'lower' } as const
      const { c } = mpmmSync(a, b, { ...options, structure })
      expectSame(c, mpmmSync(a, b, { backend: 'cpu', semiring, structure }).c)
    })

    // The oracle would take seconds. Other tests compare the CPU's kernels with it.
    it.each([
      [1290, 1000, 1300],
      [1170, 1100, 1150],
      [768, 768, 768],
      [1536, 640, 1536],
      [2170, 640, 2170],
      [2000, 200, 1500],
    ])('computes %i × %i by %i columns, as the CPU does', (m, k, n) => {
      const a = integers([m, k], 11, variant),
        b = integers([k, n], 12, variant)
      const { c } = mpmmSync(a, b, options)
      expectSame(c, mpmmSync(a, b, { backend: 'cpu', semiring }).c)
    })
  })

  it.each([
    [5, 512, 700, 512],
    [17, 512, 640, 500],
    [7, 700, 950, 700],
    [2, 1290, 1000, 1280],
  ])('computes batches of %i, %i × %i by %i columns, as the CPU does', (batch, m, k, n) => {
    const variant = int32[0]
    const a = integers([batch, m, k], 13, variant)
    const b = integers([batch, k, n], 14, variant)
    const { c } = mpmmSync(a, b, { backend: 'cuda', variant })
    expectSame(c, mpmmSync(a, b, { backend: 'cpu' }).c)
  })

  it('computes concurrent products, each with its own parts', async () => {
    const variant = int32[0]
    const products = [300, 310, 320, 330].map((m) => {
      const a = integers([m, 1200], m, variant)
      const b = integers([1200, 260], 16, variant)
      return { a, b, expected: mpmmSync(a, b, { backend: 'cpu' }).c }
    })
    const results = Array.from({ length: 40 }, async (_, index) => {
      const { a, b, expected } = products[index % products.length]!
      expectSame((await mpmm(a, b, { backend: 'cuda', variant })).c, expected)
    })
    await Promise.all(results)
  })

  it('leaves few large values to the exact arithmetics', () => {
    const a = matrix(
      150,
      2000,
      Int32Array.from({ length: 300_000 }, (_, index) => (index % 2000) * 1_000_000 - 999_000_000),
    )
    const b = matrix(
      2000,
      140,
      Int32Array.from({ length: 280_000 }, (_, index) => (index % 140) * 1000),
    )
    expectProduct(a, b, { backend: 'cuda' })
    expectProduct(a, b, { backend: 'cuda', overflow: 'saturate' })
  })

  describe.each(float32)('%s', (variant) => {
    const semiring = semiringOf(variant)
    const floats = (rows: number, cols: number, seed: number) => {
      const random = new Random(seed)
      const rare = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
      const value = () =>
        random.chance(0.001) ? random.pick(rare) : random.integer(-(2 ** 30), 2 ** 30) / 2 ** 12
      const data = Float32Array.from({ length: rows * cols }, value)
      return { data, shape: [rows, cols] as [number, number] }
    }
    it.each(deep)('computes %i × %i by %i columns', (m, k, n) => {
      const a = floats(m, k, 1),
        b = floats(k, n, 2)
      const { c } = mpmmSync(a, b, { backend: 'cuda', variant, semiring })
      expectIs(c, { semiring, type: 'float32' }, a, b)
    })

    // Each slice of K has sums of one sign, so that the assumed sign is wrong in some slices: at some
    // elements, or at all.
    it.each(deep)('computes %i × %i by %i columns, signs by the step', (m, k, n) => {
      for (const slices of [2, 4, 37]) {
        for (const first of [1, -1]) {
          for (const others of [0, 0.02]) {
            const random = new Random(slices)
            const sign = (step: number) => {
              const own = Math.floor((step * slices) / k) % 2 === 0 ? first : -first
              return random.chance(others) ? -own : own
            }
            const values = (rows: number, cols: number, step: (row: number, col: number) => number) => ({
              data: Float32Array.from(
                { length: rows * cols },
                (_, index) => sign(step(Math.floor(index / cols), index % cols)) * random.integer(1, 1000),
              ),
              shape: [rows, cols] as [number, number],
            })
            const [a, b] = [values(m, k, (_, col) => col), values(k, n, (row) => row)]
            const { c } = mpmmSync(a, b, { backend: 'cuda', variant, semiring })
            expectIs(c, { semiring, type: 'float32' }, a, b)
          }
        }
      }
    })
  })
})
