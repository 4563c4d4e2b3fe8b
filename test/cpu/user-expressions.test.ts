/** Products over custom semirings on the CPU, compared with their definition, element by element. */
import { describe, expect, it } from 'vitest'
import { addon } from '../../lib/native.js'
import { reportAt } from '../../lib/native-interface.js'
import { Random } from '../support/generators.js'
import {
  anyDefinition,
  type Bands,
  bitsOf,
  type Definition,
  drawn,
  type Expression,
  edges,
  evaluate,
  exact,
  expression,
  type Lanes,
  type LaneType,
  laneTypes,
  native,
  productOf,
  type RequestOptions,
  requestOf,
  typedLane,
  type ValueType,
  type Writer,
} from '../support/user-expressions.js'

const drawnLanes = (random: Random, types: readonly LaneType[], rows: number, cols: number): Lanes => ({
  rows,
  cols,
  lanes: types.map((type) => Uint32Array.from({ length: rows * cols }, () => drawn(random, type))),
})

const reportOf = () => new Float64Array(addon.reportFields.length)
const arraysOf = (matrix: Lanes, types: readonly LaneType[]) =>
  matrix.lanes.map((lane, index) => typedLane(lane, types[index]!))
const emptyLanes = (types: readonly LaneType[], rows: number, cols: number): Lanes => ({
  rows,
  cols,
  lanes: types.map(() => new Uint32Array(rows * cols).fill(0xabcdef)),
})

/** Computes C0 ⊕ A ⊗ B into `c` by native code. */
function multiply(
  it: Definition,
  [a, b, c]: readonly [Lanes, Lanes, Lanes],
  {
    c0,
    witness = null,
    ...requested
  }: { c0?: Lanes | undefined; witness?: Int32Array | null } & Omit<RequestOptions, 'witness'> = {},
): void {
  const of = (matrix: Lanes) => arraysOf(matrix, it.lanes)
  const request = requestOf(it, [c.rows, c.cols, a.cols], { ...requested, witness: witness !== null })
  addon.multiplyUserSync(
    native(it),
    of(a),
    of(b),
    of(c),
    c0 ? of(c0) : null,
    request,
    reportOf(),
    null,
    witness && [witness],
  )
}

function expectProduct(
  it: Definition,
  c: Lanes,
  witness: Int32Array | null,
  expected: ReturnType<typeof productOf>,
) {
  for (const [index, result] of expected.entries()) {
    const found = c.lanes.map((lane) => lane[index]!)
    const expectedValue = result?.element ?? it.lanes.map(() => 0xabcdef)
    if (found.some((bits, lane) => bits !== expectedValue[lane])) {
      expect.fail(`result ${index} is ${found}, not ${expectedValue}, of ${JSON.stringify(it)}`)
    }
    if (witness && witness[index] !== (result?.witness ?? -7)) {
      expect.fail(`witness ${index} is ${witness[index]}, not ${result?.witness}, of ${JSON.stringify(it)}`)
    }
  }
}

const maxPlus: Definition = {
  name: 'max-plus',
  lanes: ['int32'],
  zero: [bitsOf(-(2 ** 30), 'int32')],
  plus: expression(['int32'], (to) => to.op('max', to.x(), to.y())),
  times: expression(['int32'], (to) => {
    const [x, y, zero] = [to.x(), to.y(), to.constant(-(2 ** 30), 'int32')]
    const isZero = to.op('or', to.op('equal', x, zero), to.op('equal', y, zero))
    return to.op('select', isZero, zero, to.op('add', x, y))
  }),
  selective: true,
  idempotent: true,
}

const xorAnd: Definition = {
  name: 'xor-and',
  lanes: ['int32'],
  zero: [0],
  plus: expression(['int32'], (to) => to.op('xor', to.x(), to.y())),
  times: expression(['int32'], (to) => to.op('and', to.x(), to.y())),
  selective: true,
}

