/** Custom semirings: expressions of their functions, and their serialized forms. */
import { inspect } from 'node:util'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { plus, star } from '../../lib/algebra.js'
import { longestPaths } from '../../lib/graph.js'
import { matrix, mpmm, mpmmSync, openDevice, plan, variants } from '../../lib/index.js'
import {
  counting,
  hamming,
  kBest,
  l1Distance,
  lexicographic,
  lInfinityDistance,
  logSumExp,
  type Operations,
  type SemiringDefinition,
  semiring,
  type UserSemiring,
  type Value,
} from '../../lib/semirings.js'
import { coded } from '../support/coded.js'
import { expectRejected, expectThrown, thrown } from '../support/expect.js'

const maxPlus = {
  name: 'max-plus by hand',
  dtype: 'float32',
  zero: Number.NEGATIVE_INFINITY,
  one: 0,
  plus: (x, y) => x.max(y),
  times: (x, y) => x.add(y),
  selective: true,
} satisfies SemiringDefinition<'float32'>

/** Returns the steps of a traced ⊗. */
const traced = (times: SemiringDefinition<'int32'>['times']) =>
  semiring({
    name: 'traced',
    dtype: 'int32',
    zero: 0,
    plus: (x, y) => x.add(y),
    times,
    absorbs: false,
  }).toJSON().times

/** Defines a semiring whose ⊗ is any value that a JavaScript program may pass. */
const wrong = (times: unknown, rest: object = {}) =>
  semiring({
    name: 'wrong',
    dtype: 'int32',
    zero: 0,
    plus: (x: Value<'int32'>, y: Value<'int32'>) => x.add(y),
    times,
    absorbs: false,
    ...rest,
  } as never)

describe('functions become expressions', () => {
  it('are traced from methods and from functions, with numbers of the type of the others', () => {
    const expected = {
      steps: [
        ['x', 0],
        ['y', 0],
        ['sub', 0, 1],
        ['abs', 2],
        ['constant', 'int32', 3],
        ['max', 3, 4],
      ],
      results: [5],
    }
    expect(traced((x, y) => x.sub(y).abs().max(3))).toEqual(expected)
    expect(traced((x, y, { max, abs, sub }) => max(abs(sub(x, y)), 3))).toEqual(expected)
  })

  it('contain equal steps once, and no unused steps', () => {
    const { steps } = traced((x, y) => {
      x.mul(y).popcount()
      return x.sub(y).mul(x.sub(y))
    })
    expect(steps).toEqual([
      ['x', 0],
      ['y', 0],
      ['sub', 0, 1],
      ['mul', 2, 2],
    ])
  })

  it('support all operations', () => {
    const all = (x: Value<'float32'>, y: Value<'float32'>, o: Operations) => {
      const i = o.toInt32(x).add(o.toUint32(y).shiftLeft(3).shiftRight(1).toInt32())
      const bits = i.and(5).or(6).xor(7).not().popcount()
      const c = o
        .less(x, y)
        .and(o.lessEqual(y, 1).or(o.equal(x, y)))
        .xor(o.not(o.less(y, x)))
      return o
        .select(c, bits.toFloat32(), o.fma(x, y, 1))
        .add(x.exp().sub(y.exp2()).add(x.log()).mul(y.log1p()).min(x.sqrt()).max(y.neg().abs()))
    }
    const created = semiring({ ...maxPlus, times: all, absorbs: false, check: false })
    const names = new Set(created.toJSON().times.steps.map(([name]) => name))
    const expected =
      'toInt32 toUint32 shiftLeft shiftRight and or xor not popcount less lessEqual equal toFloat32 fma exp exp2 log log1p sqrt select'
    for (const name of expected.split(' ')) expect(names).toContain(name)
    expect(semiring.from(JSON.stringify(created)).toJSON()).toEqual(created.toJSON())
  })

  it('have several lanes', () => {
    const pair = counting('max-plus')
    expect(pair.dtype).toEqual(['int32', 'uint32'])
    expect(pair.zero).toEqual([-(2 ** 31), 0])
    expectTypeOf(pair).toExtend<UserSemiring<readonly ['int32', 'uint32']>>()
    expectTypeOf(semiring(maxPlus)).toExtend<UserSemiring<'float32'>>()
  })

  it('are printed in mathematical notation', () => {
    expect(`${semiring(maxPlus)}`).toBe(
      [
        "semiring 'max-plus by hand' of float32",
        'x ⊕ y = max(x, y)',
        'x ⊗ y = x + y',
        'zero -Infinity, one 0, absorbs, idempotent, selective',
      ].join('\n'),
    )
    expect(inspect(counting('min-plus'))).toBe(
      [
        "semiring 'counting min-plus' of [int32, uint32]",
        'x ⊕ y = [t1 ? x0 : y0, t1 ? x1 : ((x0 = y0) ? (x1 + y1) : y1)]',
        '  t1 = x0 < y0',
        'x ⊗ y = [((x0 = 2147483647) | (y0 = 2147483647)) ? 2147483647 : (x0 + y0), x1 · y1]',
        'zero [2147483647, 0], one [0, 1], absorbs',
      ].join('\n'),
    )
    const twice = semiring({
      name: 'twice',
      dtype: ['int32', 'int32'],
      zero: [0, 0],
      plus: ([x0], [y0]) => [x0.add(y0), x0.add(y0)],
      times: ([x0, x1], [y0]) => [x0.mul(y0), x0.mul(y0).sub(x1)],
      check: false,
    })
    expect(`${twice}`.split('\n').slice(1, 5)).toEqual([
      'x ⊕ y = [t1, t1]',
      '  t1 = x0 + y0',
      'x ⊗ y = [t1, t1 − x1]',
      '  t1 = x0 · y0',
    ])
    let shown = ''
    wrong(
      (x: Value) => {
        shown = `${x.add(0.1 as number).neg()}`
        return x
      },
      { dtype: 'float32' },
    )
    expect(shown).toBe('−(x + 0.1)')
  })

  it('keep constants apart that have the same bits in two types', () => {
    const { times } = semiring({
      name: 'zeros',
      dtype: ['int32', 'float32'],
      zero: [0, 0],
      plus: ([x0, x1], [y0, y1]) => [x0.add(y0), x1.add(y1)],
      times: () => [0, 0],
    }).toJSON()
    expect(times).toEqual({
      steps: [
        ['constant', 'int32', 0],
        ['constant', 'float32', 0],
      ],
      results: [0, 1],
    })
  })

  it('are short in print even if each step is used twice', () => {
    const { steps } = traced((x) => {
      let value = x
      for (let i = 0; i < 200; i++) value = value.mul(value)
      return value
    })
    expect(steps.length).toBe(201)
    expect(
      String(semiring.from({ ...hamming.toJSON(), dtype: 'int32', times: { steps, results: [200] } })).length,
    ).toBeLessThan(6000)
  })
})

