/** The law of products at every target: the result has the bits of the definition, or the call throws the expected error. */
import { expect } from 'vitest'
import type { BackendName } from '../../../lib/backend-name.js'
import { MpmmlError, type MpmmResult, variants } from '../../../lib/index.js'
import { arrays } from '../../../native/tools/fuzz/algebra.mjs'
import { Tally, wrongIn, wrongRefusal } from '../../../native/tools/fuzz/check.mjs'
import { Random } from '../../../native/tools/fuzz/random.mjs'
import { bandOf, belongs } from '../../../native/tools/fuzz/structures.mjs'
import { exactPaths } from '../exact-paths.js'
import type { Plain } from '../generators.js'
import type { SemiringName } from '../oracle.js'
import { pathsOf } from '../table.js'
import {
  type AnyMatrix,
  type Case,
  cellsOf,
  type Elements,
  elementsOf,
  overflows,
  problemOf,
  sourceOf,
  stepsOf,
} from './case.js'

/** Outcome of a product. */
export interface Outcome {
  c?: AnyMatrix
  witness?: AnyMatrix | undefined
  result?: Omit<MpmmResult, 'c'>
  error?: unknown
  /** Previous and present content of `out`; null without `out`. */
  initial: Elements | null
  now: Elements | null
  /** Whether memory outside of the elements of `out` was written. */
  spilled: boolean
}

/** Effects of the target on the expected result. */
export interface Expectation {
  backend?: BackendName
  /** Beginning of messages. */
  prefix?: string
  /** Whether the transposed product was computed, so that messages name transposed positions. */
  isTransposed?: boolean
  /** Whether int32 sums use the cheapest arithmetic of their variant, independently of other operands or shards. */
  cheapest?: boolean
  /** Whether the reported time is that of the product alone, not that of a group. */
  timed?: boolean
}

const sameBits = (x: Elements, y: Elements) =>
  Buffer.from(x.data.buffer, x.data.byteOffset, x.data.byteLength).equals(
    Buffer.from(y.data.buffer, y.data.byteOffset, y.data.byteLength),
  )

const refused = new WeakMap<Case, boolean>()

/** Returns whether operands of max-times have negative elements inside of their structure. */
function hasOutsiders(testCase: Case): boolean {
  if (testCase.algebra.kind !== 'product') return false
  const one = testCase.as ?? testCase
  const before = refused.get(one)
  if (before !== undefined) return before
  const found = lookForOutsiders(one)
  refused.set(one, found)
  return found
}

function lookForOutsiders({ a, b, c0, structure }: Case): boolean {
  const has = (matrix: Elements | undefined, own: 'a' | 'b' | 'c') => {
    const band = bandOf(structure?.[own])
    return matrix?.data.some((x, at) => {
      if (!(x < 0)) return false
      const row = Math.floor(at / matrix.cols)
      return belongs(band, row % matrix.rows, at - row * matrix.cols)
    })
  }
  return Boolean(has(a, 'a') || has(b, 'b') || has(c0, 'c'))
}

/** Fails unless the outcome agrees with the definition for the case. */
export function expectRight(one: Case, outcome: Outcome, expectation: Expectation, what = ''): void {
  const where = `${one.what}; ${what}`
  const { initial, now, error, spilled } = outcome
  const problem = problemOf(one, initial)
  const define = (_: unknown, item: number) => cellsOf(one, item)
  if (spilled) expect.fail(`${where}: what is beside the elements of out was written`)
  const mustFail = (one.overflow ?? 'throw') === 'throw' && overflows(one)
  const isRefused = hasOutsiders(one)
  if (mustFail || isRefused) {
    if (!error) expect.fail(`${where}: there is a result, and not an error`)
    expectError(error, isRefused ? 'VALUE' : 'OVERFLOW', where)
    const { message } = error as Error
    if (!message.startsWith(expectation.prefix ?? ''))
      expect.fail(`${where}: ${message}, which should begin with ${expectation.prefix}`)
    if (!expectation.isTransposed) {
      const wrong = wrongRefusal(problem, error, new Random(1), Infinity, define)
      if (wrong !== undefined) expect.fail(`${where}: ${wrong}`)
    }
    if (initial && !sameBits(initial, now!))
      expect.fail(`${where}: out has changed, although the product failed`)
    return
  }
  if (error) throw new Error(`${where}: ${(error as Error).message}`, { cause: error })
  const { result, c, witness } = outcome
  if ((witness !== undefined) !== (one.witness ?? false)) expect.fail(`${where}: a witness, or none`)
  const wrong = wrongIn(problem, { c, witness }, new Random(1), new Tally(), Infinity, define)
  if (wrong !== undefined) expect.fail(`${where}: ${wrong}; by ${result!.variant}, ${result!.arithmetic}`)
  expectConsistent(one, outcome, expectation, where)
}

