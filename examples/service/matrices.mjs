/** Converts matrices between requests and the library. Requests contain .npy files or rows of numbers. */
import { matrix, zeroOf } from 'mpmml'
import { parseNpy } from 'mpmml/files'
import { badRequest } from './refusals.mjs'

const arrays = { int32: Int32Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array }

/**
 * Returns the operands and options of a product from the fields of a form, whose files are Buffers, or of a
 * JSON body.
 */
export function readProduct(body) {
  requireFields(body)
  const { a, b, semiring = 'max-plus', overflow, dtype = 'int32' } = body
  if (typeof dtype !== 'string' || !Object.hasOwn(arrays, dtype)) {
    throw badRequest(`dtype must be one of ${Object.keys(arrays).join(', ')}`)
  }
  const read = (value, name) =>
    Buffer.isBuffer(value) ? readFile(value, name, dtype) : readRows(value, name, dtype, semiring)
  return {
    a: read(a, 'a'),
    b: read(b, 'b'),
    options: overflow === undefined ? { semiring } : { semiring, overflow },
  }
}

const fields = ['a', 'b', 'semiring', 'overflow', 'dtype']

/** Unknown fields are rejected, because a misspelt option would silently change the product. */
function requireFields(body) {
  const other = Object.keys(body).find((name) => !fields.includes(name))
  if (other === undefined) return
  throw badRequest(
    `there is no field ${JSON.stringify(other.slice(0, 50))}: the fields are ${fields.join(', ')}`,
  )
}

function readFile(bytes, name, dtype) {
  try {
    return parseNpy(bytes, dtype === 'uint8' ? { dtype } : {})
  } catch (error) {
    error.message = `${name}: ${error.message}`
    throw error
  }
}

/** Reads rows of numbers. null represents the zero of the semiring, which is minus infinity in max-plus. */
function readRows(rows, name, dtype, semiring) {
  if (!Array.isArray(rows) || !rows.every((row) => Array.isArray(row) && row.length === rows[0].length)) {
    throw badRequest(`${name} must be a .npy file or rows of equal length, such as [[1, 2], [3, null]]`)
  }
  const zero = zeroOf(semiring, dtype)
  const values = rows.flat()
  const mustHold = `${name} must hold numbers of type ${dtype}, but it has`
  // Types are checked first, because objects and deep arrays can't be converted.
  const other = values.find((value) => value !== null && typeof value !== 'number')
  if (other !== undefined) {
    throw badRequest(
      `${mustHold} ${typeof other === 'string' ? JSON.stringify(other.slice(0, 50)) : typeof other}`,
    )
  }
  const data = arrays[dtype].from(values, (value) => value ?? zero)
  const wrong = values.find((value, index) => value !== null && !isHeld(value, data[index], dtype))
  if (wrong !== undefined) throw badRequest(`${mustHold} ${wrong}`)
  return matrix(rows.length, rows[0]?.length ?? 0, data)
}

/** Returns whether a type can represent a number. Rounding to float32 is allowed; overflow isn't. */
const isHeld = (value, element, dtype) =>
  Number.isFinite(value) && (dtype === 'float32' ? Number.isFinite(element) : element === value)

/** Returns the number of elements of the product and of its steps. */
export function costOf(a, b) {
  const [m, k] = a.shape.slice(-2)
  const n = b.shape.at(-1)
  const batch = Math.max(...[a, b].map(({ shape }) => (shape.length === 3 ? shape[0] : 1)))
  return { elements: batch * m * n, steps: batch * m * n * k }
}

/**
 * Returns a product as rows of numbers, or a batch as a list of matrices. The zero becomes null, because JSON
 * has no infinities.
 */
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
