/** Operations whose allocations fail, and the expected state afterwards. */
import { expect } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import type { MatrixLike } from '../../lib/index.js'
import { type Dense, dense, type Strided } from './oracle.js'

/** Result of an operation, checked when allocations succeed again. */
export interface Attempt {
  run: () => Promise<unknown>
  /** Fails unless the result is right. This check isn't called after an error. */
  check: (result: never) => Promise<void> | void
  /** Fails unless all operands are unchanged. This check is called after an error. */
  unchanged?: () => Promise<void> | void
}

export type Operation = () => Promise<Attempt>

export const same = (c: MatrixLike, expected: Dense | number) => {
  const { data } = dense(c as Strided)
  const of = typeof expected === 'number' ? () => expected : (index: number) => expected.data[index]
  const wrong = data.findIndex((value, index) => value !== of(index))
  if (wrong >= 0) expect.fail(`element ${wrong} is ${data[wrong]} and should be ${of(wrong)}`)
}

export const UNTOUCHED = 77

/** Location in which arrays are computed. */
export type Where = { backend?: BackendName; devices?: number[] }
