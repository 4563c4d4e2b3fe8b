// Makes a.npy and b.npy, the two matrices that `npm start` multiplies (README.md in this folder describes
// them). Needs the TypeScript build: npm run build:ts && node bench/data/make.mjs
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeNpy } from '../../dist/lib/files.js'
import { EPSILON } from '../../dist/lib/index.js'

/** mulberry32 (Tommy Ettinger, public domain): returns numbers in [0, 1), identical on every machine. */
function generator(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Returns a precedence matrix: rows are tasks, columns are their possible predecessors. An element is the
 * transfer time of the predecessor's result plus the task's duration, or ε without a dependency.
 */
function precedence(rows, cols, density, random) {
  const data = new Int32Array(rows * cols).fill(EPSILON)
  for (let row = 0; row < rows; row++) {
    const duration = 15 + Math.floor(random() * 465)
    for (let col = 0; col < cols; col++) {
      const transport = Math.floor(random() * 60)
      if (random() < density) data[row * cols + col] = duration + transport
    }
  }
  return { data, shape: [rows, cols] }
}

const folder = dirname(fileURLToPath(import.meta.url))
const random = generator(20190523)
await writeNpy(join(folder, 'a.npy'), precedence(192, 256, 0.08, random))
await writeNpy(join(folder, 'b.npy'), precedence(256, 160, 0.08, random))
