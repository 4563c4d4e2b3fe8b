/** The law of closures: expected results at every target, and the forms of a call. */
import { expect } from 'vitest'
import { readAlgebraOptions } from '../../../lib/algebra/options.js'
import { plus, star } from '../../../lib/algebra.js'
import { computeClosure } from '../../../lib/closure/closure.js'
import { CycleError, DeviceMatrix, MpmmlError } from '../../../lib/index.js'
import { readView } from '../../../lib/view.js'
import { pathError, wrongCycle } from '../../../native/tools/fuzz/closure-oracle.mjs'
import { sameBits } from '../../../native/tools/fuzz/layouts.mjs'
import { narrowed } from '../../../native/tools/fuzz/problem.mjs'
import { type Elements, elementsOf } from '../products/case.js'
import { type Anywhere, type ExecutionTarget, fetched, put, turn } from '../products/targets.js'
import { type ClosureCase, expectedOf, itemOf, leaves, storedValue } from './case.js'

/** Destination of the result: new, with or without next nodes, `out`, or in place of the weights. */
export type ResultTarget = 'new' | 'next' | 'out' | 'in place'

/** Outcome of a closure. */
interface Outcome {
  distances?: Elements
  next?: Elements | undefined
  backend?: string
  /** Whether the results replaced the weights. */
  stays?: boolean
  error?: unknown
  /** Weights, and the previous content of `out`, each with its present content. */
  unchanged: [string, before: Elements, now: Elements][]
  spilled: boolean
}

type Closing = (a: Anywhere, options: object) => Promise<{ c: Anywhere; backend: string }>

/** Computes the closure at a target. The closure of the transpose is the transpose of the closure. */
async function compute(
  target: ExecutionTarget,
  one: ClosureCase,
  destination: ResultTarget,
): Promise<Outcome> {
  const { algebra, layouts = {}, overflow, reflexive } = one
  const source = ((target.narrow && destination !== 'in place' && narrowed(algebra, one.a)) ||
    one.a) as Elements
  const given = !target.device && source === one.a && one.given
  const operand = await put(target, source, layouts.a)
  const a = given || operand.matrix
  const stored = destination === 'out' ? ({ ...one.a, data: one.a.data.slice().fill(1) } as Elements) : source
  const out =
    destination === 'out'
      ? await put(target, stored, layouts.out)
      : destination === 'in place'
        ? operand
        : undefined
  const transposed = <T extends Anywhere>(matrix: T) => (target.isTransposed ? turn(matrix) : matrix)
  const options = {
    ...target.options,
    semiring: algebra.semiring,
    ...(overflow && { overflow }),
    ...(out && { out: transposed(out.matrix) }),
  }
  const outcome: Outcome = { unchanged: [], spilled: false }
  const read = async (matrix: Anywhere) => elementsOf(await fetched(transposed(matrix)))
  const staysAt = (matrix: unknown) => matrix instanceof DeviceMatrix === (target.device !== undefined)
  try {
    if (destination === 'next') {
      const view = readView(transposed(a) as never, 'a', 'operand')
      const closed = await computeClosure(view, readAlgebraOptions(options), { reflexive, next: true })
      outcome.distances = await read(closed.distances as Anywhere)
      outcome.next = await read(closed.next as Anywhere)
      outcome.backend = closed.backend
      outcome.stays = staysAt(closed.distances) && staysAt(closed.next)
    } else {
      const close = (reflexive ? star : plus) as unknown as Closing
      const { c, backend } = await close(transposed(a), options)
      outcome.distances = await read(c)
      outcome.backend = backend
      outcome.stays = out ? options.out === c : staysAt(c)
    }
  } catch (error) {
    outcome.error = error
    if (out) outcome.unchanged.push(['out', stored, await out.read()])
  }
  if (destination !== 'in place') outcome.unchanged.push(['the weights', source, await operand.read()])
  outcome.spilled = (await out?.spilled()) ?? false
  return outcome
}

