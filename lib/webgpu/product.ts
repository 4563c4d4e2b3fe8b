/** Products of matrices in memory of a GPU: scan, pack, multiply, store. */
import { type Gpu, Recording, type Take } from './device.js'
import { notExact } from './failure.js'
import {
  arithmeticOf,
  FACTS,
  FAULT,
  initialStatus,
  NO_FAULT,
  STATUS_WORDS,
  TIMES,
  zeroBits,
} from './kernels/arithmetic.js'
import { pack } from './kernels/pack.js'
import { product, tileOf, witnessTileOf } from './kernels/product.js'
import { scan } from './kernels/scan.js'
import { store, THROW } from './kernels/store.js'
import { wide } from './kernels/wide.js'
import {
  assertFloats,
  assertPolicy,
  factsOf,
  type Kind,
  type ProductMode,
  type ProductTask,
  spareBits,
} from './plan.js'
import { selfTest } from './self-test.js'
import { roundUp } from './transfers.js'
import { bindingOf, type GpuView, type Sizes } from './views.js'

/** A result outside the finite range, by its index (item · m + row) · n + column, and the exact sum that decides it. */
export class Fault {
  constructor(
    readonly index: number,
    readonly sum: number,
  ) {}
}

/** Thrown if 32 bits don't hold the sums of a product. */
const NEEDS_WIDE = Symbol('wide')

/** Limit of the k that are packed at once, by the dimensions of dispatches. */
const MAX_DEPTH = 2 ** 19

/** Computes a product, and reads its results. Throws {@link Fault} if a result lies outside the finite range. */
export async function multiplyBlock(
  gpu: Gpu,
  task: ProductTask,
): Promise<{ path: string; kernelMs: number }> {
  const { mode } = task.kind
  try {
    const kernelMs = await multiplyIn(gpu, task, mode)
    return { path: mode === 'offset' ? 'translated' : 'direct', kernelMs }
  } catch (error) {
    if (error !== NEEDS_WIDE) throw error
    if (task.witness) throw notExact('the witness of sums of 33 bits')
    return { path: 'wide', kernelMs: await multiplyIn(gpu, task, 'wide') }
  }
}

/** Computes a product in a mode, by pipelines that have been tested. Returns the time of the kernel in ms. */
async function multiplyIn(gpu: Gpu, task: ProductTask, mode: ProductMode): Promise<number> {
  const shift = await shiftOf(gpu, task, mode)
  const { kind, rows, a, b, witness } = task
  const output = witness ? (shift > 0 ? 'tagged' : 'witness') : ''
  const key = [kind.semiring, kind.dtype, mode, rows, a.bits, b.bits, output].join(' ')
  await gpu.assertTested(key, () =>
    selfTest(gpu, task, mode, shift > 0, async (test) =>
      compute(gpu, test, mode, shift > 0 ? await shiftOf(gpu, test, mode) : 0),
    ),
  )
  return compute(gpu, task, mode, shift)
}

/** Returns the number of bits below each value that hold k: a plain product then finds the witness too. 0 if they don't suffice. */
async function shiftOf(gpu: Gpu, task: ProductTask, mode: ProductMode): Promise<number> {
  if (mode !== 'offset' || !task.witness) return 0
  const status = await readScans(gpu, (recording, to) => scanOperands(recording, task, to))
  const spare = spareBits(factsOf(status, 0), factsOf(status, 1))
  return spare > 0 && 2 ** spare >= roundUp(Math.max(task.k, 1), 16) ? spare : 0
}

const hasFacts = ({ mode }: Kind) => mode === 'offset' || mode === 'float'

function scanPipeline(gpu: Gpu, { semiring, mode, isFloat }: Kind, { bits }: GpuView) {
  const zero = zeroBits(semiring, mode, bits) >>> 0
  return gpu.pipeline(`scan ${bits} ${isFloat} ${zero}`, () => scan(bits, isFloat, zero))
}

