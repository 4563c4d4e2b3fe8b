/** Reads vectors of the max-plus toolkit, in any accepted form, into new arrays. */

import { assertOrdinaryArray } from '../borrowed.js'
import { storedZeroOf, zeroOf } from '../built-in-semirings.js'
import { show, showList, typeName } from '../describe.js'
import { type DeviceMatrix, onHost } from '../device/device.js'
import { elementType, isElementArray, isInteger, isNarrow, newArray, typeNameOf } from '../elements.js'
import { DTypeError, ShapeError, ValueError } from '../errors.js'
import type { NodeNames } from '../graph-core/names.js'
import { shapeOf } from '../layout.js'
import type { MatrixLike } from '../matrix.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { assertAttached, type HostView, readBack } from '../view.js'
import type { SumSemiring } from './weights.js'

/** A vector of n elements: an n × 1 matrix, or an array. */
export type Vector = MatrixLike<OperandArray> | DeviceMatrix<OperandArray> | ElementArray | readonly number[]

/**
 * Reads a vector of `length` elements of a type, by its number, into a new array.
 *
 * @throws ERR_MPMML_SHAPE for another length, ERR_MPMML_DTYPE for another type, ERR_MPMML_VALUE for NaN.
 */
export async function readVector(
  value: Vector,
  length: number,
  type: number,
  semiring: SumSemiring,
  name: string,
  names: NodeNames | null = null,
): Promise<ElementArray> {
  if (Array.isArray(value) || isElementArray(value)) return readArray(value, length, type, name, names)
  if (ArrayBuffer.isView(value)) {
    throw new DTypeError(
      `${name} must be of ${typeNameOf(type)}, as the weights are, but it is ${typeName(value)}`,
    )
  }
  const view = readBack(await onHost(value as MatrixLike<OperandArray>), name, 'operand')
  assertAttached(view, name)
  if (view.batched || view.cols !== 1 || view.rows !== length) {
    throw new ShapeError(
      `${name} must be a vector of ${length} elements, a ${length} × 1 matrix, but its shape is ${showList(shapeOf(view))}`,
    )
  }
  return elementsOf(view, length, type, semiring, name, names)
}

/** The elements of a matrix, in row-major order. */
function elementsOf(
  view: HostView,
  nodes: number,
  type: number,
  semiring: SumSemiring,
  name: string,
  names: NodeNames | null,
): ElementArray {
  const { data, rows, cols, offset, rowStride, colStride } = view
  assertType(view.type, type, name)
  const zero = isNarrow(view) ? storedZeroOf(semiring, view) : undefined
  const whole = zeroOf(semiring, 'int32')
  const copy = newArray(type, rows * cols)
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < cols; j++) {
      const element = data[offset + i * rowStride + j * colStride]!
      copy[i * cols + j] = element === zero ? whole : element
    }
  }
  assertNumbers(copy, nodes, name, names)
  return copy
}

/**
 * Reads the last states of a system of `length` nodes: a single state, see {@link readVector}, or a matrix
 * whose rows are the states, x(0) last. Returns the states in the given order.
 */
export async function readStates(
  value: Vector,
  length: number,
  type: number,
  semiring: SumSemiring,
  name: string,
  names: NodeNames | null = null,
): Promise<ElementArray> {
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    return await readVector(value, length, type, semiring, name, names)
  }
  const matrix = await onHost(value as MatrixLike<OperandArray>)
  const view = readBack(matrix, name, 'operand')
  if (view.batched || view.cols !== length || view.rows === 0) {
    return await readVector(matrix, length, type, semiring, name, names)
  }
  assertAttached(view, name)
  return elementsOf(view, length, type, semiring, name, names)
}

function readArray(
  value: ElementArray | readonly number[],
  length: number,
  type: number,
  name: string,
  names: NodeNames | null,
): ElementArray {
  assertOrdinaryArray(value, name)
  if (value.length !== length) {
    throw new ShapeError(
      `${name} must have ${length} elements, one for each node, but it has ${value.length}`,
    )
  }
  if (!Array.isArray(value)) assertType(elementType(value), type, name)
  const copy = newArray(type, length)
  for (let i = 0; i < length; i++) {
    const element: unknown = value[i]
    if (typeof element !== 'number' || (isInteger(type) && (element | 0) !== element)) {
      throw new DTypeError(
        `${elementText(name, i, length, length, names)} must be ${isInteger(type) ? 'an int32 integer, as the weights are' : 'a number'}, but it is ${show(element)}`,
      )
    }
    copy[i] = element
  }
  assertNumbers(copy, length, name, names)
  return copy
}

function assertType(came: number, type: number, name: string): void {
  if (came === type) return
  throw new DTypeError(
    `${name} must be of ${typeNameOf(type)}, as the weights are, but it is of ${typeNameOf(came)}`,
  )
}

function assertNumbers(values: ElementArray, nodes: number, name: string, names: NodeNames | null): void {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isNaN(values[i])) continue
    throw new ValueError(
      `${elementText(name, i, values.length, nodes, names)} is NaN, but it must be a number`,
    )
  }
}

/**
 * Returns the text for an element in messages, with the name of its node. The element belongs to a vector, or
 * to a matrix whose rows have an element for each node.
 *
 * @param length - number of elements.
 */
export function elementText(
  name: string,
  at: number,
  length: number,
  nodes: number,
  names: NodeNames | null,
): string {
  const node = at % nodes
  const place = length === nodes ? `${at}` : `${Math.floor(at / nodes)}, ${node}`
  return `${name}[${place}]${names ? ` of ${names.show(node)}` : ''}`
}