describe('single values', () => {
  it.each(exact.map(({ name }) => name))('are right for %s of the limits of all types', (name) => {
    const { gives, takes } = exact.find((operation) => operation.name === name)!
    for (const x of laneTypes) {
      for (const out of gives as ValueType[]) {
        const kinds = takes as string[]
        // Comparisons produce predicates, and selections consume them.
        const value = (to: Writer, kind: string, node: number): number => {
          if (kind === 'predicate' || (kind === 'same' && out === 'predicate')) {
            return to.op('less', node, to.constant(1, x))
          }
          return kind === 'same' && out !== x
            ? to.op(out === 'int32' ? 'toInt32' : out === 'uint32' ? 'toUint32' : 'toFloat32', node)
            : node
        }
        const times = expression([x], (to) => {
          const arguments_ = [to.x(), to.y(), to.y()]
          const operands = kinds.map((kind, index) => value(to, kind, arguments_[index]!))
          const result = to.write(name, out, operands)
          if (out === 'predicate') return to.op('select', result, to.constant(1, x), to.constant(0, x))
          return out === x
            ? result
            : to.op(x === 'int32' ? 'toInt32' : x === 'uint32' ? 'toUint32' : 'toFloat32', result)
        })
        const plus = expression([x], (to) => to.x())
        const definition = { name, lanes: [x], zero: [0], plus, times }
        const pairs = edges[x].flatMap((one) =>
          edges[x].map((other) => [bitsOf(one, x), bitsOf(other, x)] as const),
        )
        const [left, right] = [0, 1].map((side) => Uint32Array.from(pairs, (pair) => pair[side]!)) as [
          Uint32Array,
          Uint32Array,
        ]
        const result = new Uint32Array(pairs.length)
        addon.evaluateUserSemiring(
          native(definition),
          false,
          [typedLane(left, x)],
          [typedLane(right, x)],
          [typedLane(result, x)],
        )
        const expected = pairs.map(([one, other]) => evaluate(times, [one], [other])[0]!)
        expect([...result], `${x} → ${out}`).toEqual(expected)
      }
    }
  })

  it.each(Array.from({ length: 8 }, (_, seed) => seed))(
    'are right for random expressions, seed %d',
    (seed) => {
      const random = new Random(seed)
      for (let round = 0; round < 40; ++round) {
        const definition = anyDefinition(random, [0, 40])
        const { lanes } = definition
        const [x, y, out] = [1, 2, 3].map(() =>
          drawnLanes(random, lanes, 1, random.integer(1, 50) === 1 ? 2100 : 37),
        )
        const count = Math.min(x!.cols, y!.cols, out!.cols)
        const cut = (matrix: Lanes) =>
          matrix.lanes.map((lane, index) => typedLane(lane.slice(0, count), lanes[index]!))
        for (const combine of [true, false]) {
          const results = cut(out!)
          addon.evaluateUserSemiring(native(definition), combine, cut(x!), cut(y!), results)
          const bits = results.map((lane) => new Uint32Array(lane.buffer))
          for (let at = 0; at < count; ++at) {
            const element = (matrix: Lanes) => matrix.lanes.map((lane) => lane[at]!)
            const expected = evaluate(combine ? definition.plus : definition.times, element(x!), element(y!))
            if (expected.some((expectedValue, lane) => expectedValue !== bits[lane]![at])) {
              expect.fail(
                `${JSON.stringify(definition)} of ${element(x!)} and ${element(y!)} is not ${bits.map((lane) => lane[at])}`,
              )
            }
          }
        }
      }
    },
  )
})

