/** Plans predict the kernel and the arithmetic of products. */
import { describe, expect, it } from 'vitest'
import { EPSILON, matrix, mpmm, plan, variants } from '../../lib/index.js'
import { expectError, expectRejected } from '../support/expect.js'

const filled = (rows: number, cols: number, values: (index: number) => number) =>
  matrix(
    rows,
    cols,
    Int32Array.from({ length: rows * cols }, (_, index) => values(index)),
  )

describe('plan', () => {
  it.each([
    ['small values', (index: number) => index % 100],
    ['large values', (index: number) => (index % 100) * 10_000_000],
    ['ε', (index: number) => (index % 7 === 0 ? EPSILON : (index % 100) * 1_000_000)],
    ['values that only 64-bit sums hold', (index: number) => 2_000_000_000 - (index % 9) * 450_000_000],
  ])('agrees with the product: %s', async (_, values) => {
    for (const [m, k, n] of [
      [3, 4, 5],
      [300, 200, 250],
    ] as const) {
      const [a, b] = [filled(m, k, values), filled(k, n, values)]
      const planned = await plan(a, b, { overflow: 'saturate', backend: 'cpu' })
      const { backend, variant } = await mpmm(a, b, { overflow: 'saturate', backend: 'cpu' })
      expect({ backend: planned.backend, variant: planned.variant }).toEqual({ backend, variant })
      expect(planned.parameters).toEqual(variants().find(({ name }) => name === variant)?.parameters)
    }
  })

  it('names the arithmetic by the values', async () => {
    const path = async (x: number, y: number) =>
      (await plan(matrix(1, 2, [x, 0]), matrix(2, 1, [y, 0]), { backend: 'cpu', overflow: 'saturate' }))
        .arithmetic
    expect(await path(2 ** 31 - 1, 1)).toBe('wide')
    expect(await path(2 ** 31 - 2, 1)).not.toBe('wide')
  })

  it('computes nothing', async () => {
    const out = matrix(1, 1, [77])
    await plan(matrix(1, 2, [2 ** 31 - 1, 0]), matrix(2, 1, [2 ** 31 - 1, 0]), { out })
    expect(out.data[0]).toBe(77)
    await plan(matrix(1, 0, []), matrix(0, 1, []), { out })
    expect(out.data[0]).toBe(77)
  })

  it('allocates nothing for the result', async () => {
    const column = { data: new Int32Array(1), shape: [2 ** 20, 1], strides: [0, 0] }
    const row = { data: new Int32Array(1), shape: [1, 2 ** 20], strides: [0, 0] }
    expect(await plan(column, row, { backend: 'cpu' })).toMatchObject({ backend: 'cpu' })
    const c0 = { data: new Int32Array(1), shape: [2 ** 20, 2 ** 20], strides: [0, 0] }
    expect(await plan(column, row, { backend: 'cpu', accumulate: c0 })).toMatchObject({ backend: 'cpu' })
  })

  it('can be aborted, before and during the scan of the values', async () => {
    // Strides of 0 make matrices of 2^35 elements from one element. Scanning them would take a minute.
    const constant = (rows: number, cols: number) => ({
      data: new Int32Array(1),
      shape: [rows, cols],
      strides: [0, 0],
    })
    const [a, b] = [constant(2 ** 15, 2 ** 20), constant(2 ** 20, 1)]
    const reason = new Error('enough')
    const before = await plan(a, b, { backend: 'cpu', signal: AbortSignal.abort(reason) }).catch(
      (error) => error,
    )
    expectError(before, 'ABORTED')
    const controller = new AbortController()
    const running = plan(a, b, { backend: 'cpu', signal: controller.signal }).catch((error) => error)
    controller.abort(reason)
    const error = await running
    expectError(error, 'ABORTED', 'the plan was aborted')
    expect(error.cause).toBe(reason)
  })

  it('is rejected for the errors of mpmm', async () => {
    await expectRejected(plan(matrix(1, 2), matrix(3, 1)), 'SHAPE')
  })
})
