/** Converts native code's report of a product to the result for the user. */

import { deviceName, devicesIn } from '../backend.js'
import type { BackendName } from '../backend-name.js'
import { DeviceMatrix } from '../device/device.js'
import { ResidentView, SharedMemory } from '../device/resident.js'
import { reportAt as at } from '../fields.js'
import { type Elements, shapeOf } from '../layout.js'
import { type DenseMatrix, type MatrixLike, rowMajorMatrix } from '../matrix.js'
import { addon, type NativeMemory, type NativeResult, type NativeVariant } from '../native.js'
import type { ElementArray, KindOf, OperandArray } from '../storage.js'
import type { VariantName } from '../variant-names.js'
import { nameOfKnownGpu } from '../webgpu/look.js'
import { asLane } from './lanes.js'
import type { AnyAccumulate, AnyResult, AnyWitness, ElementsOf } from './options.js'
import type { Call, Product, Result } from './product.js'
import type { ProductStructure, ReadStructure } from './structure.js'

/** Result of a product. */
export interface MpmmResult<C extends AnyResult = DenseMatrix> {
  /** The product: `out` itself if it was given, otherwise a new row-major matrix; on a device if an operand is. */
  c: C
  /** Backend that computed the product. */
  backend: BackendName
  /** The name of the GPU or of the processor. */
  device: string
  /**
   * Indices of the CUDA devices that computed the product: several only if the option `devices` names them;
   * none on the CPU and by WebGPU.
   */
  devices: readonly number[]
  /**
   * Kernel variant that computed the product. On several devices, the variant of the part whose arithmetic
   * has the most bits.
   */
  variant: VariantName
  /**
   * Arithmetic of the sums, which the values of the operands decide. Integer results are exact in every
   * arithmetic. 'direct': sums in the element type itself, the only arithmetic of floating-point elements.
   * 'translated': sums in the element type, with another value in place of the semiring's zero. 'half' and
   * 'half-translated': 16-bit sums, after an offset is subtracted from each operand. 'byte' and
   * 'byte-translated': 8-bit sums, on the CPU. 'exponent', 'exponent-wide' and 'exponent-bounded': sums as
   * exponents of numbers on tensor cores, for few levels. 'wide': 64-bit sums. 'wrapping': 64-bit sums;
   * finite sums are reduced modulo 2^32.
   */
  arithmetic: string
  /** Milliseconds. */
  timing: {
    /** Milliseconds of all work outside JavaScript. */
    totalMs: number
    /** Kernel time: on the GPU only the kernel, on the CPU including the packing of the operands. */
    kernelMs: number
    /** Time for finding the range of the values; 0 if the packing finds it. */
    analysisMs: number
    /**
     * Time for copying the operands to the GPU; 0 on the CPU, and for operands that are on the GPU already.
     */
    h2dMs: number
    /**
     * Time for copying the result from the GPU; 0 on the CPU, for results that stay on the GPU, and for small
     * products, whose kernels write to host memory.
     */
    d2hMs: number
  }
  /**
   * 10^9 operations per second of kernel time, with 2 operations (⊗ and ⊕) in each of the batch·M·N·K steps.
   * With the option `structure` only steps inside the structure count. 0 if no kernel ran.
   */
  gops: number
  /** The structure of the matrices, if the option was given. */
  structure?: Readonly<Required<ProductStructure>>
}

/** Result of {@link star}, {@link plus} and {@link power}. */
export interface AlgebraResult<C = DenseMatrix> {
  /**
   * The result: `out` itself if it was given, otherwise a new row-major matrix, one for each lane of a custom semiring; on a device if a is.
   */
  c: C
  /** The names of the nodes, by rows and columns of `c`, if a is an edge list whose nodes have names. */
  keys?: ArrayLike<unknown>
  /** Backend that computed the result. */
  backend: BackendName
  /** The name of the GPU or of the processor. */
  device: string
  /** Milliseconds. */
  timing: {
    /** Milliseconds from the call to the result. */
    totalMs: number
    /** Milliseconds of the computation, without copies between arrays and the device. */
    kernelMs: number
  }
}

/** Plan of a product. */
export interface Plan {
  /** Backend that would compute the product. */
  backend: BackendName
  /** The kernel variant. */
  variant: VariantName
  /** Parameters of the variant, such as the tile size. */
  parameters: Readonly<Record<string, number | string>>
  /**
   * How the sums are computed: 'byte' and 'byte-translated' in 8 bits, 'half' and 'half-translated' in 16 bits, 'direct' and
   * 'translated' in the element type ('translated' if the semiring's zero occurs in the operands), 'wide' and 'wrapping' in 64
   * bits, 'exponent', 'exponent-wide' and 'exponent-bounded' on tensor cores.
   */
  arithmetic: string
  /** The structure of the matrices, if the option was given. */
  structure?: Readonly<Required<ProductStructure>>
}

