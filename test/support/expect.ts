/** Comparison of a product with the oracle, element by element. */
import { expect } from 'vitest'
import { type MatrixLike, MpmmlError, type MpmmOptions, type MpmmResult, mpmmSync } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { type Dense, dense, type Expected, oracle, type SemiringName, type Strided } from './oracle.js'

/**
 * Faster form of `expect(found).toBe(expected)`, because calls of `expect` dominate the time of thousands of
 * checks.
 */
export function expectSame<Value>(found: Value, expected: Value, what?: string): void {
  if (!Object.is(found, expected)) expect(found, what).toBe(expected)
}

/** Fails at the first element that differs, and names it. */
export function expectElements(c: Strided, expected: Dense, what = ''): void {
  const { batch, rows, cols, data } = dense(c)
  expect([batch, rows, cols], what).toEqual([expected.batch, expected.rows, expected.cols])
  const wrong = data.findIndex((value, index) => value !== expected.data[index])
  if (wrong < 0) return
  const [item, row, col] = [Math.floor(wrong / (rows * cols)), Math.floor(wrong / cols) % rows, wrong % cols]
  const count = data.reduce((sum, value, index) => sum + (value === expected.data[index] ? 0 : 1), 0)
  expect.fail(
    `${what}: C[${item}, ${row}, ${col}] is ${data[wrong]} and should be ${expected.data[wrong]}; ${count} of ${data.length} differ`,
  )
}

/** Returns the thrown error of a call; fails if it throws nothing. */
export function thrown(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return expect.fail('nothing was thrown')
}

/** Returns the error of a rejected promise; fails if it is fulfilled. */
export const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('the promise was fulfilled'),
    (error: unknown) => error,
  )

/** Returns the error of a rejected promise; undefined if it is fulfilled. */
export const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

/** Returns the error of work whose allocations fail from the nth on; undefined if the work needs fewer. */
export async function errorWithoutMemory(
  work: () => Promise<unknown>,
  nth: number,
  count = 1e15,
): Promise<unknown> {
  addon.failAllocation(nth, count)
  const error = await errorOf(work())
  addon.failAllocation(0)
  return error
}

/**
 * Checks that `error` is an error of the library with the code ERR_MPMML_`code`, whose message contains each text and matches each
 * regular expression.
 */
export function expectError(error: unknown, code: string, ...patterns: (string | RegExp)[]): void {
  expect(error).toBeInstanceOf(MpmmlError)
  const { message } = error as MpmmlError
  expect((error as MpmmlError).code, message).toBe(`ERR_MPMML_${code}`)
  for (const pattern of patterns) expect(message).toMatch(pattern)
}

/** Checks the error that a call throws, like {@link expectError}. */
export function expectThrown(call: () => unknown, code: string, ...patterns: (string | RegExp)[]): void {
  expectError(thrown(call), code, ...patterns)
}

/** Checks the error of a rejected promise, like {@link expectError}. */
export async function expectRejected(
  promise: Promise<unknown>,
  code: string,
  ...patterns: (string | RegExp)[]
): Promise<void> {
  expectError(await caught(promise), code, ...patterns)
}

/**
 * Computes the product and compares it with the oracle: the elements, or the overflow. The message of an overflow must name the
 * first position and its sum, and `out` must be unchanged.
 */
export function expectProduct(
  a: MatrixLike & Strided,
  b: MatrixLike & Strided,
  options: MpmmOptions & { semiring?: SemiringName; accumulate?: (MatrixLike & Strided) | undefined } = {},
  what = '',
): MpmmResult | undefined {
  const { semiring = 'max-plus', overflow = 'throw', accumulate } = options
  return expectAgrees(oracle(a, b, { semiring, overflow, c0: accumulate }), a, b, options, what)
}

/** Like {@link expectProduct}, but with known expected values. */
export function expectAgrees(
  expected: Expected,
  a: MatrixLike & Strided,
  b: MatrixLike & Strided,
  options: MpmmOptions,
  what = '',
): MpmmResult | undefined {
  if (!expected.overflow) {
    const result = mpmmSync(a, b, options) as MpmmResult
    expectElements(result.c as Strided, expected, what)
    return result
  }
  const { batch, row, col, sum } = expected.overflow
  const batched = a.shape.length === 3 || b.shape.length === 3
  const [m, n] = [a.shape[a.shape.length - 2]!, b.shape[b.shape.length - 1]!]
  const items = batched
    ? Math.max(a.shape.length === 3 ? a.shape[0]! : 1, b.shape.length === 3 ? b.shape[0]! : 1)
    : 1
  const data = new Int32Array(items * m * n).fill(77)
  const out = { data, shape: batched ? [items, m, n] : [m, n] }
  const error = thrown(() => mpmmSync(a, b, { ...options, out }))
  const position = items > 1 ? `C[${batch}, ${row}, ${col}]` : `C[${row}, ${col}]`
  expectError(error, 'OVERFLOW')
  expect((error as Error).message, what).toContain(`${position} is decided by the sum ${sum},`)
  expect(
    data.every((value) => value === 77),
    `${what}: out was written before the overflow was thrown`,
  ).toBe(true)
  return undefined
}
