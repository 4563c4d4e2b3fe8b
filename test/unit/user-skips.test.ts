/**
 * Conditions under which a step of a product changes nothing. Tests check for which ⊕ native code finds a
 * condition. Whenever the condition holds, z ⊕ (x ⊗ y) is z, bit by bit, in the oracle's evaluation.
 */
import { describe, expect, it } from 'vitest'
import { addon } from '../../lib/native.js'
import { nativeOf } from '../../lib/semirings/semiring.js'
import { counting, kBest, logSumExp, semiring } from '../../lib/semirings.js'
import { types } from '../../native/variants/expressions.mjs'
import { Random } from '../support/generators.js'
import {
  bitsOf,
  type Definition,
  type Element,
  type Expression,
  evaluate,
  expression,
  type LaneType,
  type Node,
  native,
  type ValueType,
  type Writer,
} from '../support/user-expressions.js'

type Write = (to: Writer) => number | number[]

const define = (lanes: LaneType[], plus: Write, times: Write): Definition => ({
  name: 'skips',
  lanes,
  zero: lanes.map(() => 0),
  plus: expression(lanes, plus),
  times: expression(lanes, times),
  absorbs: false,
})

const skipsOf = (it: Definition) => addon.describeUserSemiring(native(it)).skips

/**
 * Parses a condition in the notation of native code. Its arguments are z on the left, and the lanes of x and
 * then of y on the right.
 */
function read(text: string, lanes: number): Expression {
  const nodes: Node[] = []
  const results: number[] = []
  for (const line of text.trimEnd().split('\n')) {
    const result = /^r0 = v(\d+)$/.exec(line)
    if (result) {
      results.push(Number(result[1]))
      continue
    }
    const [, type, value] = /^v\d+: (\w+) = (.+)$/.exec(line) as unknown as [string, ValueType, string]
    expect(types).toContain(type)
    const argument = /^([zxy])(\d)$/.exec(value)
    const call = /^(\w+)\(([v\d, ]+)\)$/.exec(value)
    if (argument) {
      const lane = Number(argument[2]) + (argument[1] === 'y' ? lanes : 0)
      nodes.push({ op: 'argument', type, operands: [argument[1] === 'z' ? 0 : 1, lane], bits: 0 })
    } else if (call) {
      const operands = call[2]!.split(', ').map((name) => Number(name.slice(1)))
      nodes.push({ op: call[1]!, type, operands, bits: 0 })
    } else {
      nodes.push({ op: 'constant', type, operands: [], bits: bitsOf(Number(value), type as LaneType) })
    }
  }
  expect(results).toHaveLength(1)
  return { nodes, results }
}

