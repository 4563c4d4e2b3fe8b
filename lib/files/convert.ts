/** Matrices of one element type as another. */

import { zeroOf } from '../built-in.js'
import { elementType, isIntegers, typeNameOf } from '../elements.js'
import { shapeOf } from '../layout.js'
import type { Matrix } from '../matrix.js'
import type { ElementArray } from '../storage.js'
import type { DataType } from '../variant-names.js'
import { readHostView } from '../view.js'
import { ElementMaker, hasType, infiniteZero, typeFor, type Wanted } from './dense.js'
import { newMatrixData } from './memory.js'
import { gather } from './npy-content.js'

/** Elements that are converted before the event loop has its turn. */
const PER_TURN = 1 << 19

/** The type of a matrix of a file that states its type, and the one that it is to have. */
function typeOfTyped(dtype: DataType, wanted: Wanted, name: string): DataType {
  // Bytes may be booleans, which are no numbers unless the caller says so.
  if (wanted.dtype === undefined && (hasType(wanted.semiring, dtype) || dtype === 'uint8')) return dtype
  return typeFor(wanted, isIntegers(dtype) ? 'integer' : 'real', name)
}

/** Whether a matrix must be read as bytes: then integers of any type and booleans are. */
export const bytesOnly = ({ semiring, dtype }: Wanted) => dtype === 'uint8' || !hasType(semiring, 'float64')

/**
 * The matrix with elements of the type that is wanted: the semiring's zero stays its zero, other numbers are held exactly or
 * refused, and fractions are rounded to float32. If it has that type, it is given back as it is.
 */
export async function convertMatrix(
  matrix: Matrix<ElementArray>,
  wanted: Wanted,
  name: string,
): Promise<Matrix<ElementArray>> {
  const from = typeNameOf(elementType(matrix.data))
  const to = typeOfTyped(from, wanted, name)
  if (from === to) return matrix
  const { semiring } = wanted
  const view = readHostView(matrix, name, 'result')
  const shape = shapeOf(view)
  const count = view.batch * view.rows * view.cols
  const data = newMatrixData(count, name, to, wanted.maxBytes)
  const make = new ElementMaker(semiring, to)
  const zero = hasType(semiring, from) ? zeroOf(semiring, from) : Number.NaN
  const infinity = infiniteZero(semiring)
  let next = PER_TURN
  const row = new (matrix.data.constructor as Int32ArrayConstructor)(view.cols)
  for (let at = 0; at < count; at += view.cols) {
    if (at >= next) {
      next = at + PER_TURN
      await new Promise((resolve) => setImmediate(resolve))
    }
    gather(view, at, row)
    for (let col = 0; col < view.cols; col++) {
      const value = row[col] === zero && !Number.isNaN(infinity) ? infinity : row[col]!
      data[at + col] = make.of(value) ?? make.refuse(name, value, indexOf(at + col, shape))
    }
  }
  return { data, shape }
}

function indexOf(at: number, shape: readonly number[]): number[] {
  const index: number[] = []
  let rest = at
  for (const size of [...shape].reverse()) {
    index.unshift(rest % size)
    rest = Math.floor(rest / size)
  }
  return index
}
