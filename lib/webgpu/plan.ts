/**
 * Plans a product: the form of elements, tiles, blocks that fit, and checks of the plan against facts of the
 * operands. Computes no product.
 */
import type { NativeVariant } from '../native-interface.js'
import { failure, notExact } from './failure.js'
import {
  FACTS,
  GREATEST,
  LEAST,
  MAX_FLOAT,
  MIN_FLOAT,
  type Mode,
  OTHER,
  type StoredBits,
  TINIEST,
} from './kernels/arithmetic.js'
import { floatBits, SATURATE, WRAP } from './kernels/store.js'
import type { ReadPart } from './transfers.js'
import type { GpuView } from './views.js'

/** Mode of a product, or 33-bit sums. */
export type ProductMode = Mode | 'wide'
/** Rows of a workgroup's tile. */
type TileRows = 32 | 64 | 128

/** A semiring and element type that kernels compute. */
export interface Kind {
  readonly semiring: string
  readonly dtype: string
  readonly mode: Mode
  readonly isMax: boolean
  readonly isFloat: boolean
  /** Bits of an element of the result. */
  readonly bits: StoredBits
}

const semirings = ['max-plus', 'min-plus', 'max-min', 'min-max', 'or-and', 'xor-and']

/** Returns the kind, or throws an error that says what WebGPU lacks. */
export function kindOf(semiring: string, dtype: string): Kind {
  if (dtype === 'float64') {
    throw failure('ERR_MPMML_DTYPE', "WebGPU has no float64: use float32, or the backend 'cpu' or 'cuda'")
  }
  if (!semirings.includes(semiring)) throw notExact(`products over ${semiring}`)
  const [isMax, isFloat] = [semiring.startsWith('max'), dtype === 'float32']
  const isSum = semiring.endsWith('plus')
  const mode = dtype === 'uint8' ? 'bits' : isFloat ? (isSum ? 'float' : 'keys') : isSum ? 'offset' : 'plain'
  return { semiring, dtype, mode, isMax, isFloat, bits: dtype === 'uint8' ? 8 : 32 }
}

/** Tiles of the largest kind from which on it keeps a large GPU busy: an H100 has 132 multiprocessors. */
const ENOUGH_TILES = 100

/** Rows of the tiles for results of this size. */
export function tileRowsOf(m: number, n: number, batch: number): TileRows {
  if (Math.ceil(m / 128) * Math.ceil(n / 128) * batch >= ENOUGH_TILES && m > 64 && n > 64) return 128
  return m > 32 && n > 32 ? 64 : 32
}

/** Index of the variant for a kind and a tile; `requested`: that of the option, or −1. */
export function variantOf(variants: readonly NativeVariant[], kind: Kind, rows: TileRows): number {
  return variants.findIndex(
    ({ backend, semiring, dtype, parameters }) =>
      (backend as string) === 'webgpu' &&
      semiring === kind.semiring &&
      dtype === kind.dtype &&
      parameters.BM === rows,
  )
}

/** Rows of the tile of a variant that was asked for by name. */
export function tileRowsOfVariant(variant: NativeVariant, kind: Kind): TileRows {
  const { backend, name, semiring, dtype, parameters } = variant
  if ((backend as string) !== 'webgpu' || semiring !== kind.semiring || dtype !== kind.dtype) {
    throw failure(
      'ERR_MPMML_VARIANT',
      `variant ${name} computes ${semiring} of ${dtype} on the backend '${backend}', but the product is one of ${kind.semiring} of ${kind.dtype} on 'webgpu'`,
    )
  }
  return parameters.BM as TileRows
}

/** Part of a product. */
export interface Block {
  readonly z0: number
  readonly items: number
  readonly i0: number
  readonly rows: number
  readonly j0: number
  readonly cols: number
}

/** Entries of a batch, and rows or columns, of a block: limits of dispatches. */
const MAX_ITEMS = 65535
const MAX_SIDE = 2 ** 17
/** Elements of the result of a block: indices of faults are int32. */
const MAX_RESULTS = 2 ** 30

