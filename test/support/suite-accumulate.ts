/** out and accumulate: C0 ⊕ A⊗B, into memory of the caller's. */
import { expect, it } from 'vitest'
import { matrix, mpmmSync, zeroOf } from '../../lib/index.js'
import { layoutsOf, policies, ragged, semirings } from './cases.js'
import { expectElements, expectProduct } from './expect.js'
import { kindNames, operands, randomMatrix } from './generators.js'
import { type Dense, oracle } from './oracle.js'

export function outAndAccumulate(backend: 'cpu' | 'cuda'): void {
  for (const semiring of semirings) {
    it.each(kindNames)(`${semiring}: C0 ⊕ A⊗B, %s`, (kind) => {
      const { a, b } = operands(kind, semiring, ragged)
      const accumulates = [
        operands('full range, ε scattered', semiring, [37, 43, 1]).a,
        operands('extremes', semiring, [37, 43, 1]).a,
        operands('small', semiring, [37, 43, 1]).a,
        operands('all ε', semiring, [37, 43, 1]).a,
      ]
      for (const accumulate of accumulates) {
        for (const overflow of policies)
          expectProduct(a, b, { backend, semiring, overflow, accumulate }, overflow)
      }
    })
  }

  it('accumulates to what out holds', () => {
    const { a, b } = operands('small, ε scattered', 'max-plus', ragged)
    const start = randomMatrix(37, 43, 4, [-500, 3000])
    const expected = oracle(a, b, { c0: start }) as Dense
    for (const accumulate of ['true', 'out', 'the same elements'] as const) {
      const out = { ...start, data: Int32Array.from(start.data) }
      const value = accumulate === 'true' ? true : accumulate === 'out' ? out : { ...out }
      const { c } = mpmmSync(a, b, { backend, out, accumulate: value })
      expect(c).toBe(out)
      expectElements(out, expected, accumulate)
    }
  })

  it('writes into a large out after nothing overflowed that might have', () => {
    const [m, n] = [1021, 530]
    const { a, b } = operands('small', 'max-plus', [m, 2, n])
    a.data[0] = 2 ** 30
    b.data.fill(2 ** 30, n)
    for (const strides of [
      [n + 3, 1],
      [1, m + 3],
    ] as const) {
      const out = {
        data: new Int32Array((m + 3) * (n + 3)).fill(123456789),
        shape: [m, n],
        strides,
        offset: 2,
      }
      expect(mpmmSync(a, b, { backend, out }).path).toBe('wide')
      expectElements(out, oracle(a, b) as Dense)
      expect(out.data.filter((value) => value === 123456789)).toHaveLength(out.data.length - m * n)
    }
  })

  it('writes a batch, and batches apart from each other, after nothing overflowed that might have', () => {
    const [batch, m, n] = [5, 19, 21]
    for (const semiring of semirings) {
      const { a, b } = operands('the best meets the worst', semiring, [m, 24, n], 1, batch)
      const c0 = operands('small', semiring, [m, n, 1], 2, batch).a
      const expected = oracle(a, b, { semiring, c0 }) as Dense
      for (const strides of [
        [m * n, n, 1],
        [1, n * batch, batch],
        [m * n + 7, 1, m],
      ] as const) {
        const out = { data: new Int32Array(batch * (m * n + 7)), shape: [batch, m, n], strides }
        expect(mpmmSync(a, b, { backend, semiring, out, accumulate: c0 }).path).toBe('wide')
        expectElements(out, expected, `${semiring}, ${strides}`)
      }
    }
  })

  it('accumulates one matrix into another, any layouts', () => {
    const { a, b } = operands('small', 'max-plus', ragged)
    const c0 = randomMatrix(37, 43, 4, [-500, 3000])
    for (const layout of Object.values(layoutsOf)) {
      const accumulate = layout(c0)
      const out = { data: new Int32Array(37 * 43), shape: [37, 43], strides: [1, 37] }
      mpmmSync(a, b, { backend, out, accumulate })
      expectElements(out, oracle(a, b, { c0 }) as Dense)
    }
  })

  it('saves an overflow by what is accumulated to, where that decides', () => {
    const a = matrix(1, 1, [-(2 ** 31) + 1])
    const b = matrix(1, 1, [-5])
    expectProduct(a, b, { backend })
    expectProduct(a, b, { backend, accumulate: matrix(1, 1, [7]) })
    expectProduct(a, b, { backend, accumulate: matrix(1, 1, [zeroOf('max-plus')]) })
    expectProduct(matrix(1, 1, [2 ** 31 - 2]), matrix(1, 1, [5]), {
      backend,
      semiring: 'min-plus',
      accumulate: matrix(1, 1, [7]),
    })
  })

  it('writes into halves of one buffer that interleave', () => {
    const data = new Int32Array(8 * 20)
    const { a, b } = operands('small', 'max-plus', [8, 10, 10])
    for (let i = 0; i < 8; i++) data.set(a.data.subarray(i * 10, (i + 1) * 10), i * 20)
    const left = { data, shape: [8, 10], strides: [20, 1] }
    const right = { data, shape: [8, 10], strides: [20, 1], offset: 10 }
    mpmmSync(left, b, { backend, out: right })
    expectElements(right, oracle(a, b) as Dense)
    expectElements(left, { batch: 1, rows: 8, cols: 10, data: a.data })
  })
}
