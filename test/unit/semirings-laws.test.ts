/** Laws of custom semirings: laws that hold pass, and broken laws are reported with a counterexample. */
import { describe, expect, it } from 'vitest'
import { zeroOf } from '../../lib/index.js'
import {
  type CheckOptions,
  checkSemiring,
  counting,
  hamming,
  kBest,
  l1Distance,
  lexicographic,
  lInfinityDistance,
  logSumExp,
  type SemiringDefinition,
  semiring,
} from '../../lib/semirings.js'
import { expectThrown } from '../support/expect.js'

const integers = {
  name: 'integers',
  dtype: 'int32',
  zero: 0,
  one: 1,
  plus: (x, y) => x.add(y),
  times: (x, y) => x.mul(y),
} satisfies SemiringDefinition<'int32'>

const floats = {
  name: 'floats',
  dtype: 'float32',
  zero: 0,
  one: 1,
  plus: (x, y) => x.add(y),
  times: (x, y) => x.mul(y),
} satisfies SemiringDefinition<'float32'>

describe('a zero that absorbs on one side only', () => {
  const greatest = {
    ...integers,
    zero: -(2 ** 31),
    plus: (x, y) => x.max(y),
    selective: true,
  } satisfies SemiringDefinition<'int32'>
  const onLeft = { ...greatest, times: (x) => x } satisfies SemiringDefinition<'int32'>
  const onRight = { ...greatest, times: (_, y) => y } satisfies SemiringDefinition<'int32'>

  it.each([
    ['on the left', onLeft, /zero absorbs.*x ⊗ zero/s],
    ['on the right', onRight, /zero absorbs.*zero ⊗ x/s],
  ] as const)('breaks the law: %s', (_, definition, message) => {
    expectThrown(() => semiring(definition), 'OPTION', message)
    const unchecked = semiring({ ...definition, check: false })
    for (const laws of ['all', 'product'] as const) {
      expectThrown(() => checkSemiring(unchecked, { laws }), 'OPTION', message)
    }
  })

  it('is allowed if the semiring states that zero does not absorb', () => {
    for (const definition of [onLeft, onRight]) {
      const stated = semiring({ ...definition, absorbs: false })
      expect(() => checkSemiring(stated, { laws: 'product' })).not.toThrow()
    }
  })
})

describe('laws that hold', () => {
  it.each([
    ['integers modulo 2^32', semiring(integers)],
    ['floats', semiring(floats)],
    ['log-sum-exp', logSumExp],
    ['counting max-plus', counting('max-plus')],
    ['counting min-plus', counting('min-plus')],
    ['2 best', kBest('min-plus', 2)],
    ['3 best', kBest('max-plus', 3)],
    ['4 best', kBest('min-plus', 4)],
    ['pairs', lexicographic('min-plus', 'max-min')],
    ['other pairs', lexicographic('max-plus', 'min-max')],
    ['pairs of sums', lexicographic('max-plus', 'min-plus')],
    ['bits', semiring({ ...integers, one: -1, plus: (x, y) => x.xor(y), times: (x, y) => x.and(y) })],
    [
      'probabilities',
      semiring({ ...floats, plus: (x, y) => x.max(y), selective: true, check: { min: 0, max: 1 } }),
    ],
  ])('pass: %s', (_, lawful) => {
    expect(() => checkSemiring(lawful as typeof logSumExp)).not.toThrow()
  })

  it('pass for one product only, with distances', () => {
    for (const distance of [l1Distance, lInfinityDistance, hamming]) {
      expect(() => checkSemiring(distance as typeof l1Distance, { laws: 'product' })).not.toThrow()
      expectThrown(
        () => checkSemiring(distance as typeof l1Distance),
        'OPTION',
        /⊗ is (associative|distributive)/,
      )
    }
  })

  it('pass within bounds', () => {
    const maxPlus = {
      ...integers,
      zero: zeroOf('max-plus'),
      one: 0,
      plus: (x, y) => x.max(y),
      times: (x, y, { equal, select }) =>
        select(equal(x, -(2 ** 31)).or(equal(y, -(2 ** 31))), -(2 ** 31), x.add(y)),
      selective: true,
    } satisfies SemiringDefinition<'int32'>
    const wraps = semiring(maxPlus)
    expectThrown(() => checkSemiring(wraps), 'OPTION', /distributive|associative/)
    expect(() => checkSemiring(wraps, { min: -1000, max: 1000 })).not.toThrow()
    expect(() => checkSemiring(semiring({ ...maxPlus, check: { min: -1000, max: 1000 } }))).not.toThrow()
  })
})

describe('floats that differ by rounding', () => {
  const scaled = (factor: number) =>
    semiring({
      name: 'scaled sums',
      dtype: 'float32',
      zero: Number.NEGATIVE_INFINITY,
      one: 0,
      plus: (x, y) => x.max(y),
      times: (x, y) => x.add(y).mul(factor),
      selective: true,
    })

  it('keep a law up to 2^−16 of the greatest number', () => {
    expect(() => checkSemiring(scaled(1 + 2 ** -18))).not.toThrow()
    for (const factor of [1 + 2 ** -12, 1 + 2 ** -15]) {
      expectThrown(() => checkSemiring(scaled(factor)), 'OPTION', /breaks the law that one is neutral in ⊗/)
    }
  })
})

