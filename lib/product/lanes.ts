/** Matrices over custom semirings, whose elements have one or several lanes of given types. */
import { isUint32Array } from '../array-types.js'
import { typeName } from '../describe.js'
import { elementType, INT32, typeNameOf } from '../elements.js'
import { DTypeError } from '../errors.js'
import type { DenseMatrix } from '../matrix.js'
import type { LaneType } from '../user-semiring.js'
import type { View } from '../view.js'
import type { Names } from './names.js'
import type { Algebra } from './product.js'

type MatrixName = Names[keyof Names]

const arrayOf: Readonly<Record<LaneType, string>> = {
  int32: 'Int32Array',
  uint32: 'Uint32Array',
  float32: 'Float32Array',
}

/** Reads the lanes of a matrix: an array of matrices if elements are lists, otherwise one matrix. */
export function readLanes(value: unknown, { lanes, isList }: Algebra, name: MatrixName): unknown[] {
  const types = lanes!
  if (!isList) {
    if (!Array.isArray(value)) return [value]
    throw new DTypeError(
      `${name} must be a matrix { data: ${arrayOf[types[0]!]}, shape: [rows, cols] }, but it is an array: only elements whose dtype is an array have lanes`,
    )
  }
  if (Array.isArray(value) && value.length === types.length) return Array.from(value as unknown[])
  const expected = `an array of ${types.length} matrices, one for each lane (${types.join(', ')})`
  const came = Array.isArray(value) ? `one of ${value.length}` : typeName(value)
  throw new DTypeError(`${name} must be ${expected}, but it is ${came}`)
}

/** Throws DTypeError unless a matrix is of the type of its lane. */
export function requireLaneType(view: View, type: LaneType, name: MatrixName): void {
  const stored = typeNameOf(view.type)
  if (view.memory) {
    // A device stores the 32 bits of uint32 as int32.
    if (stored === (type === 'float32' ? type : 'int32')) return
    const bits = type === 'uint32' ? ', whose 32 bits uint32 has on a device' : ''
    throw new DTypeError(
      `${name} must be of ${type === 'float32' ? 'float32' : 'int32'}${bits}, but it is of ${stored}`,
    )
  }
  const came = isUint32Array(view.data) ? 'uint32' : elementType(view.data) === INT32 ? 'int32' : stored
  if (came === type) return
  throw new DTypeError(
    `${name}.data must be ${type === 'int32' ? 'an' : 'a'} ${arrayOf[type]}, as the semiring's ${type} is, but it is ${typeName(view.data)}`,
  )
}

/** Returns a result in an array as a matrix of its lane's type. */
export function asLane(matrix: DenseMatrix, type: LaneType): unknown {
  if (type !== 'uint32') return matrix
  const { buffer, byteOffset, length } = matrix.data
  return { ...matrix, data: new Uint32Array(buffer, byteOffset, length) }
}
