/**
 * Products whose elements have a small range, in lines or in chunks of K, with and without witnesses. A GPU
 * computes them as exponents on tensor cores. Each case lists the arithmetics that can compute it; all others
 * must reject it.
 */
import { describe, expect, it } from 'vitest'
import { mpmm, type ProductStructure, plan, type VariantName, variants } from '../../lib/index.js'
import type { Size } from './cases.js'
import { expectError, expectRejected } from './expect.js'
import { Random } from './generators.js'
import { useDevice } from './homes.js'
import { tensorCores } from './machine.js'
import {
  type Algebra,
  algebraOf,
  by,
  type Case,
  type Elements,
  elements,
  elementsOf,
  nameOf,
  sourceOf,
} from './products/case.js'
import { expectRight, expectValues } from './products/law.js'
import { compute, type ExecutionTarget, type ResultTarget } from './products/targets.js'
import { startFor } from './products/values.js'
import { withStructure } from './suite-products.js'
import { exponentVariants } from './table.js'

type Path = 'exponent' | 'exponent-wide' | 'exponent-bounded'
const accumulators: Record<Path, string> = {
  exponent: 'exponent',
  'exponent-wide': 'exponentwide',
  'exponent-bounded': 'exponentbounded',
}
const paths = Object.keys(accumulators) as Path[]
const byLines: Path[] = ['exponent', 'exponent-wide']
const wide: Path[] = ['exponent-wide']
const bounded: Path[] = ['exponent-bounded']

const sums = (['max-plus', 'min-plus'] as const).map((semiring) => algebraOf(semiring))
const floats = (['max-plus', 'min-plus'] as const).map((semiring) => algebraOf(semiring, 'float32'))
const named = (list: Algebra[]) => list.map((one) => [nameOf(one), one] as const)

/** Function that gives the element at index k of a line (row of A or column of B). NaN stands for the semiring's zero. */
type Element = (line: number, k: number) => number

/** Operand with generated elements; its lines are the rows of A or the columns of B. */
function operand(
  side: 'A' | 'B',
  { zero, dtype }: Algebra,
  element: Element,
  rows: number,
  cols: number,
  batch?: number,
): Elements {
  const data = new (dtype === 'float32' ? Float32Array : Int32Array)((batch ?? 1) * rows * cols)
  for (let at = 0; at < data.length; at++) {
    const [row, col] = [Math.floor(at / cols), at % cols]
    const line = side === 'A' ? row : Math.floor(row / rows) * cols + col
    const value = side === 'A' ? element(line, col) : element(line, row % rows)
    data[at] = Number.isNaN(value) ? zero : value
  }
  return elements(data, rows, cols, batch)
}

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

/**
 * Returns the level of an element below the best one. Tiles along K have 64 steps, or 62 in the arithmetic
 * `exponent-wide`.
 */
type Level = (random: Random, line: number, k: number) => number | null

const upTo =
  (most: number, zeros = 0): Level =>
  (random) =>
    random.chance(zeros) ? null : random.integer(0, most)
const equal: Level = () => 0
/**
 * The lines are far apart, and their best elements are at different positions. For float32 all values are
 * less than 2^24 steps.
 */
const anyLevel: Level = (random, line) => random.integer(0, 100_000) + 300_000 * (line % 41)
const emptyLines =
  (level: Level): Level =>
  (random, line, k) =>
    line % 5 === 3 ? null : level(random, line, k)
const best: Record<string, Level> = {
  'from place to place on': (_, line, k) => (k >= line ? 0 : 1),
  'again in every tile': (_, line, k) => (k % 64 === line % 64 ? 0 : 1),
  'alone, others far below': (_, line, k) => (k === (line * 7) % 131 ? 0 : 31),
  'alone, others zero': (_, line, k) => (k === (line * 7) % 131 ? 0 : null),
  'last in its tile': (_, line, k) => (k === 64 * (line % 3) + 63 ? 0 : 1),
  'last in its tile of 62 steps': (_, line, k) => (k === 62 * (line % 3) + 61 ? 0 : 1),
  'first of 31 steps': (_, line, k) => (k === 31 * (line % 5) ? 0 : 1),
}