function expectError(error: unknown, code: string, where: string): void {
  if (!(error instanceof MpmmlError)) throw error
  if (error.code !== `ERR_MPMML_${code}`) expect.fail(`${where}: ${error.code}, ${error.message}`)
}

/** Returns whether the exact arithmetics of a case can be determined from all its elements. */
const isPlain = (one: Case) => one.algebra.isInteger && !one.structure && stepsOf(one) > 0

const knownPaths = new WeakMap<Case, string[]>()
function exactPathsOf(testCase: Case): string[] {
  const one = testCase.as ?? testCase
  const before = knownPaths.get(one)
  if (before) return before
  const plain = ({ data, rows, cols, batch }: Elements) => ({ data, shape: [batch, rows, cols] }) as Plain
  const { semiring } = one.algebra
  const found = exactPaths(plain(one.a), plain(one.b), semiring as SemiringName, one.overflow ?? 'throw')
  knownPaths.set(one, found)
  return found
}

const rows = new Map(variants().map((row) => [row.name as string, row]))

/**
 * Checks the backend, variant and times of a result. Millions of these are checked: a chain of `expect` for each takes longer than
 * the product.
 */
function expectConsistent(
  one: Case,
  { result, c, witness }: Outcome,
  expectation: Expectation,
  where: string,
) {
  const { backend, variant, arithmetic, timing, gops } = result!
  const { semiring, dtype } = one.algebra
  const must = (isTrue: boolean, what: () => string) => isTrue || expect.fail(`${where}: ${what()}`)
  if (expectation.backend) must(backend === expectation.backend, () => `it was computed by ${backend}`)
  const row = rows.get(variant)
  if (one.variant) must(variant === one.variant, () => `it was computed by ${variant}`)
  must(
    row !== undefined && row.backend === backend && row.semiring === semiring && row.dtype === dtype,
    () => `it was computed by ${variant} on ${backend}`,
  )
  if (one.path)
    must(arithmetic === one.path, () => `${variant} computed it by ${arithmetic}, and not by ${one.path}`)
  if (expectation.cheapest && row && isPlain(one)) {
    const able = pathsOf(row)
    const cheapest = exactPathsOf(one).find((each) => able.includes(each))
    must(
      arithmetic === cheapest,
      () => `${variant} computed it by ${arithmetic}, and the cheapest arithmetic is ${cheapest}`,
    )
  }
  must(c!.data.constructor === arrays[dtype as 'int32'], () => `the result is a ${c!.data.constructor.name}`)
  must(
    !witness || witness.data instanceof Int32Array,
    () => `the witness is a ${witness?.data.constructor.name}`,
  )
  for (const [name, time] of Object.entries(timing)) must(time >= 0, () => `${name} is ${time}`)
  if (!expectation.timed) return
  must(
    timing.totalMs >= timing.kernelMs,
    () => `it took ${timing.totalMs} ms, and the kernels ${timing.kernelMs}`,
  )
  const steps = stepsOf(one)
  const should = (2 * steps) / timing.kernelMs / 1e6
  if (steps === 0) must(gops === 0, () => `it had no steps, and ${gops} GOPS`)
  else if (timing.kernelMs > 0)
    must(Math.abs(gops / should - 1) < 5e-10, () => `${gops} GOPS, and not ${should}`)
}

/**
 * Fails unless the elements of C and of the witness equal the definition. `initial` is the previous content of
 * C.
 */
export function expectValues(
  one: Case,
  c: AnyMatrix,
  { witness, initial = null }: { witness?: AnyMatrix | undefined; initial?: Elements | null } = {},
): void {
  const define = (_: unknown, item: number) => cellsOf(one, item)
  const straight = (matrix: AnyMatrix) => sourceOf(elementsOf(matrix))
  const result = { c: straight(c), witness: witness && straight(witness) }
  expect(
    wrongIn(problemOf(one, initial), result, new Random(1), new Tally(), Infinity, define),
    one.what,
  ).toBeUndefined()
}