/** Fails unless the closure equals the definition, or the error is the expected one. */
export async function expectClosure(
  target: ExecutionTarget,
  one: ClosureCase,
  destination: ResultTarget,
): Promise<void> {
  const where = `${one.what}; ${target.name}, ${destination}`
  const { algebra, a } = one
  const n = a.rows
  const outcome = await compute(target, one, destination)
  const { error, distances, next, backend } = outcome
  if (outcome.spilled) expect.fail(`${where}: what is beside the elements of out was written`)
  for (const [name, before, now] of outcome.unchanged)
    if (!sameBits(before.data, now.data)) expect.fail(`${where}: ${name} has changed`)
  const refusal = refusalOf(one)
  if (refusal) {
    if (!error) expect.fail(`${where}: there is a result, and not ${refusal.code}`)
    if (!(error instanceof MpmmlError)) throw error
    expect(error.code, `${where}: ${error.message}`).toBe(refusal.code)
    if (!target.isTransposed) expect(error.message, where).toContain(refusal.says)
    if (error.code === 'ERR_MPMML_OVERFLOW')
      expect(error.message, where).toContain(`the finite range ${algebra.least} to ${algebra.most}`)
    if (!(error instanceof CycleError)) return
    expect(error.batch, where).toBe(a.batched ? refusal.item : undefined)
    const cycle = target.isTransposed ? [...error.cycle].reverse() : error.cycle
    expect(
      wrongCycle(algebra, n, itemOf(a, refusal.item), { cycle, weight: error.weight }),
      where,
    ).toBeUndefined()
    return
  }
  if (error) throw new Error(`${where}: ${(error as Error).message}`, { cause: error })
  if (target.expectation.backend) expect(backend, where).toBe(target.expectation.backend)
  expect(outcome.stays, `${where}: where the results are`).toBe(true)
  expect([distances!.batched, distances!.batch, distances!.rows, distances!.cols], where).toEqual([
    a.batched,
    a.batch,
    n,
    n,
  ])
  for (const [item, { values, next: should }] of expectedOf(one).entries()) {
    const came = itemOf(distances!, item)
    if (one.areSame && item > 0) {
      const all = [distances!, ...(next ? [next] : [])]
      if (!all.every((matrices) => sameBits(itemOf(matrices, item), itemOf(matrices, 0))))
        expect.fail(`${where}: matrix ${item} isn't closed as the first is`)
      continue
    }
    const stored = storedOf(one, item, values)
    // −0 and 0 are the same distance.
    let wrong = 0
    while (wrong < stored.length && came[wrong] === stored[wrong]) wrong++
    const at = (index: number) => `${where}: element [${item}, ${Math.floor(index / n)}, ${index % n}]`
    if (wrong < stored.length) expect.fail(`${at(wrong)} is ${came[wrong]} and should be ${stored[wrong]}`)
    if (!next) continue
    const nodes = itemOf(next, item)
    if (target.isTransposed) continue
    let other = 0
    while (other < should.length && nodes[other] === should[other]) other++
    if (other < should.length)
      expect.fail(`${at(other)} has the next node ${nodes[other]}, which should be ${should[other]}`)
  }
}

/** Stored values of one matrix of a batch, computed once for all targets. */
const storedValues = new WeakMap<ClosureCase, Float64Array[]>()

function storedOf(one: ClosureCase, item: number, values: Float64Array): Float64Array {
  const all = storedValues.get(one) ?? storedValues.set(one, []).get(one)!
  all[item] ??= values.map((value) => storedValue(one, value))
  return all[item]
}

/** Error: its matrix of a batch, and its message. */
interface Refusal {
  code: string
  item: number
  says: string
}

const refusals = new WeakMap<ClosureCase, { refusal: Refusal | undefined }>()

/** Expected error; undefined if there is a result. The error is computed once for all targets. */
function refusalOf(one: ClosureCase): Refusal | undefined {
  const { refusal } = refusals.get(one) ?? refusals.set(one, { refusal: lookForRefusal(one) }).get(one)!
  return refusal
}

function lookForRefusal(one: ClosureCase): Refusal | undefined {
  const { batched, batch, rows: n, data } = one.a
  const showPlace = (at: number) =>
    `[${[...(batch > 1 ? [Math.floor(at / n / n)] : []), Math.floor(at / n) % n, at % n].join(', ')}]`
  const bad = [
    one.algebra.isFloat ? data.findIndex(Number.isNaN) : -1,
    one.algebra.kind === 'product' ? data.findIndex((x) => x < 0) : -1,
  ].find((at) => at >= 0)
  if (bad !== undefined)
    return { code: 'ERR_MPMML_VALUE', item: 0, says: `a${showPlace(bad)} is ${data[bad]}` }
  const expected = expectedOf(one)
  const item = expected.findIndex(({ gain }) => gain >= 0)
  if (item >= 0)
    return { code: 'ERR_MPMML_CYCLE', item, says: batched ? `in matrix ${item} of the batch` : 'gains' }
  if ((one.overflow ?? 'throw') !== 'throw') return undefined
  for (const [item, { values }] of expected.entries()) {
    if (one.areSame && item > 0) break
    const at = one.algebra.isInteger ? values.findIndex((value) => leaves(one, value)) : -1
    if (at < 0) continue
    return { code: 'ERR_MPMML_OVERFLOW', item, says: `${showPlace(item * n * n + at)} is ${values[at]}` }
  }
  return undefined
}

/**
 * Fails unless the next nodes of the result follow edges whose path values equal the distances of the
 * definition.
 */
export function expectWays(one: ClosureCase): void {
  for (const [item, { values, next }] of expectedOf(one).entries()) {
    const distances = values.map((value) => storedValue(one, value))
    const wrong = pathError(one.algebra, one.a.rows, itemOf(one.a, item), distances, next)
    expect(wrong, one.what).toBeUndefined()
  }
}
