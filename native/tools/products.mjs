// Multiplies with every variant of a backend, and compares each result with the CPU backend's. `npm run sanitize --
// cuda` runs this under compute-sanitizer. Uses the library as it was built (dist/ and build/).
//
//   node native/tools/products.mjs cuda|cpu [filter]
//
// The filter selects the variants whose names contain it. Each variant's products have ragged and tiny shapes, batches,
// transposed and strided operands and results, zeros of the semiring, operands stored as int16, C0, and, for integers,
// sums beyond the range. Values are small integers, so that floating-point results are exact too. Shapes are small,
// because the sanitizers are slow; some are deep, so that tiles are divided. Sums of floats also have both signs: those of
// all slices of K alike, and of some slices only one sign, where a kernel begins again. Exit status 1 if a result is wrong.
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { arrays } from './fuzz/algebra.mjs'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const { mpmmSync, variants, zeroOf } = await import(pathToFileURL(join(root, 'dist', 'lib', 'index.js')).href)

const [backend = '', filter = ''] = process.argv.slice(2)

/** Pseudo-random integers from 0 to limit - 1 (a linear congruential generator). */
let state = 1
function random(limit) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}

/** Elements between two rows of a padded matrix, beyond its columns. */
const GAP = 3

/** Where the elements of a matrix are: rows one after the other with a gap, or columns one after the other. */
function layout(batch, rows, cols, transposed) {
  const [rowStride, colStride, size] = transposed
    ? [1, rows, rows * cols]
    : [cols + GAP, 1, rows * (cols + GAP)]
  return batch === 1
    ? { shape: [rows, cols], strides: [rowStride, colStride], length: size }
    : { shape: [batch, rows, cols], strides: [size, rowStride, colStride], length: batch * size }
}

function filled({ shape, strides, length }, Type, value) {
  // TypedArray.from takes ten times as long.
  const data = new Type(length)
  for (let at = 0; at < length; at++) data[at] = value(at)
  return { data, shape, strides }
}

/** The column of an element at this place in memory. */
function columnOf({ shape, strides }, place) {
  const [rowStride, colStride] = strides.slice(-2)
  return Math.floor((place % (rowStride > colStride ? rowStride : shape.at(-1) * colStride)) / colStride)
}

// A little more than a tile of every family, less than any tile, one row, one column, one step, none.
const shapes = [
  { batch: 1, m: 133, k: 67, n: 141 },
  { batch: 3, m: 33, k: 18, n: 65 },
  { batch: 1, m: 1, k: 129, n: 70 },
  { batch: 1, m: 70, k: 129, n: 1 },
  { batch: 2, m: 5, k: 1, n: 3 },
  { batch: 1, m: 4, k: 0, n: 6 },
]
// Few tiles and many steps: the GPU's multiprocessors divide them.
const deep = { batch: 1, m: 130, k: 2500, n: 140 }

const kinds = [
  { name: 'small values' },
  { name: 'small values and zeros, C0', zeros: true, accumulate: true },
  { name: 'transposed, zeros', zeros: true, transposed: true },
  { name: 'transposed, into C0', transposed: true, accumulate: true, into: true },
  { name: 'int16', integers: true, int16: 'both' },
  { name: 'int16 and int32, zeros, C0', integers: true, int16: 'one', zeros: true, accumulate: true },
  { name: 'values of 28 bits', integers: true, most: 2 ** 28 },
  { name: 'values of 28 bits and zeros', integers: true, most: 2 ** 28, zeros: true, transposed: true },
  { name: 'overflow, saturated', integers: true, most: 2 ** 31 - 1, zeros: true, overflow: 'saturate' },
  { name: 'overflow, wrapped', integers: true, most: 2 ** 31 - 1, overflow: 'wrap', accumulate: true },
  { name: 'overflow, thrown', integers: true, most: 2 ** 31 - 1, overflow: 'throw' },
  { name: 'both signs', signs: () => (random(2) === 0 ? 1 : -1) },
  { name: 'below 0 in the first half', signs: (share) => (share < 0.5 ? -1 : 1) },
  { name: 'above 0 in the first half', signs: (share) => (share < 0.5 ? 1 : -1), transposed: true },
]

