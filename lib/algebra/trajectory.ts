/** Computes trajectories of linear systems: x(k + 1) = A ⊗ x(k) ⊕ B ⊗ u(k + 1). */
import { throwIfAborted } from '../abort.js'
import { CUDA, optionsOf, WEBGPU, whereSet } from '../backend.js'
import type { PlacementRequest } from '../backend-selection.js'
import { assertSemiringType, readSemiring, zeroOf } from '../built-in-semirings.js'
import { showList } from '../describe.js'
import { DeviceMatrix } from '../device/device.js'
import type { Session } from '../device/resident.js'
import { elementType, newArray, typeNameOf } from '../elements.js'
import { DeviceError, DTypeError, OptionError, ShapeError } from '../errors.js'
import { isEdgeList } from '../graph-core/edges.js'
import { nodeText } from '../graph-core/names.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { shapeOf } from '../layout.js'
import { allocate, type DenseMatrix, MAX_DIMENSION, rowMajorMatrix } from '../matrix.js'
import { assertNames, checkedLater, Options, type OptionsOf, readWhole, required } from '../options.js'
import { type Finite, finiteOf, outsideError, policy, policyFor, storedAs } from '../overflow.js'
import { mpmm } from '../product/multiply.js'
import {
  type AnyOperand,
  type ElementsOf,
  longWorkSet,
  type MpmmOptions,
  type Overflow,
  type Progress,
} from '../product/options.js'
import { assertConsistent } from '../product/prepare.js'
import { reporting } from '../product/progress.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { assertAttached, readView, type View } from '../view.js'
import { placementOf } from './options.js'
import { readVector, type Vector, type VectorForm } from './vector.js'
import {
  assertSquare,
  type IntegerEdges,
  keysOf,
  readGraph,
  type SumSemiring,
  sumSemiring,
  type WeightedGraph,
  type Weights,
} from './weights.js'

/** External input of a system. Either matrix may be on a device, which must be that of A if A is on one. */
export interface Input {
  /** n × m: what each input adds to each element of the state. */
  b: AnyOperand
  /** m × steps: column k is u(k + 1). */
  u: AnyOperand
}

