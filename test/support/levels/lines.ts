/** Products whose elements have a small range in lines: the rows of A or the columns of B. */
import { describe, expect, it } from 'vitest'
import { mpmm, plan } from '../../../lib/index.js'
import type { Size } from '../cases.js'
import { expectRejected } from '../expect.js'
import { Random } from '../generators.js'
import { type Algebra, type Elements, elements, elementsOf, sourceOf } from '../products/case.js'
import { expectValues } from '../products/law.js'
import {
  byLines,
  caseOf,
  type Element,
  floats,
  type LevelsCheck,
  named,
  operand,
  type Path,
  sums,
  wide,
} from './check.js'

/**
 * Products with a small range within lines. The range of the last line is `spread`; other lines have smaller
 * ranges.
 */
interface Lines {
  spread: number
  zeros?: number
  /** Whether every fifth line is all ε, and whether the last line has an ε. */
  empty?: boolean
  oneZero?: boolean
  /** Floats are offset + step · (line · apart + level); the last element may be a different value. */
  step?: number
  offset?: number
  apart?: number
  last?: number
}

/** Sizes that exceed one slot of a GPU's pinned memory, and the sample for the estimate of line ranges. */
const sizesOfLines = { cuda: [300, 530, 310], cpu: [70, 131, 75] } as const
const anything: Lines = { spread: 200_000_000, zeros: 0.3 }

const integerCases: [string, Lines, Lines, Path[]][] = [
  ['31 in B, anything in A', anything, { spread: 31 }, byLines],
  ['32 in B, anything in A', anything, { spread: 32 }, wide],
  ['37 in B, anything in A', anything, { spread: 37 }, wide],
  ['38 in B, anything in A', anything, { spread: 38 }, []],
  ['31 in A, anything in B', { spread: 31 }, anything, byLines],
  ['38 in A, anything in B', { spread: 38 }, anything, []],
  ['31 in A with an ε', { spread: 31, oneZero: true }, anything, []],
  ['31 in A with rows of ε', { spread: 31, empty: true }, anything, byLines],
  ['41 in both, ε', { spread: 20, zeros: 0.2 }, { spread: 21, zeros: 0.2, empty: true }, byLines],
  ['42 in both, ε', { spread: 21, zeros: 0.2 }, { spread: 21, zeros: 0.2 }, wide],
  ['49 in both, ε', { spread: 24, zeros: 0.2 }, { spread: 25, zeros: 0.2 }, wide],
  ['50 in both, ε', { spread: 25, zeros: 0.2 }, { spread: 25, zeros: 0.2 }, []],
]

const whole: Lines = { spread: 100_000, zeros: 0.3 }
const floatCases: [string, Lines, Lines, Path[]][] = [
  ['whole numbers, 31 in B', whole, { spread: 31 }, byLines],
  ['whole numbers, 32 in A', { spread: 32 }, whole, wide],
  ['whole numbers, 38 in A', { spread: 38 }, whole, []],
  [
    'steps of 1/2 from −3.25',
    { spread: 31, step: 0.5, offset: -3.25 },
    { ...whole, step: 0.5, apart: 0 },
    byLines,
  ],
  ['steps of 3 and of 6', { spread: 15, step: 6, offset: 1 }, { ...whole, step: 3, offset: 0.5 }, byLines],
  ['steps of 6 and of 4, 18 of 6', { spread: 18, step: 6 }, { ...whole, step: 4 }, []],
  ['steps of 1/10, which floats round', { spread: 9, step: 0.1 }, { spread: 9, step: 0.1 }, []],
  ['41 in both, ε', { spread: 20, zeros: 0.2 }, { spread: 21, zeros: 0.2 }, byLines],
  ['50 in both, ε', { spread: 25, zeros: 0.2 }, { spread: 25, zeros: 0.2 }, []],
  ['31 and columns of ε', whole, { spread: 31, empty: true }, byLines],
  // The significands of float32 have 24 bits.
  ['sums up to 2²⁴', { spread: 31, apart: 0, last: 2 ** 24 - 31 }, { spread: 31, apart: 0 }, byLines],
  ['sums beyond 2²⁴', { spread: 31, apart: 0, last: 2 ** 24 - 30 }, { spread: 31, apart: 0 }, []],
  ['−0 in A', { spread: 31, apart: 0, last: -0 }, whole, byLines],
  ['−0 in A and B', { spread: 31, apart: 0, last: -0 }, { ...whole, last: -0 }, []],
  ['NaN in A', { spread: 31, last: Number.NaN }, { spread: 31 }, []],
  ['the other infinity in B', { spread: 31 }, { spread: 31, last: Number.POSITIVE_INFINITY }, []],
  ['a tiny number in A', { spread: 31, last: 2 ** -149 }, { spread: 31 }, []],
]

