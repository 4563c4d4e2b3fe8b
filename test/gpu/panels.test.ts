/**
 * Products that a GPU computes in parts: panels that overlap transfers, and blocks if device memory is short. They are too large
 * for the oracle, so they are compared with the CPU backend, which the oracle has checked.
 */
import { afterEach, describe, expect, it } from 'vitest'
import {
  type DenseMatrix,
  EPSILON,
  type MatrixLike,
  type MpmmOptions,
  matrix,
  mpmm,
  mpmmSync,
  type OperandArray,
  variants,
} from '../../lib/index.js'
import { expectError, expectThrown, thrown } from '../support/expect.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

/** A product of this number of steps is divided into two panels or more (native/cuda/product.cpp). */
const shape = { m: 3300, k: 3001, n: 3203 }

function filled(rows: number, cols: number, value: (row: number, col: number) => number): DenseMatrix {
  const data = new Int32Array(rows * cols)
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) data[row * cols + col] = value(row, col)
  }
  return matrix(rows, cols, data)
}

/** Numbers without a pattern from 0 to `limit`. */
const scattered = (limit: number) => (row: number, col: number) =>
  ((Math.imul(row + 1, 2654435761) ^ Math.imul(col + 7, 40503)) >>> 8) % limit

function expectSame(cuda: DenseMatrix, cpu: DenseMatrix) {
  const bytes = ({ data }: DenseMatrix) => Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  expect(bytes(cuda).equals(bytes(cpu)), 'the results of cuda and cpu are the same').toBe(true)
}

function compare(a: MatrixLike<OperandArray>, b: MatrixLike<OperandArray>, options: MpmmOptions = {}) {
  const cuda = mpmmSync(a, b, { ...options, backend: 'cuda' })
  const cpu = mpmmSync(a, b, { ...options, backend: 'cpu' })
  expectSame(cuda.c as DenseMatrix, cpu.c as DenseMatrix)
  return cuda
}

