/** Matrices as requests have them, .npy files or rows of numbers, and as the library takes them. */
import { matrix, parseNpy, zeroOf } from 'mpmml'
import { Refusal } from './refusals.mjs'

const arrays = { int32: Int32Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array }

/** The operands and options of a product: the fields of a form, whose files are Buffers, or those of a JSON body. */
export function readProduct({ a, b, semiring = 'max-plus', overflow, dtype = 'int32' }) {
  if (!Object.hasOwn(arrays, dtype)) {
    throw new Refusal(400, 'BAD_REQUEST', `dtype must be one of ${Object.keys(arrays).join(', ')}`)
  }
  const read = (value, name) =>
    Buffer.isBuffer(value) ? readFile(value, name, dtype) : readRows(value, name, dtype, semiring)
  return {
    a: read(a, 'a'),
    b: read(b, 'b'),
    options: overflow === undefined ? { semiring } : { semiring, overflow },
  }
}

function readFile(bytes, name, dtype) {
  try {
    return parseNpy(bytes, dtype === 'uint8' ? { dtype } : {})
  } catch (error) {
    error.message = `${name}: ${error.message}`
    throw error
  }
}

/** Rows of numbers, in which null is the zero of the semiring: in max-plus minus infinity. */
function readRows(rows, name, dtype, semiring) {
  if (!Array.isArray(rows) || !rows.every((row) => Array.isArray(row) && row.length === rows[0].length)) {
    throw new Refusal(
      400,
      'BAD_REQUEST',
      `${name} must be a .npy file or rows of equal length, such as [[1, 2], [3, null]]`,
    )
  }
  const zero = zeroOf(semiring, dtype)
  const values = rows.flat().map((value) => value ?? zero)
  const data = arrays[dtype].from(values)
  const wrong = values.findIndex(
    (value, index) => typeof value !== 'number' || (data[index] !== value && dtype !== 'float32'),
  )
  if (wrong >= 0) {
    throw new Refusal(
      400,
      'BAD_REQUEST',
      `${name} must hold numbers of type ${dtype}, but it has ${values[wrong]}`,
    )
  }
  return matrix(rows.length, rows[0]?.length ?? 0, data)
}

/** The elements of the product, and the steps that computing it takes. */
export function costOf(a, b) {
  const [m, k] = a.shape.slice(-2)
  const n = b.shape.at(-1)
  const batch = Math.max(...[a, b].map(({ shape }) => (shape.length === 3 ? shape[0] : 1)))
  return { elements: batch * m * n, steps: batch * m * n * k }
}

/** A product as rows of numbers, and as a list of those if it is a batch. JSON has no infinities: zero is null again. */
export function writeRows({ data, shape }, semiring) {
  const dtype = Object.keys(arrays).find((name) => data instanceof arrays[name])
  const zero = zeroOf(semiring, dtype)
  const isNull = dtype === 'int32' || !Number.isFinite(zero) ? (value) => value === zero : () => false
  const write = (value) => (isNull(value) ? null : Number.isFinite(value) ? value : String(value))
  const [rows, cols] = shape.slice(-2)
  const row = (index) => Array.from(data.subarray(index * cols, (index + 1) * cols), write)
  const item = (index) => Array.from({ length: rows }, (_, i) => row(index * rows + i))
  return shape.length === 3 ? Array.from({ length: shape[0] }, (_, index) => item(index)) : item(0)
}
