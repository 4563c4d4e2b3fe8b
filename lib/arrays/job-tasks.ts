/** Translates jobs into tasks: their input blocks, products and outputs. */

import { star } from '../algebra/closure.js'
import { zeroOf } from '../built-in-semirings.js'
import type { Device, DeviceMatrix } from '../device/device.js'
import { bytesOfStored } from '../elements.js'
import { CycleError } from '../errors.js'
import type { MatrixLike } from '../matrix.js'
import { mpmm } from '../product/multiply.js'
import type { ElementArray } from '../storage.js'
import type { Semiring } from '../variant-names.js'
import { type ArraySource, blockBytes, bytesIn, elementsIn, type Range } from './array-source.js'
import { type Block, writeBlock } from './array-writer.js'
import { narrow, widen, zeroOn } from './convert.js'
import {
  type ArrayType,
  type BlockJob,
  blocksIn,
  indicesOf,
  type MultiplyPlan,
  type PathsPlan,
  type PlannedInput,
  resultType,
} from './job.js'
import type { Journal } from './journal.js'
import type { AnyMatrix, Operand } from './read-ahead.js'

export type Result = DeviceMatrix<ElementArray>

/** Options of a task's products. */
export interface Computing {
  readonly device: Device
  readonly signal: AbortSignal
}

/** A job as a sequence of steps. */
export interface Task {
  readonly job: BlockJob
  readonly rows: Range
  readonly cols: Range
  /** The blocks that each step needs. */
  readonly steps: readonly (readonly Operand[])[]
  /**
   * Runs a step: the first step overwrites `out`, later steps accumulate into it. Returns its kernel time in
   * ms.
   */
  step(index: number, operands: readonly AnyMatrix[], out: Result, computing: Computing): Promise<number>
  /**
   * Recomputes the block in float64 after the overflow of a sum that later steps may replace. The memory has
   * the size of the block. Returns the kernel time in ms. Null if the job has no exact form.
   */
  exactly: ((computing: Computing, into: Int32Array) => Promise<number>) | null
  /** Writes the block and returns the number of bytes. */
  write(data: ElementArray): Promise<number>
}

export const cut = (index: number, size: number, length: number): Range => [
  index * size,
  Math.min((index + 1) * size, length),
]

export const lengthOf = ([from, to]: Range) => to - from

/** Returns the operand for a block of an input, in the input's type or a wider one. */
function inputBlock(
  name: string,
  source: ArraySource,
  planned: PlannedInput,
  rows: Range,
  cols: Range,
  semiring: Semiring,
  wide: ArrayType = planned.dtype,
): Operand {
  const { dtype } = planned
  const shape: [number, number] = [lengthOf(rows), lengthOf(cols)]
  const count = shape[0] * shape[1]
  const bytes = blockBytes(wide, ...shape)
  return {
    key: `${name} ${wide} ${rows[0]} ${cols[0]}`,
    bytes,
    async read(memory) {
      // The narrow elements are read into the end of the memory, where they are widened in place.
      const narrower = memory.subarray(bytes - count * bytesOfStored(dtype), bytes)
      const { strides, bytesRead } = await source.read(rows, cols, narrower, planned)
      const data = elementsIn(memory, wide, count)
      if (wide !== dtype) {
        const zero = zeroOf(semiring, resultType(wide))
        widen(elementsIn(narrower, dtype, count), data as ElementArray, zeroOn(semiring, dtype), zero)
      }
      return { matrix: { data, shape, strides }, bytesRead }
    },
  }
}

interface Sources {
  readonly a: ArraySource
  readonly b?: ArraySource | undefined
}

