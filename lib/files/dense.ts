/** Creates dense matrices from files: chooses the element type and converts the elements. */

import { readSemiring, zeroOf } from '../built-in-semirings.js'
import { show } from '../describe.js'
import { isIntegers, rangeOf } from '../elements.js'
import { DTypeError, FileError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import type { Matrix } from '../matrix.js'
import { addon } from '../native.js'
import { joinOf } from '../semiring-order.js'
import type { ElementArray } from '../storage.js'
import type { DataType, Semiring } from '../variant-names.js'
import type { Accepted, EntriesHead, EntrySink, Values } from './entries.js'
import { newMatrixData } from './memory.js'

/** Requested conversion of a file's numbers. */
export interface DenseRequest {
  readonly semiring: Semiring
  /** Element type; undefined for a type that can represent the file's values. */
  readonly dtype: DataType | undefined
  /** Limit of the elements' bytes. Default Infinity. */
  readonly maxBytes: number
}

/** Returns the requested conversion of a file. Throws DTypeError if the semiring doesn't have the type. */
export function denseRequest(
  semiring: Semiring | undefined,
  dtype: DataType | undefined,
  maxBytes = Number.POSITIVE_INFINITY,
): DenseRequest {
  // or-and is the only semiring of bytes.
  const name = semiring ?? (dtype === 'uint8' ? 'or-and' : 'max-plus')
  if (dtype !== undefined) zeroOf(name, dtype)
  return { semiring: name, dtype, maxBytes }
}

/** Returns whether a semiring has an element type. */
export function hasType(semiring: Semiring, dtype: DataType): boolean {
  return addon.semirings[readSemiring(semiring)]!.zeros[dtype] !== undefined
}

/** Returns the element type for a file's values: the semiring's first type that can represent them. */
export function typeFor({ semiring, dtype }: DenseRequest, values: Values, name: string): DataType {
  if (dtype !== undefined) return dtype
  const possible: DataType[] = values === 'real' ? ['float64'] : ['int32', 'float64', 'uint8']
  const found = possible.find((type) => hasType(semiring, type))
  if (found !== undefined) return found
  throw new DTypeError(`${name} has real numbers, but ${semiring} has only bytes: choose another semiring`)
}

/** Integers that float64 holds exactly. */
const EXACT = Number.MAX_SAFE_INTEGER

/** Returns the semiring's zero if it is an infinity, otherwise NaN. */
export function infiniteZero(semiring: Semiring): number {
  const zero = zeroOf(semiring, hasType(semiring, 'float64') ? 'float64' : 'uint8')
  return zero === 0 ? Number.NaN : zero
}

/**
 * Converts numbers to elements of a type. An infinity that is the semiring's zero becomes the zero of the
 * type. Other numbers must be representable exactly, except that float32 rounds fractions.
 */
export class ElementMaker {
  readonly dtype: DataType
  readonly zero: number
  readonly #infinity: number
  readonly #integers: boolean
  readonly #least: number
  readonly #most: number

  constructor(semiring: Semiring, dtype: DataType) {
    this.dtype = dtype
    this.zero = zeroOf(semiring, dtype)
    this.#infinity = infiniteZero(semiring)
    this.#integers = isIntegers(dtype)
    ;[this.#least, this.#most] = this.#integers ? rangeOf(dtype) : [-EXACT, EXACT]
  }

  /** Returns the element for `value`; undefined if the type can't represent the value. */
  of(value: number): number | undefined {
    if (this.dtype === 'float64') return value
    if (this.#integers) {
      if (value === this.#infinity) return this.zero
      return Math.trunc(value) === value && value >= this.#least && value <= this.#most
        ? value + 0
        : undefined
    }
    const rounded = Math.fround(value)
    if (rounded === value || Number.isNaN(value)) return value
    return Number.isInteger(value) || !Number.isFinite(rounded) ? undefined : rounded
  }

  /** Returns the values that a file of kind `values` may contain. */
  accepted(values: Values): Accepted {
    return { least: this.#least, most: this.#most, special: values !== 'integer' }
  }

  /** Throws the error for a number for which {@link of} has no element. */
  refuse(name: string, value: number, index: readonly number[]): never {
    const holds = this.#integers
      ? `${this.dtype} holds only integers from ${this.#least} to ${this.#most}`
      : ''
    throw new FileError(
      `${name}: the value at index [${index.join(', ')}] is ${show(value)}, but ` +
        `${holds || 'float32 would change it'}: read it as ${this.#integers ? 'float64, or scale or round it first' : 'float64'}`,
    )
  }
}

/** Number of elements that are filled between two yields: up to 2 ms in new memory. */
const PER_FILL = 1 << 18

/**
 * Writes entries to a dense matrix in row-major order. Elements without an entry are the semiring's zero;
 * several entries of one element are joined by ⊕.
 */
export class DenseEntries implements EntrySink<Matrix<ElementArray>> {
  readonly #name: string
  readonly #wanted: DenseRequest
  readonly #join: (x: number, y: number) => number
  #make!: ElementMaker
  #data!: ElementArray
  #cols = 0

  constructor(name: string, request: DenseRequest) {
    this.#name = name
    this.#wanted = request
    this.#join = joinOf(readSemiring(request.semiring))
  }

  *begin({ rows, cols, values }: EntriesHead): Steps<Accepted> {
    const dtype = typeFor(this.#wanted, values, this.#name)
    this.#make = new ElementMaker(this.#wanted.semiring, dtype)
    this.#cols = cols!
    this.#data = newMatrixData(rows! * cols!, this.#name, dtype, this.#wanted.maxBytes)
    const { zero } = this.#make
    const { length } = this.#data
    for (let at = 0; zero !== 0 && at < length; at += PER_FILL) {
      this.#data.fill(zero, at, Math.min(at + PER_FILL, length))
      yield
    }
    return this.#make.accepted(values)
  }

  add(row: number, col: number, value: number): void {
    const element = this.#make.of(value) ?? this.#make.refuse(this.#name, value, [row, col])
    const at = row * this.#cols + col
    const before = this.#data[at]!
    this.#data[at] = before === this.#make.zero ? element : this.#join(before, element)
  }

  // biome-ignore lint/correctness/useYield: the other sink has work to do here
  *end(rows: number, cols: number): Steps<Matrix<ElementArray>> {
    return { data: this.#data, shape: [rows, cols] }
  }
}
