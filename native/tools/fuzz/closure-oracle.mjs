/**
 * The oracle of closures: the Floyd-Warshall loops in float64, with each sum rounded to the element type; and
 * random weights. It shares no code with the library.
 */

/** x ⊗ y. */
export function times({ kind, dtype }, x, y) {
  if (kind === 'least') return x < y ? x : y
  if (kind === 'greatest') return x < y ? y : x
  const exact = kind === 'sum' ? x + y : x * y
  return dtype === 'float32' ? Math.fround(exact) : exact
}

export const isBetter = ({ greatest }, x, y) => (greatest ? x > y : x < y)

const formulas = {
  sum: 'first + second',
  product: 'first * second',
  least: 'first < second ? first : second',
  greatest: 'first < second ? second : first',
}
const loops = new Map()

/**
 * Returns the loop that relaxes a row of distances, which begins at `row`, over a pivot: `first` is the
 * distance to the pivot, whose next node is `hop`, and `onward` has the distances from the pivot to the nodes
 * in [`from`, `to`). A missing path is worse than any path. Most of the time is spent here, so each algebra
 * has its own loop: a lookup takes longer than a step.
 */
function improving({ kind, dtype, greatest }) {
  const isRounded = dtype === 'float32'
  const key = `${kind} ${isRounded} ${greatest}`
  if (!loops.has(key)) {
    const formula = isRounded ? `Math.fround(${formulas[kind]})` : formulas[kind]
    const loop = `
      for (let j = from, at = row + from; j < to; j++, at++) {
        const second = onward[j]
        const way = ${formula}
        if (!(way ${greatest ? '>' : '<'} values[at])) continue
        values[at] = way
        next[at] = hop
      }`
    loops.set(key, new Function('values', 'next', 'row', 'first', 'hop', 'onward', 'from', 'to', loop))
  }
  return loops.get(key)
}

/**
 * Returns the closure of n × n elements. `values` aren't rounded to int32, so that overflow is visible, and a
 * missing path is `none`. `gain` is the first pivot with an improving cycle, or −1. The other properties are
 * valid only if it is −1.
 */
export function closureOf(algebra, n, elements, isReflexive) {
  const { zero, none, one, kind, isTruth } = algebra
  const values = new Float64Array(n * n)
  const next = new Int32Array(n * n)
  for (let index = 0; index < values.length; index++) {
    const x = elements[index]
    values[index] = x === zero ? none : isTruth ? 1 : x
    next[index] = values[index] === none ? -1 : index % n
  }
  const canGain = kind === 'sum' || kind === 'product'
  const improve = improving(algebra)
  for (let k = 0; k < n; k++) {
    const loop = values[k * n + k]
    if (canGain && loop !== none && isBetter(algebra, loop, one)) return { values, next, gain: k }
    const onward = values.slice(k * n, (k + 1) * n)
    let [from, to] = [0, n]
    while (to > from && onward[to - 1] === none) to--
    while (from < to && onward[from] === none) from++
    for (let i = 0; i < n; i++) {
      const first = values[i * n + k]
      if (first !== none) improve(values, next, i * n, first, next[i * n + k], onward, from, to)
    }
  }
  const closure = { values, next, gain: -1 }
  return isReflexive ? reflexiveOf(algebra, n, closure) : closure
}

/** Returns the star of a matrix from its plus closure. */
export function reflexiveOf({ one }, n, closure) {
  if (closure.gain >= 0) return closure
  const [values, next] = [closure.values.slice(), closure.next.slice()]
  for (let i = 0; i < n; i++) {
    values[i * n + i] = one
    next[i * n + i] = -1
  }
  return { values, next, gain: -1 }
}

/** Returns whether every edge of a batch of integers makes paths worse. Loops must only not improve them. */
export function everyEdgeWorsens(algebra, n, elements) {
  const { one, zero, isInteger } = algebra
  if (!isInteger) return false
  for (let at = 0; at < elements.length; at++) {
    const weight = elements[at]
    if (weight === zero) continue
    const isLoop = Math.floor(at / n) % n === at % n
    if (isLoop ? isBetter(algebra, weight, one) : !isBetter(algebra, one, weight)) return false
  }
  return true
}