/**
 * True if any of the matrices, or of the lanes of a matrix, is on a device. The property `disposed` distinguishes DeviceMatrix from
 * other matrices.
 */
export type IsOnDevice<Matrices> = [
  Extract<Matrices extends readonly (infer Lane)[] ? Lane : Matrices, { readonly disposed: boolean }>,
] extends [never]
  ? false
  : true

/** The witness of a product with the result C: an int32 matrix, on a device if C is. */
export type WitnessOf<C> = IsOnDevice<C> extends true ? DeviceMatrix<Int32Array> : DenseMatrix<Int32Array>

/** Result of a product with the field `witness`, if the type of the option `witness` implies it. */
export type WitnessedResult<Result extends { c: unknown }, Witness extends AnyWitness> = Result &
  ([Witness] extends [true]
    ? {
        /**
         * Argmax index of each element of c: the k that decides it; see the option `witness`. A new row-major
         * matrix of the shape of c.
         */
        witness: WitnessOf<Result['c']>
      }
    : true extends Witness
      ? { witness?: WitnessOf<Result['c']> }
      : unknown)

/** Array type of a result: the common array type of both operands, as far as their types determine it. */
type ElementsOfBoth<A extends OperandArray, B extends OperandArray> =
  Extract<ElementsOf<A>, KindOf<ElementsOf<B>>> extends infer Both extends ElementArray
    ? [Both] extends [never]
      ? ElementArray
      : Both
    : ElementArray

/**
 * Possible locations of an operand: an array unless `Host` is never, a device unless `There` is never; both
 * for type any.
 */
type PlacesOf<Host, There> = [Host | There] extends [never]
  ? 'host' | 'device'
  : ([Host] extends [never] ? never : 'host') | ([There] extends [never] ? never : 'device')

/** A result is in an array if all matrices are, and on a device if any is. */
type PlacesOfResult<A, B, C0> = ('host' & A & B & C0) | Extract<A | B | C0, 'device'>

type NewResult<Data extends ElementArray, Placement> = Placement extends 'host'
  ? DenseMatrix<Data>
  : DeviceMatrix<KindOf<Data, ElementArray>>

/**
 * The type of a product's c: of `out` if it was given, otherwise of a new matrix. `A` and `B` are the arrays of the operands that are,
 * or may be, in arrays, `ThereA` and `ThereB` of those on a device; `C0` is what is accumulated to.
 */
export type ResultOf<
  A extends OperandArray,
  B extends OperandArray,
  ThereA extends OperandArray,
  ThereB extends OperandArray,
  C0 extends AnyAccumulate = undefined,
  Out extends AnyResult | undefined = undefined,
> = Out extends AnyResult
  ? Out
  : NewResult<
      ElementsOfBoth<A | ThereA, B | ThereB>,
      PlacesOfResult<
        PlacesOf<A, ThereA>,
        PlacesOf<B, ThereB>,
        C0 extends DeviceMatrix<ElementArray> ? 'device' : 'host'
      >
    >

/** Members that options must have, as far as types tell: a matrix to accumulate to, and an `out` of the result's elements. */
export type Fitting<
  A extends OperandArray,
  B extends OperandArray,
  C0 extends AnyAccumulate,
  Out extends AnyResult | undefined,
> = ([C0] extends [true] ? ([Out] extends [AnyResult] ? unknown : { out: AnyResult }) : unknown) &
  ([Out] extends [never]
    ? unknown
    : [Out] extends [MatrixLike<infer Data>]
      ? [Data] extends [KindOf<ElementsOfBoth<A, B>, ElementArray>]
        ? unknown
        : { out: MatrixLike<KindOf<ElementsOfBoth<A, B>, ElementArray>> }
      : unknown)

const { variants, backends, paths: arithmetics } = addon

/** Memories of results on a device: of the lanes of c unless `out` was given, and of the auxiliary outputs. */
export interface AllocatedMemories {
  readonly results: readonly SharedMemory[]
  readonly auxiliary: readonly SharedMemory[]
}

const nothingMade: AllocatedMemories = { results: [], auxiliary: [] }

const listOf = (nativeResult: NativeResult): readonly NativeMemory[] =>
  nativeResult === undefined
    ? []
    : Array.isArray(nativeResult)
      ? nativeResult
      : [nativeResult as NativeMemory]

/** Sets the arrays that WebGPU has allocated for results without a destination, in the order of the results. */
export function adoptArrays({ c, auxiliary }: Product, arrays: unknown): undefined {
  const allocated = (arrays as readonly ElementArray[] | undefined) ?? []
  const results = [c!, ...auxiliary].filter(({ data }) => data === null)
  for (const [index, result] of results.entries()) result.data = allocated[index]!
}