/** Encodes the scan of one operand, whose facts are written to words of the status from `facts` on. */
export async function encodeScan(
  recording: Recording,
  kind: Kind,
  view: GpuView,
  sizes: Sizes,
  status: GPUBuffer,
  facts: number,
): Promise<void> {
  const pipeline = await scanPipeline(recording.gpu, kind, view)
  const { batchStride, rowStride, colStride } = view
  const [rows, cols, batch] = [sizes.rows, sizes.cols, batchStride === 0 ? 1 : sizes.batch]
  const { binding, offset } = bindingOf(view, { rows, cols, batch })
  const near =
    colStride <= rowStride ? [rows, cols, rowStride, colStride] : [cols, rows, colStride, rowStride]
  const groups = rows * cols === 0 ? 0 : Math.min(near[0]! * batch, 1056)
  recording.dispatch(
    pipeline,
    { 0: binding, 2: status },
    [offset, ...near, batch, batchStride, facts],
    [groups],
  )
}

/** Encodes the scans of both operands if their facts are needed. */
async function scanOperands(
  recording: Recording,
  { kind, batch, m, n, k, a, b }: ProductTask,
  status: GPUBuffer,
): Promise<void> {
  if (!hasFacts(kind)) return
  await encodeScan(recording, kind, a, { batch, rows: m, cols: k }, status, FACTS[0])
  await encodeScan(recording, kind, b, { batch, rows: k, cols: n }, status, FACTS[1])
}

/** Returns the content of the status after the scans that `encode` encodes. */
export const readScans = (
  gpu: Gpu,
  encode: (recording: Recording, status: GPUBuffer) => Promise<void>,
): Promise<Int32Array> =>
  gpu.withBuffers(async (take) => {
    const words = initialStatus()
    const status = await take(words.byteLength)
    const recording = new Recording(gpu)
    await gpu.transfers.write(words, status)
    await encode(recording, status)
    recording.submit()
    await gpu.transfers.read([{ buffer: status, at: 0, into: words }])
    return words
  })

const compute = (gpu: Gpu, task: ProductTask, mode: ProductMode, shift: number): Promise<number> =>
  gpu.withBuffers((take) => computeWith(gpu, take, task, mode, shift))