describe('products', () => {
  it.each(Array.from({ length: 10 }, (_, seed) => seed))(
    'are right over random semirings, seed %d',
    (seed) => {
      const random = new Random(100 + seed)
      for (let round = 0; round < 12; ++round) {
        const definition = anyDefinition(random, [0, random.pick([1, 3, 12])])
        const { lanes } = definition
        const [m, n, k] = [
          random.pick([1, 7, 8, 9, 20]),
          random.pick([1, 15, 17, 50, 200]),
          random.pick([0, 1, 2, 13, 40]),
        ]
        const a = drawnLanes(random, lanes, m, k)
        const b = drawnLanes(random, lanes, k, n)
        const c0 = random.chance(0.5) ? drawnLanes(random, lanes, m, n) : undefined
        const any = () => random.integer(-5, 25)
        const bands: Bands | undefined = random.chance(0.4)
          ? { a: [any(), any()], b: [any(), any()], c: [any(), any()] }
          : undefined
        const c = emptyLanes(lanes, m, n)
        const witness = random.chance(0.5) ? new Int32Array(m * n).fill(-7) : null
        multiply(definition, [a, b, c], { c0, witness, bands })
        const expected = productOf(definition, a, b, c0, bands)
        // The witness is −1 outside of the structure.
        expectProduct(definition, c, null, expected)
        if (witness) expect([...witness]).toEqual(expected.map((result) => result?.witness ?? -1))
      }
    },
  )

  const pairs = ['add', 'min', 'max', 'and', 'or', 'xor'].flatMap((plus) =>
    ['add', 'sub', 'mul', 'min', 'max', 'and', 'or', 'xor', 'distance'].map(
      (times) => [plus, times] as const,
    ),
  )
  it.each(pairs)('equal the definition for single operations, %s and %s', (plus, times) => {
    const random = new Random(7)
    for (const type of laneTypes) {
      const isOfBits = (op: string) => ['and', 'or', 'xor'].includes(op)
      if (type === 'float32' && (isOfBits(plus) || isOfBits(times))) continue
      if (type === 'uint32' && times === 'distance') continue
      for (const isSwapped of [false, true]) {
        const lanes = [type]
        const definition: Definition = {
          name: `${plus}-${times}`,
          lanes,
          zero: [drawn(random, type)],
          plus: expression(lanes, (to) => to.op(plus, to.x(), to.y())),
          times: expression(lanes, (to) => {
            const both = isSwapped ? [to.y(), to.x()] : [to.x(), to.y()]
            return times === 'distance' ? to.op('abs', to.op('sub', ...both)) : to.op(times, ...both)
          }),
        }
        const [m, n, k] = [19, 101, 33]
        const a = drawnLanes(random, lanes, m, k)
        const b = drawnLanes(random, lanes, k, n)
        const c = emptyLanes(lanes, m, n)
        multiply(definition, [a, b, c])
        expectProduct(definition, c, null, productOf(definition, a, b))
      }
    }
  })

  it('count each step once', async () => {
    const [m, n, k] = [9, 210, 17]
    const [left, right, out] = [new Int32Array(m * k), new Int32Array(k * n), new Int32Array(m * n)]
    const report = reportOf()
    const request = requestOf(maxPlus, [m, n, k])
    const cancel = new Int32Array(1)
    await addon.multiplyUser(
      native(maxPlus),
      [left],
      [right],
      [out],
      null,
      request,
      report,
      cancel,
      null,
      null,
    )
    expect([report[reportAt.steps], report[reportAt.stepsDone]]).toEqual([m * n * k, m * n * k])
  })

  it('accept structured operands with an absorbing zero, on all threads', () => {
    const random = new Random(4)
    const [m, n, k] = [150, 130, 140]
    const small = (rows: number, cols: number): Lanes => ({
      rows,
      cols,
      lanes: [Uint32Array.from({ length: rows * cols }, () => random.integer(-1000, 1000) >>> 0)],
    })
    const [a, b] = [small(m, k), small(k, n)]
    const bands: Bands = { a: [0, 2 ** 40], b: [30, 50], c: [2 ** 40, 20] }
    for (const definition of [maxPlus, xorAnd]) {
      const c = emptyLanes(['int32'], m, n)
      const witness = new Int32Array(m * n)
      multiply(definition, [a, b, c], { witness, bands, keepsC: false })
      const expected = productOf(definition, a, b, undefined, bands)
      expect([...c.lanes[0]!]).toEqual(expected.map((result) => result?.element[0] ?? definition.zero[0]))
      expect([...witness]).toEqual(expected.map((result) => result?.witness ?? -1))
    }
  })

  it('have separate reports in a group', async () => {
    const random = new Random(5)
    const sizes = [
      [3, 4, 5],
      [20, 60, 7],
      [0, 4, 5],
      [2, 2, 0],
    ] as const
    const all = sizes.map(([m, n, k]) => ({
      a: drawnLanes(random, ['int32'], m, k),
      b: drawnLanes(random, ['int32'], k, n),
      c: emptyLanes(['int32'], m, n),
    }))
    const fields = addon.userRequestFields.length
    const requests = new Float64Array(fields * sizes.length)
    for (const [index, size] of sizes.entries()) requests.set(requestOf(maxPlus, size), index * fields)
    const reports = new Float64Array(addon.reportFields.length * sizes.length)
    const created = await addon.multiplyUserGroup(
      native(maxPlus),
      all.map(({ a, b, c }) => [
        arraysOf(a, ['int32']),
        arraysOf(b, ['int32']),
        arraysOf(c, ['int32']),
        null,
        null,
      ]),
      requests,
      reports,
      new Int32Array(1),
      null,
    )
    expect(created).toHaveLength(sizes.length)
    for (const { a, b, c } of all) expectProduct(maxPlus, c, null, productOf(maxPlus, a, b))
    expect(reports[addon.reportFields.length + reportAt.steps]).toBe(20 * 60 * 7)
  })
})

