/** Converts matrices between element types. */

import { zeroOf } from '../built-in-semirings.js'
import { elementType, isIntegers, newArray, typeNameOf } from '../elements.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { shapeOf } from '../layout.js'
import type { Matrix } from '../matrix.js'
import type { ElementArray } from '../storage.js'
import type { DataType, Semiring } from '../variant-names.js'
import { gather, type HostView, readBack } from '../view.js'
import { type DenseRequest, ElementMaker, hasType, infiniteZero, typeFor } from './dense.js'
import { newMatrixData } from './memory.js'
import { elementIndex } from './npy-content.js'

/** Returns the element type for a matrix of a file that states a type. */
function typeOfTyped(dtype: DataType, request: DenseRequest, name: string): DataType {
  // Bytes may be booleans, which are converted to numbers only if the caller requests a type.
  if (request.dtype === undefined && (hasType(request.semiring, dtype) || dtype === 'uint8')) return dtype
  return typeFor(request, isIntegers(dtype) ? 'integer' : 'real', name)
}

/**
 * Returns whether a matrix must be read as bytes, into which integers of any type and booleans are converted.
 */
export const bytesOnly = ({ semiring, dtype }: DenseRequest) =>
  dtype === 'uint8' || !hasType(semiring, 'float64')

/**
 * Converts a matrix to the requested element type. The semiring's zero stays its zero, other numbers are
 * converted exactly or refused, and fractions are rounded to float32. A matrix of that type is returned
 * unchanged.
 */
export async function convertMatrix(
  matrix: Matrix<ElementArray>,
  request: DenseRequest,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Matrix<ElementArray>> {
  const from = typeNameOf(elementType(matrix.data))
  const to = typeOfTyped(from, request, name)
  if (from === to) return matrix
  const { semiring } = request
  const view = readBack(matrix, name, 'result')
  const shape = shapeOf(view)
  const count = view.batch * view.rows * view.cols
  const data = newMatrixData(count, name, to, request.maxBytes)
  await inSlices(converting({ view, from, to, semiring, name }, data), signal, 'reading a file')
  return { data, shape }
}

/** A conversion of elements. */
interface Conversion {
  readonly view: HostView<ElementArray>
  readonly from: DataType
  readonly to: DataType
  readonly semiring: Semiring
  /** The name of the matrix in messages. */
  readonly name: string
}

function* converting({ view, from, to, semiring, name }: Conversion, data: ElementArray): Steps<void> {
  const make = new ElementMaker(semiring, to)
  const zero = hasType(semiring, from) ? zeroOf(semiring, from) : Number.NaN
  const infinity = infiniteZero(semiring)
  const block = newArray(view.type, Math.min(PER_SLICE, data.length))
  for (let first = 0; first < data.length; first += block.length) {
    const count = Math.min(block.length, data.length - first)
    gather(view, first, block.subarray(0, count))
    for (let at = 0; at < count; at++) {
      const value = block[at] === zero && !Number.isNaN(infinity) ? infinity : block[at]!
      data[first + at] =
        make.of(value) ?? make.refuse(name, value, elementIndex(first + at, shapeOf(view), false))
    }
    yield
  }
}
