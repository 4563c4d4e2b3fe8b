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
import { assertAttached, gather, type HostView, readBack } from '../view.js'
import type { SumSemiring } from './weights.js'

/** A vector of n elements: an n × 1 matrix, or an array. */
export type Vector = MatrixLike<OperandArray> | DeviceMatrix<OperandArray> | ElementArray | readonly number[]

/** Required form of a vector. */
export interface VectorForm {
  /** Name of the vector in messages. */
  readonly name: string
  /** Number of elements. */
  readonly length: number
  /** Number of the element type. */
  readonly type: number
  readonly semiring: SumSemiring
  /** Names of the nodes that the elements belong to. */
  readonly names?: NodeNames | null
  /** Whether a matrix of `length` columns is accepted, whose rows are the last states of a system, x(0) last. */
  readonly hasStates?: boolean
}

/**
 * Reads a vector into a new array; states are in the given order.
 *
 * @throws ERR_MPMML_SHAPE for another length, ERR_MPMML_DTYPE for another type, ERR_MPMML_VALUE for NaN.
 */
export async function readVector(value: Vector, form: VectorForm): Promise<ElementArray> {
  const { name, length, type, hasStates = false } = form
  if (Array.isArray(value) || isElementArray(value)) return readArray(value, form)
  if (ArrayBuffer.isView(value)) {
    throw new DTypeError(
      `${name} must be of ${typeNameOf(type)}, as the weights are, but it is ${typeName(value)}`,
    )
  }
  const view = readBack(await onHost(value as MatrixLike<OperandArray>), name, 'operand')
  assertAttached(view, name)
  const isStates = hasStates && view.cols === length && view.rows > 0
  if (view.batched || !(isStates || (view.cols === 1 && view.rows === length))) {
    throw new ShapeError(
      `${name} must be a vector of ${length} elements, a ${length} × 1 matrix, but its shape is ${showList(shapeOf(view))}`,
    )
  }
  return elementsOf(view, form)
}

/** The elements of a matrix, in row-major order. */
function elementsOf(view: HostView, form: VectorForm): ElementArray {
  const { type, semiring, name } = form
  assertType(view.type, type, name)
  const copy = newArray(type, view.rows * view.cols)
  gather(view, 0, copy)
  if (isNarrow(view)) {
    const [zero, whole] = [storedZeroOf(semiring, view), zeroOf(semiring, 'int32')]
    for (let i = 0; i < copy.length; i++) if (copy[i] === zero) copy[i] = whole
  }
  assertNumbers(copy, form)
  return copy
}

function readArray(value: ElementArray | readonly number[], form: VectorForm): ElementArray {
  const { name, length, type } = form
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
        `${elementText(form, i, length)} must be ${isInteger(type) ? 'an int32 integer, as the weights are' : 'a number'}, but it is ${show(element)}`,
      )
    }
    copy[i] = element
  }
  assertNumbers(copy, form)
  return copy
}

function assertType(came: number, type: number, name: string): void {
  if (came === type) return
  throw new DTypeError(
    `${name} must be of ${typeNameOf(type)}, as the weights are, but it is of ${typeNameOf(came)}`,
  )
}

function assertNumbers(values: ElementArray, form: VectorForm): void {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isNaN(values[i])) continue
    throw new ValueError(`${elementText(form, i, values.length)} is NaN, but it must be a number`)
  }
}

/**
 * Returns the text for an element in messages, with the name of its node. The element belongs to a vector, or
 * to a matrix whose rows have an element for each node.
 *
 * @param count - number of all elements.
 */
export function elementText(
  { name, length, names }: Pick<VectorForm, 'name' | 'length' | 'names'>,
  at: number,
  count: number,
): string {
  const node = at % length
  const position = count === length ? `${at}` : `${Math.floor(at / length)}, ${node}`
  return `${name}[${position}]${names ? ` of ${names.show(node)}` : ''}`
}
