// Closes matrices on the GPU over every semiring and type, with and without the ways, and compares each result with the
// CPU backend's. `npm run sanitize -- cuda` runs this under compute-sanitizer. Uses the library as it was built (dist/ and
// build/).
//
//   node native/tools/closures.mjs
//
// Sizes are around those of the kernels: one launch, one with other nodes, several with products between them. Values are
// small integers, so that floating-point results are exact too. Exit status 1 if a result is wrong.
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { arrays } from './fuzz/algebra.mjs'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const built = (name) => import(pathToFileURL(join(root, 'dist', 'lib', name)).href)
const { zeroOf } = await built('index.js')
const { plus, star } = await built('algebra.js')
const graph = await built('graph.js')

const numbers = ['int32', 'float32', 'float64']

/** What edges weigh so that no cycle gains, and the function that also finds the ways. */
const semirings = [
  { name: 'max-plus', dtypes: numbers, weight: (x) => -x, paths: 'longestPaths' },
  { name: 'min-plus', dtypes: numbers, weight: (x) => x, paths: 'shortestPaths' },
  { name: 'max-min', dtypes: numbers, weight: (x) => x - 2, paths: 'widestPaths' },
  { name: 'min-max', dtypes: numbers, weight: (x) => x - 2 },
  { name: 'max-times', dtypes: ['float32', 'float64'], weight: (x) => 2 ** -x, paths: 'mostReliablePaths' },
  { name: 'or-and', dtypes: ['uint8'], weight: () => 1, paths: 'transitiveClosure' },
]

/** Pseudo-random integers from 0 to limit - 1 (a linear congruential generator). */
let state = 1
function random(limit) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}

const shapes = [[1], [3, 7], [2, 31], [32], [2, 61], [64], [2, 65], [131], [2, 192], [301], [1100]]

/** Some three edges per node. If one `gains`, it makes a cycle through its node gain; if all `lose`, none weighs nothing. */
function weights({ name, weight }, dtype, shape, edges) {
  const n = shape.at(-1)
  const zero = zeroOf(name, dtype)
  const data = arrays[dtype].from({ length: (shape[0] === n ? 1 : shape[0]) * n * n }, () =>
    random(n) < 3 ? weight(edges === 'lose' ? 1 + random(3) : random(4)) : zero,
  )
  if (edges === 'gains') data[data.length - 1] = name === 'min-plus' ? -1 : 2
  return { data, shape: shape.length === 1 ? [n, n] : [shape[0], n, n] }
}

/** The outcome of a call: the bytes of its matrices, or what is wrong. */
async function outcome(call) {
  try {
    const { c, distances = c, next } = await call()
    const parts = [distances, next].filter((matrix) => matrix)
    return parts
      .map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex'))
      .join()
  } catch ({ code, message }) {
    return `${code}: ${message}`
  }
}

let wrong = 0
let closures = 0
for (const semiring of semirings) {
  for (const dtype of semiring.dtypes) {
    const calls = {
      star: (a, backend) => star(a, { semiring: semiring.name, backend }),
      plus: (a, backend) => plus(a, { semiring: semiring.name, backend }),
      ...(semiring.paths && {
        [semiring.paths]: (a, backend) => graph[semiring.paths](a, { paths: true, backend }),
      }),
    }
    const canGain = ['max-plus', 'min-plus', 'max-times'].includes(semiring.name)
    for (const [name, call] of Object.entries(calls)) {
      for (const [index, shape] of shapes.entries()) {
        for (const edges of canGain ? ['any', 'gains', 'lose'] : ['any']) {
          state = 1 + index
          const a = weights(semiring, dtype, shape, edges)
          const got = await outcome(() => call(a, 'cuda'))
          const expected = await outcome(() => call(a, 'cpu'))
          closures++
          if (got === expected) continue
          wrong++
          const size = shape.join(' × ')
          const shown = got.startsWith('ERR') || expected.startsWith('ERR') ? `: ${got.slice(0, 200)}` : ''
          console.log(`WRONG: ${name}, ${semiring.name}, ${dtype}, ${size}, edges: ${edges}${shown}`)
        }
      }
    }
    console.log(`${semiring.name} ${dtype}: ${Object.keys(calls).join(', ')}`)
  }
}
console.log(`${closures} closures, ${wrong === 0 ? 'all results are right' : `${wrong} results are WRONG`}`)
process.exitCode = wrong === 0 ? 0 : 1
