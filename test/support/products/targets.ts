/** Execution targets of products: storage of the matrices, and forms of the call. Each computes a case and returns the outcome. */
import type { BackendName } from '../../../lib/backend-name.js'
import {
  type Device,
  DeviceMatrix,
  type GroupedProduct,
  type MpmmResult,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  openDevice,
  type ProductStructure,
} from '../../../lib/index.js'
import { addon } from '../../../lib/native.js'
import { arrays } from '../../../native/tools/fuzz/algebra.mjs'
import { gapsChanged, newMatrix, placeAs } from '../../../native/tools/fuzz/layouts.mjs'
import { narrowed } from '../../../native/tools/fuzz/problem.mjs'
import { transposed as transposedStructure } from '../../../native/tools/fuzz/structures.mjs'
import { withoutCuda } from '../machine.js'
import { type AnyMatrix, type Case, type Elements, elementsOf, problemOf, sourceOf } from './case.js'
import type { Expectation, Outcome } from './law.js'
import { valuesFor } from './values.js'

type There = DeviceMatrix<never>
export type Anywhere = AnyMatrix | There

/** Destination of the result: new, written into `out`, or accumulated to the content of `out`. */
export type ResultTarget = 'new' | 'out' | 'in place'

export interface ExecutionTarget {
  name: string
  /** Options that select the target. */
  options: object
  expectation: Expectation
  /** Device of the matrices, if they aren't in arrays. */
  device?: () => Device
  /** Whether the product is in a group with others. */
  grouped?: boolean
  /** Whether the call computes (Bᵀ ⊗ Aᵀ)ᵀ. */
  isTransposed?: boolean
  /** Whether operands are stored as int16 if possible. */
  narrow?: boolean
  /** Computations of the operands on the device, if they were not uploaded. */
  derivation?: keyof typeof makers
  sync?: boolean
}

/** Functions that compute a matrix on a device from another one, for the left or the right side, with the same elements. */
const makers = {
  async copied(there: There, { algebra: { semiring, dtype, zero } }: Case): Promise<There[]> {
    const copy = (await there.device.full([...there.shape], zero, dtype)) as unknown as There
    return [(await copy.combine(there, { semiring } as never)) as There]
  },
  async multiplied(there: There, { algebra: { semiring, dtype, zero, one } }: Case, side: 'a' | 'b') {
    const size = there.shape.at(side === 'a' ? -2 : -1)!
    const data = new arrays[dtype](size * size).fill(zero)
    for (let at = 0; at < data.length; at += size + 1) data[at] = one
    const identity = (await there.device.upload({ data, shape: [size, size] })) as unknown as There
    const [left, right] = side === 'a' ? [identity, there] : [there, identity]
    const { c } = await mpmm(left as never, right as never, { semiring } as object)
    return [identity, c as unknown as There]
  },
  /** View of the middle matrix of a batch; the other matrices have greater and smaller elements. */
  async picked(there: There): Promise<There[]> {
    const { data, shape } = (await there.download()) as AnyMatrix & { data: Int32Array }
    const all = new (data.constructor as Int32ArrayConstructor)(3 * data.length).fill(100, 0, data.length)
    all.set(data, data.length)
    const batch = (await there.device.upload({
      data: all,
      shape: [3, ...Array.from(shape)],
    })) as unknown as There
    return [batch, batch.view({ batch: 1 }) as There]
  },
}

/** Transpose of a matrix in any storage: a view of the same memory. */
export function turn<T extends Anywhere>(matrix: T): T {
  if (matrix instanceof DeviceMatrix) return matrix.transpose() as T
  const { data, shape, strides, offset } = matrix as AnyMatrix
  const [rows, cols] = Array.from(shape).slice(-2) as [number, number]
  const steps = strides ? Array.from(strides) : [...(shape.length === 3 ? [rows * cols] : []), cols, 1]
  const swap = (list: number[]) => [...list.slice(0, -2), list.at(-1)!, list.at(-2)!]
  return { data, shape: swap(Array.from(shape)), strides: swap(steps), offset } as unknown as T
}

function transposedStructures({ a, b, c }: ProductStructure): ProductStructure {
  return {
    ...(b && { a: transposedStructure(b) }),
    ...(a && { b: transposedStructure(a) }),
    ...(c && { c: transposedStructure(c) }),
  }
}

/** Embeds the matrix in a frame of other elements. */
function framed({ data, batched, batch, rows, cols }: Elements): Elements {
  const frame = newMatrix(data.constructor as Int32ArrayConstructor, batched, batch, rows + 3, cols + 4)
  frame.data.fill(1)
  for (let row = 0; row < batch * rows; row++) {
    const to = (Math.floor(row / rows) * (rows + 3) + (row % rows) + 1) * (cols + 4) + 2
    frame.data.set(data.subarray(row * cols, (row + 1) * cols), to)
  }
  return frame
}

