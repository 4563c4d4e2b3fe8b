/** Products whose elements have a small range in chunks of K, except for outlier chunks. */
import { describe, it } from 'vitest'
import { Random } from '../generators.js'
import { type Case, type Elements, elements } from '../products/case.js'
import { bounded, caseOf, type Element, type LevelsCheck, named, operand, sums } from './check.js'

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

export function smallChunks({ backend, inArrays, narrow, targets, check }: LevelsCheck): void {
  const [boundedM, boundedN] = boundedSizes[backend]

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
}