/** Divides a product into blocks whose operands and result, padded to tiles, each take at most `maxBytes` if possible. */
export function blocksOf(batch: number, m: number, n: number, k: number, maxBytes: number): Block[] {
  const most = Math.min(maxBytes / 4, MAX_RESULTS)
  const largest = (rows: number, cols: number) =>
    Math.max((rows + 128) * (cols + 128), rows * k + 128, cols * k + 128)
  let [rows, cols] = [m, n]
  const halved = (side: number) => (side > 256 ? Math.ceil(side / 256) * 128 : Math.ceil(side / 2))
  while (Math.max(rows, cols) > 1 && (Math.max(rows, cols) > MAX_SIDE || largest(rows, cols) > most)) {
    if (rows >= cols) rows = halved(rows)
    else cols = halved(cols)
  }
  const items = Math.max(1, Math.min(batch, MAX_ITEMS, Math.floor(most / largest(rows, cols))))
  const blocks: Block[] = []
  for (let z0 = 0; z0 < batch; z0 += items)
    for (let i0 = 0; i0 < m; i0 += rows)
      for (let j0 = 0; j0 < n; j0 += cols)
        blocks.push({
          ...{ z0, items: Math.min(items, batch - z0) },
          ...{ i0, rows: Math.min(rows, m - i0), j0, cols: Math.min(cols, n - j0) },
        })
  return blocks
}

/** A product of one block. Results are row-major, `c` and `witness` with these strides. */
export interface ProductTask {
  readonly kind: Kind
  readonly rows: TileRows
  readonly batch: number
  readonly m: number
  readonly n: number
  readonly k: number
  readonly a: GpuView
  readonly b: GpuView
  readonly c0: GpuView | null
  readonly c: GpuView
  readonly witness: GpuView | null
  /** Index in the addon's overflowPolicies. */
  readonly policy: number
  /** Results that are read when the product has succeeded. */
  readonly reads: readonly ReadPart[]
  /** Throws if the work was aborted. */
  readonly check: () => void
}

/** Facts of an operand, from the words of a status. */
export interface ValueBounds {
  readonly least: number
  readonly greatest: number
  readonly hasOther: boolean
  readonly tiniest: number
  readonly isEmpty: boolean
}

export function factsOf(status: Int32Array, operand: 0 | 1): ValueBounds {
  const at = FACTS[operand]
  const [least, greatest] = [status[at + LEAST]!, status[at + GREATEST]!]
  const isEmpty = least > greatest
  return {
    least: isEmpty ? 0 : least,
    greatest: isEmpty ? 0 : greatest,
    hasOther: status[at + OTHER] === 1,
    tiniest: status[at + TINIEST]!,
    isEmpty,
  }
}

/** Bits that are free below each sum of two operands whose offsets were subtracted; negative if 32 bits don't hold the sums. */
export function spareBits(a: ValueBounds, b: ValueBounds): number {
  const most = a.greatest - a.least + (b.greatest - b.least) + 2
  return 31 - Math.ceil(Math.log2(most + 1))
}

/** Returns whether no sum of two finite values leaves the finite range of int32. */
export function staysInside(a: ValueBounds, b: ValueBounds, isMax: boolean): boolean {
  const [least, most] = isMax ? [-(2 ** 31) + 1, 2 ** 31 - 1] : [-(2 ** 31), 2 ** 31 - 2]
  return a.isEmpty || b.isEmpty || (a.least + b.least >= least && a.greatest + b.greatest <= most)
}

/** Throws unless the float kernels are exact for an operand: no infinity but zero, no sum that is infinite or subnormal. */
export function assertFloats({ least, greatest, hasOther, tiniest, isEmpty }: ValueBounds): void {
  const edge = floatBits(MAX_FLOAT)
  if (hasOther) throw notExact('sums of float32 with the infinity that is not the zero of the semiring')
  if (!isEmpty && (greatest > edge || least < (edge ^ -1))) throw notExact('sums of float32 beyond ±2^124')
  if (tiniest < floatBits(MIN_FLOAT)) throw notExact('sums of float32 below ±2^-102')
}

/** Throws unless facts allow a policy for sums: wrapped sums, and the witness of saturated ones, only if no sum leaves int32. */
export function assertPolicy(
  a: ValueBounds,
  b: ValueBounds,
  isMax: boolean,
  policy: number,
  witness: boolean,
): void {
  if (staysInside(a, b, isMax)) return
  if (policy === WRAP) throw notExact('sums that wrap')
  if (policy === SATURATE && witness) throw notExact('the witness of sums that saturate')
}