describe('functions', () => {
  /**
   * Sample of the float32 numbers. MPMML_TEST_ALL_FLOATS selects all of them, which takes minutes for each
   * function.
   */
  function* samples(): Generator<Uint32Array> {
    const count = 1 << 22
    if (process.env.MPMML_TEST_ALL_FLOATS) {
      for (let first = 0; first < 2 ** 32; first += count)
        yield Uint32Array.from({ length: count }, (_, index) => first + index)
      return
    }
    const random = new Random(9)
    yield Uint32Array.from({ length: 400_000 }, (_, index) =>
      index < edges.float32.length
        ? bitsOf(edges.float32[index]!, 'float32')
        : random.integer(0, 2 ** 32 - 1),
    )
  }

  const sampled = (op: string, exactly: (x: number) => number) => {
    const lanes: LaneType[] = ['float32']
    const definition: Definition = {
      name: op,
      lanes,
      zero: [0],
      plus: expression(lanes, (to) => to.x()),
      times: expression(lanes, (to) => to.op(op, to.x())),
    }
    for (const bits of samples()) {
      const out = new Float32Array(bits.length)
      const x = new Float32Array(bits.buffer)
      addon.evaluateUserSemiring(native(definition), false, [x], [x], [out])
      const wrong = x.findIndex((value, index) => {
        const [expectedValue, found] = [exactly(value), out[index]!]
        if (Number.isNaN(expectedValue) || Number.isNaN(found))
          return !(Number.isNaN(expectedValue) && Number.isNaN(found))
        if (Math.fround(expectedValue) === found) return false
        const unit = 2 ** Math.max(Math.floor(Math.log2(Math.abs(expectedValue))) - 23, -149)
        return !(Math.abs(found - expectedValue) <= 2 * unit)
      })
      if (wrong >= 0) return `${op}(${x[wrong]}) is ${out[wrong]}, not ${exactly(x[wrong]!)}`
    }
    return ''
  }

  it.each([
    ['exp', Math.exp],
    ['exp2', (x: number) => 2 ** x],
    ['log', Math.log],
    ['log1p', Math.log1p],
    ['sqrt', Math.sqrt],
  ])('%s is right to 2 units in the last place', { timeout: 3_600_000 }, (op, exactly) => {
    expect(sampled(op, exactly)).toBe('')
  })
})

