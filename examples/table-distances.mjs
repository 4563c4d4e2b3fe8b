/**
 * Computes distances between all rows of two tables, to find the known flower that is nearest to each new
 * flower. A product computes all distances at once; ⊕ and ⊗ define the distance. The example uses a
 * predefined distance and a custom one.
 *
 *   node examples/table-distances.mjs
 *
 * Measures are in cm: length and width of sepals, length and width of petals.
 *
 * @see R. A. Fisher, The use of multiple measurements in taxonomic problems, Annals of Eugenics 7, 1936 (six of its flowers)
 */
import { matrix, mpmm } from 'mpmml'
import { l1Distance, lInfinityDistance, semiring } from 'mpmml/semirings'

const known = [
  ['setosa', 5.1, 3.5, 1.4, 0.2],
  ['setosa', 4.9, 3.0, 1.4, 0.2],
  ['versicolor', 7.0, 3.2, 4.7, 1.4],
  ['versicolor', 6.4, 3.2, 4.5, 1.5],
  ['virginica', 6.3, 3.3, 6.0, 2.5],
  ['virginica', 5.8, 2.7, 5.1, 1.9],
]
const found = [
  [5.0, 3.4, 1.5, 0.2],
  [6.7, 3.1, 4.4, 1.4],
  [6.0, 3.0, 4.8, 1.8],
]

/** Sum of squares: the square of the Euclidean distance. */
const squares = semiring({
  name: 'squared distance',
  dtype: 'float32',
  zero: 0,
  plus: (x, y) => x.add(y),
  times: (x, y) => x.sub(y).mul(x.sub(y)),
  absorbs: false,
})

const table = (rows) => matrix(rows.length, 4, Float32Array.from(rows.flat()))
const a = table(found)
const b = table(known.map(([, ...measures]) => measures))
// The rows of a table are the columns of its transpose, which needs no copy.
const columns = { ...b, shape: [4, known.length], strides: [1, 4] }

for (const [name, distance] of [
  ['sum of differences', l1Distance],
  ['greatest difference', lInfinityDistance],
  ['sum of squares', squares],
]) {
  const { c } = await mpmm(a, columns, { semiring: distance })
  console.log(name)
  for (let row = 0; row < found.length; row++) {
    const distances = [...c.data.subarray(row * known.length, (row + 1) * known.length)]
    const nearest = distances.indexOf(Math.min(...distances))
    console.log(`  ${distances.map((each) => each.toFixed(2).padStart(6)).join('')}  ${known[nearest][0]}`)
  }
}