/** Releases the memory that native code has allocated for a result that isn't returned. */
export function releaseAllocated(nativeResult: NativeResult): void {
  for (const memory of listOf(nativeResult)) addon.release(memory)
}

export function allocatedMemories(
  nativeResult: NativeResult,
  { session, requestedOutputs }: Call,
): AllocatedMemories {
  if (nativeResult === undefined) return nothingMade
  const all = listOf(nativeResult).map((memory) => new SharedMemory(memory, session!))
  // Memories of auxiliary outputs come last.
  const auxiliary = all.splice(all.length - requestedOutputs.length)
  return { results: all, auxiliary }
}

/**
 * Returns the result for the user; the report's fields begin at `start`. On a device the result begins at
 * `offset` of the allocated memories, and each auxiliary output at `auxiliaryOffset`.
 */
export function resultOf<C extends AnyResult>(
  product: Product,
  memories: AllocatedMemories,
  report: Float64Array,
  start = 0,
  offset = 0,
  auxiliaryOffset = 0,
): WitnessedResult<MpmmResult<C>, boolean> {
  const { call, session, structure } = product
  const c = (product.out ? product.outValue : newResult(product, memories, offset)) as C
  const backend = backends[report[start + at.backend]!]!
  const device = session
    ? session.name
    : backend === 'webgpu'
      ? nameOfKnownGpu()
      : deviceName(report[start + at.device]!)
  const devices =
    backend === 'webgpu' ? noDevices : devicesOf(report[start + at.devices]!, report[start + at.device]!)
  const timing = timingOf(report, start)
  const gops = gopsOf(report, start)
  const isBuiltIn = call.algebra.lanes === null
  const variant = isBuiltIn ? (variants[report[start + at.variant]!] as NativeVariant).name : undefined
  const arithmetic = isBuiltIn ? arithmetics[report[start + at.path]!] : undefined
  // Creates complete objects, because groups create thousands of results, and adding a member later is slow.
  // Custom semirings have no variants.
  const result = (
    isBuiltIn
      ? { c, backend, device, devices, variant, arithmetic, timing, gops }
      : { c, backend, device, devices, timing, gops }
  ) as WitnessedResult<MpmmResult<C>, boolean>
  if (structure) result.structure = structure.shown
  call.requestedOutputs.forEach(({ name }, index) => {
    const memory = memories.auxiliary[index]
    result[name] = (
      memory ? inMemory(memory, product.newAuxiliary(auxiliaryOffset)) : inArray(product.auxiliary[index]!)
    ) as WitnessOf<C>
  })
  return result
}

/** The plan of a product over a semiring of the library. */
export function planOf(report: Float64Array, structure: ReadStructure | null): Plan {
  const { name, parameters } = variants[report[at.variant]!] as NativeVariant
  return {
    backend: backends[report[at.backend]!]!,
    variant: name,
    parameters,
    arithmetic: arithmetics[report[at.path]!]!,
    ...(structure && { structure: structure.shown }),
  }
}

const timingOf = (report: Float64Array, start: number): MpmmResult['timing'] => ({
  totalMs: report[start + at.totalMs]!,
  kernelMs: report[start + at.kernelMs]!,
  analysisMs: report[start + at.analysisMs]!,
  h2dMs: report[start + at.h2dMs]!,
  d2hMs: report[start + at.d2hMs]!,
})

/** Returns the value of {@link MpmmResult.gops}. */
function gopsOf(report: Float64Array, start: number): number {
  const kernelMs = report[start + at.kernelMs]!
  return kernelMs > 0 ? (2 * report[start + at.steps]!) / kernelMs / 1e6 : 0
}

const noDevices: readonly number[] = Object.freeze([])
/** Cache of lists with one device, by device: the thousands of results of a group share one list. */
const oneDevice: (readonly number[])[] = []

/**
 * `together` is the bit set of the devices that computed a product together; 0 if a single device or the CPU
 * computed it.
 */
function devicesOf(together: number, device: number): readonly number[] {
  if (together > 0) return devicesIn(together)
  if (device < 0) return noDevices
  oneDevice[device] ??= Object.freeze([device])
  return oneDevice[device]
}

function newResult(product: Product, memories: AllocatedMemories, offset: number): unknown {
  const { lanes: types, isList } = product.call.algebra
  const ofLane = (lane: Product, index: number): unknown => {
    const memory = memories.results[index]
    if (memory) return inMemory(memory, lane.newElements(offset))
    return types ? asLane(inArray(lane.c!) as DenseMatrix, types[index]!) : inArray(lane.c!)
  }
  return isList ? product.lanes.map(ofLane) : ofLane(product, 0)
}

const inMemory = (memory: SharedMemory, elements: Elements) =>
  new DeviceMatrix<ElementArray>(new ResidentView(memory, elements))

const inArray = (result: Result): DenseMatrix<ElementArray> =>
  rowMajorMatrix(result.data as ElementArray, shapeOf(result))