const witnessCases: [string, Level, Level, Path[]][] = [
  ['all equal', equal, equal, paths],
  ['few levels, many ties', upTo(2), upTo(2), paths],
  ['16 levels', upTo(15), upTo(15), paths],
  ['31 levels in B, anything in A', anyLevel, upTo(31), paths],
  ['31 levels in A, anything in B', upTo(31), anyLevel, paths],
  ['37 levels in B, anything in A', anyLevel, upTo(37), wide],
  ['37 levels in A, anything and empty columns in B', upTo(37), emptyLines(anyLevel), wide],
  ['zeros in both, 41 levels', upTo(20, 0.3), upTo(21, 0.3), byLines],
  ['zeros in both, 49 levels', upTo(24, 0.3), upTo(25, 0.3), wide],
  ['mostly zeros', upTo(3, 0.97), upTo(3, 0.97), byLines],
  ['empty rows', emptyLines(upTo(9)), upTo(9), paths],
  ['empty rows and columns', emptyLines(upTo(9)), emptyLines(upTo(9)), byLines],
  ...Object.entries(best).flatMap(([name, level]): [string, Level, Level, Path[]][] => [
    [`the best of A ${name}`, level, equal, paths],
    [`the best of B ${name}`, equal, level, paths],
  ]),
  [
    'the best of both from place to place on',
    best['from place to place on']!,
    best['from place to place on']!,
    paths,
  ],
]
const witnessSizes: Size[] = [
  [130, 150, 66],
  [1, 1, 1],
  [3, 64, 131],
  [129, 65, 2],
  [21, 300, 33],
  [9, 62, 11],
  [11, 125, 9],
]

/**
 * Operand of given levels. Elements of float32 have steps of 1/2, and none is −0, because not both operands
 * may have −0.
 */
function levels(
  side: 'A' | 'B',
  algebra: Algebra,
  level: Level,
  rows: number,
  cols: number,
  seed: number,
  batch?: number,
) {
  const random = new Random(seed)
  const unit = (algebra.greatest ? 1 : -1) * (algebra.dtype === 'float32' ? 0.5 : 1)
  const element: Element = (line, at) => {
    const below = level(random, line, at)
    return below === null ? Number.NaN : unit * (7 - below) + 0
  }
  return operand(side, algebra, element, rows, cols, batch)
}

/** K is neither a multiple of 64 steps nor of chunks of 32. */
const boundedK = 613
const boundedSizes = { cuda: [141, 150], cpu: [29, 38] } as const
const chunk = 32

/** Random walk along K with differences of ±1; the columns are far apart. */
function walk(seed: number): Element {
  const known = new Map<number, Int32Array>()
  return (line, step) => {
    const steps = known.get(line) ?? new Int32Array(boundedK)
    if (!known.has(line)) {
      known.set(line, steps)
      const random = new Random(seed + line)
      steps[0] = random.integer(-100_000_000, 100_000_000)
      for (let at = 1; at < boundedK; at++) steps[at] = steps[at - 1]! + (random.chance(0.5) ? 1 : -1)
    }
    return steps[step]!
  }
}

/** Elements of a chunk are up to `most` apart, and neighbouring chunks differ by about a million. */
const jumps =
  (most: number): Element =>
  (line, step) =>
    (line % 7) * 1_000_000 +
    (Math.floor(step / chunk) % 2) * 1_000_000 +
    (step % chunk === 9 ? most : step % 5)

/** Lines with a range of `most`: all chunks are that far below the sixth one. */
const tall =
  (most: number): Element =>
  (line, step) =>
    line * 1000 + (Math.floor(step / chunk) === 5 ? most - (step % 5) : step % 7)

/**
 * Opposite operand of `tall`. Results are decided where the lines are low, where they are high, or where both
 * differ by 1.
 */
const acrossTall =
  (most: number): Element =>
  (line, step) => {
    const at = Math.floor(step / chunk)
    const kind = line % 6
    if (kind === 0) return step === 9 * chunk + (line % chunk) ? -line : Number.NaN
    if (kind === 1) return at === 5 ? -100_000_000 + step : at === 9 ? 100_000_000 : Number.NaN
    if (kind === 2) return Number.NaN
    return (at === 5 ? kind - 4 - most : at === 9 ? 0 : -40_000) + (step % 2)
  }

/** In the given chunks of some lines, one step is 32 better than the others, and one step is 32 worse. */
const rough =
  (chunks: readonly number[], other: Element): Element =>
  (line, step) => {
    if (line % 3 !== 1 || !chunks.includes(Math.floor(step / chunk))) return other(line, step)
    return other(line, step) + (step % chunk === 7 ? 32 : step % chunk === 21 ? -32 : 0)
  }

