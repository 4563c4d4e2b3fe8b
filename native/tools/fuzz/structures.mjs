/**
 * Structures of matrices: their elements, random structures, and the structure of the transposed matrix. Used
 * by all other code of the fuzzer and of the tests.
 */

/** @typedef {readonly [below: number, above: number]} Band */
/** @typedef {'general' | 'upper' | 'lower' | 'strictly-upper' | 'strictly-lower' | { readonly band: Band }} Structure */

/** @type {Record<string, Band>} */
const bands = {
  general: [Infinity, Infinity],
  upper: [0, Infinity],
  lower: [Infinity, 0],
  'strictly-upper': [-1, Infinity],
  'strictly-lower': [Infinity, -1],
}

/** @param {Structure} [structure] @returns {Band} */
export const bandOf = (structure = 'general') =>
  typeof structure === 'string' ? bands[structure] : structure.band

/**
 * Returns whether element (i, j) is in a band: −below ≤ j − i ≤ above. @param {Band} band @param {number} i
 * @param {number} j
 */
export const belongs = ([below, above], i, j) => j - i >= -below && j - i <= above

/** Returns the structure of the transposed matrix. @param {Structure} structure @returns {Structure} */
export function transposed(structure) {
  const [below, above] = bandOf(structure)
  return { band: [above, below] }
}

const names = Object.keys(bands)

/** A structure of a matrix of this shape. */
export function drawBand(random, rows, cols) {
  if (random.chance(0.6)) return random.pick(names)
  const reach = () =>
    random.chance(0.15)
      ? Infinity
      : random.chance(0.5)
        ? random.integer(-3, 40)
        : random.integer(-Math.min(rows, cols), Math.max(rows, cols))
  return { band: [reach(), reach()] }
}

export function drawStructure(random, m, k, n) {
  const structure = {}
  if (random.chance(0.6)) structure.a = drawBand(random, m, k)
  if (random.chance(0.6)) structure.b = drawBand(random, k, n)
  if (random.chance(0.6)) structure.c = drawBand(random, m, n)
  return structure
}