function linesOf(
  [m, k, n]: Size,
  side: 'A' | 'B',
  given: Lines,
  algebra: Algebra,
  seed: number,
  batch?: number,
): Elements {
  const { spread, zeros = 0, empty = false, oneZero = false, step = 1, offset = 0, last } = given
  const { isInteger, greatest } = algebra
  const random = new Random(seed)
  const [rows, cols] = side === 'A' ? [m, k] : [k, n]
  const count = (batch ?? 1) * (side === 'A' ? m : n)
  const far = isInteger ? 1_000_000 : (given.apart ?? 50)
  const created = operand(
    side,
    algebra,
    (line, at) => {
      const isLast = line === count - 1
      const center = isInteger && spread > 1000 ? -100_000_000 : (((line * 37) % 201) - 100) * far
      const level =
        at < 2 && (isLast || !isInteger) ? at * spread : random.integer(0, isLast ? spread : spread - 1)
      const isHole = (empty && line % 5 === 3) || random.chance(zeros) || (oneZero && isLast && at === k - 1)
      if (isHole && !(isInteger && isLast && at < 2)) return Number.NaN
      return offset + step * (center + level)
    },
    rows,
    cols,
    batch,
  )
  if (last !== undefined)
    created.data[created.data.length - 1] = Object.is(last, -0) ? -0 : greatest ? last : -last
  return created
}