describe('definitions', () => {
  const refused = (change: Partial<Definition>, message: RegExp) => {
    const make = () => native({ ...maxPlus, ...change })
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_MPMML_OPTION' }))
  }
  const int32 = ['int32'] as const
  const node = (op: string, type: ValueType, operands: number[], bits = 0) => ({ op, type, operands, bits })
  const of = (...nodes: Expression['nodes']) => ({ nodes, results: [nodes.length - 1] })

  it('reject missing and superfluous fields', () => {
    refused({ lanes: [], zero: [] }, /there are 0 lanes/)
    refused({ lanes: Array(5).fill('int32'), zero: [0, 0, 0, 0, 0] }, /there are 5 lanes/)
    refused({ zero: [0, 1] }, /zero has 2 lanes, but elements have 1/)
    refused({ one: [] }, /one has 0 lanes/)
    refused({ plus: { nodes: [], results: [] } }, /plus has 0 nodes/)
    refused({ plus: { ...maxPlus.plus, results: [] } }, /plus has 0 results/)
    const deep = expression(int32, (to) => {
      let sum = to.x()
      for (let depth = 0; depth < 255; ++depth) sum = to.op('neg', sum)
      return sum
    })
    expect(() => native({ ...maxPlus, times: deep })).not.toThrow()
    refused(
      { times: expression(int32, (to) => [to.op('neg', to.x()), ...deep.nodes.map(() => to.x())].at(0)!) },
      /times has 258 nodes|more than 256/,
    )
    refused({ name: 'x'.repeat(2000) }, /name is longer/)
  })

  it('reject invalid nodes', () => {
    refused({ plus: of(node('add', 'int32', [0, 0])) }, /add, takes node 0, which doesn't come before it/)
    refused({ plus: of(node('argument', 'int32', [2, 0])) }, /of a lane that isn't there/)
    refused({ plus: of(node('argument', 'int32', [0, 4])) }, /of a lane that isn't there/)
    refused({ plus: of(node('argument', 'float32', [0, 0])) }, /is float32, but must be int32/)
    refused(
      { plus: of(node('argument', 'int32', [0, 0]), node('sqrt', 'int32', [0])) },
      /sqrt, can't give int32/,
    )
    refused(
      { plus: of(node('argument', 'int32', [0, 0]), node('bits', 'int32', [0])) },
      /no operation that may be written/,
    )
    refused({ plus: of(node('argument', 'int32', [0, 0]), node('nothing', 'int32', [0])) }, /isn't known/)
    refused(
      { plus: of(node('argument', 'int32', [0, 0]), node('not', 'predicate', [0])) },
      /is int32, but must be predicate/,
    )
    refused(
      { plus: of(node('argument', 'int32', [0, 0]), node('less', 'predicate', [0, 0])) },
      /result 0 is predicate, but must be int32/,
    )
    refused({ plus: { ...maxPlus.plus, results: [-1] } }, /result 0 is node -1/)
    refused(
      {
        plus: of(
          node('argument', 'int32', [0, 0]),
          node('constant', 'uint32', [], 1),
          node('less', 'predicate', [0, 1]),
        ),
      },
      /is uint32, but must be int32/,
    )
  })

  it('reject too many exponentials', () => {
    const lanes: LaneType[] = ['float32']
    const many = expression(lanes, (to) => {
      let sum = to.x()
      for (let depth = 0; depth < 250; ++depth) sum = to.op('log1p', sum)
      return sum
    })
    refused(
      { lanes, zero: [0], plus: many, times: expression(lanes, (to) => to.x()) },
      /too many exponentials/,
    )
  })

  it('reject requests beyond the ends of their arrays', () => {
    const small = new Int32Array(3)
    const call = () =>
      addon.multiplyUserSync(
        native(maxPlus),
        [small],
        [small],
        [small],
        null,
        requestOf(maxPlus, [2, 2, 2]),
        reportOf(),
        null,
        null,
      )
    expect(call).toThrow(/past its memory/)
  })
})