async function computeWith(
  gpu: Gpu,
  take: Take,
  task: ProductTask,
  mode: ProductMode,
  shift: number,
): Promise<number> {
  const { kind, batch, m, n, k, a, b, c, c0, witness, policy, check } = task
  const isPlain = witness === null || shift > 0
  const arithmetic = arithmeticOf(kind.semiring, mode === 'wide' ? 'offset' : mode)!
  const tile = isPlain ? tileOf(task.rows, arithmetic) : witnessTileOf(task.rows)
  const [BM, BN] = mode === 'wide' ? [16, 16] : tile
  const perWord = kind.mode === 'bits' ? 32 : 1
  const [mp, np, kp] = [roundUp(m, BM), roundUp(n, BN), roundUp(Math.max(Math.ceil(k / perWord), 1), 16)]
  const [itemsA, itemsB] = [a.batchStride === 0 ? 1 : batch, b.batchStride === 0 ? 1 : batch]
  const perK = 4 * Math.max(itemsA * mp, itemsB * np, 1)
  const depth = Math.min(kp, Math.max(16, Math.floor(Math.min(MAX_DEPTH, gpu.maxBinding / perK) / 16) * 16))

  const packing = ({ bits }: GpuView) => {
    const zero = zeroBits(kind.semiring, kind.mode, bits) >>> 0
    const name = `pack ${bits} ${mode} ${zero} ${kind.isMax}`
    return gpu.pipeline(name, () => pack(bits, mode, zero, kind.isMax))
  }
  const isWide = mode === 'wide'
  const kernel = isWide ? `wide ${kind.isMax}` : `product ${mode} ${kind.semiring} ${tile.join()} ${isPlain}`
  const storeKind = { semiring: kind.semiring, mode, bits: kind.bits, witness: witness !== null }
  // All that a product needs is compiled at once.
  const [packA, packB, multiplying, storing] = await Promise.all([
    packing(a),
    packing(b),
    gpu.pipeline(kernel, () =>
      isWide ? wide(kind.isMax) : product(arithmetic, tile, isPlain ? 'none' : 'witness'),
    ),
    gpu.pipeline(`store ${Object.values(storeKind).join(' ')}`, () => store(storeKind)),
    ...(hasFacts(kind) ? [scanPipeline(gpu, kind, a), scanPipeline(gpu, kind, b)] : []),
  ])

  const status = await take(STATUS_WORDS * 4)
  const packedA = await take(itemsA * mp * depth * 4)
  const packedB = await take(itemsB * np * depth * 4)
  const acc = await take(batch * mp * np * 4)
  // Lowest bits of sums, or witnesses.
  const second = isWide || !isPlain ? await take(batch * mp * np * 4) : acc
  const recording = new Recording(gpu)
  await gpu.transfers.write(initialStatus(), status)
  await scanOperands(recording, task, status)

  const operands = [
    { view: a, sizes: { batch: itemsA, rows: m, cols: k }, pipeline: packA, to: packedA, padded: mp },
    { view: b, sizes: { batch: itemsB, rows: k, cols: n }, pipeline: packB, to: packedB, padded: np },
  ]
  const packFrom = (first: number, words: number) => {
    for (const [operand, { view, sizes, pipeline, to, padded }] of operands.entries()) {
      const { binding, offset } = bindingOf(view, sizes)
      const [byK, byLine] =
        operand === 0 ? [view.colStride, view.rowStride] : [view.rowStride, view.colStride]
      const [start, left] = [first * perWord, Math.max(0, k - first * perWord)]
      const lines = operand === 0 ? m : n
      const isTagged = shift > 0 && operand === 0 ? 1 : 0
      recording.dispatch(
        pipeline,
        { 0: binding, 2: to, ...(mode === 'offset' && { 3: status }) },
        [
          ...[offset + start * byK, byK, byLine, view.batchStride, left, lines, words, padded],
          ...[FACTS[operand]!, shift, isTagged, start],
        ],
        [padded / 16, words / 16, sizes.batch],
      )
    }
  }
  const start = {
    offset: kind.isMax ? -(2 ** 31) : 2 ** 31 - 1,
    plain: kind.isMax ? -(2 ** 31) : 2 ** 31 - 1,
    float: kind.isMax ? 0xff000000 : 0x7f000000,
    keys: kind.isMax ? 0x807fffff : 0x7f800000,
    bits: 0,
    wide: 0,
  }[mode]
  /** Multiplies some rows of tiles by the packed k0 ≤ k < k1. `first` is the k of k0 = 0. */
  const multiply = (y0: number, height: number, k0: number, k1: number, first: number, words: number) => {
    const [za, zb] = [itemsA > 1 ? (words * mp) / 4 : 0, itemsB > 1 ? (words * np) / 4 : 0]
    const isFirst = first + k0 === 0 ? 1 : 0
    recording.dispatch(
      multiplying,
      { 0: packedA, 1: packedB, 2: acc, ...(second !== acc && { 4: second }) },
      [mp / 4, np / 4, k0, k1, y0, isFirst, start, za, zb, (mp * np) / 4, first],
      [np / BN, height, batch],
    )
  }

  const [tiles, perTile] = [mp / BM, 2 * BM * np * batch]
  const isOneSlice = depth === kp && tiles * perTile * kp <= gpu.operationsAtOnce(kernel)
  let slicedMs = 0
  for (let first = 0; first < kp; first += depth) {
    const words = Math.min(depth, kp - first)
    packFrom(first, words)
    if (isOneSlice) {
      recording.beginTimed()
      multiply(0, tiles, 0, kp, 0, kp)
      recording.endPass()
      continue
    }
    for (let y0 = 0, height = 1; y0 < tiles; y0 += height) {
      const atOnce = Math.floor(gpu.operationsAtOnce(kernel) / perTile)
      height = Math.max(1, Math.min(tiles - y0, Math.floor(atOnce / words)))
      for (let k0 = 0, k1 = 0; k0 < words; k0 = k1) {
        k1 = Math.min(words, k0 + Math.max(16, Math.floor(atOnce / height / 16) * 16))
        check()
        const started = performance.now()
        multiply(y0, height, k0, k1, first, words)
        recording.submit()
        await gpu.finished()
        const ms = performance.now() - started
        gpu.noteRate(kernel, perTile * height * (k1 - k0), ms)
        slicedMs += ms
      }
    }
  }

  const result = { batch, rows: m, cols: n }
  const [boundC, boundC0] = [bindingOf(c, result), c0 && bindingOf(c0, result)]
  const boundWitness = witness && bindingOf(witness, result)
  const [c0Strides, witnessStrides] = [c0 ?? c, witness ?? c]
  recording.dispatch(
    storing,
    {
      ...{ 0: acc, 2: boundC.binding, 4: boundC0?.binding ?? acc },
      ...((mode === 'offset' || isWide) && { 3: status }),
      ...((isWide || witness) && { 5: second }),
      ...(boundWitness && { 6: boundWitness.binding }),
    },
    [
      ...[boundC.offset, c.rowStride, c.batchStride, m, n, mp, np],
      ...[boundC0?.offset ?? 0, c0Strides.rowStride, c0Strides.colStride, c0Strides.batchStride],
      ...[boundWitness?.offset ?? 0, witnessStrides.rowStride, witnessStrides.batchStride],
      ...[c0 ? 1 : 0, policy, shift],
    ],
    [Math.ceil(n / 64), Math.ceil(m / 4), batch],
  )
  if (isOneSlice) recording.copyMarks(status, TIMES * 4)
  recording.submit()

  const words = initialStatus()
  const verify = async () => {
    await gpu.assertValid()
    const facts = [factsOf(words, 0), factsOf(words, 1)] as const
    if (mode === 'float') for (const operand of facts) assertFloats(operand)
    if (mode === 'offset' && spareBits(...facts) < 0) throw NEEDS_WIDE
    if (kind.mode === 'offset') assertPolicy(...facts, kind.isMax, policy, witness !== null)
    if (policy !== THROW || words[FAULT] === NO_FAULT) return
    const index = words[FAULT]!
    const at = 4 * ((Math.floor(index / (m * n)) * mp + (Math.floor(index / n) % m)) * np + (index % n))
    const [value, bit] = [new Int32Array(1), new Int32Array(1)]
    await gpu.transfers.read([
      { buffer: acc, at, into: value },
      { buffer: second, at, into: bit },
    ])
    const [offsetA, offsetB] = facts.map(({ least, greatest }) => (kind.isMax ? least : greatest)) as [
      number,
      number,
    ]
    throw new Fault(index, isWide ? 2 * value[0]! + (bit[0]! & 1) : (value[0]! >> shift) + offsetA + offsetB)
  }
  let verified: Promise<void> | undefined
  const before = () => {
    verified ??= verify()
    return verified
  }
  const submitted = performance.now()
  await gpu.transfers.read(
    [{ buffer: status, at: 0, into: words }, ...task.reads.map((part) => ({ ...part, before }))],
    check,
  )
  await before()
  if (!isOneSlice) return slicedMs
  const [begin, end] = new BigUint64Array(words.buffer, TIMES * 4, 2)
  const ms = Number(end! - begin!) / 1e6
  if (!gpu.timestamps || !(ms > 0)) return performance.now() - submitted
  gpu.noteRate(kernel, perTile * tiles * kp, ms)
  return ms
}
