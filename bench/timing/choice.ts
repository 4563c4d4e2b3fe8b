/** Whether `auto` takes the faster backend: whole calls with it beside calls with each backend alone. */
import { type DenseMatrix, mpmm, type OperandArray, type Semiring } from '../../lib/index.js'
import { machine, type Spread, spread } from '../../lib/lab.js'
import type { ProductShape } from '../arguments.js'
import { shapeName } from '../output.js'
import { startProgress } from '../progress.js'
import { operandsOf, type ValueKind } from './values.js'

const backends = ['auto', 'cuda', 'cpu'] as const
type Backend = (typeof backends)[number]

/** Milliseconds of whole calls from JavaScript with ordinary arrays. */
export interface ChoiceRow extends ProductShape {
  values: ValueKind
  callMs: Record<Backend, Spread>
  /** What `auto` took. */
  taken: 'cuda' | 'cpu'
  /** What it takes of the time of the faster backend: 1 is perfect. Where it took the faster one, 1. */
  ratio: number
}

export interface ChoiceRecord {
  device: string
  rows: ChoiceRow[]
}

const sides = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096]

export const choiceShapes: ProductShape[] = sides.map((side) => ({ batch: 1, m: side, n: side, k: side }))

/** @throws NoCudaError where no GPU can be used: then there is no choice. */
export async function runChoice(
  shapes: readonly ProductShape[],
  values: readonly ValueKind[],
  semiring: Semiring,
  device: number,
  signal: AbortSignal,
): Promise<ChoiceRecord> {
  const { gpu } = machine(device)
  const products = shapes.flatMap((shape) => values.map((kind) => ({ ...shape, values: kind })))
  const cost = ({ batch, m, n, k }: ProductShape) => 1e8 + batch * m * n * k
  const progress = startProgress(products.reduce((sum, product) => sum + cost(product), 0))
  const rows: ChoiceRow[] = []
  let done = 0
  try {
    for (const product of products) {
      signal.throwIfAborted()
      progress.show(`${shapeName(product)} ${product.values}`, done)
      rows.push(await compare(product, semiring, device))
      done += cost(product)
    }
  } finally {
    progress.end()
  }
  return { device: String(gpu.name), rows }
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
  // In turns, so that whatever else the machine does falls on all alike; the first round warms up.
  for (let round = -1; round < 3 || (round < 200 && performance.now() < end); round++) {
    for (const backend of backends) {
      const { ms, took } = await call(a, b, { semiring, backend, device })
      if (round < 0) continue
      times[backend].push(ms)
      if (backend === 'auto') taken[took]++
    }
  }
  const callMs = { auto: spread(times.auto), cuda: spread(times.cuda), cpu: spread(times.cpu) }
  const took = taken.cuda > taken.cpu ? 'cuda' : 'cpu'
  const ratio = callMs[took].median / Math.min(callMs.cuda.median, callMs.cpu.median)
  return { ...product, callMs, taken: took, ratio }
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