export function smallLines({ backend, open, inArrays, targets, variantsOf, check }: LevelsCheck): void {
  const [m, k, n] = sizesOfLines[backend]
  const lines = (side: 'A' | 'B', given: Lines, algebra: Algebra, seed: number, batch?: number) =>
    linesOf([m, k, n], side, given, algebra, seed, batch)

  describe.each(named(sums))('lines of %s', (_, algebra) => {
    const { semiring } = algebra

    it.each(integerCases)('are computed: %s', async (what, linesA, linesB, fitting) => {
      const one = caseOf(algebra, lines('A', linesA, algebra, 1), lines('B', linesB, algebra, 2), what)
      await check(one, fitting, targets, ['new'], byLines)
      for (const [path, variant] of variantsOf(algebra, fitting)) {
        expect(
          (await plan(sourceOf(one.a) as never, sourceOf(one.b) as never, { semiring, variant })).arithmetic,
        ).toBe(path)
      }
    })

    // A sum has 31 steps, and a tile 62. Equal elements produce the greatest sum, which is just below that of
    // the next level.
    it.each([1, 30, 31, 32, 61, 62, 63, 93, 124, 125])(
      'are right for %i steps that are all equal, or all but the last',
      async (depth) => {
        const sign = algebra.greatest ? 1 : -1
        const element: Element = (line, step) =>
          sign *
          (line % 3 === 0
            ? 5
            : line % 3 === 1
              ? step === depth - 1
                ? 4
                : 3
              : step === line % depth
                ? 41
                : 4)
        const [a, b] = [operand('A', algebra, element, 40, depth), operand('B', algebra, element, depth, 50)]
        await check(caseOf(algebra, a, b, `${depth}`), wide, [inArrays], ['new'], wide)
      },
    )

    it('are decided by a line of a batch', async () => {
      const a = lines('A', anything, algebra, 3)
      for (const [spread, fitting] of [
        [37, wide],
        [38, []],
      ] as [number, Path[]][]) {
        await check(
          caseOf(algebra, a, lines('B', { spread }, algebra, 4, 2), `${spread}`),
          fitting,
          [inArrays],
          ['new'],
          wide,
        )
      }
    })

    it('have separate lines in views', async () => {
      // The rows of A have a small range, its columns any; its last row has a range that is one too large.
      const [a, b] = [lines('A', { spread: 38 }, algebra, 5), lines('B', anything, algebra, 6)]
      const there = {
        a: await open().upload(sourceOf(a) as never),
        b: await open().upload(sourceOf(b) as never),
      }
      const all = there.a.view({ rows: [0, m - 1] })
      const some = { ...a, data: a.data.subarray(0, (m - 1) * k), rows: m - 1 }
      const transposed = (x: Elements) =>
        elementsOf({ data: x.data, shape: [x.cols, x.rows], strides: [1, x.cols] })
      for (const [path, variant] of [[undefined, undefined], ...variantsOf(algebra, wide)] as const) {
        const options = variant ? { semiring, variant } : { semiring }
        const { c, arithmetic: taken } = await mpmm(all, there.b, options)
        expectValues(caseOf(algebra, some, b, 'without the last row'), await c.download())
        // Bᵀ ⊗ Aᵀ: the columns of Aᵀ are the rows of A.
        const other = await mpmm(there.b.transpose(), all.transpose(), options)
        expectValues(caseOf(algebra, transposed(b), transposed(some), 'transposed'), await other.c.download())
        if (path) expect([taken, other.arithmetic]).toEqual([path, path])
        if (variant) {
          await expectRejected(mpmm(there.a, there.b, options), 'VARIANT')
          // If Aᵀ is the left operand, the lines are the columns of A.
          await expectRejected(mpmm(all.transpose(), all, options), 'VARIANT')
        }
        for (const matrix of [c, other.c]) matrix.dispose()
      }
      for (const matrix of [there.a, there.b]) matrix.dispose()
    })

    it('are scanned again after a write', async () => {
      const [a, b] = [lines('A', { spread: 31 }, algebra, 7), lines('B', anything, algebra, 8)]
      const there = {
        a: await open().upload(sourceOf(a) as never),
        b: await open().upload(sourceOf(b) as never),
      }
      const product = async (what: string) => {
        const { c } = await mpmm(there.a, there.b, { semiring })
        expectValues(caseOf(algebra, a, b, what), await c.download())
        c.dispose()
      }
      for (const [, variant] of variantsOf(algebra, byLines))
        (await mpmm(there.a, there.b, { semiring, variant })).c.dispose()
      await product('as it was uploaded')
      // Operand with one element that is better than all others.
      const d = elements(new Int32Array(m * k).fill(algebra.zero), m, k)
      a.data[k] = d.data[k] = 300_000_000 * (algebra.greatest ? 1 : -1)
      const written = await open().upload(sourceOf(d) as never)
      await there.a.combine(written, { semiring })
      for (const [, variant] of variantsOf(algebra, byLines)) {
        await expectRejected(mpmm(there.a, there.b, { semiring, variant }), 'VARIANT')
      }
      await product('after an element was written')
      for (const matrix of [written, there.a, there.b]) matrix.dispose()
    })
  })

  it.each(
    named(floats).flatMap(([name, algebra]) => floatCases.map((each) => [name, ...each, algebra] as const)),
  )('are right in lines of %s: %s', async (_, what, linesA, linesB, fitting, algebra) => {
    const [a, b] = [lines('A', linesA, algebra, 1), lines('B', linesB, algebra, 2)]
    const start = lines('B', { spread: 9, zeros: 0.5 }, algebra, 3)
    const c0 = elements(start.data.subarray(0, m * n), m, n)
    await check(caseOf(algebra, a, b, what), fitting, targets, ['new'], byLines)
    await check(caseOf(algebra, a, b, `${what}, C0`, { c0 }), fitting, [inArrays], ['new'], byLines)
  })
}