/** The options of {@link trajectory}. `undefined` means the default. */
export interface TrajectoryOptions
  extends Pick<MpmmOptions, 'overflow' | 'backend' | 'device' | 'devices' | 'signal'> {
  /** Number of states after x(0). */
  steps: number
  /** B and u of x(k + 1) = A ⊗ x(k) ⊕ B ⊗ u(k + 1). */
  input?: Input | undefined
  /** 'max-plus' (default) or 'min-plus'. */
  semiring?: SumSemiring | undefined
  /**
   * Listener of the progress, see {@link MpmmOptions.onProgress}; `done` is the completed fraction of the
   * steps.
   */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** States of a system: row k is x(k). */
export type States<Data extends ElementArray = ElementArray, Key = number> = DenseMatrix<Data> & {
  /** The names of the columns, by their numbers, if the nodes have names. */
  keys?: ArrayLike<Key>
}

/** The most steps: an array of states has one more row. */
export const MAX_STEPS = MAX_DIMENSION - 1

const trajectoryOptions = new Options({
  steps: required((value, name) => readWhole(value, name, 0, MAX_STEPS)),
  input: checkedLater(),
  overflow: policy,
  ...whereSet,
  semiring: sumSemiring,
  ...longWorkSet,
} satisfies OptionsOf<TrajectoryOptions>)

/**
 * Computes the states of x(k + 1) = A ⊗ x(k) ⊕ B ⊗ u(k + 1), or of x(k + 1) = A ⊗ x(k) without an input. In a
 * timetable, x(k) has the time of each train's k-th departure.
 *
 * A matrix is multiplied by {@link mpmm} once per step. An edge list is read once per step, on JavaScript's
 * thread in slices, so `backend: 'cuda'` isn't allowed for it. Don't write to, transfer or detach the arrays
 * until the promise settles.
 *
 * Edges with tokens may refer to other rounds than the previous one: the states are those of x(k) = A₀ ⊗ x(k)
 * ⊕ A₁ ⊗ x(k − 1) ⊕ … ⊕ B ⊗ u(k); see {@link TokenEdgeList}. All states before the first given state are the
 * semiring's zero, so no node waits for them.
 *
 * @param a - n × n; the edge from i to j is A[i, j], by which x_i(k + 1) waits for x_j(k). If it is a {@link
 * DeviceMatrix}, the states are one, too.
 * @param x0 - x(0): n × 1, or an array of n elements, of A's type. If edges have tokens, it may be a matrix of n columns, whose rows
 *   are the last states in their order: x(0) is the last of them.
 * @returns The states, (steps + 1) × n: row k is x(k). If the nodes of an edge list have names, the states
 * have `keys`, the names of the columns.
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_SHAPE, ERR_MPMML_DTYPE, ERR_MPMML_VALUE (NaN in x0 or
 * in an edge list, or an infinite weight in an edge list), ERR_MPMML_OPTION, ERR_MPMML_OVERFLOW (see {@link
 * MpmmOptions.overflow}), and the errors of {@link mpmm}.
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity; `mpsimul` of MaxPlus.jl
 * @example
 * const states = await trajectory(matrix(2, 2, [3, 7, 2, 4]), [1, 0], { steps: 3 })
 * console.log(states.shape.join(' × '), states.data.join()) // 4 × 2 1,0,7,4,11,9,16,13
 */
export function trajectory<Data extends OperandArray>(
  a: DeviceMatrix<Data>,
  x0: Vector,
  options: TrajectoryOptions,
): Promise<DeviceMatrix<ElementsOf<Data>>>
export function trajectory<Key = number>(
  a: IntegerEdges<Key>,
  x0: Vector,
  options: TrajectoryOptions,
): Promise<States<Int32Array, Key>>
export function trajectory<Data extends OperandArray, Key = number>(
  a: Exclude<Weights<Key, Data>, DeviceMatrix<Data>>,
  x0: Vector,
  options: TrajectoryOptions,
): Promise<States<ElementsOf<Data>, Key>>
export async function trajectory(
  a: Weights,
  x0: Vector,
  options: TrajectoryOptions,
): Promise<DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>> {
  const {
    semiring,
    signal,
    steps,
    input: driving,
    overflow,
    onProgress,
    ...placementOptions
  } = trajectoryOptions.read(options)
  throwIfAborted(signal, WHAT)
  const placement = placementOf(placementOptions)
  const progress: WalkProgress = { done: 0, isStopped: false }
  const share = () => (steps > 0 ? progress.done / steps : 1)
  const stop = () => {
    progress.isStopped = true
  }
  const followed = <Result>(work: () => Promise<Result>) => reporting(onProgress, share, stop, work)
  if (isEdgeList(a)) {
    if (placement.backend === CUDA || placement.backend === WEBGPU) {
      refuseOfList(`option backend is '${optionsOf(placement).backend}'`)
    }
    if (placement.devices !== 0) refuseOfList('option devices names GPUs')
    const graph = await readGraph(a, semiring, signal, WHAT)
    const form = initialState(graph)
    const last = await readVector(x0, form)
    const stores = policyFor(overflow, form.type)
    const input = readInput(driving, { rows: form.length, type: form.type, memory: null }, steps, placement)
    const where = { semiring, overflow, signal }
    const drive = input && ((await driveOf(input, null, where)) as DenseMatrix<ElementArray>)
    const states = await followed(() =>
      inSlices(walk(graph, last, steps, stores, drive, progress), signal, WHAT),
    )
    return { ...states, ...keysOf(graph) }
  }
  const view = readView(a, 'a', 'operand')
  assertAttached(view, 'a')
  assertSquare(view)
  assertSemiringType(readSemiring(semiring), view.type)
  policyFor(overflow, view.type)
  if (view.memory) assertConsistent(placement, view.memory.session)
  const common = { semiring, overflow, signal }
  const where = view.memory ? common : { ...common, ...optionsOf(placementOptions) }
  const input = readInput(driving, view, steps, placement)
  const x = await readVector(x0, { name: 'x0', length: view.rows, type: view.type, semiring })
  const system = {
    a,
    n: view.rows,
    type: view.type,
    x,
    steps,
    where,
    drive: input && (await driveOf(input, view.memory, input.isResident ? common : where)),
  }
  try {
    return await followed<DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>>(() =>
      a instanceof DeviceMatrix ? onDevice(system, a, progress) : inArrays(system, progress),
    )
  } finally {
    disposeAll(system.drive)
  }
}

/** The form of x(0), and of the states before it if edges have tokens. */
export const initialState = ({ rows, semiring, names, tokens }: WeightedGraph): VectorForm => ({
  name: 'x0',
  length: rows.nodes,
  type: elementType(rows.weight),
  semiring,
  names,
  hasStates: tokens !== null,
})

const WHAT = 'the trajectory'
const FEWER = 'ask for fewer steps, and go on from the last state'

function refuseOfList(what: string): never {
  throw new OptionError(
    `${what}, but the states of an edge list are computed on the CPU: leave it out, or pass a matrix`,
  )
}

/** Progress of the iteration. */
interface WalkProgress {
  /** Number of finished steps. */
  done: number
  /** Whether the listener threw, so that further steps are useless. */
  isStopped: boolean
}

type Where = Pick<MpmmOptions, 'semiring' | 'overflow' | 'backend' | 'device' | 'devices' | 'signal'>

interface System {
  readonly a: AnyOperand
  readonly n: number
  readonly type: number
  readonly x: ElementArray
  readonly steps: number
  readonly where: Where
  /** n × steps: the input at each step. */
  readonly drive: AnyOperand | null
}

interface ReadInput extends Input {
  /** Whether b or u is on a device. */
  readonly isResident: boolean
}

/** Reads and checks the option `input`. */
function readInput(
  input: unknown,
  a: Pick<View, 'rows' | 'type' | 'memory'>,
  steps: number,
  placement: PlacementRequest,
): ReadInput | null {
  if (input === undefined) return null
  assertNames(input, ['b', 'u'], 'input')
  const { b, u } = input as unknown as Input
  const [viewB, viewU] = [readView(b, 'input.b', 'operand'), readView(u, 'input.u', 'operand')]
  let on: [session: Session, name: string] | null = a.memory && [a.memory.session, 'a']
  for (const [view, name, rows, cols] of [
    [viewB, 'input.b', a.rows, viewU.rows],
    [viewU, 'input.u', viewB.cols, steps],
  ] as const) {
    if (view.batched || view.rows !== rows || view.cols !== cols) {
      throw new ShapeError(`${name} must be ${rows} × ${cols}, but its shape is ${showList(shapeOf(view))}`)
    }
    if (view.type !== a.type) {
      throw new DTypeError(
        `${name} must be of ${typeNameOf(a.type)}, as a is, but it is of ${typeNameOf(view.type)}`,
      )
    }
    assertAttached(view, name)
    if (!view.memory) continue
    assertConsistent(placement, view.memory.session)
    on ??= [view.memory.session, name]
    if (on[0] === view.memory.session) continue
    throw new DeviceError(
      `${name} and ${on[1]} must be on one device, but they are on two: download one of them, and pass it as it is`,
    )
  }
  return { b, u, isResident: on !== null }
}

/**
 * Computes B ⊗ U, whose column k is the input of step k + 1. The result is in an array unless A is on a
 * device.
 */
async function driveOf({ b, u }: Input, memory: View['memory'], where: Where): Promise<AnyOperand> {
  const { c } = await mpmm(b, u, where)
  if (memory || !(c instanceof DeviceMatrix)) return c
  try {
    return await c.download()
  } finally {
    c.dispose()
  }
}

/** Column k of a matrix. */
function column(matrix: AnyOperand, k: number): AnyOperand<ElementArray> {
  if (matrix instanceof DeviceMatrix) return (matrix as DeviceMatrix<ElementArray>).view({ cols: [k, k + 1] })
  const { data, shape } = matrix as DenseMatrix<ElementArray>
  return { data, shape: [shape[0], 1], strides: [shape[1]!, 1], offset: k }
}

/**
 * Disposes matrices. Views must be disposed, too, because they keep the memory of the whole matrix alive.
 * Started work continues without the handles.
 */
function disposeAll(...matrices: (AnyOperand | null)[]): void {
  for (const matrix of matrices) if (matrix instanceof DeviceMatrix) matrix.dispose()
}

async function inArrays(
  { a, n, type, x, steps, where, drive }: System,
  progress: WalkProgress,
): Promise<DenseMatrix<ElementArray>> {
  const data = allocate((steps + 1) * n, 'the states', type, newArray, FEWER)
  data.set(x)
  const state = (k: number) => ({ data, shape: [n, 1], strides: [1, 1], offset: k * n })
  for (let k = 0; k < steps && !progress.isStopped; k++) {
    progress.done = k
    const accumulate = drive ? { accumulate: column(drive, k) } : {}
    await mpmm(a, state(k), { ...where, ...accumulate, out: state(k + 1) })
  }
  return rowMajorMatrix(data, [steps + 1, n])
}

/** Number of products that are started before the first is awaited. */
const AHEAD = 256

async function onDevice(
  { a, n, type, x, steps, where, drive }: System,
  { device }: DeviceMatrix<OperandArray>,
  progress: WalkProgress,
): Promise<DeviceMatrix<ElementArray>> {
  const dtype = typeNameOf(type)
  const states = (await device.full(
    [steps + 1, n],
    zeroOf(where.semiring!, dtype),
    dtype,
  )) as DeviceMatrix<ElementArray>
  // The columns of the transpose are the states.
  const columns = states.transpose()
  const begun = async () => {
    const first = await device.upload({ data: x, shape: [n, 1] })
    const state = column(columns, 0) as DeviceMatrix<ElementArray>
    try {
      await state.combine(first as never, { semiring: where.semiring })
    } finally {
      disposeAll(first, state)
    }
  }
  const stepped = (k: number) => {
    const [from, out] = [column(columns, k), column(columns, k + 1) as DeviceMatrix<ElementArray>]
    const accumulate = drive && column(drive, k)
    try {
      return mpmm(a, from, { ...where, ...(accumulate && { accumulate }), out })
    } finally {
      disposeAll(from, out, accumulate)
    }
  }
  try {
    await begun()
    for (let begin = 0; begin < steps && !progress.isStopped; begin += AHEAD) {
      progress.done = begin
      const products = []
      for (let k = begin; k < Math.min(steps, begin + AHEAD); k++) products.push(stepped(k))
      await Promise.all(products)
    }
    if (progress.isStopped) states.dispose()
    return states
  } catch (error) {
    states.dispose()
    throw error
  } finally {
    columns.dispose()
  }
}

/**
 * Computes the states of an edge list.
 *
 * @param last - the last states, x(0) at the end.
 * @param drive - n × steps, row-major.
 */
function* walk(
  { rows, semiring, exact, tokens, names }: WeightedGraph,
  last: ElementArray,
  steps: number,
  overflow: Overflow,
  drive: DenseMatrix<ElementArray> | null,
  progress: WalkProgress,
): Steps<DenseMatrix<ElementArray>> {
  const { nodes: n, start, to, weight } = rows
  const earlier = last.subarray(0, last.length - n)
  const maximizes = semiring === 'max-plus'
  const zero = zeroOf(semiring, exact ? 'int32' : 'float64')
  const none = maximizes ? -Infinity : Infinity
  const finite = finiteOf(maximizes)
  const single = last instanceof Float32Array
  const type = elementType(last)
  const data = allocate((steps + 1) * n, 'the states', type, newArray, FEWER)
  data.set(last.subarray(last.length - n))
  let looked = 0
  for (let k = 0; k < steps && !progress.isStopped; k++) {
    progress.done = k
    const now = (k + 1) * n
    for (let at = 0; at < n; at++) {
      const i = tokens ? tokens.order[at]! : at
      const driven = drive ? drive.data[i * steps + k]! : zero
      let best = driven === zero ? none : driven
      const end = start[i + 1]!
      for (let e = start[i]!; e < end; e++) {
        // An index below 0 refers to a state before x(0), possibly to one before all given states.
        const from = now + to[e]! - (tokens ? tokens.of[e]! : 1) * n
        const other =
          from >= 0 ? data[from]! : from >= -earlier.length ? earlier[earlier.length + from]! : zero
        if (other === zero) continue
        const sum = other + weight[e]!
        if (maximizes ? sum > best : sum < best) best = sum
      }
      looked += end - start[i]! + 1
      if (looked >= PER_SLICE) {
        looked = 0
        yield
      }
      data[now + i] =
        best === none
          ? zero
          : exact
            ? stored(best, finite, overflow, k + 1, () => nodeText(i, names))
            : single
              ? Math.fround(best)
              : best
    }
  }
  return rowMajorMatrix(data, [steps + 1, n])
}

/** Returns the int32 value that the overflow policy stores for a sum. */
function stored(value: number, finite: Finite, overflow: Overflow, k: number, node: () => string): number {
  const kept = storedAs(overflow, value, finite)
  if (!Number.isNaN(kept)) return kept
  const advice = "use weights of float64, or choose overflow 'saturate' or 'wrap'"
  throw outsideError(`element ${node()} of x(${k})`, value, finite, advice)
}