describeUnless(withoutCuda(), 'cuda', () => {
  const { m, k, n } = shape
  const b = filled(k, n, scattered(20_000))

  describe('panels', () => {
    it('share one arithmetic', () => {
      expect(compare(filled(m, k, scattered(20_000)), b).arithmetic).toBe('half')
    })

    it('use the arithmetic of their own values', () => {
      // Small values first, then ε among larger ones, then values that need 64-bit sums.
      const a = filled(m, k, (row, col) => {
        if (row < 1000) return scattered(20_000)(row, col)
        if (row < 2500) return (row + col) % 11 === 0 ? EPSILON : scattered(300_000_000)(row, col)
        return (row + col) % 7 === 0 ? EPSILON : 2_147_480_000 - scattered(30_000)(row, col)
      })
      expect(compare(a, b, { overflow: 'saturate' }).arithmetic).toBe('wide')
    })

    it('accept C0, strides and a strided result', () => {
      const transposed = (x: DenseMatrix) => ({
        data: x.data,
        shape: [x.shape[1], x.shape[0]],
        strides: [1, x.shape[1]],
      })
      const a = transposed(filled(k, m, scattered(1_000_000_000)))
      const c0 = filled(m, n, scattered(2_000_000_000))
      const out = () => ({ data: new Int32Array(m * (n + 5)), shape: [m, n], strides: [n + 5, 1], offset: 3 })
      const [cuda, cpu] = [out(), out()]
      mpmmSync(a as never, b, { accumulate: c0, out: cuda as never, backend: 'cuda' })
      mpmmSync(a as never, b, { accumulate: c0, out: cpu as never, backend: 'cpu' })
      expect(Buffer.from(cuda.data.buffer).equals(Buffer.from(cpu.data.buffer))).toBe(true)
    })

    it('leave `out` unchanged when the last one overflows', () => {
      const a = filled(m, k, (row, col) =>
        row === m - 1 && col === 5 ? 2_147_483_647 : scattered(20_000)(row, col),
      )
      const out = matrix(m, n, new Int32Array(m * n).fill(77))
      const error = thrown(() => mpmmSync(a, b, { out, backend: 'cuda' }))
      expectError(error, 'OVERFLOW', new RegExp(`C\\[${m - 1}, \\d+\\]`))
      expect(out.data.every((value) => value === 77)).toBe(true)
    })

    it.each([
      'as planned',
      'in a structure, beside C0',
      'after a kernel that tells nothing of them',
    ] as const)('have witnesses, found %s', (how) => {
      const a = filled(m, k, scattered(20_000))
      const options: MpmmOptions =
        how === 'in a structure, beside C0'
          ? { accumulate: filled(m, n, scattered(40_000)), structure: { a: 'lower', c: 'lower' } }
          : {}
      const simple = variants().find(({ family, backend, semiring, dtype }) => {
        return family === 'small' && backend === 'cuda' && semiring === 'max-plus' && dtype === 'int32'
      })!.name
      const variant = how === 'after a kernel that tells nothing of them' ? simple : undefined
      const cuda = mpmmSync(a, b, { ...options, variant, witness: true, backend: 'cuda' })
      const cpu = mpmmSync(a, b, { ...options, witness: true, backend: 'cpu' })
      expectSame(cuda.c as DenseMatrix, cpu.c as DenseMatrix)
      expectSame(cuda.witness, cpu.witness)
    })

    it('are batch entries', () => {
      const [batch, rows, depth, cols] = [40, 700, 1003, 801]
      const data = (size: number) =>
        Int32Array.from({ length: size }, (_, index) => scattered(1_000_000)(index, 3))
      const a = matrix([batch, rows, depth], data(batch * rows * depth))
      const shared = matrix(depth, cols, data(depth * cols))
      compare(a, shared)
      compare(a, matrix([batch, depth, cols], data(batch * depth * cols)))
    })
  })

  it('share one A and one B in a batch (stride 0), with a C0 for each product', () => {
    const again = (seed: number) => ({
      data: filled(1024, 1024, (row, col) => scattered(1_000_000)(row + seed, col)).data,
      shape: [28, 1024, 1024] as const,
      strides: [0, 1024, 1],
    })
    const accumulate = {
      data: Int32Array.from({ length: 28 * 1024 * 1024 }, (_, index) => scattered(4_000_000)(index, 5)),
      shape: [28, 1024, 1024] as const,
    }
    compare(again(0), again(9), { accumulate })
  })

  describe('blocks, where device memory is short', () => {
    afterEach(() => {
      delete process.env.MPMML_DEVICE_MEMORY_MIB
    })

    it.each([40, 90])('are exact with %s MiB', (mebibytes) => {
      process.env.MPMML_DEVICE_MEMORY_MIB = String(mebibytes)
      compare(filled(m, k, scattered(1_000_000_000)), b)
    })

    it('report an overflow at its position in the whole result', () => {
      process.env.MPMML_DEVICE_MEMORY_MIB = '40'
      const a = filled(m, k, (row, col) =>
        row === 2999 && col === 5 ? 2_147_483_647 : scattered(20_000)(row, col),
      )
      const out = matrix(m, n, new Int32Array(m * n).fill(77))
      expectThrown(() => mpmmSync(a, b, { out, backend: 'cuda' }), 'OVERFLOW', /C\[2999, \d+\]/)
      expect(out.data.every((value) => value === 77)).toBe(true)
    })

    it('report the first overflow of the whole result, not of the first block', () => {
      process.env.MPMML_DEVICE_MEMORY_MIB = '40'
      // Rows 10 and 2999 of A overflow, each in the one column of B that its large element meets.
      const [first, second] = [
        [10, n - 3],
        [2999, 5],
      ] as const
      for (const [upper, lower] of [
        [first, second],
        [
          [first[0], second[1]],
          [second[0], first[1]],
        ],
      ] as const) {
        const a = filled(m, k, scattered(20_000))
        a.data[upper[0] * k] = 2_147_483_647
        a.data[lower[0] * k + 1] = 2_147_483_640
        const right = matrix(k, n, Int32Array.from(b.data))
        right.data.fill(EPSILON, 0, 2 * n)
        right.data[upper[1]] = 1000
        right.data[n + lower[1]] = 1000
        const out = matrix(m, n, new Int32Array(m * n).fill(77))
        const error = thrown(() => mpmmSync(a, right, { out, backend: 'cuda' }))
        const place = `C[${upper.join(', ')}]`
        expectError(error, 'OVERFLOW')
        expect((error as Error).message).toContain(`${place} is decided by the sum 2147484647,`)
        expect(out.data.every((value) => value === 77)).toBe(true)
      }
    })

    it('leave `out` unchanged if only the last one rejects the variant', () => {
      const a = filled(m, k, (row, col) => scattered(row < 2999 ? 5 : 1_000_000)(row, col))
      const variant = variants().find(({ family, backend, semiring, dtype }) => {
        return family === 'exponent' && backend === 'cuda' && semiring === 'max-plus' && dtype === 'int32'
      })!.name
      const out = matrix(m, n, new Int32Array(m * n).fill(77))
      process.env.MPMML_DEVICE_MEMORY_MIB = '40'
      expectThrown(() => mpmmSync(a, b, { out, variant }), 'VARIANT')
      expect(out.data.every((value) => value === 77)).toBe(true)
    })

    it('leave `out` unchanged if only the last one has an invalid element', () => {
      const [rows, depth, cols] = [3300, 2001, 2203]
      const a = matrix(rows, depth, new Float32Array(rows * depth).fill(2))
      const right = matrix(depth, cols, new Float32Array(depth * cols).fill(3))
      a.data[a.data.length - 1] = -1
      const out = matrix(rows, cols, new Float32Array(rows * cols).fill(77))
      process.env.MPMML_DEVICE_MEMORY_MIB = '40'
      expectThrown(
        () => mpmmSync(a, right, { out, semiring: 'max-times', backend: 'cuda' }),
        'VALUE',
        /a\[3299, 2000\] is -1/,
      )
      expect(out.data.every((value) => value === 77)).toBe(true)
    })

    it('share the memory of concurrent products', async () => {
      process.env.MPMML_DEVICE_MEMORY_MIB = '40'
      const tasks = Array.from({ length: 8 }, (_, index) => ({
        a: filled(1200 + index, 1100, scattered(1_000_000 + index)),
        b: filled(1100, 1300 - index, scattered(900_000 + index)),
      }))
      const results = await Promise.all(tasks.map((task) => mpmm(task.a, task.b, { backend: 'cuda' })))
      results.forEach(({ c, backend }, index) => {
        expect(backend).toBe('cuda')
        expectSame(c, mpmmSync(tasks[index]!.a, tasks[index]!.b, { backend: 'cpu' }).c)
      })
    })

    it('are rejected if not even one fits', () => {
      process.env.MPMML_DEVICE_MEMORY_MIB = '1'
      expectThrown(
        () => mpmmSync(filled(m, k, scattered(9)), b, { backend: 'cuda' }),
        'OUT_OF_MEMORY',
        /device memory/,
      )
      expect(mpmmSync(filled(m, k, scattered(9)), b).backend).toBe('cpu')
    })
  })
})
