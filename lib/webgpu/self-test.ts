/** Compares the pipelines of a product with its definition when they are first used: a driver may compile a kernel wrongly. */

import type { Gpu } from './device.js'
import { failure } from './failure.js'
import type { StoredBits } from './kernels/arithmetic.js'
import type { ProductMode, ProductTask } from './plan.js'
import { randomWords } from './probe.js'
import type { ReadPart } from './transfers.js'
import { takeView } from './views.js'

/** Rows, columns and k of the product. */
const SIZE = 64

type Elements =
  | Int32Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>

function newElements({ kind }: ProductTask, bits: number, count: number): Elements {
  if (bits === 8) return new Uint8Array(count)
  if (kind.isFloat) return new Float32Array(count)
  return bits === 16 ? new Int16Array(count) : new Int32Array(count)
}

/** The zero of the semiring in an array. */
const zeroOf = ({ kind }: ProductTask, bits: number) => {
  if (kind.mode === 'bits') return 0
  if (kind.isFloat) return kind.isMax ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return kind.isMax ? -(2 ** (bits - 1)) : 2 ** (bits - 1) - 1
}

/** Values that leave no bits for k below them. */
const SPREAD = 2 ** 18

function draw(task: ProductTask, bits: number, mode: ProductMode, isTagged: boolean, seed: number): Elements {
  const factor = task.witness && mode === 'offset' && !isTagged && bits === 32 ? SPREAD : 1
  const elements = newElements(task, bits, SIZE * SIZE)
  const random = randomWords(seed)
  for (let i = 0; i < elements.length; i++) {
    const word = random()
    const value = (word >>> 12) % 2001
    if (value < 200) elements[i] = zeroOf(task, bits)
    else if (bits === 8) elements[i] = (word >>> 24) & 1
    // In 33 bits half of the sums come near both ends of the range and stay in it.
    else
      elements[i] = mode === 'wide' ? (value % 4 < 2 ? 1 : -1) * (2 ** 30 - value) : factor * (value - 1000)
  }
  return elements
}

/** C and witness by the definition. */
function compute64(task: ProductTask, a: Elements, b: Elements): { c: number[]; witness: number[] } {
  const { semiring, isMax, mode } = task.kind
  const [zero, zeroA, zeroB] = [
    zeroOf(task, task.kind.bits),
    zeroOf(task, task.a.bits),
    zeroOf(task, task.b.bits),
  ]
  const c: number[] = []
  const witness: number[] = []
  for (let i = 0; i < SIZE; i++) {
    for (let j = 0; j < SIZE; j++) {
      let best = zero
      let at = -1
      for (let k = 0; k < SIZE; k++) {
        const [x, y] = [a[i * SIZE + k]!, b[k * SIZE + j]!]
        if (mode === 'bits') {
          best = semiring === 'or-and' ? best | (x & y) : best ^ (x & y)
          continue
        }
        if (semiring.endsWith('plus') && (x === zeroA || y === zeroB)) continue
        const [u, v] = [x === zeroA ? zero : x, y === zeroB ? zero : y]
        const value =
          semiring === 'max-min' ? Math.min(u, v) : semiring === 'min-max' ? Math.max(u, v) : u + v
        if (isMax ? value > best : value < best) [best, at] = [value, k]
      }
      c.push(best)
      witness.push(at)
    }
  }
  return { c, witness }
}

/** Throws unless the pipelines of a task in a mode compute a small product right, which `compute` starts. */
export async function selfTest(
  gpu: Gpu,
  task: ProductTask,
  mode: ProductMode,
  isTagged: boolean,
  compute: (test: ProductTask) => Promise<unknown>,
): Promise<void> {
  const { kind, rows, witness } = task
  const [a, b] = [draw(task, task.a.bits, mode, isTagged, 1), draw(task, task.b.bits, mode, isTagged, 2)]
  const [c, index] = [newElements(task, kind.bits, SIZE * SIZE), new Int32Array(SIZE * SIZE)]
  await gpu.withBuffers(async (take) => {
    const viewOf = (bits: StoredBits) => takeView(take, bits, { batch: 1, rows: SIZE, cols: SIZE })
    const [viewC, viewIndex] = [viewOf(kind.bits), witness && viewOf(32)]
    const reads: ReadPart[] = [{ buffer: viewC.buffer, at: 0, into: c }]
    if (viewIndex) reads.push({ buffer: viewIndex.buffer, at: 0, into: index })
    const test: ProductTask = {
      ...task,
      ...{ batch: 1, m: SIZE, n: SIZE, k: SIZE, policy: 0, c0: null },
      ...{ a: viewOf(task.a.bits), b: viewOf(task.b.bits), c: viewC, witness: viewIndex, reads },
    }
    await Promise.all([gpu.transfers.write(a, test.a.buffer), gpu.transfers.write(b, test.b.buffer)])
    await compute(test)
  })
  const expected = compute64(task, a, b)
  const wrong = expected.c.findIndex(
    (value, i) => value !== c[i] || (witness !== null && expected.witness[i] !== index[i]),
  )
  if (wrong < 0) return
  throw failure(
    'ERR_MPMML_NO_WEBGPU',
    `the self-test of WebGPU has failed: products over ${kind.semiring} of ${kind.dtype} (${mode}, tiles of ${rows}) are wrong on ` +
      `${gpu.name}: C[${Math.floor(wrong / SIZE)}, ${wrong % SIZE}] is ${c[wrong]}, and must be ${expected.c[wrong]}`,
  )
}