/** Draws one of a few values or an edge case, so that equal values are frequent. */
function draw(type: LaneType, random: Random): number {
  const edges = {
    int32: [-(2 ** 31), 2 ** 31 - 1],
    uint32: [0, 2 ** 32 - 1],
    float32: [Number.NaN, -0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  }[type]
  const small = random.integer(type === 'uint32' ? 0 : -4, 4)
  return bitsOf(random.chance(0.2) ? edges[random.integer(0, edges.length - 1)]! : small, type)
}

/** Counts the random steps that the condition skips. Fails if one of them changes z. */
function leftOut(it: Definition, tries = 3000): number {
  const conditions = skipsOf(it).map((text) => read(text, it.lanes.length))
  expect(conditions.length).toBeGreaterThan(0)
  const random = new Random(29)
  const element = (): Element => it.lanes.map((type) => draw(type, random))
  let count = 0
  for (let at = 0; at < tries; at++) {
    const [z, x, y] = [element(), element(), element()]
    if (!conditions.every((condition) => evaluate(condition, z, [...x, ...y])[0] === 1)) continue
    count++
    expect({ z, x, y, sum: evaluate(it.plus, z, evaluate(it.times, x, y)) }).toEqual({ z, x, y, sum: z })
  }
  return count
}

/** Minimum cost of a lane for which skipping pays off. */
function costly(to: Writer, x: number, y: number): number {
  let value = to.op('xor', x, y)
  for (const other of [x, y, x, y]) value = to.op('add', to.op('mul', value, value), other)
  return value
}
const costlyTimes: Write = (to) => to.lanes.map((_, lane) => costly(to, to.x(lane), to.y(lane)))

/** ⊗ that adds the first lanes and is costly in the others. */
const sumAndMore: Write = (to) =>
  to.lanes.map((_, lane) => (lane === 0 ? to.op('add', to.x(), to.y()) : costly(to, to.x(lane), to.y(lane))))

const ints = (count: number): LaneType[] => Array<LaneType>(count).fill('int32')

describe('native code', () => {
  it('finds a condition if ⊕ selects x in every lane', () => {
    const best = define(
      ints(3),
      (to) => {
        const isBetter = to.op('less', to.x(), to.y())
        return [0, 1, 2].map((lane) => to.op('select', isBetter, to.y(lane), to.x(lane)))
      },
      sumAndMore,
    )
    expect(leftOut(best)).toBeGreaterThan(100)
    expect(leftOut(best)).toBeLessThan(2900)
  })

  it('finds a condition if lanes select by the same predicate and by its negation', () => {
    const mixed = define(
      ints(3),
      (to) => {
        const isBetter = to.op('less', to.x(), to.y())
        const isNot = to.op('not', isBetter)
        const again = to.op('not', isNot)
        return [
          to.op('select', isNot, to.x(), to.y()),
          to.op('select', isBetter, to.y(1), to.x(1)),
          to.op('select', again, to.y(2), to.x(2)),
        ]
      },
      sumAndMore,
    )
    expect(leftOut(mixed)).toBeGreaterThan(100)
  })

  it('finds a condition with comparisons of selects, of and, or and not, of floats with NaN and −0', () => {
    const nested = define(
      ['float32', 'float32', 'int32'],
      (to) => {
        const y = to.op('select', to.op('less', to.y(1), to.x(1)), to.y(), to.constant(2, 'float32'))
        const isFirst = to.op('or', to.op('less', to.x(), y), to.op('equal', to.x(1), to.y(1)))
        const isSecond = to.op('and', to.op('not', to.op('lessEqual', to.x(), y)), isFirst)
        const changes = to.op('or', isFirst, isSecond)
        return [
          to.op('select', changes, to.y(), to.x()),
          to.op('select', changes, to.y(1), to.x(1)),
          to.op('select', changes, costly(to, to.x(2), to.y(2)), to.x(2)),
        ]
      },
      (to) => [
        to.op('add', to.x(), to.y()),
        to.op('mul', to.op('sqrt', to.op('abs', to.x(1))), to.y(1)),
        costly(to, to.x(2), to.y(2)),
      ],
    )
    expect(leftOut(nested)).toBeGreaterThan(50)
  })

  it('finds a condition with terms of z alone, separately from the others', () => {
    const done = define(
      ints(2),
      (to) => {
        const isKept = to.op(
          'and',
          to.op('less', to.constant(0, 'int32'), to.x(1)),
          to.op('lessEqual', to.y(), to.x()),
        )
        return [0, 1].map((lane) => to.op('select', isKept, to.x(lane), to.y(lane)))
      },
      sumAndMore,
    )
    const skips = skipsOf(done)
    expect(skips).toHaveLength(2)
    expect(skips[0]).not.toMatch(/= [xy]\d/)
    expect(leftOut(done)).toBeGreaterThan(100)
  })

  it('finds a condition in expressions whose steps are used repeatedly', () => {
    const deep = semiring({
      name: 'deep',
      dtype: 'int32',
      zero: 0,
      plus: (x, y, { less, select }) => {
        let doubled = x
        for (let i = 0; i < 100; i++) doubled = doubled.add(doubled)
        let keeps = less(y, doubled)
        for (let i = 0; i < 100; i++) keeps = keeps.and(keeps)
        return select(keeps, x, y)
      },
      times: (x, y) => x.mul(y).add(x).mul(y).add(x).mul(y).add(x).xor(y),
      absorbs: false,
      check: false,
    })
    expect(addon.describeUserSemiring(nativeOf(deep as never)).skips).toHaveLength(1)
  })

  it('finds a condition for counting, the k best, and the example of the guide, but not for log-sum-exp', () => {
    const twoLeast = semiring({
      name: 'two least sums',
      dtype: ['int32', 'int32'],
      zero: [2 ** 31 - 1, 2 ** 31 - 1],
      plus: ([x, second], [y, other], { less, select, min, max }) => {
        const changes = less(y, second)
        return [select(changes, min(x, y), x), select(changes, min(max(x, y), min(second, other)), second)]
      },
      times: ([x, second], [y, other], { min }) => [x.add(y), min(x.add(other), second.add(y))],
      absorbs: false,
      check: false,
    })
    const counts = ([2, 3, 4] as const).map((k) => kBest('min-plus', k))
    for (const own of [twoLeast, counting('max-plus'), counting('min-plus'), ...counts]) {
      const { skips } = addon.describeUserSemiring(nativeOf(own as never))
      expect(skips.length, own.name).toBeGreaterThan(0)
    }
    expect(addon.describeUserSemiring(nativeOf(logSumExp as never)).skips).toEqual([])
  })

  it('finds conditions that are right for random ⊕', () => {
    let found = 0
    for (let seed = 0; seed < 60; seed++) {
      const random = new Random(seed)
      const lanes = Array.from(
        { length: random.integer(1, 4) },
        () => (['int32', 'uint32', 'float32'] as const)[random.integer(0, 2)]!,
      )
      const it = define(
        lanes,
        (to) => randomPlus(to, random),
        (to) =>
          to.lanes.map((type, lane) =>
            type === 'float32'
              ? to.op(
                  'fma',
                  to.x(lane),
                  to.y(lane),
                  to.op('sub', to.op('max', to.x(lane), to.y(lane)), to.op('mul', to.x(lane), to.x(lane))),
                )
              : costly(to, to.x(lane), to.y(lane)),
          ),
      )
      if (skipsOf(it).length === 0) continue
      found++
      leftOut(it, 400)
    }
    expect(found).toBeGreaterThan(20)
  })
})

/** Returns a random ⊕ that selects by one random predicate. */
function randomPlus(to: Writer, random: Random): number[] {
  const value = (lane: number): number => {
    const plain = random.chance(0.5) ? to.x(lane) : to.y(lane)
    if (random.chance(0.6)) return plain
    return to.op('select', predicate(1), plain, random.chance(0.5) ? to.x(lane) : to.y(lane))
  }
  const predicate = (depth: number): number => {
    const kind = depth > 3 ? 0 : random.integer(0, 5)
    if (kind === 1) return to.op('not', predicate(depth + 1))
    if (kind === 2) return to.op('and', predicate(depth + 1), predicate(depth + 1))
    if (kind === 3) return to.op('or', predicate(depth + 1), predicate(depth + 1))
    const lane = random.integer(0, to.lanes.length - 1)
    const name = (['less', 'lessEqual', 'equal'] as const)[random.integer(0, 2)]!
    return depth > 1 ? to.op(name, to.x(lane), to.y(lane)) : to.op(name, value(lane), value(lane))
  }
  const changes = predicate(0)
  return to.lanes.map((_, lane) => to.op('select', changes, to.y(lane), to.x(lane)))
}

describe('native code', () => {
  it('finds no condition if a lane is not a select', () => {
    const plus: Write = (to) => {
      const isBetter = to.op('less', to.x(), to.y())
      return [to.op('max', to.x(), to.y()), to.op('select', isBetter, to.y(1), to.x(1))]
    }
    expect(skipsOf(define(ints(2), plus, sumAndMore))).toEqual([])
  })

  it('finds no condition if a select does not return a lane of x, or returns another one', () => {
    for (const retained of [
      (to: Writer) => to.op('neg', to.x(1)),
      (to: Writer) => to.x(),
      (to: Writer) => to.y(1),
    ]) {
      const plus: Write = (to) => {
        const isBetter = to.op('less', to.x(), to.y())
        return [
          to.op('select', isBetter, to.y(), to.x()),
          to.op('select', isBetter, costly(to, to.x(1), to.y(1)), retained(to)),
        ]
      }
      expect(skipsOf(define(ints(2), plus, sumAndMore))).toEqual([])
    }
  })

  it('finds no condition if lanes select by different predicates, or one by the negation of the other', () => {
    for (const second of [
      (to: Writer) => to.op('less', to.x(1), to.y(1)),
      (to: Writer) => to.op('lessEqual', to.x(), to.y()),
      (to: Writer) => to.op('not', to.op('less', to.x(), to.y())),
    ]) {
      const plus: Write = (to) => [
        to.op('select', to.op('less', to.x(), to.y()), to.y(), to.x()),
        to.op('select', second(to), to.y(1), to.x(1)),
      ]
      expect(skipsOf(define(ints(2), plus, sumAndMore))).toEqual([])
    }
  })

  it('finds no condition if it would save little', () => {
    const plus: Write = (to) => to.op('select', to.op('less', to.x(), to.y()), to.y(), to.x())
    expect(skipsOf(define(ints(1), plus, (to) => to.op('add', to.x(), to.y())))).toEqual([])
    // The condition would need all operations of ⊗, so skipping would save nothing.
    expect(skipsOf(define(ints(1), plus, costlyTimes))).toEqual([])
  })
})