/** The last, partial chunk is ε in some lines, and chunk 2 has arbitrary values. */
const holes: Element = (line, step) => {
  if (step >= 608 && line % 2) return Number.NaN
  if (Math.floor(step / chunk) === 2) return ((line * 7919 + step * 104_729) % 20_011) * 1000
  return step % 31
}

const boundedCases = (boundedN: number): [string, Element, fits: boolean][] => [
  ['differences of ±1', walk(1), true],
  ['31 within a chunk', jumps(31), true],
  ['32 within a chunk', jumps(32), false],
  // Two of the 20 chunks are outliers, which are computed in integers.
  ['an ε', (line, step) => (line === boundedN - 1 && step === 3 ? Number.NaN : step % 3), true],
  ['32 within two chunks', rough([4, 18], jumps(31)), true],
  ['32 within three chunks', rough([4, 11, 18], jumps(31)), false],
  ['chunks of ε, and one without bounds', holes, true],
  // Unaligned chunks are 32 apart, aligned ones 31.
  ['a slope', (line, step) => step + line, true],
]

/** Arbitrary values. A share `zeros` of the elements, some whole chunks and some whole lines are ε. */
function chaos(zeros: number, spread = 200_000_000): Element {
  const random = new Random(17)
  return (line, step) =>
    random.chance(zeros) ||
    (zeros > 0 && (line % 11 === 4 || (line % 5 === 2 && Math.floor(step / chunk) % 3 !== 1)))
      ? Number.NaN
      : random.integer(-spread / 2, spread / 2)
}