describe('laws that are broken', () => {
  const broken: [law: RegExp, definition: Partial<SemiringDefinition<'int32'>>][] = [
    [/zero is neutral in ⊕: for x = -?\d+, x ⊕ zero is/, { zero: 1 }],
    [
      /⊕ is commutative: for x = .*, y = .*x ⊕ y is .*, and y ⊕ x is/,
      { plus: (x, y, { equal, select }) => select(equal(x, 0), y, select(equal(y, 0), x, x.add(y).add(y))) },
    ],
    [
      /⊕ is associative: for x = .*z = .*\(x ⊕ y\) ⊕ z is/,
      {
        plus: (x, y, { equal, select }) =>
          select(equal(x, 0), y, select(equal(y, 0), x, x.add(y).add(1))).add(0),
        zero: 0,
        times: (x, y) => x.mul(y),
        idempotent: false,
      },
    ],
    [/zero absorbs/, { times: (x, y) => x.add(y) }],
    [/⊕ is idempotent: for x = 1, x ⊕ x is 2/, { idempotent: true }],
    [/⊕ is selective/, { plus: (x, y) => x.or(y), selective: true }],
  ]
  it.each<[law: RegExp, definition: Partial<SemiringDefinition<'float32'>>]>([
    [/⊕ is of logarithms: for x = .*log\(eˣ \+ eʸ\) is/, { plus: (x, y) => x.max(y) }],
    // This ⊕ computes with logarithms to base 2.
    [
      /⊕ is of logarithms/,
      {
        plus: (x, y, { max, log1p, exp2 }) =>
          max(x, y).add(log1p(exp2(max(x.sub(y).abs().neg(), Number.NEGATIVE_INFINITY))).mul(Math.LOG2E)),
      },
    ],
    [/⊗ is of logarithms: for x = .*x \+ y is/, { times: (x, y) => x.add(y).add(y) }],
  ])('are found in logarithms: %s', (law, definition) => {
    const { dtype, zero } = logSumExp
    const written = {
      name: 'logarithms',
      dtype,
      zero,
      plus: (x, y, { max, log1p, exp }) =>
        max(x, y).add(log1p(exp(max(x.sub(y).abs().neg(), Number.NEGATIVE_INFINITY)))),
      times: (x, y) => x.add(y),
      logarithms: true,
    } satisfies SemiringDefinition<'float32'>
    expect(() => semiring(written)).not.toThrow()
    expectThrown(() => semiring({ ...written, ...definition }), 'OPTION', law)
  })

  it.each(broken)('are found by semiring(): %s', (law, definition) => {
    // The pattern names no elements, because x + y + 1 is associative except for zeros in the middle.
    expectThrown(
      () => semiring({ ...integers, ...definition }),
      'OPTION',
      /^semiring 'integers' breaks the law that /,
      law,
    )
    expect(() => semiring({ ...integers, ...definition, check: false })).not.toThrow()
  })

  it.each<[law: RegExp, definition: Partial<SemiringDefinition<'int32'>>]>([
    [/one is neutral in ⊗: for x = .*x ⊗ one is/, { one: 2 }],
    [
      /⊗ is associative: for x = .*\(x ⊗ y\) ⊗ z is/,
      { times: (x, y) => x.mul(y).shiftRight(1), one: undefined },
    ],
    [
      /⊗ is distributive from the left/,
      { times: (x, y) => x.min(y), zero: 0, plus: (x, y) => x.xor(y), absorbs: false, one: 2 ** 31 - 1 },
    ],
    [
      /⊗ is distributive from the right: for x = .*\(x ⊕ y\) ⊗ z is/,
      { times: (x, y, { select, equal }) => select(equal(x, 0), 0, y), one: undefined },
    ],
  ])('are found by checkSemiring(): %s', (law, definition) => {
    const created = semiring({ ...integers, ...definition } as SemiringDefinition<'int32'>)
    expectThrown(() => checkSemiring(created), 'OPTION', law)
    expect(() => checkSemiring(created, { laws: 'product' })).not.toThrow()
  })

  it('are found in floats that differ by more than rounding', () => {
    expectThrown(
      () => semiring({ ...floats, plus: (x, y) => x.add(y).mul(1.001) }),
      'OPTION',
      /zero is neutral/,
    )
  })

  it('are found in a lane', () => {
    expectThrown(
      () =>
        semiring({
          name: 'lanes',
          dtype: ['int32', 'uint32'],
          zero: [0, 0],
          plus: ([a, b], [c, d]) => [a.add(c), b.max(d).add(d.shiftRight(31))],
          times: ([a, b], [c, d]) => [a.mul(c), b.mul(d)],
        }),
      'OPTION',
      /breaks the law that .*for x = \[/,
    )
  })
})

it('rejects wrong options', () => {
  for (const [options, message] of [
    [{ laws: 'some' }, /option laws must be 'all' or 'product'/],
    [{ min: 0.5 }, /min must be an integer/],
    [{ min: 2, max: 1 }, /min ≤ max/],
    [{ rounds: 3 }, /no option 'rounds'/],
  ] as const) {
    expectThrown(() => checkSemiring(semiring(integers), options as CheckOptions<'int32'>), 'OPTION', message)
  }
  expectThrown(() => checkSemiring('max-plus' as never), 'OPTION', /takes what semiring\(\) gives/)
})