export function multiplyTask(plan: MultiplyPlan, journal: Journal, { a, b }: Sources, job: BlockJob): Task {
  const [i, j] = indicesOf(job)
  const { block, semiring, output } = plan
  const rows = cut(i, block.rows, output.shape[0])
  const cols = cut(j, block.cols, output.shape[1])
  const deep = plan.a.shape[1]
  const count = blocksIn(deep, block.depth)
  const overflow = plan.overflow ?? undefined
  const steps = Array.from({ length: count }, (_, at) => {
    // The direction alternates, so that the next block begins with the last operands of this block.
    const inner = cut((i + j) % 2 ? count - 1 - at : at, block.depth, deep)
    return [
      inputBlock('a', a, plan.a, rows, inner, semiring),
      inputBlock('b', b!, plan.b, inner, cols, semiring),
    ]
  })
  return {
    job,
    rows,
    cols,
    steps,
    async step(index, [x, y], out, { signal }) {
      const accumulate = index > 0
      const { timing } = await mpmm(x!, y!, { semiring, overflow, signal, out, accumulate })
      return timing.kernelMs
    },
    exactly:
      overflow === 'throw' && count > 1
        ? (computing, into) => multiplyExactly(plan, { a, b }, rows, cols, computing, into)
        : null,
    write: (data) => writeBlock(plan, journal, { rows, cols, data }),
  }
}

/**
 * Computes a block in float64, where sums of int32 are exact. An int32 step may throw for a sum below the
 * range although a later step has a better sum. The block and the depth are divided into quarters, so that
 * the wider elements take no more memory.
 */
async function multiplyExactly(
  plan: MultiplyPlan,
  { a, b }: Sources,
  rows: Range,
  cols: Range,
  { device, signal }: Computing,
  c: Int32Array,
): Promise<number> {
  let kernelMs = 0
  const { semiring, block } = plan
  const deep = plan.a.shape[1]
  const depth = Math.max(1, Math.floor(block.depth / 4))
  const longest = Math.max(lengthOf(halves(rows)[0]!), lengthOf(halves(cols)[0]!))
  const memory = new Uint8Array(blockBytes('float64', longest, Math.min(depth, deep)))
  for (const top of halves(rows)) {
    for (const left of halves(cols)) {
      const shape: [number, number] = [lengthOf(top), lengthOf(left)]
      const sum = await device.full(shape, zeroOf(semiring, 'float64'), 'float64')
      for (let at = 0; at < deep; at += depth) {
        const inner: Range = [at, Math.min(at + depth, deep)]
        const upload = async (block: Operand) => {
          const { matrix } = await block.read(memory.subarray(0, block.bytes))
          return device.upload(matrix as MatrixLike<Float64Array>)
        }
        const x = await upload(inputBlock('a', a, plan.a, top, inner, semiring, 'float64'))
        const y = await upload(inputBlock('b', b!, plan.b, inner, left, semiring, 'float64'))
        const { timing } = await mpmm(x, y, { semiring, out: sum, accumulate: true, signal })
        kernelMs += timing.kernelMs
        x.dispose()
        y.dispose()
      }
      const { data } = await sum.download()
      sum.dispose()
      const part = new Int32Array(data.buffer as ArrayBuffer, 0, data.length)
      narrow(data, part, semiring, 'throw', (index) => {
        return `C[${top[0] + Math.floor(index / shape[1])}, ${left[0] + (index % shape[1])}]`
      })
      for (let row = 0; row < shape[0]; row++) {
        c.set(
          part.subarray(row * shape[1], (row + 1) * shape[1]),
          (top[0] - rows[0] + row) * lengthOf(cols) + left[0] - cols[0],
        )
      }
    }
  }
  return kernelMs
}

function halves([from, to]: Range): Range[] {
  const middle = from + Math.ceil((to - from) / 2)
  return middle < to
    ? [
        [from, middle],
        [middle, to],
      ]
    : [[from, to]]
}