describe('impossible operations in a function are reported', () => {
  const refusals: [name: string, times: unknown, message: string | RegExp][] = [
    ['operators of the language', (x: never, y: never) => x + y, /write x\.add\(y\) for x \+ y/],
    ['comparisons of the language', (x: number, y: number) => (x < y ? x : y), /less\(x, y\) for x < y/],
    ['Math', (x: number, y: number) => Math.max(x, y), /max\(x, y\) of the third argument/],
    ['nothing', () => undefined, /must give a value, but it gives undefined: it needs a return/],
    ['promises', async (x: unknown) => x, /it can't be async/],
    ['arrays', (x: unknown) => [x], /arrays are for elements of several lanes/],
    [
      'fractions',
      (x: Value) => x.add(0.5),
      /times of semiring 'wrong': a number in add must be an integer from -2147483648/,
    ],
    ['numbers beyond the type', (x: Value) => x.add(2 ** 31), /must be an integer .*it is 2147483648/],
    ['bigints', (x: Value) => x.add(1n as never), /add takes values and numbers, but it got 1n/],
    ['texts', (x: Value) => x.add('1' as never), /but it got '1'/],
    [
      'too few operands',
      (x: Value) => (x as unknown as { add(): unknown }).add(),
      /add takes 2 operands, but it got 1/,
    ],
    [
      'too many',
      (x: Value) => (x as unknown as { neg(y: number): unknown }).neg(1),
      /neg takes 1 operand, but it got 2/,
    ],
    [
      'mixed types',
      (x: Value) => x.add(x.toUint32() as never),
      /takes values of one type, but they are of int32 and uint32: convert/,
    ],
    ['floats of integers', (x: Value) => x.sqrt(), /sqrt gives 'float32', but its operands are of int32/],
    [
      'a comparison as a number',
      (x: Value, y: Value) => x.less(y),
      /must give int32, but it gives a comparison/,
    ],
    [
      'a comparison in a sum',
      (x: Value, y: Value) => x.less(y).and(x as never),
      /and takes values of one type/,
    ],
    [
      'a comparison of comparisons',
      (x: Value, y: Value, { less, equal }: Operations) => equal(less(x, y) as never, less(y, x) as never),
      /compares numbers/,
    ],
    [
      'a number as a condition',
      (x: Value, y: Value, { select }: Operations) => select(1 as never, x, y),
      /takes a comparison such as less\(x, y\) first, but it got a number/,
    ],
    [
      'a value as a condition',
      (x: Value, y: Value, { select }: Operations) => select(x as never, x, y),
      /but it got a value of int32/,
    ],
    [
      'a boolean as a condition',
      (x: Value, y: Value, { select }: Operations) => select(true as never, x, y),
      /but it got true/,
    ],
    [
      'another type',
      (x: Value) => x.toFloat32(),
      /must give int32, but it gives float32: toInt32\(\) converts it/,
    ],
    [
      'numbers without a type',
      (_x: Value, _y: Value, { add }: Operations) => add(1, 2),
      /has only numbers.*constant\(1, 'int32'\)/,
    ],
    [
      'constants without a type',
      (_x: Value, _y: Value, { constant }: Operations) => constant(1, 'int64' as never),
      /the type is 'int64'/,
    ],
    [
      'a conversion of a number',
      (_x: Value, _y: Value, { toInt32 }: Operations) => toInt32(1 as never),
      /has only numbers/,
    ],
    ['a method by itself', ({ neg }: Value) => neg(), /called without its value/],
    [
      'lanes of the only one',
      ([x]: Value[]) => x,
      /times of semiring 'wrong' takes lanes out of a value, but only elements whose dtype is an array have any: write \(x, y\) for \(\[x\], \[y\]\)/,
    ],
    ['no function', 'x + y', /times must be a function of x and y, but it is 'x \+ y'/],
  ]
  it.each(refusals)('are reported: %s', (_, times, message) => {
    expectThrown(() => wrong(times), 'OPTION', message)
  })

  it('include values of another function', () => {
    let retained: unknown
    const plus = (x: Value<'int32'>, y: Value<'int32'>) => {
      retained = x
      return x.add(y)
    }
    expectThrown(
      () => wrong((x: Value) => x.add(retained as Value), { plus }),
      'OPTION',
      /uses a value of another function or semiring/,
    )
    expectThrown(
      () => wrong(() => retained, { plus }),
      'OPTION',
      /uses a value of another function or semiring/,
    )
  })

  it('include more than 256 steps, in every form', () => {
    const grow = (x: Value<'int32'>) => {
      let value = x
      for (;;) value = value.add(value)
    }
    expectThrown(() => wrong(grow), 'LIMIT', /times of semiring 'wrong' has more than 256 steps/)
    // x, y and 254 operations are 256 steps.
    const most = (count: number) => (x: Value<'int32'>) => {
      let value = x
      for (let i = 0; i < count; i++) value = value.add(value)
      return value
    }
    expect(() => wrong(most(254), { check: false })).not.toThrow()
    expectThrown(() => wrong(most(255)), 'LIMIT')
  })

  it('pass on errors that the function throws', () => {
    const error = new RangeError('mine')
    expect(
      thrown(() =>
        wrong(() => {
          throw error
        }),
      ),
    ).toBe(error)
  })
})

describe('a definition', () => {
  const refusals: [property: string, value: unknown, message: RegExp][] = [
    ['name', '', /name must be a text of 1 to 100 characters/],
    ['name', 'a'.repeat(101), /one of 101/],
    ['name', 'a\nb', /no control characters/],
    ['name', 7, /it is 7/],
    [
      'dtype',
      'float64',
      /dtype must be 'int32', 'uint32', 'float32', or an array of 1 to 4 of them.*'float64'/,
    ],
    ['dtype', [], /it is \[\]/],
    ['dtype', new Array(5).fill('int32'), /1 to 4/],
    ['zero', 0.5, /zero must be an integer/],
    ['zero', [0], /zero must be an integer.*it is an array/],
    ['zero', undefined, /zero must be an integer.*undefined/],
    ['one', 2 ** 31, /one must be an integer/],
    ['absorbs', 1, /absorbs must be a boolean/],
    ['idempotent', 'yes', /idempotent must be a boolean/],
    ['plus', null, /plus must be a function/],
    ['check', { less: 1 }, /there is no option 'less'/],
    ['check', { min: 5, max: 3 }, /min ≤ max, but they are 5 and 3/],
    ['laws', 'all', /there is no option 'laws'/],
  ]
  it.each(refusals)('rejects %s %s', (property, value, message) => {
    expectThrown(() => wrong((x: Value) => x, { [property]: value }), 'OPTION', message)
  })

  it('accepts names with quotes, and elements of 1 to 4 lanes', () => {
    const name = `"it's" \\u0000 %s \${x}`
    expect(semiring({ ...maxPlus, name }).name).toBe(name)
    expect(kBest('min-plus', 4).zero).toHaveLength(4)
    const single = semiring({
      ...maxPlus,
      dtype: ['float32'],
      zero: [Number.NEGATIVE_INFINITY],
      one: [0],
      plus: ([x], [y]) => [x.max(y)],
      times: ([x], [y]) => [x.add(y)],
    })
    expect(single.zero).toEqual([Number.NEGATIVE_INFINITY])
  })

  it('contradicts itself if selective is not idempotent', () => {
    expectThrown(
      () => wrong((x: Value) => x, { selective: true, idempotent: false }),
      'OPTION',
      /idempotent is false/,
    )
    expect(semiring(maxPlus).idempotent).toBe(true)
  })

  it.each<[string, Partial<SemiringDefinition>]>([
    ['of integers', { dtype: 'int32', zero: 0 }],
    ['of several lanes', { dtype: ['float32'], zero: [Number.NEGATIVE_INFINITY], one: [0] }],
    ['whose zero is another', { zero: 0 }],
    ['whose zero doesn’t absorb', { absorbs: false }],
  ])('rejects logarithms %s', (_, definition) => {
    const { plus, times } = logSumExp.toJSON()
    expect(semiring.from(logSumExp.toJSON()).logarithms).toBe(true)
    expect(semiring(maxPlus).logarithms).toBe(false)
    expectThrown(
      () => wrong((x: Value) => x, { ...definition, logarithms: true }),
      'OPTION',
      /dtype 'float32' and zero -Infinity, the logarithm of 0, which absorbs: leave logarithms out/,
    )
    expectThrown(
      () => semiring.from({ ...logSumExp.toJSON(), plus, times, absorbs: false }),
      'OPTION',
      /leave logarithms out/,
    )
  })

  it.each(['idempotent', 'selective'] as const)('rejects logarithms that are %s', (flag) => {
    expectThrown(
      () =>
        semiring.from({
          ...logSumExp.toJSON(),
          [flag]: true,
          ...(flag === 'selective' && { idempotent: true }),
        }),
      'OPTION',
      /x ⊕ x is x \+ log 2, but idempotent or selective is true: leave out one of them/,
    )
  })

  it('is immutable', () => {
    const created = semiring(maxPlus)
    expect(() => {
      ;(created as { name: string }).name = 'other'
    }).toThrow(TypeError)
    expect(() => {
      ;(kBest('max-plus', 2).zero as unknown as number[])[0] = 1
    }).toThrow(TypeError)
  })
})

const ready = [
  logSumExp,
  l1Distance,
  lInfinityDistance,
  hamming,
  counting('max-plus'),
  counting('min-plus'),
  kBest('max-plus', 2),
  kBest('min-plus', 3),
  kBest('min-plus', 4),
  lexicographic('min-plus', 'max-min'),
  lexicographic('max-plus', 'min-plus'),
]

describe('matrices on a device', () => {
  it('are rejected unless they have the type of their lane', async () => {
    const device = await openDevice({ backend: 'cpu' })
    const [int32, float32, float64, uint8] = await Promise.all([
      device.upload(matrix(1, 1, Int32Array.of(2))),
      device.upload(matrix(1, 1, Float32Array.of(2))),
      device.upload(matrix(1, 1, Float64Array.of(2))),
      device.upload(matrix(1, 1, Uint8Array.of(1))),
    ])
    const integers = semiring({
      name: 'sums of products',
      dtype: 'int32',
      zero: 0,
      plus: (x, y) => x.add(y),
      times: (x, y) => x.mul(y),
    })
    const product = (one: unknown, own: unknown) =>
      mpmm(one as never, one as never, { semiring: own as never })
    for (const other of [float32, float64, uint8])
      await expect(product(other, integers)).rejects.toEqual(
        coded('DTYPE', /^a must be of int32, but it is of/),
      )
    for (const other of [int32, float64, uint8])
      await expect(product(other, semiring(maxPlus))).rejects.toEqual(
        coded('DTYPE', /^a must be of float32, but it is of/),
      )
    const { c } = (await product(int32, integers)) as unknown as { c: typeof int32 }
    expect((await c.download()).data).toEqual(Int32Array.of(4))
    await device.close()
  })
})

describe('JSON', () => {
  it.each(ready.map((each) => [each.name, each] as const))('has all properties of %s', (_, each) => {
    const again = semiring.from(JSON.parse(JSON.stringify(each)))
    expect(again.toJSON()).toEqual(each.toJSON())
    expect(`${again}`).toBe(`${each}`)
    expect(semiring.from(JSON.stringify(each)).zero).toEqual(each.zero)
  })

  it('allows as many steps as an expression', () => {
    const steps = [['x', 0], ['y', 0], ...Array.from({ length: 254 }, (_, at) => ['add', at + 1, at + 1])]
    const json = { ...JSON.parse(JSON.stringify(hamming)), times: { steps, results: [255] }, check: false }
    expect(semiring.from(json).toJSON().times.steps).toHaveLength(255)
  })

  it('represents numbers that JSON lacks by strings', () => {
    const odd = semiring({
      ...maxPlus,
      plus: (x, y, { select, equal }) =>
        select(equal(x, Number.NaN), -0, x.max(y).min(Number.POSITIVE_INFINITY)),
      check: false,
    })
    const json = JSON.parse(JSON.stringify(odd))
    expect(json.zero).toBe('-Infinity')
    expect(json.plus.steps.filter(([name]: [string]) => name === 'constant')).toEqual([
      ['constant', 'float32', 'NaN'],
      ['constant', 'float32', 'Infinity'],
      ['constant', 'float32', '-0'],
    ])
    expect(semiring.from(json).toJSON()).toEqual(odd.toJSON())
  })

  const good = () => JSON.parse(JSON.stringify(hamming))
  const withSteps = (steps: unknown, results: unknown = [0]) => ({ ...good(), times: { steps, results } })
  /** Steps in a text such as 'x 0, add 0 0'. */
  const written = (text: string, results: unknown = [0]) =>
    withSteps(
      text
        .split(', ')
        .map((step) => step.split(' ').map((word) => (/^-?[\d.]+$/.test(word) ? Number(word) : word))),
      results,
    )
  const hostile: [name: string, json: unknown, message: RegExp, code?: string][] = [
    ['no object', 7, /must be an object/],
    ['null', null, /must be an object/],
    ['no JSON', '{', /isn't JSON/],
    ['a text of any length', ' '.repeat(2 ** 18), /at most 131072 characters/],
    ['no version', { ...good(), semiring: undefined }, /semiring: 1/],
    ['another version', { ...good(), semiring: 2 }, /semiring: 1.*that is 2/],
    ['other properties', { ...good(), more: 1 }, /there is no option 'more'/],
    ['a name that is no text', { ...good(), name: { length: 3 } }, /name must be a text/],
    ['no steps', { ...good(), plus: {} }, /plus of semiring 'Hamming distance'\.steps must be an array/],
    ['an expression that is an array', { ...good(), plus: [] }, /steps must be an array/],
    ['too many steps', withSteps(new Array(257).fill(['x', 0])), /has 257 steps/, 'LIMIT'],
    ['a length that lies', withSteps({ length: 1, 0: ['x', 0] }), /steps must be an array/],
    ['a step that is a text', withSteps(['x']), /steps\[0\] must be an array/],
    ['a hole', withSteps([['x', 0], null, ['add', 0, 0]]), /steps\[1\] must be an array/],
    ['a step without a name', withSteps([[]]), /steps\[0\] must be an array/],
    ['a long step', written('x 0, select 0 0 0 0'), /one of 5/],
    ['names of prototypes', written('__proto__ 0'), /begins with '__proto__'/],
    ['constructor', written('constructor 0'), /begins with 'constructor'/],
    ['steps of native code', written('x 0, bits 0'), /begins with 'bits'/],
    ['argument', written('argument 0 0'), /begins with 'argument'/],
    ['a lane that there is not', written('x 1'), /a lane from 0 to 0/],
    ['a lane that is no integer', withSteps([['y', '0']]), /a lane from 0/],
    [
      'a step as its own operand',
      written('neg 0'),
      /index of an earlier step, but it is 0 and there is none/,
    ],
    ['a later step', written('x 0, add 0 2, y 0', [1]), /from 0 to 0, but it is 2/],
    ['a negative index', written('x 0, add 0 -1'), /it is -1/],
    ['a fraction', written('x 0, add 0 0.5'), /it is 0\.5/],
    [
      'an index as a text',
      withSteps([
        ['x', 0],
        ['add', 0, '0'],
      ]),
      /it is '0'/,
    ],
    ['a constant of no type', written('constant predicate 1'), /with a type of/],
    ['a constant beyond its type', written('constant uint32 -1'), /integer from 0 to 4294967295/],
    ['NaN as an integer', written('constant uint32 NaN'), /integer from 0/],
    ['a text as a number', withSteps([['constant', 'float32', '1']]), /must be a number, but it is '1'/],
    ['no result', written('x 0', []), /results must be an array of 1 index/],
    ['a result that there is not', written('x 0', [1]), /results\[0\] must be the index/],
    ['a result of another type', written('x 0, toFloat32 0', [1]), /must give uint32, but it gives float32/],
    ['types that do not fit', written('x 0, toInt32 0, add 0 1', [2]), /of one type/],
    ['too few operands', written('x 0, add 0', [1]), /takes 2 operands/],
    ['a select of no condition', written('x 0, select 0 0 0', [1]), /takes a comparison/],
    ['a broken law', { ...good(), zero: 1 }, /zero is neutral/],
  ]
  it.each(hostile)('rejects %s', (_, json, message, code = 'OPTION') => {
    expectThrown(() => semiring.from(json), code, message)
  })

  it('reads each property once', () => {
    const reads = new Map<PropertyKey, number>()
    const spy = new Proxy(good(), {
      get(target, property) {
        reads.set(property, (reads.get(property) ?? 0) + 1)
        return target[property]
      },
    })
    semiring.from(spy)
    expect(Math.max(...reads.values())).toBe(1)
  })
})

describe('calls that are rejected with the reason', () => {
  const square = matrix(2, 2, new Float32Array(4))
  const own = semiring(maxPlus)

  it('include closures and paths', async () => {
    const expected =
      /semiring 'max-plus by hand', which you have written: products, power and star take those/
    await expectRejected(plus(square, { semiring: own as never }), 'OPTION', expected)
    await expectRejected(longestPaths(square, { semiring: own } as never), 'OPTION')
  })

  it('include star of a semiring that is not idempotent or has no one', async () => {
    await expectRejected(
      star(square, { semiring: logSumExp }),
      'OPTION',
      /star needs a semiring whose ⊕ is idempotent/,
    )
    const { one: _, ...without } = maxPlus
    await expectRejected(star(square, { semiring: semiring(without) }), 'OPTION', /has none: give it one/)
  })

  it('include options of the library’s semirings', async () => {
    for (const [name, value] of [
      ['overflow', 'wrap'],
      ['variant', variants()[0]!.name],
    ]) {
      const options = { semiring: own, [name!]: value }
      const expected = new RegExp(`option ${name} is for the semirings of the library`)
      await expectRejected(mpmm(square, square, options as never), 'OPTION', expected)
      await expectRejected(plan(square, square, options as never), 'OPTION', expected)
      expectThrown(() => mpmmSync(square, square, options as never), 'OPTION', expected)
    }
  })

  it('include calls with objects that only look like a semiring', async () => {
    for (const fake of [own.toJSON(), Object.create(own), { ...own }, {}, 7, Symbol('s')]) {
      await expectRejected(
        mpmm(square, square, { semiring: fake as never }),
        'OPTION',
        /option semiring must be 'max-plus'/,
      )
    }
  })

  it('include factories with unknown names', () => {
    for (const [make, message] of [
      [() => counting('max-min' as never), /counting takes 'max-plus' or 'min-plus', but it got 'max-min'/],
      [() => kBest('plus-times' as never, 2), /kBest takes/],
      [() => kBest('max-plus', 5 as never), /k = 2, 3 or 4, but it got 5/],
      [() => lexicographic('max-min' as never, 'max-min'), /lexicographic takes 'max-plus' or 'min-plus'/],
      [() => lexicographic('max-plus', 'or-and' as never), /or 'min-max', but it got 'or-and'/],
      [() => counting('__proto__' as never), /it got '__proto__'/],
    ] as const) {
      expectThrown(make, 'OPTION', message)
    }
  })
})