const transposed = ({ data, batched, batch, rows, cols }: Elements): Elements => ({
  data: data.map((_, at) => {
    const [row, col] = [Math.floor(at / rows) % cols, at % rows]
    return data[Math.floor(at / rows / cols) * rows * cols + col * cols + row]!
  }),
  batched,
  batch,
  rows: cols,
  cols: rows,
})

/** Matrix in the storage of a target. */
interface StoredMatrix {
  matrix: Anywhere
  /** Reads the present content. */
  read: () => Promise<Elements>
  spilled: () => Promise<boolean>
  /** Device matrices that must be disposed after use. */
  there: There[]
}

/** Stores elements in the storage of the target, in the given layout. */
export async function put(
  target: ExecutionTarget,
  source: Elements,
  layout = 'row-major',
): Promise<StoredMatrix> {
  const device = target.device?.()
  if (!device) {
    const placed = placeAs(layout, source, { shift: 3, tail: 2 })
    const before = placed.whole.slice()
    return {
      matrix: placed.matrix as AnyMatrix,
      read: async () => elementsOf(placed.matrix as AnyMatrix),
      spilled: async () => gapsChanged(placed, before),
      there: [],
    }
  }
  // On a device layouts are views of a larger or a transposed matrix.
  const isTransposedLayout = layout.startsWith('transposed')
  const inner = isTransposedLayout ? transposed(source) : source
  const isFramed = layout.endsWith('a larger one')
  const root = isFramed ? framed(inner) : inner
  const whole = (await device.upload(placeAs('row-major', root).matrix as never)) as unknown as There
  const part = isFramed ? { rows: [1, 1 + inner.rows], cols: [2, 2 + inner.cols] } : {}
  const view = whole.view(part as never)
  const matrix = (isTransposedLayout ? view.transpose() : view) as There
  const read = async () => elementsOf((await matrix.download()) as AnyMatrix)
  return {
    matrix,
    read,
    there: [whole, view, matrix],
    async spilled() {
      if (!isFramed) return false
      const now = await read()
      const { data } = (await whole.download()) as AnyMatrix
      return framed(isTransposedLayout ? transposed(now) : now).data.some((x, at) => !Object.is(x, data[at]))
    },
  }
}

/**
 * Disposes matrices. Without disposal the memory of thousands of matrices would be released only by the
 * garbage collector.
 */
function dispose(...matrices: (Anywhere | undefined)[]): void {
  for (const matrix of matrices) if (matrix instanceof DeviceMatrix) matrix.dispose()
}

type Results = Omit<MpmmResult, 'c'> & { c: Anywhere; witness?: Anywhere }

/** Operands of an additional product for a group. */
function neighbour({ algebra }: Case): { a: AnyMatrix; b: AnyMatrix } {
  const [a, b] = valuesFor(algebra, 'neighbour', [3, 5, 4])
  return { a: sourceOf(a!), b: sourceOf(b!) }
}

async function ask(
  target: ExecutionTarget,
  one: Case,
  a: Anywhere,
  b: Anywhere,
  own: object,
): Promise<Results> {
  const { algebra, overflow, witness, variant } = one
  const shared = {
    ...target.options,
    semiring: algebra.semiring,
    ...(overflow && !algebra.isFloat && { overflow }),
    ...(witness && { witness }),
  }
  if (target.grouped) {
    const [first, result, last] = (await mpmmGrouped(
      [neighbour(one), { a, b, ...own }, neighbour(one)] as GroupedProduct[],
      shared as never,
    )) as unknown as [Results, Results, Results]
    for (const { c, witness } of [first, last]) dispose(c, witness)
    return result
  }
  const all = { ...shared, ...own, ...(variant && { variant }) }
  if (target.sync) return mpmmSync(a as never, b as never, all) as unknown as Results
  return (await mpmm(a as never, b as never, all)) as unknown as Results
}

export const fetched = async (matrix: Anywhere): Promise<AnyMatrix> =>
  matrix instanceof DeviceMatrix ? await matrix.download() : matrix