/** Whether a variant computes such products. */
const takes = ({ semiring, dtype }, { integers, signs }) =>
  (!integers || dtype === 'int32') &&
  (!signs || (dtype === 'float32' && (semiring === 'max-plus' || semiring === 'min-plus')))

/** Operands, C0 and options of a product, from the numbers that follow from `seed`. */
function productOf({ semiring, dtype }, { batch, m, k, n }, kind, seed) {
  state = seed
  const Type = arrays[dtype]
  const zero = zeroOf(semiring, dtype)
  const most = dtype === 'uint8' ? 2 : (kind.most ?? 100)
  const element = () => (kind.zeros && random(4) === 0 ? zero : random(most))
  // An int16 operand can't hold the zero of int32, so it has none.
  const stored = (place, narrow) =>
    narrow ? filled(place, Int16Array, () => random(most)) : filled(place, Type, element)
  const place = layout(batch, m, k, kind.transposed)
  // Sums have the sign of A's element.
  const signed = () =>
    filled(place, Type, (at) => kind.signs(columnOf(place, at) / k) * (most + random(most)))
  const a = kind.signs ? signed() : stored(place, kind.int16 !== undefined)
  const b = stored(layout(batch, k, n, kind.transposed), kind.int16 === 'both')
  const c = layout(batch, m, n, kind.transposed)
  const options = { semiring, ...(kind.overflow ? { overflow: kind.overflow } : {}) }
  // The gaps of `out` must stay as they are.
  if (kind.into) return { a, b, options: { ...options, accumulate: true, out: filled(c, Type, element) } }
  if (kind.accumulate) return { a, b, options: { ...options, accumulate: filled(c, Type, element) } }
  return { a, b, options: { ...options, out: filled(c, Type, () => 1) } }
}

/** The same product into a result of its own, if it is written into one. */
function withOwnOut({ a, b, options }) {
  const { out } = options
  return { a, b, options: out ? { ...options, out: { ...out, data: out.data.slice() } } : options }
}

/** The outcome of a product: the bytes of C, or the code and the message of an error. */
function outcome({ a, b, options }, where) {
  try {
    const { data } = mpmmSync(a, b, { ...options, ...where }).c
    return { bytes: Buffer.from(data.buffer, data.byteOffset, data.byteLength) }
  } catch ({ code, message }) {
    return { code, message }
  }
}

const chosen = variants().filter((variant) => variant.backend === backend && variant.name.includes(filter))
if (chosen.length === 0) {
  console.error(
    `mpmml: ${backend} has no variant whose name contains "${filter}": npx mpmml variants lists all`,
  )
  process.exit(1)
}
let wrong = 0
let products = 0
for (const variant of chosen) {
  let count = 0
  let refusal = ''
  for (const [index, kind] of kinds.entries()) {
    if (!takes(variant, kind)) continue
    for (const shape of kind.signs ? [...shapes, deep] : shapes) {
      const product = productOf(variant, shape, kind, 1 + index)
      const again = withOwnOut(product)
      const got = outcome(product, { variant: variant.name })
      // The values decide whether a variant can compute a product.
      if (got.code === 'ERR_MPMML_VARIANT') {
        refusal = got.message
        continue
      }
      const expected = outcome(again, { backend: 'cpu' })
      count++
      const same = expected.bytes ? got.bytes?.equals(expected.bytes) : got.code === expected.code
      if (same) continue
      wrong++
      const { batch, m, k, n } = shape
      console.log(
        `WRONG: ${variant.name}, ${batch} × ${m}×${k}×${n}, ${kind.name}${got.message ? `: ${got.message}` : ''}`,
      )
    }
  }
  products += count
  console.log(`${variant.name}: ${count > 0 ? `${count} products` : `not run: ${refusal}`}`)
}
console.log(
  `${chosen.length} variants, ${products} products, ${wrong === 0 ? 'all results are right' : `${wrong} results are WRONG`}`,
)
process.exitCode = wrong === 0 && products > 0 ? 0 : 1
