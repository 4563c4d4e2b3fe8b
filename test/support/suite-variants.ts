/** Requirements of every variant of the registry. test/cpu and test/gpu run this suite. */
import { expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type Device,
  type MpmmOptions,
  matrix,
  mpmmSync,
  type ProductStructure,
  plan,
  type Variant,
  variants,
} from '../../lib/index.js'
import { arrays } from '../../native/tools/fuzz/algebra.mjs'
import { layoutNames } from '../../native/tools/fuzz/layouts.mjs'
import { inTurn, policies, ragged, type Size, sizes } from './cases.js'
import { exactPaths } from './exact-paths.js'
import { expectError, expectThrown } from './expect.js'
import { useDevice } from './homes.js'
import type { SemiringName } from './oracle.js'
import { type Part, whole } from './parts.js'
import { type Algebra, algebraOf, algebras, by, type Case, type Elements, sourceOf } from './products/case.js'
import { expectRight } from './products/law.js'
import { compute, type ExecutionTarget, type ResultTarget } from './products/targets.js'
import { decisive, kindNamesOf, mixed, startFor, tied, valuesFor } from './products/values.js'
import { describeUnless, itIf } from './skip.js'
import { depths, drawn, withStructure } from './suite-products.js'
import { missing, pathsOf } from './table.js'

/** Products that all variants of an algebra compute; the expected results are computed once. */
const known = new Map<string, Case>()

function knownCase(algebra: Algebra, name: string, make: () => Case): Case {
  const key = `${algebra.semiring} ${algebra.dtype} ${name}`
  return known.get(key) ?? known.set(key, make()).get(key)!
}

const exact = new WeakMap<Case, string[]>()

/** Arithmetics in which a product of int32 is exact, cheapest first; computed once. */
function pathsOfCase(testCase: Case): string[] {
  const before = exact.get(testCase)
  if (before) return before
  const shown = ({ data, rows, cols, batch }: Elements) => ({
    data: data as Int32Array,
    shape: [batch, rows, cols] as [number, number, number],
  })
  const { algebra, a, b, overflow = 'throw' } = testCase
  const paths = exactPaths(shown(a), shown(b), algebra.semiring as SemiringName, overflow)
  exact.set(testCase, paths)
  return paths
}

const structures: ProductStructure[] = [
  { a: 'upper', b: 'upper', c: 'upper' },
  { a: 'lower' },
  { b: { band: [5, 20] }, c: 'lower' },
]

/** Kinds for every arithmetic of every accumulator that a variant may have. */
const kindsOfPaths = [
  'small',
  'small, ε scattered',
  'low + small',
  'small + high',
  'the best meets the worst',
  'far from the best',
  'spreads of 16 bits',
  'spreads of 14 bits, ε',
  '31 levels of B, any A, ε',
  '31 levels of A, any B, ε',
  '37 levels of B, any A, ε',
  '41 levels of both, ε',
  '49 levels of both, ε',
  '31 levels in columns of B, any A, ε',
  '37 levels in rows of A, rows of ε, any B, ε',
  '49 levels in lines of both, ε',
]

const isExponent = ({ family }: Variant) => family === 'exponent' || family === 'warpexponent'

export function variantSuite(backend: BackendName, part: Part = whole): void {
  const open = useDevice({ backend })

  // Variants are ordered by algebra, because their expected results are computed once per algebra.
  const position = ({ semiring, dtype }: Variant) => algebras.indexOf(algebraOf(semiring, dtype))
  const listed = variants()
    .filter((row) => row.backend === backend)
    .sort((x, y) => position(x) - position(y))
  for (const [turn, variant] of part(listed).entries()) {
    const cannot = missing(variant)
    const { name, semiring, dtype } = variant
    const algebra = algebraOf(semiring, dtype)
    const one = (): never => matrix(1, 1, new arrays[dtype](1) as never) as never
    if (cannot !== undefined) {
      it(`${name} is rejected`, () => {
        const call = () => mpmmSync(one(), one(), { variant: name, semiring } as MpmmOptions)
        expectThrown(call, 'VARIANT', name)
      })
    }
    describeUnless(cannot, name, () => laws(variant, algebra, backend, open, turn))
  }
}