export function pathsTask(plan: PathsPlan, journal: Journal, { a }: Sources, job: BlockJob): Task {
  const [i, j] = indicesOf(job)
  const k = Math.floor(job.stage / 3)
  const phase = job.stage % 3
  const { semiring, between, output } = plan
  const { size } = plan.block
  const n = output.shape[0]
  const last = k === blocksIn(n, size) - 1
  const range = (index: number) => cut(index, size, n)
  const [rows, cols] = [range(i), range(j)]

  /** Returns a block after `step` steps. */
  const block = (step: number, row: number, col: number): Operand => {
    if (step === 0) return inputBlock('d 0', a, plan.a, range(row), range(col), semiring, between)
    const shape: [number, number] = [lengthOf(range(row)), lengthOf(range(col))]
    const bytes = blockBytes(between, ...shape)
    return {
      key: `d ${step} ${row} ${col}`,
      bytes,
      async read(memory) {
        const bytesRead = await journal.readStep(step, row, col, memory.subarray(0, bytes))
        return { matrix: { data: elementsIn(memory, between, shape[0] * shape[1]), shape }, bytesRead }
      },
    }
  }
  const own = block(k, i, j)
  const diagonal = block(k + 1, k, k)
  const operands =
    phase === 0
      ? [own]
      : phase === 1
        ? i === k
          ? [diagonal, own]
          : [own, diagonal]
        : [block(k + 1, i, k), block(k + 1, k, j), own]
  const overflow = between === 'int32' ? ('throw' as const) : undefined
  return {
    job,
    rows,
    cols,
    steps: [operands],
    async step(_index, [x, y, before], out, { signal }) {
      const options = { semiring, overflow, signal, out }
      if (phase === 0) {
        const closed = await star(x as Result, options).catch((error) => {
          throw error instanceof CycleError ? cycleOf(error, rows[0], semiring) : error
        })
        return closed.timing.kernelMs
      }
      const accumulate = before ? (before as Result) : false
      const { timing } = await mpmm(x!, y!, { ...options, accumulate })
      return timing.kernelMs
    },
    exactly: null,
    async write(data) {
      const bytes = bytesIn(data)
      let written = 0
      // The row and the column are read by the remaining blocks, also at the last step.
      if (!last || phase < 2) written += await journal.writeStep(k + 1, i, j, bytes)
      // No job reads the blocks of earlier steps any more: this stage begins after all of their readers.
      if (phase === 0) await journal.removeStep(k - 1)
      if (last) written += await writeBlock(plan, journal, finalBlock(plan, rows, cols, data))
      return written
    },
  }
}

/** Converts final distances to the type of the output. */
function finalBlock(plan: PathsPlan, rows: Range, cols: Range, data: ElementArray): Block {
  const { output, between, semiring, overflow } = plan
  if (output.dtype === between) return { rows, cols, data }
  // The conversion is in place: each element is read before it is overwritten, and the wider elements aren't
  // used again.
  const narrowed = new Int32Array(data.buffer as ArrayBuffer, data.byteOffset, data.length)
  const width = lengthOf(cols)
  narrow(data as Float64Array, narrowed, semiring, overflow ?? 'throw', (index) => {
    return `the distance from ${rows[0] + Math.floor(index / width)} to ${cols[0] + (index % width)}`
  })
  return { rows, cols, data: narrowed }
}

/**
 * Converts the cycle error of a block to one of the whole graph. The nodes are on an improving cycle, which
 * may pass through other blocks between them.
 */
function cycleOf({ cycle, weight, cause }: CycleError, first: number, semiring: string): CycleError {
  const nodes = cycle.map((node) => node + first)
  return new CycleError(
    `a cycle through the ${nodes.length > 1 ? 'nodes' : 'node'} ${nodes.slice(0, 12).join(', ')}${nodes.length > 12 ? ', …' : ''} gains in ${semiring}: ` +
      `its weight is ${weight}, so each round makes paths better, and there is no best one: change the weight of one of its edges`,
    { cycle: nodes, weight, cause },
  )
}

/** Returns the element types of a plan's operands and result. */
export const typesOf = (plan: MultiplyPlan | PathsPlan): { operand: ArrayType; result: ArrayType } =>
  plan.kind === 'multiply'
    ? { operand: plan.a.dtype === plan.b.dtype ? plan.a.dtype : 'int32', result: plan.output.dtype }
    : { operand: plan.between, result: plan.between }
