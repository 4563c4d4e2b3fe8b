/** Compares the pipelines of a product with the CPU when they are first used: a driver may compile a kernel wrongly. */
import type { ElementArray } from '../storage.js'
import { multiplyOnCpu } from './cpu.js'
import type { Gpu } from './device.js'
import { failure } from './failure.js'
import { type StoredBits, zeroBits } from './kernels/arithmetic.js'
import type { ProductMode, ProductTask } from './plan.js'
import { randomWords } from './probe.js'
import { newElements, takeView } from './views.js'

/** Rows, columns and k of the product. */
const SIZE = 64
/** Factor of values that leave no bits for k below them. */
const WIDE_FACTOR = 2 ** 18

/** Returns elements with some zeros whose sums take the path of the mode. */
function draw(
  { kind, witness }: ProductTask,
  bits: StoredBits,
  mode: ProductMode,
  isTagged: boolean,
  seed: number,
) {
  const isUntagged = witness !== null && mode === 'offset' && !isTagged && bits === 32
  const zero = kind.isFloat
    ? kind.isMax
      ? -Infinity
      : Infinity
    : zeroBits(kind.semiring, kind.mode, bits) | 0
  const random = randomWords(seed)
  return newElements(kind.isFloat, bits, SIZE * SIZE).map(() => {
    const word = random()
    const value = (word >>> 12) % 2001
    if (value < 200) return zero
    if (bits === 8) return (word >>> 24) & 1
    // In 33 bits half of the sums come near both ends of the range and stay in it.
    if (mode === 'wide') return (value % 4 < 2 ? 1 : -1) * (2 ** 30 - value)
    return (isUntagged ? WIDE_FACTOR : 1) * (value - 1000)
  })
}

/** Throws unless the pipelines of a task in a mode compute a small product right, which `compute` starts. */
export async function selfTest(
  gpu: Gpu,
  task: ProductTask,
  mode: ProductMode,
  isTagged: boolean,
  compute: (test: ProductTask) => Promise<unknown>,
): Promise<void> {
  const { kind, rows } = task
  const [a, b] = [draw(task, task.a.bits, mode, isTagged, 1), draw(task, task.b.bits, mode, isTagged, 2)]
  const results = () => ({
    c: newElements(kind.isFloat, kind.bits, SIZE * SIZE) as ElementArray,
    witness: task.witness && new Int32Array(SIZE * SIZE),
  })
  const [found, expected] = [results(), results()]
  await gpu.withBuffers(async (take) => {
    const viewOf = (bits: StoredBits) => takeView(take, bits, { batch: 1, rows: SIZE, cols: SIZE })
    const [viewA, viewB, c] = [await viewOf(task.a.bits), await viewOf(task.b.bits), await viewOf(kind.bits)]
    const witness = task.witness && (await viewOf(32))
    await gpu.transfers.write(a, viewA.buffer)
    await gpu.transfers.write(b, viewB.buffer)
    await compute({
      ...{ ...task, batch: 1, m: SIZE, n: SIZE, k: SIZE, policy: 0 },
      ...{ a: viewA, b: viewB, c0: null, c, witness },
      reads: [
        { buffer: c.buffer, at: 0, into: found.c },
        ...(witness ? [{ buffer: witness.buffer, at: 0, into: found.witness! }] : []),
      ],
    })
  })
  multiplyOnCpu(gpu.cpu, kind, SIZE, { a, b, ...expected })
  const wrong = expected.c.findIndex(
    (value, i) => value !== found.c[i] || expected.witness?.[i] !== found.witness?.[i],
  )
  if (wrong < 0) return
  throw failure(
    'ERR_MPMML_NO_WEBGPU',
    `the self-test of WebGPU has failed: products over ${kind.semiring} of ${kind.dtype} (${mode}, tiles of ${rows}) are wrong on ` +
      `${gpu.name}: C[${Math.floor(wrong / SIZE)}, ${wrong % SIZE}] is ${found.c[wrong]}, and must be ${expected.c[wrong]}`,
  )
}
