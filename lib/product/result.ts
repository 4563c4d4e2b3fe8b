/** Converts native code's report of a product to the result for the user. */

import { deviceName, devicesIn } from '../backend.js'
import type { BackendName } from '../backend-name.js'
import { DeviceMatrix } from '../device/device.js'
import { ResidentView, SharedMemory } from '../device/resident.js'
import { reportAt as at } from '../fields.js'
import { type Elements, shapeOf } from '../layout.js'
import { type DenseMatrix, type MatrixLike, rowMajorMatrix } from '../matrix.js'
import { addon, type Made, type NativeMemory, type NativeVariant } from '../native.js'
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
  /** Backend that computed it. */
  backend: BackendName
  /** The name of the GPU or of the processor. */
  device: string
  /** The indices of the CUDA devices that computed it: one, or several if the option `devices` names them; none on the CPU and by WebGPU. */
  devices: readonly number[]
  /** The kernel variant that computed it. On several devices it is that of the part whose arithmetic has the most bits. */
  variant: VariantName
  /**
   * Arithmetic of the sums. The values of the operands decide; results of integers are exact in all of them. 'direct': sums in
   * the element type itself, the only one for floating-point elements. 'translated': the same, with another value in place
   * of the semiring's zero. 'half' and 'half-translated': 16-bit sums, after an offset is subtracted from each operand;
   * 'byte' and 'byte-translated': 8-bit sums, on the CPU.
   * 'exponent', 'exponent-wide' and 'exponent-bounded': on tensor cores, as exponents of numbers, if there are few levels.
   * 'wide': 64-bit sums. 'wrapping': 64-bit sums, the finite ones modulo 2^32.
   */
  arithmetic: string
  /** Milliseconds. */
  timing: {
    /** The whole work outside JavaScript. */
    totalMs: number
    /** Kernel time: on the GPU only the kernel, on the CPU including the packing of the operands. */
    kernelMs: number
    /** Finding the range of the values; 0 if the packing does it. */
    analysisMs: number
    /** Copy of the operands to the GPU; 0 on the CPU, and for operands that are on the GPU already. */
    h2dMs: number
    /**
     * The copy of the result from the GPU; 0 on the CPU, for results that stay there, and for small products, whose kernels
     * write to host memory.
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

/** Plan of a product. */
export interface Plan {
  /** The backend that would compute it. */
  backend: BackendName
  /** The kernel variant. */
  variant: VariantName
  /** Its parameters, such as the tile. */
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

/** The witness of a result: an int32 matrix where c is. */
export type WitnessOf<C extends AnyResult> =
  C extends DeviceMatrix<ElementArray> ? DeviceMatrix<Int32Array> : DenseMatrix<Int32Array>

/** {@link MpmmResult} with the field `witness`, if the type of the option `witness` implies it. */
export type WitnessedResult<C extends AnyResult, Witness extends AnyWitness> = MpmmResult<C> &
  ([Witness] extends [true]
    ? {
        /**
         * Argmax index of each element of c: the k that decides it; see the option `witness`. A new row-major
         * matrix of the shape of c.
         */
        witness: WitnessOf<C>
      }
    : true extends Witness
      ? { witness?: WitnessOf<C> }
      : unknown)

/** The array of a result's elements: what both operands have, as far as their types tell. */
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
  readonly further: readonly SharedMemory[]
}

const nothingMade: AllocatedMemories = { results: [], further: [] }

const listOf = (made: Made): readonly NativeMemory[] =>
  made === undefined ? [] : Array.isArray(made) ? made : [made as NativeMemory]

/** Releases the memory that native code has allocated for a result that isn't returned. */
export function releaseAllocated(made: Made): void {
  for (const memory of listOf(made)) addon.release(memory)
}

export function allocatedMemories(made: Made, { session, asked }: Call): AllocatedMemories {
  if (made === undefined) return nothingMade
  const all = listOf(made).map((memory) => new SharedMemory(memory, session!))
  // Memories of auxiliary outputs come last.
  const further = all.splice(all.length - asked.length)
  return { results: all, further }
}

/**
 * Returns the result for the user; the report's fields begin at `start`. On a device the result begins at
 * `offset` of the allocated memories, and each auxiliary output at `furtherOffset`.
 */
export function resultOf<C extends AnyResult>(
  product: Product,
  made: AllocatedMemories,
  report: Float64Array,
  start = 0,
  offset = 0,
  furtherOffset = 0,
): WitnessedResult<C, boolean> {
  const { call, session, structure } = product
  const c = (product.out ? product.outValue : newResult(product, made, offset)) as C
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
  // Whole objects, because groups make thousands, and a member that is added later takes long. Semirings of users have no variants.
  const result = (
    isBuiltIn
      ? { c, backend, device, devices, variant, arithmetic, timing, gops }
      : { c, backend, device, devices, timing, gops }
  ) as WitnessedResult<C, boolean>
  if (structure) result.structure = structure.shown
  call.asked.forEach(({ name }, index) => {
    const memory = made.further[index]
    result[name] = (
      memory ? inMemory(memory, product.newFurther(furtherOffset)) : inArray(product.further[index]!)
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
/** By the device: a group has thousands of results, all of the same one. */
const oneDevice: (readonly number[])[] = []

/** `together`: those that computed a product together; 0 if one did, or the CPU. */
function devicesOf(together: number, device: number): readonly number[] {
  if (together > 0) return devicesIn(together)
  if (device < 0) return noDevices
  oneDevice[device] ??= Object.freeze([device])
  return oneDevice[device]
}

function newResult(product: Product, made: AllocatedMemories, offset: number): unknown {
  const { lanes: types, isList } = product.call.algebra
  const ofLane = (lane: Product, index: number): unknown => {
    const memory = made.results[index]
    if (memory) return inMemory(memory, lane.newElements(offset))
    return types ? asLane(inArray(lane.c!) as DenseMatrix, types[index]!) : inArray(lane.c!)
  }
  return isList ? product.lanes.map(ofLane) : ofLane(product, 0)
}

const inMemory = (memory: SharedMemory, elements: Elements) =>
  new DeviceMatrix<ElementArray>(new ResidentView(memory, elements))

const inArray = (result: Result): DenseMatrix<ElementArray> =>
  rowMajorMatrix(result.data as ElementArray, shapeOf(result))
