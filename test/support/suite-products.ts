/**
 * Properties of products in every semiring on every element type, at every target. test/cpu and test/gpu run
 * this suite.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import type { MatrixStructure, ProductStructure } from '../../lib/index.js'
import { layoutNames } from '../../native/tools/fuzz/layouts.mjs'
import { inTurn, policies, ragged, type Size, sizes } from './cases.js'
import { pairwise } from './pairwise.js'
import { type Part, whole } from './parts.js'
import {
  type Algebra,
  type AnyMatrix,
  algebras,
  type Case,
  elements,
  elementsOf,
  idempotent,
  integerSums,
  nameOf,
  sourceOf,
} from './products/case.js'
import { expectRight } from './products/law.js'
import { compute, type ExecutionTarget, type ResultTarget, targetsOf } from './products/targets.js'
import { decisive, kindNamesOf, mixed, spoiled, startFor, tied, valuesFor } from './products/values.js'
import { itIf } from './skip.js'

/**
 * Values of K around the words of packed bits, around blocks of these words, and around the blocks of other
 * types.
 */
export const depths = [31, 32, 33, 63, 64, 65, 95, 127, 128, 129, 255, 257, 511, 513, 1023, 2047, 2048, 2049]
const someDepths = [31, 33, 64, 65, 127, 129, 256, 257, 513, 1023, 2049]

export const structures: Record<string, ProductStructure> = {
  'upper × upper': { a: 'upper', b: 'upper', c: 'upper' },
  'upper × upper, all of C': { a: 'upper', b: 'upper' },
  'lower × upper': { a: 'lower', b: 'upper' },
  'strictly lower × strictly lower': { a: 'strictly-lower', b: 'strictly-lower', c: 'strictly-lower' },
  'upper × strictly lower to lower': { a: 'upper', b: 'strictly-lower', c: 'lower' },
  'a part of C': { c: { band: [2, 9] } },
  'one diagonal': { a: { band: [0, 0] }, b: { band: [0, 0] } },
  'one diagonal beside the middle': { a: { band: [-5, 5] }, c: { band: [3, -3] } },
  'narrow bands': { a: { band: [3, 4] }, b: { band: [7, 1] }, c: { band: [10, 5] } },
  'no elements of A': { a: { band: [-4, 2] } },
  'no elements of C': { c: { band: [-4, 2] } },
  'a band beyond the matrix': { a: { band: [-5000, Number.POSITIVE_INFINITY] }, b: 'upper' },
  'bands that have all': { a: { band: [5000, 5000] }, b: { band: [9000, Number.POSITIVE_INFINITY] } },
}

/** Sizes around tiles and slabs, primes, skinny shapes. */
const structuredSizes: Size[] = [
  [1, 1, 1],
  [2, 3, 2],
  [17, 33, 31],
  [64, 64, 64],
  [67, 141, 83],
  [129, 127, 65],
  [5, 211, 130],
  [130, 300, 3],
]

/** Operands and C0 that are batches, a single matrix for all products, or a batch of one; `count` is the number of products. */
const batches = {
  'one product': { count: undefined, a: undefined, b: undefined, c0: undefined },
  'three of each': { count: 3, a: 3, b: 3, c0: 3 },
  'three of A, one B': { count: 3, a: 3, b: undefined, c0: 3 },
  'one A, three of B, one C0': { count: 3, a: undefined, b: 3, c0: undefined },
  'a batch of one A, nine of B': { count: 9, a: 1, b: 9, c0: 9 },
} satisfies Record<string, Record<string, number | undefined>>

/** Kinds of values for the arithmetics of an algebra. */
function arithmeticsOf({ isInteger, isWhole, isTruth }: Algebra): string[] {
  if (isInteger)
    return [
      'small, ε scattered',
      'low + small',
      'half range',
      'the best meets the worst',
      'sums at the ends',
      'beyond the translated limit, ε',
      'spreads of 16 bits',
      'few levels, ties',
    ]
  if (isWhole) return ['zero scattered', 'any int32', 'all of int16']
  return isTruth ? ['few bytes', 'many bits'] : ['zero scattered', 'above 0', 'anything']
}

/** A case with operands of a kind. */
export function drawn(algebra: Algebra, kind: string, size: Size, more: Partial<Case> = {}, seed = 1): Case {
  const [a, b] = valuesFor(algebra, kind, size, undefined, seed)
  return { algebra, a, b, what: `${nameOf(algebra)}, ${kind}, ${size.join(' × ')}`, ...more }
}

