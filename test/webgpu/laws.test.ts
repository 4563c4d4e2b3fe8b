/** Laws of products, closures and paths on WebGPU. The sizes are few, because the adapter may be software. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shortestPaths } from '../../lib/graph.js'
import { MpmmlError, variants } from '../../lib/index.js'
import { policies, ragged, type Size } from '../support/cases.js'
import { starOf, weightsOf } from '../support/closures/case.js'
import { expectClosure } from '../support/closures/law.js'
import { board, movesOfKing } from '../support/king.js'
import {
  type Algebra,
  algebraOf,
  type Case,
  idempotent,
  integerSums,
  nameOf,
} from '../support/products/case.js'
import { expectRight } from '../support/products/law.js'
import { compute, type ExecutionTarget, type ResultTarget, targetsOf } from '../support/products/targets.js'
import { mixed, startFor, tied } from '../support/products/values.js'
import { describeUnless, itIf } from '../support/skip.js'
import { drawn } from '../support/suite-products.js'
import { withoutWebGpu } from '../support/webgpu.js'

const reason = await withoutWebGpu()

/** Pairs of a semiring and a type that have kernels. */
const exact = [
  ...new Map(
    variants()
      .filter(({ backend }) => backend === 'webgpu')
      .map(({ semiring, dtype }) => [`${semiring} ${dtype}`, algebraOf(semiring, dtype)]),
  ).values(),
]

const sizes: Size[] = [
  [1, 1, 1],
  [3, 0, 5],
  [1, 300, 2],
  [33, 17, 65],
  [70, 130, 67],
]

/** Kinds of values; WebGPU rejects some of them. */
function kindsOf({ isInteger, isTruth, isFloat }: Algebra): string[] {
  if (isInteger) return ['small, ε scattered', 'half range', 'sums at the ends', 'few levels, ties']
  if (isTruth) return ['few bytes', 'many bits']
  return isFloat ? ['zero scattered', 'any numbers', 'zeros of both signs'] : ['zero scattered', 'any int32']
}

describeUnless(reason, 'webgpu', () => {
  const { targets, open, close } = targetsOf('webgpu')
  beforeAll(open)
  afterAll(close)
  const target = (name: string) => targets.filter((each) => each.name === name)

  /**
   * Returns whether WebGPU rejected the case because it can't compute the values exactly. Fails if there is a
   * wrong result.
   */
  async function isRefused(one: Case, where: ExecutionTarget, destination: ResultTarget): Promise<boolean> {
    const outcome = await compute(where, one, destination)
    const { error } = outcome
    if (error instanceof MpmmlError && /OPTION|DTYPE/.test(error.code) && /exactly/.test(error.message)) {
      expect(outcome.now).toEqual(outcome.initial)
      return true
    }
    expectRight(one, outcome, where.expectation, `${where.name}, ${destination}`)
    return false
  }

  /** Checks a case at several targets: either all of them compute it, or all reject it. */
  async function check(
    one: Case,
    where: readonly ExecutionTarget[],
    destinations: readonly ResultTarget[] = ['new', 'out'],
  ) {
    const refused = new Set<boolean>()
    for (const each of where)
      for (const destination of destinations) refused.add(await isRefused(one, each, destination))
    expect(refused.size, one.what).toBe(1)
    return !refused.has(true)
  }

  describe.each(exact.map((algebra) => [nameOf(algebra), algebra] as const))('%s', (_, algebra) => {
    const witness = idempotent.includes(algebra) && !algebra.isTruth
    const usual = algebra.isInteger ? 'small, ε scattered' : mixed(algebra)

    it('computes products at every target', async () => {
      expect(await check(drawn(algebra, usual, ragged, { overflow: undefined }), targets)).toBe(true)
    })

    it.each(sizes.map((size) => [...size, size] as const))(
      'computes %i × %i × %i',
      async (_m, _k, _n, size) => {
        expect(await check(drawn(algebra, usual, size), target('arrays'))).toBe(true)
        const c0 = startFor(algebra, usual, size[0], size[2])
        const one = drawn(algebra, usual, size, { c0, witness })
        expect(await check(one, target('arrays'), ['in place'])).toBe(true)
      },
    )

    it.each(kindsOf(algebra))('computes or rejects values: %s', async (kind) => {
      for (const overflow of algebra.isInteger ? policies : [undefined]) {
        await check(drawn(algebra, kind, ragged, { overflow }), target('arrays'))
        const c0 = startFor(algebra, kind, ragged[0], ragged[2])
        await check(drawn(algebra, kind, ragged, { overflow, c0, witness }), target('a device'), ['in place'])
      }
    })

    itIf(witness, 'returns the smallest k among equal candidates', async () => {
      expect(await check(drawn(algebra, tied(algebra), ragged, { witness }), target('arrays'))).toBe(true)
    })
  })

  describe.each(integerSums.map((algebra) => [nameOf(algebra), algebra] as const))('%s', (_, algebra) => {
    it.each([1, 5, 33, 70])('closes a graph of %i nodes', async (n) => {
      const one = starOf(algebra, weightsOf(algebra, n, 0.3, n))
      for (const where of [...target('arrays'), ...target('a device')])
        for (const destination of ['new', 'next'] as const) await expectClosure(where, one, destination)
    })
  })

  it('finds the moves of a king between all squares of a board', async () => {
    const n = 7
    const { distances, backend } = await shortestPaths(board(n), { backend: 'webgpu' })
    expect(backend).toBe('webgpu')
    const wrong = distances.data.findIndex(
      (distance, at) => distance !== movesOfKing(n, Math.floor(at / n ** 2), at % n ** 2),
    )
    expect(wrong).toBe(-1)
  })
})
