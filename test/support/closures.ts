/** What the tests of closures and powers have in common. */
import { expect } from 'vitest'
import { readAlgebraOptions } from '../../lib/algebra/options.js'
import { type AlgebraOptions, plus, power, star } from '../../lib/algebra.js'
import { closeWeights } from '../../lib/closure/close.js'
import { DeviceMatrix, type MatrixLike, type OperandArray } from '../../lib/index.js'
import { readView } from '../../lib/view.js'
import { expectError as expectCoded } from './expect.js'
import type { Expected } from './expected-closures.js'
import { made } from './resident.js'

export type Backend = 'cpu' | 'cuda'
export type AnyMatrix = MatrixLike<OperandArray> | DeviceMatrix<OperandArray>
type AnyClosure = (a: AnyMatrix, options?: object) => Promise<{ c: never; backend: Backend; device: string }>

// Types that are only known at run time.
export const anyStar = star as unknown as AnyClosure
export const anyPlus = plus as unknown as AnyClosure
export const anyPower = power as unknown as (
  a: AnyMatrix,
  n: unknown,
  options?: object,
) => Promise<{ c: never; backend: Backend }>

/** Strings are parts of the message, and not patterns as in resident.ts: they have brackets. */
export const expectError = (error: unknown, code: string, ...parts: (string | RegExp)[]) =>
  expectCoded(error, `ERR_MPMML_${code}`, ...parts)

/** Sizes around the pivots that are passed at a time (64), for what is slow, or doesn't depend on them. */
export const fewSizes = [1, 4, 64, 65, 130]

export const square = (data: OperandArray, n: number) => made(data, [n, n])

/** Elements of a result, wherever it is. */
export async function elementsOf(c: unknown): Promise<OperandArray> {
  return c instanceof DeviceMatrix ? (await c.download()).data : (c as MatrixLike<OperandArray>).data
}

export function expectValues(data: ArrayLike<number>, { values, gain }: Expected, what: string): void {
  expect(gain, `${what}: no cycle gains`).toBe(-1)
  expect(data.length, what).toBe(values.length)
  // -0 and 0 are the same distance.
  const wrong = values.findIndex((value, index) => data[index] !== value)
  if (wrong >= 0) expect.fail(`${what}: element ${wrong} is ${data[wrong]} and should be ${values[wrong]}`)
}

export function expectNext(data: ArrayLike<number>, { next }: Expected, what: string): void {
  expect(data.length, what).toBe(next.length)
  const wrong = next.findIndex((node, index) => data[index] !== node)
  if (wrong >= 0) expect.fail(`${what}: next[${wrong}] is ${data[wrong]} and should be ${next[wrong]}`)
}

/** The closure with `next`, as the graph functions ask for it. */
export async function withNext(a: AnyMatrix, options: AlgebraOptions & { reflexive?: boolean }) {
  const { reflexive = true, ...others } = options
  const view = readView(a, 'a', 'operand')
  const { distances, next } = await closeWeights(view, readAlgebraOptions(others), { reflexive, next: true })
  return {
    distances: await elementsOf(distances),
    next: await elementsOf(next),
    resident: next instanceof DeviceMatrix,
  }
}
