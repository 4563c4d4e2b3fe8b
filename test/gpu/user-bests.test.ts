/**
 * Semirings in which most steps of a product change nothing, so that kernels skip those steps. The CPU backend computes every step,
 * and must have the same bits.
 */
import { describe, expect, it } from 'vitest'
import { mpmm, plan } from '../../lib/index.js'
import { counting, kBest, type LaneType, semiring, type UserSemiring } from '../../lib/semirings.js'
import { Random } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const LEAST = -(2 ** 31)

/** The greatest value, and the tag of the first of equal ones; −NaN and the like are ordinary candidates. */
const firstOfGreatest = semiring({
  name: 'first of the greatest',
  dtype: ['float32', 'uint32', 'int32', 'float32'],
  zero: [Number.NEGATIVE_INFINITY, 0, 0, 0],
  plus: ([x, tag, sum, root], [y, other, total, square], { less, select, not }) => {
    const isBetter = less(x, y)
    return [
      select(isBetter, y, x),
      select(isBetter, other, tag),
      select(isBetter, total, sum),
      select(not(isBetter), root, square),
    ]
  },
  times: ([x, tag, sum, root], [y, other, total, square], { equal, select, sqrt, abs }) => [
    select(equal(x, Number.NEGATIVE_INFINITY).or(equal(y, Number.NEGATIVE_INFINITY)), x.min(y), x.add(y)),
    tag.xor(other),
    sum.sub(total).mul(sum),
    sqrt(abs(root.mul(square))),
  ],
  absorbs: false,
  check: false,
})

/** Semiring with one lane and a ⊕ that isn't associative, so that the order of steps matters. */
const mixed = semiring({
  name: 'mixed',
  dtype: 'int32',
  zero: LEAST,
  plus: (x, y, { lessEqual, popcount, select }) =>
    select(
      lessEqual(y, x),
      x,
      y
        .sub(popcount(x.xor(y)).mul(3))
        .add(x.and(7))
        .max(x.sub(5)),
    ),
  times: (x, y) => x.add(y),
  absorbs: false,
  check: false,
})

const semirings: readonly UserSemiring[] = [
  counting('max-plus'),
  counting('min-plus'),
  kBest('max-plus', 2),
  kBest('min-plus', 3),
  kBest('max-plus', 4),
  firstOfGreatest,
  mixed,
] as never

type Kind = 'random' | 'ascending' | 'descending' | 'equal' | 'with zeros'

function lane(type: LaneType, rows: number, cols: number, kind: Kind, zero: number, random: Random) {
  const arrays = { int32: Int32Array, uint32: Uint32Array, float32: Float32Array }
  const data = new arrays[type](rows * cols)
  for (let at = 0; at < data.length; at++) {
    const along = (at % cols) + Math.floor(at / cols)
    if (kind === 'ascending') data[at] = along
    else if (kind === 'descending') data[at] = 5000 - along
    else if (kind === 'equal') data[at] = 7
    else data[at] = kind === 'with zeros' && random.integer(0, 3) === 0 ? zero : random.integer(0, 2000)
  }
  return { data, shape: [rows, cols] as [number, number] }
}

describeUnless(withoutCuda(), 'steps that change nothing', () => {
  describe.each(semirings)('$name', (own) => {
    const types = [own.dtype].flat() as LaneType[]
    const zeros = [own.zero].flat() as number[]
    it.each<Kind>(['random', 'ascending', 'descending', 'equal', 'with zeros'])(
      'has the bits of the CPU with %s values',
      async (kind) => {
        const random = new Random(23)
        const [m, k, n] = [770, 97, 835]
        const operand = (rows: number, cols: number) => {
          const lanes = types.map((type, at) => lane(type, rows, cols, kind, zeros[at]!, random))
          return (Array.isArray(own.dtype) ? lanes : lanes[0]) as never
        }
        const [a, b, c0] = [operand(m, k), operand(k, n), operand(m, n)]
        const { explanation } = (await plan(a, b, {
          semiring: own as never,
          backend: 'cuda',
        })) as unknown as { explanation: string }
        expect(explanation).toContain(`product${types.length}_bests`)
        for (const accumulate of [undefined, c0]) {
          const options = { semiring: own as never, accumulate }
          const onGpu = (await mpmm(a, b, { ...options, backend: 'cuda' })) as { c: unknown }
          const onCpu = (await mpmm(a, b, { ...options, backend: 'cpu' })) as { c: unknown }
          const bits = (c: unknown) =>
            [c as { data: Int32Array }]
              .flat()
              .map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength))
          bits(onGpu.c).forEach((found, at) => {
            expect(found.equals(bits(onCpu.c)[at]!)).toBe(true)
          })
        }
      },
    )
  })
})