/** Elements outside of the structure that would decide results. */
export function withStructure(one: Case, structure: ProductStructure): Case {
  const c0 = one.c0 && { ...one.c0, data: one.c0.data.slice() }
  spoiled(one.algebra, structure, { a: one.a, b: one.b, c0 })
  return { ...one, structure, c0, what: `${one.what}, ${JSON.stringify(structure)}` }
}

/** Overflow policies of the algebra. */
const policiesOf = ({ isInteger }: Algebra) => (isInteger ? policies : [undefined])

export function productSuite(backend: BackendName, part: Part = whole): void {
  const { targets, derived, open, close } = targetsOf(backend)
  beforeAll(open)
  afterAll(close)

  /** Checks the case at the targets, into new matrices and into existing ones. */
  async function check(
    one: Case,
    where: readonly ExecutionTarget[] = targets,
    destinations?: ResultTarget[],
  ): Promise<void> {
    // A result can be accumulated in place if there is a C0 for each product.
    const inPlace = one.c0 && one.c0.batched === (one.a.batched || one.b.batched)
    const all: ResultTarget[] =
      destinations ?? (one.c0 ? ['new', inPlace ? 'in place' : 'out'] : ['new', 'out'])
    for (const target of where) {
      for (const destination of all) {
        const outcome = await compute(target, one, destination)
        expectRight(one, outcome, target.expectation, `${target.name}, ${destination}`)
      }
    }
  }
  const targetsNamed = (name: string) => targets.filter((each) => each.name === name)
  const inArrays = targetsNamed('arrays, at once')
  const few = [...inArrays, ...targetsNamed('a device')]

  /** Main targets: arrays or a device, in turn; both on a GPU. */
  const oneOf = (turn: number) => inTurn(backend, few, turn, few.length)
  /** Some of the targets, including a main one; all of them on a GPU. */
  const someOf = (turn: number, share = 8) => [
    ...new Set([...oneOf(turn), ...inTurn(backend, targets, turn, share)]),
  ]
  /** Destination: a new matrix or an existing one, in turn; both on a GPU. */
  const wayOf = (turn: number) => inTurn<ResultTarget>(backend, ['new', 'out'], turn, 2)

  // Targets with computed operands. The ordinary semiring is excluded from products with the identity,
  // because 0 times an infinity is NaN.
  const madeFor = ({ kind }: Algebra) =>
    derived.filter(({ derivation: by }) => kind !== 'ordinary' || by !== 'multiplied')

  describe.each(part(algebras).map((algebra) => [nameOf(algebra), algebra] as const))('%s', (_, algebra) => {
    const mayHaveWitness = idempotent.includes(algebra)
    const first = algebras.indexOf(algebra)

    it.each(kindNamesOf(algebra))('is right for values: %s', async (kind) => {
      const turn = first + kindNamesOf(algebra).indexOf(kind)
      for (const [index, overflow] of policiesOf(algebra).entries()) {
        await check(
          drawn(algebra, kind, ragged, { overflow }, 3),
          index === 0 ? someOf(turn) : oneOf(turn + index),
          overflow === 'wrap' ? ['new'] : ['out'],
        )
        const c0 = startFor(algebra, kind, ragged[0], ragged[2])
        const where = (overflow ?? 'throw') === 'throw' ? someOf(turn + 2) : oneOf(turn + index)
        const one = drawn(algebra, kind, ragged, { overflow, c0, witness: mayHaveWitness }, 4)
        await check(one, where, ['in place'])
        // An error would hide the other elements.
        if (overflow === (algebra.isInteger ? 'saturate' : undefined))
          await check(one, inTurn(backend, madeFor(algebra), turn, 4), ['in place'])
      }
      await check(
        drawn(algebra, kind, [70, 90, 110], {
          witness: mayHaveWitness,
          overflow: algebra.isInteger ? 'saturate' : undefined,
        }),
        oneOf(turn),
        wayOf(turn >> 1),
      )
    })

    it.each(kindNamesOf(algebra))('is right for C0: %s', async (kind) => {
      const overflow = algebra.isInteger ? 'saturate' : undefined
      const c0 = startFor(algebra, kind, ragged[0], ragged[2], undefined, 5)
      const turn = first + kindNamesOf(algebra).indexOf(kind)
      const where = oneOf(turn)
      await check(drawn(algebra, mixed(algebra), ragged, { c0, overflow, witness: mayHaveWitness }), where)
      // C0 alone decides.
      const zeros = (one: Case) => {
        one.a.data.fill(algebra.zero)
        return one
      }
      await check(zeros(drawn(algebra, mixed(algebra), ragged, { c0, overflow })), oneOf(turn + 1))
      const none = drawn(algebra, mixed(algebra), [3, 0, 5], { c0: startFor(algebra, kind, 3, 5) })
      await check(none, where)
    })

    it.each(sizes.map((size) => [...size, size] as const))(
      'is right for %i × %i × %i',
      async (_m, _k, _n, size) => {
        const listed = algebra.isInteger
          ? [
              'small',
              'ε in rows and columns',
              'extremes',
              'the best meets the worst',
              'far from the best in some rows',
            ]
          : [mixed(algebra)]
        const turn = first + sizes.indexOf(size)
        const kinds = inTurn(backend, [...listed, ...decisive(algebra)], turn, 2)
        for (const [index, kind] of kinds.entries()) {
          for (const overflow of inTurn(
            backend,
            policiesOf(algebra),
            turn + index,
            policiesOf(algebra).length,
          ))
            await check(drawn(algebra, kind, size, { overflow }), inArrays, wayOf(turn + index))
        }
        const c0 = startFor(algebra, mixed(algebra), size[0], size[2])
        const where = someOf(first + size[1])
        await check(drawn(algebra, mixed(algebra), size, { c0, witness: mayHaveWitness }), where, [
          'in place',
        ])
      },
    )

    it.each(algebra.isTruth ? depths : someDepths)('is right for K = %i', async (k) => {
      for (const [m, n] of [[1, 1], [5, 7], backend === 'cpu' && k > 600 ? [13, 35] : [33, 65]] as const) {
        for (const kind of inTurn(backend, [mixed(algebra), ...decisive(algebra)], first + m + k, 2)) {
          await check(
            drawn(algebra, kind, [m, k, n], { overflow: algebra.isInteger ? 'saturate' : undefined }),
            inArrays,
            ['new'],
          )
        }
        const ties = drawn(algebra, tied(algebra), [m, k, n], { witness: mayHaveWitness })
        await check(ties, oneOf(first + k + n), ['new'])
      }
    })

    it.each([
      [0, 3, 4],
      [3, 4, 0],
      [0, 5, 0],
      [0, 0, 0],
      [3, 0, 4],
    ])('is right for %i × %i × %i', async (...size) => {
      for (const [index, batch] of [undefined, 0, 3].entries()) {
        const where = someOf(first + size[0]! + size[2]! + index)
        const [a, b] = valuesFor(algebra, mixed(algebra), size as Size, batch)
        const c0 = startFor(algebra, mixed(algebra), size[0], size[2], batch)
        const what = `${batch} of ${size.join(' × ')}`
        await check({ algebra, a, b, what }, where)
        await check({ algebra, a, b, c0, what, witness: mayHaveWitness }, where)
      }
    })

    it.each(layoutNames)('is right if A is %s, with all other matrices in every layout', async (name) => {
      const others: Size[] = [
        [5, 130, 67],
        [1, 70, 33],
        [65, 64, 2],
      ]
      for (const size of [ragged, ...others]) {
        const c0 = startFor(algebra, mixed(algebra), size[0], size[2])
        const testCase = [decisive(algebra)[0]!, mixed(algebra)].map((kind, index) =>
          drawn(algebra, kind, size, { c0, witness: mayHaveWitness && index === 0 }),
        )
        for (const [index, other] of layoutNames.entries()) {
          const third = layoutNames[(index + 2) % layoutNames.length]
          const layouts = { a: name, b: other, c0: third, out: name === 'row-major' ? other : third }
          const one = { ...testCase[index % 2]!, layouts, as: testCase[index % 2]! }
          const turn = first + layoutNames.indexOf(name) + index
          if (size === ragged) await check(one, someOf(turn), ['out', 'in place'])
          else if (inTurn(backend, others, turn, 3).includes(size))
            await check(one, inArrays, turn % 2 ? ['out'] : ['in place'])
        }
      }
    })

    it('is right for operands whose elements share memory', async () => {
      const [m, k, n] = ragged
      const overlapping: Record<string, (cols: number) => number[]> = {
        'rows that overlap': () => [1, 1],
        'rows that overlap by one': (cols) => [cols - 1, 1],
        'one row again and again': () => [0, 1],
        'one column again and again': () => [1, 0],
        'one element': () => [0, 0],
      }
      const list = Object.values(overlapping)
      const [sourceA, sourceB] = valuesFor(algebra, mixed(algebra), [m, k, n]).map(sourceOf) as [
        AnyMatrix,
        AnyMatrix,
      ]
      for (const left of list) {
        for (const right of list) {
          const given = { a: { ...sourceA, strides: left(k) }, b: { ...sourceB, strides: right(n) } }
          const [a, b] = [elementsOf(given.a), elementsOf(given.b)]
          const c0 = startFor(algebra, mixed(algebra), m, n)
          await check(
            { algebra, a, b, c0, given, what: `${left(9)}, ${right(9)}`, witness: mayHaveWitness },
            inArrays,
          )
        }
      }
      const given = (strides: number[], rows: number, cols: number, source: AnyMatrix) =>
        ({ data: source.data, shape: [3, rows, cols], strides, offset: 2 }) as AnyMatrix
      for (const strides of [
        [5, 1, 9],
        [0, 8, 1],
        [200, 1, 9],
      ]) {
        const views = { a: given(strides, 5, 7, sourceA), b: given([30, 13, 2], 7, 4, sourceB) }
        const one = {
          algebra,
          a: elementsOf(views.a),
          b: elementsOf(views.b),
          given: views,
          what: `${strides}`,
        }
        await check(one, inArrays)
        await check({ ...one, c0: startFor(algebra, mixed(algebra), 5, 4, 3) }, inArrays)
      }
    })

    it.each([1, 2, 7, 23])('is right for batches of %i, or of one', async (batch) => {
      const [m, k, n]: Size = [18, 33, 17]
      const kind = algebra.isInteger ? 'small, ε scattered' : mixed(algebra)
      const [a, b] = valuesFor(algebra, kind, [m, k, n], batch)
      const [singleA, singleB] = valuesFor(algebra, kind, [m, k, n], undefined, 2)
      const [oneA, oneB] = valuesFor(algebra, kind, [m, k, n], 1, 3)
      const starts = [undefined, startFor(algebra, kind, m, n, batch), startFor(algebra, kind, m, n)]
      const pairs = [
        [a, b],
        [a, singleB],
        [singleA, b],
        [a, oneB],
        [oneA, b],
      ] as const
      for (const [turn, [left, right]] of pairs.entries()) {
        for (const [index, c0] of inTurn(backend, [...starts.entries()], first + batch + turn, 2)) {
          const witness = mayHaveWitness && index > 0
          await check(
            { algebra, a: left, b: right, c0, witness, what: `${batch}` },
            batch === 1 || batch === 23 ? oneOf(first + turn + index) : someOf(first + batch + turn + index),
            index === 1 ? ['in place'] : ['out'],
          )
        }
      }
    })

    it.each(Object.entries(structures))('is right for the structure: %s', async (name, structure) => {
      const turn = first + Object.keys(structures).indexOf(name)
      for (const [index, size] of structuredSizes.entries()) {
        const isMany = size[1] === 141
        if (backend === 'cpu' && !isMany && (turn + index) % 4) continue
        for (const witness of !mayHaveWitness ? [false] : isMany ? [false, true] : [index % 2 === 0]) {
          const c0 = witness ? startFor(algebra, mixed(algebra), size[0], size[2]) : undefined
          const one = withStructure(
            drawn(algebra, witness ? tied(algebra) : mixed(algebra), size, { c0, witness }),
            structure,
          )
          const where = isMany ? someOf(turn + Number(witness)) : oneOf(turn + (index >> 2))
          await check(one, where, witness ? ['in place'] : ['out'])
        }
      }
      const layouts = {
        a: 'transposed',
        b: 'every other element',
        c0: 'row-major',
        out: 'transposed in a larger one',
      }
      await check(
        withStructure(drawn(algebra, mixed(algebra), [40, 53, 37], { layouts }), structure),
        someOf(turn + 2),
        wayOf(turn),
      )
      // The estimate of sums exceeds the type, but no sum does, so C is written at the end. Infinities meet
      // no element outside of the structure.
      const hard = algebra.isInteger ? 'the best meets the worst' : 'anything'
      if (algebra.isInteger || algebra.isFloat)
        await check(
          withStructure(drawn(algebra, hard, [40, 53, 37], { layouts }), structure),
          inArrays,
          wayOf(turn + 1),
        )
    })

    it('agrees with the definition in pairwise combinations of batch, structure, target, arithmetic and call', async () => {
      const size: Size = [13, 33, 11]
      // Operands are multiplied or copied on the device, except for max-times, because a copy also checks
      // elements outside of a structure. Views of one batch entry are excluded, because they have no batch.
      const others = madeFor(algebra).filter(({ derivation: by }) => by === 'multiplied' || by === 'copied')
      const cases = pairwise({
        batch: Object.keys(batches) as (keyof typeof batches)[],
        structure: [undefined, ...Object.values(structures)],
        place: [...targets, ...(algebra.kind === 'product' ? [] : others)],
        kind: arithmeticsOf(algebra),
        overflow: policiesOf(algebra),
        destination: ['new', 'out', 'in place', 'out with C0'] as const,
        witness: mayHaveWitness ? [false, true] : [false],
        layout: layoutNames,
      })
      for (const {
        batch,
        structure,
        place: target,
        kind,
        overflow,
        destination: way,
        witness,
        layout,
      } of cases) {
        const { count, ...of } = batches[batch]
        const [a] = valuesFor(algebra, kind, size, of.a)
        const [, b] = valuesFor(algebra, kind, size, of.b, 2)
        const start = way === 'in place' ? count : of.c0
        const hasStart = way === 'in place' || way === 'out with C0'
        const one: Case = {
          algebra,
          a,
          b,
          c0: hasStart ? startFor(algebra, kind, size[0], size[2], start) : undefined,
          overflow,
          witness,
          layouts: { a: layout, c0: layout, out: layout },
          what: `${nameOf(algebra)}, ${batch}, ${kind}, ${overflow}, ${layout}`,
        }
        const into = way === 'out with C0' ? 'out' : way
        await check(structure ? withStructure(one, structure) : one, [target], [into])
      }
    })

    it('has one as its identity', async () => {
      const size = 67
      const identity = elements(
        valuesFor(algebra, mixed(algebra), [size, size, 0])[0].data.slice().fill(algebra.zero),
        size,
        size,
      )
      for (let i = 0; i < size; i++) identity.data[i * size + i] = algebra.one
      const kind = algebra.isInteger ? 'extremes' : kindNamesOf(algebra)[1]!
      const [a] = valuesFor(algebra, kind, [size, size, 0])
      await check({ algebra, a, b: identity, what: 'A ⊗ 1' }, someOf(first))
      await check({ algebra, a: identity, b: a, what: '1 ⊗ A' }, someOf(first + 1))
    })

    itIf(mayHaveWitness, 'finds a single winner anywhere in K, also beyond 65 536', async () => {
      for (const [index, k] of [7, 130, 1500].entries()) {
        const one = drawn(algebra, mixed(algebra), [9, k, 20], { witness: true })
        one.a.data.fill(algebra.zero)
        one.b.data.fill(algebra.greatest ? 1 : 2)
        for (let row = 0; row < 9; row++) one.a.data[row * k + Math.floor((row * (k - 1)) / 8)] = 1
        await check(one, someOf(first + index))
      }
      const long: Size[] = [
        [1, 70_001, 3],
        [13, 66_000, 13],
      ]
      for (const size of inTurn(backend, long, first, 2)) {
        await check(drawn(algebra, tied(algebra), size, { witness: true }), few, ['new'])
      }
    })

    itIf(algebra.isFloat, 'has the same bits in repeated calls', async () => {
      const one = drawn(algebra, 'anything', [130, 300, 140])
      for (const each of targets.filter(
        ({ narrow, isTransposed, grouped }) => !narrow && !isTransposed && !grouped,
      )) {
        const [first, second] = [await compute(each, one, 'new'), await compute(each, one, 'new')]
        expect(Buffer.from(second.c!.data.buffer).equals(Buffer.from(first.c!.data.buffer)), each.name).toBe(
          true,
        )
      }
    })

    it('is right for more than one block', async () => {
      const size: Size = backend === 'cuda' ? [300, 601, 297] : [155, 301, 149]
      const overflow = algebra.isInteger ? 'saturate' : undefined
      const where = [
        ...few,
        ...targetsNamed('arrays for several devices'),
        ...targetsNamed('spread among devices'),
      ]
      for (const kind of [mixed(algebra), tied(algebra)]) {
        await check(drawn(algebra, kind, size, { overflow, witness: mayHaveWitness }), where, ['new'])
      }
      const one = drawn(algebra, tied(algebra), size, { overflow, witness: mayHaveWitness })
      await check(withStructure(one, structures['lower × upper']!), few, ['new'])
    })
  })

  describe.each(part(integerSums).map((algebra) => [algebra.semiring, algebra] as const))(
    'overflow in %s',
    (_, algebra) => {
      const least = algebra.greatest ? -(2 ** 30) : -(2 ** 30)

      it('finds the one result that overflows at every position', async () => {
        const [m, k, n] = [13, 3, 37]
        for (let row = 0; row < m; row++) {
          for (let col = 0; col < n; col++) {
            const one = drawn(algebra, 'all ε', [m, k, n])
            one.a.data[row * k + 1] = least - row
            one.b.data[n + col] = least - col - 1
            await check(one, row % 6 === col % 6 ? targets : inArrays, ['out'])
          }
        }
      })

      it('names the first result in row-major order, alone or in a batch, for every division of the product', async () => {
        // Batch entries, rows and columns are divided.
        for (const [batch, m, n] of [
          [2, 9, 7],
          [3, 20, 15],
          [23, 9, 7],
          [4, 290, 12],
          [4, 7, 420],
          [1, 641, 3],
          [1, 3, 900],
        ] as const) {
          const last = batch - 1
          const before = Math.max(batch - 2, 0)
          for (const [item, row, col] of [
            [last, m - 1, 0],
            [before, m - 1, n - 1],
            [before, m >> 1, n >> 1],
          ] as const) {
            const [a, b] = valuesFor(algebra, 'small', [m, 5, n], batch)
            b.data.forEach((value, at) => {
              b.data[at] = Math.abs(value) + 200
            })
            // These rows of A overflow with one column of B; rows of later batch entries overflow with all
            // columns.
            for (let line = item * m + row; line < batch * m; line += 3)
              a.data.fill(2 ** 31 - 1500, line * 5, line * 5 + 5)
            for (let step = 0; step < 5; step++) b.data[(item * 5 + step) * n + col] = 9000
            const what = `${batch} of ${m} × ${n}, C[${item}, ${row}, ${col}]`
            await check({ algebra, a, b, what }, targets, ['out'])
          }
        }
      })

      it('reports an overflow only inside of a structure', async () => {
        const a = elements(new Int32Array(9).fill(2 ** 30), 3, 3)
        const b = elements(new Int32Array(9).fill(2 ** 30 - 2), 3, 3)
        b.data[8] = 2 ** 30 // Only C[i, 2] can overflow, and C[2, 2] is outside of the second structure.
        const diagonals: ProductStructure = { a: { band: [0, 0] }, b: { band: [0, 0] } }
        for (const c of [undefined, { band: [9, -1] } as MatrixStructure]) {
          await check({ algebra, a, b, structure: c ? { ...diagonals, c } : diagonals, what: 'a corner' })
        }
        for (const structure of Object.values(structures)) {
          await check(withStructure(drawn(algebra, 'sums at the ends', [140, 60, 130]), structure), targets, [
            'out',
          ])
        }
      })

      it('finds the one element inside of a structure that needs other sums, at every position', async () => {
        for (const [structure, row, col] of [
          [{ a: 'lower' }, 690, 600],
          [{ a: 'lower' }, 300, 300],
          [{ a: 'upper' }, 650, 699],
          [{ a: { band: [50, 60] } }, 500, 560],
        ] as [ProductStructure, number, number][]) {
          const one = withStructure(drawn(algebra, 'few levels, ties', [700, 700, 16]), structure)
          one.a.data[row * 700 + col] = 1_000_000
          await check(one, few, ['new'])
        }
      })

      it('distinguishes losing candidates beyond an end from a result at that end', async () => {
        const { greatest, zero } = algebra
        const end = greatest ? 1 - 2 ** 31 : 2 ** 31 - 2
        const beyond = greatest ? -1 : 1
        const a = elements(Int32Array.of(end, end, end), 1, 3)
        const c0 = elements(Int32Array.of(end), 1, 1)
        for (const overflow of policies) {
          const common = { algebra, a, overflow, witness: true, what: overflow }
          await check({ ...common, b: elements(Int32Array.of(2 * beyond, beyond, 0), 3, 1) })
          await check({ ...common, b: elements(Int32Array.of(2 * beyond, beyond, zero), 3, 1), c0 })
        }
        // The best candidate is in the last of several slabs of K.
        const [m, k, n] = [40, 9000, 40]
        const b = elements(new Int32Array(k * n).fill(beyond).fill(0, (k - 1) * n), k, n)
        await check(
          { algebra, a: elements(new Int32Array(m * k).fill(end), m, k), b, what: 'slabs' },
          inArrays,
        )
      })

      it('accepts a sum that overflows if C0 decides', async () => {
        const [a, b] = algebra.greatest ? [-(2 ** 31) + 1, -5] : [2 ** 31 - 2, 5]
        for (const start of [undefined, 7, algebra.zero]) {
          const c0 = start === undefined ? undefined : elements(Int32Array.of(start), 1, 1)
          await check({
            algebra,
            a: elements(Int32Array.of(a), 1, 1),
            b: elements(Int32Array.of(b), 1, 1),
            c0,
            what: `${start}`,
          })
        }
      })

      it('decides by the values of the whole batch', async () => {
        const [a, b] = valuesFor(algebra, 'small', [9, 17, 9], 5)
        a.data.fill(2 ** 31 - 2, 4 * 9 * 17)
        a.data[5 * 9 * 17 - 1] = algebra.zero
        for (const overflow of policies) await check({ algebra, a, b, overflow, what: overflow })
      })
    },
  )

  describe.each(
    part(algebras.filter(({ kind }) => kind === 'product')).map((one) => [nameOf(one), one] as const),
  )('negative elements in %s', (_, algebra) => {
    const least = algebra.dtype === 'float32' ? 2 ** -149 : Number.MIN_VALUE
    it.each(['a', 'b', 'c0'] as const)('are rejected in %s with the name of the first', async (where) => {
      for (const size of [
        [1, 1, 1],
        [9, 10, 11],
        [70, 90, 110],
        [1, 1000, 30],
        [290, 20, 290],
      ] as Size[]) {
        const c0 = startFor(algebra, 'anything', size[0], size[2])
        const one = drawn(algebra, 'anything', size, { c0 })
        const { data } = one[where]!
        for (const [index, at] of [0, Math.floor(data.length / 3), data.length - 1].entries()) {
          for (const [turn, value] of [-1, -2.5, -least, Number.NEGATIVE_INFINITY].entries()) {
            const before = data[at]!
            data[at] = value
            await check(
              { ...one, what: `${where}[${at}] is ${value}` },
              at === 0 || size[0] > 200 ? someOf(turn + index) : inArrays,
            )
            data[at] = before
          }
        }
      }
    })
    it.each(['a', 'b', 'c0'] as const)(
      'are ignored in %s, where they decide nothing, in layouts, batches and structures',
      async (where) => {
        const c0 = startFor(algebra, 'above 0', 5, 7)
        const zeros = drawn(algebra, 'zero alone', [5, 6, 7], { c0 })
        zeros[where]!.data[4] = -3
        await check(zeros)
        for (const name of layoutNames) {
          const one = drawn(algebra, 'above 0', ragged, {
            c0: startFor(algebra, 'above 0', ragged[0], ragged[2]),
            layouts: { [where]: name },
          })
          one[where]!.data[2 * one[where]!.cols + 5] = -8
          await check(one, few)
        }
        const [a, b] = valuesFor(algebra, 'above 0', [6, 5, 7], 4)
        const batch = { algebra, a, b, c0: startFor(algebra, 'above 0', 6, 7, 4), what: 'a batch' }
        const { data, rows, cols } = batch[where]
        data[2 * rows * cols + 3 * cols + 4] = -9
        await check(batch)
        const structure: ProductStructure = { a: 'lower', b: 'upper', c: { band: [40, 60] } }
        const size: Size = [300, 300, 300]
        const inside = withStructure(
          drawn(algebra, 'above 0', size, { c0: startFor(algebra, 'above 0', 300, 300) }),
          structure,
        )
        await check(inside, targets, ['new'])
        inside[where]!.data[where === 'b' ? 200 * 300 + 216 : 216 * 300 + 200] = -1
        await check({ ...inside, what: `${inside.what}, ${where}` }, targets, ['out'])
      },
    )
  })
}
