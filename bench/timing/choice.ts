/** Compares whole calls with the backend `auto` with calls of each backend by name. */
import { type DenseMatrix, mpmm, type OperandArray, type Semiring } from '../../lib/index.js'
import { machine, type Spread, spread } from '../../lib/lab.js'
import type { ProductShape } from '../arguments.js'
import { type Case, runCases } from '../experiment.js'
import { shapeName } from '../output.js'
import { operandsOf, type ValueKind } from './values.js'

type NativeBackend = 'cuda' | 'cpu'
type Backend = 'auto' | NativeBackend

/** All orders of the backends. A call's time depends on the backend before it, so the orders alternate. */
const orders: Backend[][] = [
  ['auto', 'cuda', 'cpu'],
  ['cpu', 'cuda', 'auto'],
  ['cuda', 'auto', 'cpu'],
  ['cpu', 'auto', 'cuda'],
  ['auto', 'cpu', 'cuda'],
  ['cuda', 'cpu', 'auto'],
]

/** Milliseconds of whole calls from JavaScript with ordinary arrays. */
export interface ChoiceRow extends ProductShape {
  values: ValueKind
  callMs: Record<Backend, Spread>
  /** Backend that `auto` chose in most calls. */
  taken: NativeBackend
  /** Time of `auto`'s calls, divided by the time of the faster backend's calls; 1 is ideal. */
  ratio: number
}

export interface ChoiceRecord {
  device: string
  rows: ChoiceRow[]
}

const sides = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096]

export const choiceShapes: ProductShape[] = sides.map((side) => ({ batch: 1, m: side, n: side, k: side }))

/** @throws ResourceError if no GPU is usable, because `auto` has no choice then. */
export async function runChoice(
  shapes: readonly ProductShape[],
  values: readonly ValueKind[],
  semiring: Semiring,
  device: number,
  signal: AbortSignal,
): Promise<ChoiceRecord> {
  const { gpu } = machine(device)
  const cases = shapes.flatMap((shape) =>
    values.map((kind): Case<ChoiceRow> => {
      const product = { ...shape, values: kind }
      return {
        what: `${shapeName(product)} ${kind}`,
        cost: 1e8 + shape.batch * shape.m * shape.n * shape.k,
        measure: () => compare(product, semiring, device),
      }
    }),
  )
  return { device: String(gpu.name), rows: await runCases(cases, signal) }
}

async function compare(
  product: ProductShape & { values: ValueKind },
  semiring: Semiring,
  device: number,
): Promise<ChoiceRow> {
  const { a, b } = operandsOf(product, product.values, { semiring })
  const times: Record<Backend, number[]> = { auto: [], cuda: [], cpu: [] }
  const taken = { cuda: 0, cpu: 0 }
  const budget = 300
  const end = performance.now() + 3 * budget
  // Backends alternate, so that other load on the machine affects all of them equally; the first round warms
  // up.
  for (let round = -1; round < 3 || (round < 200 && performance.now() < end); round++) {
    for (const backend of orders[(round + 1) % orders.length]!) {
      const { ms, took } = await call(a, b, { semiring, backend, device })
      if (round < 0) continue
      times[backend].push(ms)
      if (backend === 'auto' && took !== 'webgpu') taken[took]++
    }
  }
  return { ...product, ...choiceOf(times, taken) }
}

/** Summarizes the times of the calls, and the number of `auto`'s calls that each backend computed. */
export function choiceOf(
  times: Record<Backend, number[]>,
  taken: Record<NativeBackend, number>,
): Pick<ChoiceRow, 'callMs' | 'taken' | 'ratio'> {
  const callMs = { auto: spread(times.auto), cuda: spread(times.cuda), cpu: spread(times.cpu) }
  return {
    callMs,
    taken: taken.cuda > taken.cpu ? 'cuda' : 'cpu',
    ratio: callMs.auto.median / Math.min(callMs.cuda.median, callMs.cpu.median),
  }
}

async function call(
  a: DenseMatrix<OperandArray>,
  b: DenseMatrix<OperandArray>,
  options: { semiring: Semiring; backend: Backend; device: number },
) {
  const start = performance.now()
  const result = await mpmm(a, b, options)
  return { ms: performance.now() - start, took: result.backend }
}