/** Computes the case at the target. */
export async function compute(
  target: ExecutionTarget,
  one: Case,
  destination: ResultTarget,
): Promise<Outcome> {
  const { layouts = {}, given = {}, c0 } = one
  const there: Anywhere[] = []
  const hold = async (source: Elements, layout: string | undefined) => {
    const stored = await put(target, source, layout)
    there.push(...stored.there)
    return stored
  }
  const transposedView = <T extends Anywhere>(matrix: T): T => {
    const seen = turn(matrix)
    there.push(seen)
    return seen
  }
  const operand = async (name: 'a' | 'b') => {
    const source = ((target.narrow && narrowed(one.algebra, one[name])) || one[name]) as Elements
    if (!target.device && given[name] && source === one[name]) return given[name]
    const { matrix } = await hold(source, layouts[name])
    if (!target.derivation) return matrix
    there.push(...(await makers[target.derivation](matrix as There, one, name)))
    return there.at(-1)!
  }
  const [a, b] = [await operand('a'), await operand('b')]
  const { m, n, batch, batched } = problemOf(one)
  const before =
    destination === 'new'
      ? null
      : destination === 'in place'
        ? c0!
        : valuesFor(one.algebra, 'before', [m, n, 1], batched ? batch : undefined)[0]!
  const out = before && (await hold(before, layouts.out))
  const start = c0 && destination !== 'in place' ? (await hold(c0, layouts.c0)).matrix : undefined
  const own = {
    ...(out && { out: target.isTransposed ? transposedView(out.matrix) : out.matrix }),
    ...(start && { accumulate: target.isTransposed ? transposedView(start) : start }),
    ...(destination === 'in place' && { accumulate: true }),
    ...(one.structure && {
      structure: target.isTransposed ? transposedStructures(one.structure) : one.structure,
    }),
  }
  const outcome: Outcome = { initial: before, now: null, spilled: false }
  try {
    const { c, witness, ...result } = await (target.isTransposed
      ? ask(target, one, transposedView(b), transposedView(a), own)
      : ask(target, one, a, b, own))
    const straight = async (matrix: Anywhere) => {
      there.push(matrix)
      const it = await fetched(target.isTransposed ? transposedView(matrix) : matrix)
      return placeAs('row-major', elementsOf(it)).matrix as AnyMatrix
    }
    outcome.result = result
    outcome.c = await straight(c)
    outcome.witness = witness && (await straight(witness))
  } catch (error) {
    outcome.error = error
  }
  if (out) {
    outcome.now = await out.read()
    outcome.spilled = await out.spilled()
  }
  dispose(...there)
  return outcome
}

/** Targets of a backend, with their setup and cleanup. */
export function targetsOf(backend: BackendName): {
  targets: ExecutionTarget[]
  /** Targets whose operands a device has computed, which take longer. */
  derived: ExecutionTarget[]
  open(): Promise<void>
  close(): Promise<void>
} {
  let one: Device | undefined
  let several: Device | undefined
  // WebGPU has other arithmetics than native code.
  const inArrays = {
    options: { backend },
    expectation: { backend, timed: true, cheapest: backend !== 'webgpu' },
  }
  const on = (device: () => Device) => ({ options: {}, device, expectation: { backend, timed: true } })
  const onOne = on(() => one!)
  const onSeveral = on(() => several!)
  const inGroup = { grouped: true, expectation: { backend, prefix: 'products[1]' } }
  // A GPU batches similar products of a group.
  const grouped = { ...inGroup, expectation: { ...inGroup.expectation, cheapest: backend === 'cpu' } }
  const transposedCall = { isTransposed: true, expectation: { backend, isTransposed: true, timed: true } }
  // Without a GPU devices are simulated only if no backend is named.
  const devices = { ...(backend === 'cuda' && { backend }), devices: 'all' }
  // If a GPU exists, all simulated devices are that GPU.
  const hasSeveral = backend === 'cuda' || (backend === 'cpu' && withoutCuda() !== undefined)
  const ofSeveral: ExecutionTarget[] = [
    { name: 'arrays for several devices', options: devices, expectation: { backend, timed: true } },
    {
      name: 'arrays for some devices',
      options: { ...devices, devices: [3, 1] },
      expectation: { backend, timed: true },
    },
    {
      name: 'a group for several devices',
      ...inArrays,
      options: { ...devices, devices: [3, 1, 4] },
      ...inGroup,
    },
    { name: 'spread among devices', ...onSeveral },
    { name: 'spread among devices, transposed', ...onSeveral, ...transposedCall },
    { name: 'spread among devices, in a group', ...onSeveral, ...inGroup },
  ]
  return {
    targets: [
      // WebGPU can't block.
      ...(backend === 'webgpu' ? [] : [{ name: 'arrays, at once', ...inArrays, sync: true }]),
      { name: 'arrays', ...inArrays },
      { name: 'arrays, transposed', ...inArrays, ...transposedCall },
      { name: 'arrays of int16', ...inArrays, narrow: true },
      { name: 'arrays in a group', ...inArrays, ...grouped },
      { name: 'a device', ...onOne },
      { name: 'a device, transposed', ...onOne, ...transposedCall },
      { name: 'int16 on a device', ...onOne, narrow: true },
      { name: 'a device, in a group', ...onOne, ...inGroup },
      ...(hasSeveral ? ofSeveral : []),
    ],
    derived: [
      { name: 'copies on a device', ...onOne, derivation: 'copied' },
      { name: 'products on a device', ...onOne, derivation: 'multiplied' },
      { name: 'some of a batch on a device', ...onOne, derivation: 'picked' },
      ...(hasSeveral
        ? [{ name: 'products spread among devices', ...onSeveral, derivation: 'multiplied' } as const]
        : []),
    ],
    async open() {
      one = await openDevice({ backend })
      if (!hasSeveral) return
      addon.pretendDevices(5)
      several = await openDevice({ devices: [0, 1, 2] })
    },
    async close() {
      await several?.close()
      await one!.close()
      addon.pretendDevices(0)
    },
  }
}
