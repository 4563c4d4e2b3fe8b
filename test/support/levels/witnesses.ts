/** Witnesses of products of few levels, and products of truth values. */
import { describe, expect, it } from 'vitest'
import { mpmm, type ProductStructure, type VariantName, variants } from '../../../lib/index.js'
import type { Size } from '../cases.js'
import { Random } from '../generators.js'
import { type Algebra, algebraOf, by, type Case, elements, sourceOf } from '../products/case.js'
import { expectRight } from '../products/law.js'
import { compute } from '../products/targets.js'
import { startFor } from '../products/values.js'
import { withStructure } from '../suite-products.js'
import {
  byLines,
  caseOf,
  type Element,
  floats,
  type LevelsCheck,
  named,
  operand,
  type Path,
  paths,
  sums,
  wide,
} from './check.js'

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

export function witnessesOfLevels({
  open,
  computes,
  inArrays,
  onDevice,
  narrow,
  targets,
  check,
}: LevelsCheck): void {
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