function laws(
  variant: Variant,
  algebra: Algebra,
  backend: BackendName,
  device: () => Device,
  turn: number,
): void {
  const { name, semiring, dtype } = variant
  const inArrays: ExecutionTarget = {
    name: 'arrays',
    options: {},
    expectation: { backend, timed: true },
    sync: true,
  }

  /** Arithmetic in which the variant computes the int32 sums of a case, or `none`. */
  function pathOf(testCase: Case): string | undefined {
    const hasSteps = testCase.a.cols > 0 && testCase.a.batch > 0 && testCase.b.batch > 0
    if (!algebra.isInteger || !hasSteps || testCase.structure) return undefined
    return pathsOfCase(testCase).find((name) => pathsOf(variant).includes(name)) ?? 'none'
  }
  const refuses = (testCase: Case) => pathOf(testCase) === 'none'

  /**
   * Fails unless the variant computes products whose sums fit its accumulator, in the required arithmetic,
   * and rejects other products. A variant may also reject products of floats and with structures.
   */
  async function check(
    testCase: Case,
    destinations: ResultTarget[] = ['new'],
    where = inArrays,
  ): Promise<'computed' | 'refused'> {
    const path = pathOf(testCase)
    const mayRefuse = path === 'none' || isExponent(variant) || testCase.structure !== undefined
    for (const destination of destinations) {
      const outcome = await compute(where, by(name, testCase), destination)
      const { code } = (outcome.error ?? {}) as { code?: string }
      if (mayRefuse && code === 'ERR_MPMML_VARIANT') {
        expectError(outcome.error, 'VARIANT', name, "can't run this product")
        return 'refused'
      }
      if (path === 'none')
        expect.fail(`${testCase.what}: there is a result, and no path on which it is exact`)
      expectRight(by(name, testCase, { path }), outcome, where.expectation, destination)
    }
    return 'computed'
  }
  const cached = (kind: string, size: Size, more: Partial<Case> = {}, suffix = '') =>
    knownCase(algebra, `${kind} ${size} ${Object.keys(more)} ${more.overflow} ${suffix}`, () =>
      drawn(algebra, kind, size, more, 11),
    )

  it('computes every kind of values that fits its accumulator, and no other kind', async () => {
    for (const [index, kind] of kindNamesOf(algebra).entries()) {
      for (const overflow of algebra.isInteger ? policies : [undefined])
        await check(cached(kind, ragged, { overflow }))
      if (!algebra.isInteger) {
        const c0 = startFor(algebra, kind, ragged[0], ragged[2])
        await check(
          cached(kind, ragged, { c0 }),
          inTurn<ResultTarget>(backend, ['new', 'in place'], turn + index, 2),
        )
      }
    }
  })

  it('is right at every size', async () => {
    const deep = algebra.isInteger
      ? []
      : depths.filter((k) => k < 600 || k === 2049).map((k): Size => [9, k, 17])
    // Tiles of truth values are long: these operands have whole tiles and partial ones.
    if (algebra.isTruth) deep.push([132, 1028, 260])
    for (const [index, size] of [...sizes, ...deep].entries()) {
      const kinds = algebra.isInteger ? kindsOfPaths : [mixed(algebra), ...decisive(algebra)]
      for (const kind of inTurn(backend, kinds, turn + index, 2)) {
        const testCase = cached(kind, size)
        // On the CPU the test above determines the rejected products.
        if (backend === 'cpu' && refuses(testCase)) continue
        await check(testCase)
      }
    }
  })

  it('accepts layouts, batches and C0', async () => {
    const kinds = algebra.isInteger
      ? ['small, ε scattered', 'few levels, mostly ε', 'equal elements']
      : [mixed(algebra)]
    for (const kind of kinds) {
      for (const layout of inTurn(backend, layoutNames, turn, 3)) {
        const layouts = { a: layout, b: layout, c0: layout, out: layout }
        await check(
          cached(kind, ragged, { layouts, c0: startFor(algebra, kind, ragged[0], ragged[2]) }, layout),
          ['in place'],
        )
      }
      const [m, k, n]: Size = [20, 70, 130]
      for (const [index, [batchA, batchB]] of [
        [4, 4],
        [4, undefined],
        [undefined, 4],
      ].entries()) {
        const what = `a batch, ${kind}`
        const testCase = knownCase(algebra, `${what} ${index}`, () => {
          const [a] = valuesFor(algebra, kind, [m, k, n], batchA, batchA ? 1 : 2)
          const [, b] = valuesFor(algebra, kind, [m, k, n], batchB, batchB ? 1 : 2)
          return { algebra, a, b, c0: startFor(algebra, kind, m, n, 4), what }
        })
        await check(testCase)
      }
      // More products than a GPU has blocks.
      const many = knownCase(algebra, `many ${kind}`, () => {
        const [a, b] = valuesFor(algebra, kind, [3, 70, 5], backend === 'cuda' ? 600 : 70)
        return { algebra, a, b, what: 'many products' }
      })
      await check(many)
    }
  })

  itIf(algebra.idempotent, 'finds witnesses', async () => {
    const witnessed: Size[] = [
      [5, 70, 9],
      [37, 300, 69],
      [2, 130, 70],
      [70, 130, 1],
    ]
    for (const [index, size] of witnessed.entries()) {
      for (const kind of [tied(algebra), ...inTurn(backend, kindNamesOf(algebra), turn + index, 8)]) {
        await check(
          cached(kind, size, { witness: true, overflow: algebra.isInteger ? 'saturate' : undefined }),
        )
      }
    }
    // The CPU counts ranges of K in bytes, so that the ranges are long for a large K.
    if (backend === 'cpu' && variant.parameters.accumulator === 'byte')
      await check(cached(tied(algebra), [5, 33_000, 9], { witness: true, overflow: 'saturate' }))
  })

  it('ignores elements outside of a structure, or rejects it', async () => {
    const isThin = variant.family === 'thin'
    for (const [at, structure] of structures.entries()) {
      for (const layouts of [undefined, { a: 'transposed', b: 'transposed' }]) {
        const key = `${JSON.stringify(structure)} ${layouts?.a}`
        const kind = algebra.isInteger ? 'few levels, ties' : mixed(algebra)
        // Either operand is the larger one.
        const [m, n] = layouts ? [83, 67] : [67, 83]
        const testCase = knownCase(algebra, key, () =>
          withStructure(drawn(algebra, kind, [m, backend === 'cpu' ? 290 : 70, n], { layouts }), structure),
        )
        const outcome = await check(testCase, inTurn<ResultTarget>(backend, ['new', 'out'], turn + at, 2))
        // Some families of a GPU don't support structures.
        if (backend === 'cpu') expect(outcome).toBe(isThin ? 'refused' : 'computed')
      }
    }
  })

  itIf(dtype === 'int32', 'accepts int16', async () => {
    for (const kind of algebra.isInteger
      ? ['small', 'small, ε scattered', 'all of int16, ε']
      : ['all of int16']) {
      await check(cached(kind, [77, 45, 99]), ['new'], { ...inArrays, narrow: true })
    }
  })

  itIf(algebra.kind === 'product', 'rejects negative elements', async () => {
    for (const where of ['a', 'b', 'c0'] as const) {
      const testCase = knownCase(algebra, `negative ${where}`, () => {
        const created = drawn(algebra, 'above 0', ragged, {
          c0: startFor(algebra, 'above 0', ragged[0], ragged[2]),
        })
        created[where]!.data[3 * created[where]!.cols + 2] = -6
        return created
      })
      await check(testCase, ['out'])
    }
  })

  it('computes products without steps, on a device too', async () => {
    const testCase = cached(mixed(algebra), [5, 0, 7], { c0: startFor(algebra, mixed(algebra), 5, 7) })
    const there = { ...inArrays, name: 'a device', device, sync: false }
    await check(testCase, ['new', 'in place'], there)
    await check(cached(mixed(algebra), [5, 0, 7]), ['out'], there)
    const [A, B] = await Promise.all(
      [testCase.a, testCase.b].map((each) => device().upload(sourceOf(each) as never)),
    )
    expect(await plan(A!, B!, { semiring, variant: name } as object)).toMatchObject({ variant: name })
    for (const each of [A, B]) each!.dispose()
  })

  it('rejects the products of another semiring, and of another backend', () => {
    const other =
      algebras.find((one) => one.dtype === dtype && one.semiring !== semiring) ?? algebraOf('max-plus')
    const one = matrix(1, 1, new arrays[other.dtype](1) as never) as never
    const refused = { variant: name, semiring: other.semiring } as MpmmOptions
    expectThrown(() => mpmmSync(one, one, refused), 'VARIANT', name, semiring, other.semiring)
    const own = matrix(1, 1, new arrays[dtype](1) as never) as never
    const elsewhere = { variant: name, semiring, backend: backend === 'cpu' ? 'cuda' : 'cpu' } as MpmmOptions
    expectThrown(() => mpmmSync(own, own, elsewhere), 'VARIANT', name, 'backend')
  })
}