/**
 * Returns the next nodes of the star if every edge makes paths worse: the target if its edge is a best path,
 * else the smallest best node.
 */
export function nextByDistances(algebra, n, edges, { values, gain }) {
  const { none, zero } = algebra
  const next = new Int32Array(n * n).fill(-1)
  for (let i = 0; i < n; i++) {
    const row = i * n
    const best = []
    for (let v = 0; v < n; v++) {
      if (i === v || edges[row + v] === zero || edges[row + v] !== values[row + v]) continue
      best.push(v)
      next[row + v] = v
    }
    for (const v of best) {
      const [first, onward] = [values[row + v], v * n]
      for (let j = 0; j < n; j++) {
        const should = values[row + j]
        if (next[row + j] < 0 && i !== j && should !== none && first + values[onward + j] === should)
          next[row + j] = v
      }
    }
  }
  return { values, next, gain }
}

/**
 * Fills a matrix, or a batch, with weights of edges without improving cycles. In max-plus and min-plus many
 * cycles have weight 0, and there are weights of both signs: differences of node potentials, some with an
 * addition.
 */
export function fillWeights(random, algebra, { data, rows: n }, density, scale = 1) {
  const { kind, greatest, zero, isTruth } = algebra
  const potentials = Array.from({ length: n }, () => random.integer(-40, 40))
  for (let index = 0; index < data.length; index++) {
    const j = index % n
    const i = ((index - j) / n) % n
    if (!random.chance(density)) data[index] = zero
    else if (kind === 'sum')
      data[index] =
        scale * (greatest ? -1 : 1) * (random.pick([0, 0, 1, 5, 30]) + potentials[i] - potentials[j])
    // Products of powers of two are exact.
    else if (kind === 'product') data[index] = random.pick([1, 1, 0.5, 0.25])
    else data[index] = isTruth ? random.integer(1, 255) : random.integer(-9, 9)
  }
}

/** Returns the stored form of a value of a closure. */
export const storedAs = ({ none, zero }, value) => (value === none ? zero : value)

/**
 * Returns the error of next nodes as text: their paths must consist of edges that sum to the distance. Sums
 * must be exact.
 */
export function pathError(algebra, n, edges, distances, next) {
  const { zero, one, isTruth } = algebra
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      if (i === j) continue
      const [distance, where] = [distances[i * n + j], `${i} → ${j}`]
      let [sum, node] = [one, i]
      if (distance === zero) {
        if (next[i * n + j] !== -1) return `${where} has no path, but next is ${next[i * n + j]}`
        continue
      }
      for (let count = 0; node !== j; count++) {
        const to = next[node * n + j]
        if (!(to >= 0 && to < n) || count === n) return `${where}: next leads to ${to}, or in a circle`
        const edge = edges[node * n + to]
        if (edge === zero) return `${where}: there is no edge from ${node} to ${to}`
        sum = times(algebra, sum, isTruth ? 1 : edge)
        node = to
      }
      if (sum !== distance) return `${where}: the path has ${sum}, and the distance is ${distance}`
    }
  }
  return undefined
}

/**
 * Returns the error of a reported cycle as text: the cycle must be simple, consist of edges, be improving,
 * and have the reported weight.
 */
export function wrongCycle(algebra, n, edges, { cycle, weight }) {
  if (cycle.length === 0 || new Set(cycle).size !== cycle.length) return `the cycle ${cycle} isn't simple`
  // The rounding of floats differs from that of a closure, and int32 isn't rounded.
  const exact = { ...algebra, dtype: algebra.dtype === 'float32' ? 'float64' : algebra.dtype }
  let sum = algebra.one
  for (const [index, from] of cycle.entries()) {
    const edge = edges[from * n + cycle[(index + 1) % cycle.length]]
    if (edge === undefined || edge === algebra.zero) return `the cycle ${cycle} has no edge from ${from}`
    sum = times(exact, sum, edge)
  }
  if (!isBetter(algebra, sum, algebra.one)) return `the cycle ${cycle} weighs ${sum}, which is no gain`
  return weight === sum ? undefined : `the cycle ${cycle} weighs ${sum}, and not ${weight}`
}