export function levelsSuite(backend: 'cuda' | 'cpu'): void {
  const [m, k, n] = sizesOfLines[backend]
  const [boundedM, boundedN] = boundedSizes[backend]
  const lines = (side: 'A' | 'B', given: Lines, algebra: Algebra, seed: number, batch?: number) =>
    linesOf([m, k, n], side, given, algebra, seed, batch)
  const computes = backend === 'cuda' && tensorCores()
  const open = useDevice({ backend })
  const inArrays: ExecutionTarget = {
    name: 'arrays',
    options: { backend },
    expectation: { backend, timed: true },
    sync: true,
  }
  const onDevice: ExecutionTarget = {
    name: 'a device',
    options: {},
    device: open,
    expectation: { backend, timed: true },
  }
  const narrow: ExecutionTarget = { ...inArrays, name: 'int16', narrow: true }
  // The CPU has no special arithmetic for a small range.
  const targets = backend === 'cpu' ? [inArrays] : [inArrays, onDevice]

  const variantsOf = ({ semiring, dtype }: Algebra, of = paths): [Path, VariantName][] =>
    (computes ? of : []).flatMap((path) =>
      exponentVariants(semiring, accumulators[path], dtype).map((name): [Path, VariantName] => [path, name]),
    )

  /**
   * Checks the planner's choice, and the variants of all fitting arithmetics. The other variants must reject
   * the case.
   */
  async function check(
    one: Case,
    fitting: Path[],
    where: ExecutionTarget[] = targets,
    destinations: ResultTarget[] = ['new'],
    looked = paths,
  ) {
    for (const target of where) {
      for (const destination of destinations) {
        expectRight(
          one,
          await compute(target, one, destination),
          target.expectation,
          `${target.name}, by itself, ${destination}`,
        )
        for (const [path, name] of variantsOf(one.algebra, looked)) {
          const outcome = await compute(target, by(name, one, { path }), destination)
          if (fitting.includes(path)) {
            expectRight(
              by(name, one, { path }),
              outcome,
              target.expectation,
              `${target.name}, ${name}, ${destination}`,
            )
          } else {
            expectError(outcome.error, 'VARIANT', `variant ${name} can't run this product`)
          }
        }
      }
    }
  }
  const caseOf = (
    algebra: Algebra,
    a: Elements,
    b: Elements,
    what: string,
    more: Partial<Case> = {},
  ): Case => ({
    algebra,
    a,
    b,
    what: `${nameOf(algebra)}, ${what}`,
    ...more,
  })

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

  describe.each(named(sums))('bounded differences in %s', (_, algebra) => {
    const left = (element: Element) => operand('A', algebra, element, boundedM, boundedK)
    const right = (element: Element) => operand('B', algebra, element, boundedK, boundedN)
    const expectBounded = (
      a: Elements,
      b: Elements,
      fits: boolean,
      what: string,
      more: Partial<Case> = {},
      where = targets,
    ) => check(caseOf(algebra, a, b, what, more), fits ? bounded : [], where, ['new'], bounded)

    it.each(boundedCases(boundedN))('are computed in A or B: %s', async (what, element, fits) => {
      for (const zeros of [0, 0.3, 0.95])
        await expectBounded(left(chaos(zeros)), right(element), fits, `B: ${what}, ${zeros}`)
      for (const zeros of [0, 0.95])
        await expectBounded(left(element), right(chaos(zeros)), fits, `A: ${what}, ${zeros}`)
    })

    // Offsets of lines with a range of up to 10 900 fit in half a word; larger ones don't.
    it.each([0, 31, 10_899, 10_900, 10_901, 12_000, 70_000])(
      'are computed with lines of a range of %i',
      async (most) => {
        for (const sign of [1, -1]) {
          const across: Element = (line, step) => sign * acrossTall(most)(line, step)
          await expectBounded(left(tall(most)), right(across), true, `A, ${sign}`)
          await expectBounded(left(across), right(tall(most)), true, `B, ${sign}`)
        }
      },
    )

    it('are computed with distances that just fit, and one more', async () => {
      // The distances of B and of A must satisfy 6 · (1_000_031 + x) + 512 < 2^31.
      const most = Math.floor((2 ** 31 - 513) / 6) - 1_000_031
      for (const spread of [most, most + 1]) {
        const a = left(chaos(0.5, 2))
        // One row has both ends of the range, in separate chunks.
        a.data.fill(algebra.zero, 0, boundedK)
        a.data[5] = -100_000_000
        a.data[boundedK - 1] = -100_000_000 + spread
        await expectBounded(a, right(jumps(31)), spread === most, `${spread}`)
      }
    })

    it.each([
      ['smooth', walk(5)],
      ['smooth, with a great spread', jumps(31)],
      ['with rough chunks', holes],
    ] as const)('are computed with batches, C0, strides and int16: %s', async (what, element) => {
      const [a, b] = [left(chaos(0.4)), right(element)]
      const start = right((line, step) => ((line + step) % 3 ? Number.NaN : 150_000_000 - line))
      const c0 = elements(start.data.subarray(0, boundedM * boundedN), boundedM, boundedN)
      const pair = elements(new Int32Array([...b.data, ...right(walk(6)).data]), boundedK, boundedN, 2)
      await expectBounded(a, b, true, what, { c0, layouts: { b: 'transposed' } }, [inArrays])
      await expectBounded(a, pair, true, `${what}, a batch`, {}, [inArrays])
      await expectBounded(
        left(chaos(0, 30_000)),
        b,
        true,
        `${what}, int16`,
        { layouts: { b: 'transposed' } },
        [narrow],
      )
    })
  })

  describe.each(named([...sums, ...floats]))('witnesses of %s', (_, algebra) => {
    const own = algebra.isInteger ? paths : byLines
    const draw = (
      levelA: Level,
      levelB: Level,
      [rows, steps, cols]: Size,
      more: Partial<Case> = {},
      batches: (number | undefined)[] = [],
    ) => {
      const a = levels('A', algebra, levelA, rows, steps, 1, batches[0])
      const b = levels('B', algebra, levelB, steps, cols, 2, batches[1])
      return caseOf(algebra, a, b, `${rows} × ${steps} × ${cols}`, { witness: true, ...more })
    }
    const startOf = (rows: number, cols: number) => levels('A', algebra, upTo(60, 0.2), rows, cols, 3)
    const middle: Size = [70, 150, 133]

    it.each(witnessCases)('are right: %s', async (_name, levelA, levelB, fitting) => {
      for (const size of witnessSizes) {
        const one = draw(levelA, levelB, size, { c0: startOf(size[0], size[2]) })
        // Operands without a finite element have no levels.
        const hasLevels = [one.a, one.b].every(({ data }) => data.some((x) => x !== algebra.zero))
        const looked = own.filter((path) => fitting.includes(path) && hasLevels)
        await check({ ...one, c0: undefined }, looked, [inArrays], ['new'], looked)
        await check(one, looked, [inArrays], ['new', 'in place'], looked)
      }
    })

    it('are right in every layout, of batches, on a device, and of int16', async () => {
      for (const layout of [
        'transposed',
        'in a larger one',
        'transposed in a larger one',
        'every other element',
      ]) {
        const layouts = { a: layout, b: layout, c0: layout, out: layout }
        const one = draw(upTo(3), upTo(3), middle, { layouts, c0: startOf(70, 133) })
        await check(one, own, targets, ['in place'], own)
      }
      for (const batches of [
        [3, 3],
        [1, 3],
        [3, 1],
        [undefined, undefined],
      ]) {
        const one = draw(upTo(3), upTo(3), middle, {}, batches)
        // Twice, because packed formats are cached.
        await check(one, own, [inArrays, onDevice, onDevice], ['new'], own)
      }
      if (algebra.isInteger)
        await check(draw(upTo(20, 0.2), upTo(20, 0.2), middle), byLines, [narrow], ['new'], byLines)
    })

    it('are right with structures', async () => {
      const structures: ProductStructure[] = [
        { a: 'upper', b: 'upper', c: 'upper' },
        { a: 'lower', b: 'upper' },
        { c: { band: [20, 70] } },
        { a: { band: [3, 90] }, b: { band: [70, 1] }, c: { band: [10, 100] } },
      ]
      for (const structure of structures) {
        // A band causes zeros in both operands, which the arithmetic of bounded differences doesn't support.
        const looked = algebra.isInteger ? (structure.a && structure.b ? byLines : paths) : []
        await check(
          withStructure(draw(upTo(3), upTo(3), middle), structure),
          looked,
          [inArrays],
          ['new'],
          looked,
        )
      }
    })
  })

  it('use the same arithmetic as without a witness', async () => {
    // The product is large enough to occupy a GPU.
    const algebra = algebraOf('max-plus')
    const [rows, steps, cols] = [1500, 1400, 1600]
    const a = levels('A', algebra, upTo(15), rows, steps, 11)
    const b = levels('B', algebra, upTo(15), steps, cols, 12)
    const [x, y] = [await open().upload(sourceOf(a) as never), await open().upload(sourceOf(b) as never)]
    const without = await mpmm(x, y)
    const { c, witness, arithmetic } = await mpmm(x, y, { witness: true })
    if (computes) expect(arithmetic).toBe('exponent')
    expect(arithmetic).toBe(without.arithmetic)
    const [values, found] = [(await c.download()).data, (await witness.download()).data]
    for (let index = 0; index < rows * cols; index += 7919) {
      const [row, col] = [Math.floor(index / cols), index % cols]
      const all = Array.from(
        { length: steps },
        (_, at) => a.data[row * steps + at]! + b.data[at * cols + col]!,
      )
      const greatest = Math.max(...all)
      expect([values[index], found[index]]).toEqual([greatest, all.indexOf(greatest)])
    }
    for (const each of [without.c, c, witness, x, y]) each.dispose()
  })

  /** A tile has 1024 steps, whose bits are permuted. */
  describe('truth values', () => {
    const algebra = algebraOf('or-and', 'uint8')
    const random = new Random(13)
    const kinds: [string, (row: number, k: number) => boolean, (col: number, k: number) => boolean][] = [
      ['all true', () => true, () => true],
      ['none', () => false, () => true],
      ['from place to place on', (row, at) => at >= row * 17, (col, at) => at >= col],
      ['alone', (row, at) => at === (row * 37) % 1100, () => true],
      ['rare', () => random.chance(0.03), () => random.chance(0.03)],
      ['very rare', () => random.chance(0.005), () => random.chance(0.01)],
    ]
    const counts = variants().filter(
      ({ family, semiring }) => computes && family === 'boolean' && semiring === algebra.semiring,
    )
    it.each(kinds)('are computed: %s', async (what, isTrueA, isTrueB) => {
      for (const [rows, steps, cols] of [
        [70, 1100, 66],
        [20, 2100, 31],
        [5, 1024, 7],
        [131, 40, 2],
      ] as Size[]) {
        const a = elements(
          new Uint8Array(rows * steps).map((_, at) => (isTrueA(Math.floor(at / steps), at % steps) ? 3 : 0)),
          rows,
          steps,
        )
        const b = elements(
          new Uint8Array(steps * cols).map((_, at) => (isTrueB(at % cols, Math.floor(at / cols)) ? 3 : 0)),
          steps,
          cols,
        )
        const plain = caseOf(algebra, a, b, what, { witness: true })
        const c0 = startFor(algebra, 'many bits', rows, cols)
        for (const one of [plain, { ...plain, c0 }, { ...plain, structure: { c: 'upper' } as const }]) {
          for (const name of [undefined, ...counts.map((row) => row.name as VariantName)]) {
            const testCase = name ? by(name, one) : one
            expectRight(testCase, await compute(inArrays, testCase, 'new'), inArrays.expectation, name)
          }
        }
      }
    })
  })
}
