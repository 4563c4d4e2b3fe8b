/**
 * Expected results of folding and interaction, by two other algorithms: the recurrences in their published
 * form, and an enumeration of all structures. Shares no code with the library.
 */

export type BasePair = [i: number, j: number]

export interface PairWeights {
  GC?: number
  AU?: number
  GU?: number
}

export interface Model {
  weights?: PairWeights
  weightsBetween?: PairWeights
  minLoop?: number
  antiparallel?: boolean
}

/** Weight of a pair of two letters. */
export function weightOf(x: string, y: string, { GC = 3, AU = 2, GU = 1 }: PairWeights = {}): number {
  const letter = (base: string) => base.toUpperCase().replace('T', 'U')
  const pair = [letter(x), letter(y)].sort().join('')
  return { CG: GC, AU, GU }[pair] ?? 0
}

/** S[i][j] of Nussinov's recurrence; 0 if i > j. */
export function foldTable(
  strand: string,
  { weights, minLoop = 3 }: Model = {},
): (i: number, j: number) => number {
  const n = strand.length
  const table = Array.from({ length: n }, () => new Array<number>(n).fill(0))
  const at = (i: number, j: number) => (i > j ? 0 : table[i]![j]!)
  for (let i = n - 1; i >= 0; i--) {
    for (let j = i + 1; j < n; j++) {
      const pair = j - i > minLoop ? weightOf(strand[i]!, strand[j]!, weights) : 0
      let best = pair > 0 ? at(i + 1, j - 1) + pair : 0
      for (let k = i; k < j; k++) best = Math.max(best, at(i, k) + at(k + 1, j))
      table[i]![j] = best
    }
  }
  return at
}

/** Table F of the published recurrence. The second strand is numbered in its written order. */
export function interactionTable(strand1: string, strand2: string, model: Model = {}) {
  const { weights, weightsBetween = weights, minLoop = 3 } = model
  const S1 = foldTable(strand1, model)
  const S2 = foldTable(strand2, model)
  const [n, m] = [strand1.length, strand2.length]
  const known = new Float64Array(n * n * m * m).fill(-1)
  function F(i1: number, j1: number, i2: number, j2: number): number {
    if (j1 < i1) return S2(i2, j2)
    if (j2 < i2) return S1(i1, j1)
    const position = ((i1 * n + j1) * m + i2) * m + j2
    if (known[position]! >= 0) return known[position]!
    let best = S1(i1, j1) + S2(i2, j2)
    const see = (score: number) => {
      if (score > best) best = score
    }
    if (i1 === j1 && i2 === j2) see(weightOf(strand1[i1]!, strand2[i2]!, weightsBetween))
    const pair1 = j1 - i1 > minLoop ? weightOf(strand1[i1]!, strand1[j1]!, weights) : 0
    const pair2 = j2 - i2 > minLoop ? weightOf(strand2[i2]!, strand2[j2]!, weights) : 0
    if (pair1 > 0) see(F(i1 + 1, j1 - 1, i2, j2) + pair1)
    if (pair2 > 0) see(F(i1, j1, i2 + 1, j2 - 1) + pair2)
    for (let k1 = i1; k1 < j1; k1++) {
      see(S1(i1, k1) + F(k1 + 1, j1, i2, j2))
      see(F(i1, k1, i2, j2) + S1(k1 + 1, j1))
      for (let k2 = i2; k2 < j2; k2++) see(F(i1, k1, i2, k2) + F(k1 + 1, j1, k2 + 1, j2))
    }
    for (let k2 = i2; k2 < j2; k2++) {
      see(S2(i2, k2) + F(i1, j1, k2 + 1, j2))
      see(F(i1, j1, i2, k2) + S2(k2 + 1, j2))
    }
    known[position] = best
    return best
  }
  return F
}

/** Sets of pairs of a joint structure. */
export interface Joint {
  within1: readonly BasePair[]
  within2: readonly BasePair[]
  between: readonly BasePair[]
}

const crosses = ([i, j]: BasePair, [k, l]: BasePair) => (i < k && k < j && j < l) || (k < i && i < l && l < j)

/**
 * Returns whether two arcs, one of each strand, form a zigzag. A pair between the strands joins the arcs, and
 * each arc also covers a pair whose other end is outside of the other arc.
 */
function isZigzag([a, b]: BasePair, [c, d]: BasePair, between: readonly BasePair[]): boolean {
  const under1 = between.filter(([i]) => a < i && i < b)
  const under2 = between.filter(([, j]) => c < j && j < d)
  const inside2 = ([, j]: BasePair) => c < j && j < d
  const inside1 = ([i]: BasePair) => a < i && i < b
  return under1.some(inside2) && !under1.every(inside2) && !under2.every(inside1)
}

/** Error of a joint structure, where pairs between the strands increase; '' if it is valid. */
export function fault({ within1, within2, between }: Joint, { zigzags = false } = {}): string {
  for (const list of [within1, within2]) {
    for (const x of list) for (const y of list) if (crosses(x, y)) return `${x} crosses ${y}`
  }
  for (const [i, j] of between) {
    for (const [k, l] of between) if (i < k !== j < l) return `${i}-${j} crosses ${k}-${l}`
  }
  const used1 = [...within1.flat(), ...between.map(([i]) => i)]
  const used2 = [...within2.flat(), ...between.map(([, j]) => j)]
  for (const used of [used1, used2]) if (new Set(used).size < used.length) return 'a base has two pairs'
  if (zigzags) return ''
  for (const x of within1) {
    for (const y of within2) if (isZigzag(x, y, between)) return `${x} and ${y} are a zigzag`
  }
  return ''
}

/** Greatest score of all joint structures, by enumeration. The second strand is numbered in its written order. */
export function bestJoint(
  strand1: string,
  strand2: string,
  model: Model,
  options?: { zigzags: boolean },
): number {
  const { weights, weightsBetween = weights, minLoop = 3 } = model
  const [n, m] = [strand1.length, strand2.length]
  const bases = [...strand1, ...strand2]
  const partner = new Array<number>(n + m).fill(-1)
  let best = 0
  function worth(x: number, y: number): number {
    const between = x < n && y >= n
    if (!between && y - x <= minLoop) return 0
    return weightOf(bases[x]!, bases[y]!, between ? weightsBetween : weights)
  }
  function look(score: number): void {
    const pairs = partner.flatMap((y, x) => (y > x ? [[x, y] as BasePair] : []))
    const joint = {
      within1: pairs.filter(([, y]) => y < n),
      within2: pairs.filter(([x]) => x >= n).map(([x, y]): BasePair => [x - n, y - n]),
      between: pairs.filter(([x, y]) => x < n && y >= n).map(([x, y]): BasePair => [x, y - n]),
    }
    if (score > best && fault(joint, options) === '') best = score
  }
  function choose(x: number, score: number): void {
    if (x === n + m) {
      look(score)
      return
    }
    choose(x + 1, score)
    if (partner[x] !== -1) return
    for (let y = x + 1; y < n + m; y++) {
      const more = partner[y] === -1 ? worth(x, y) : 0
      if (more === 0) continue
      partner[x] = y
      partner[y] = x
      choose(x + 1, score + more)
      partner[x] = -1
      partner[y] = -1
    }
  }
  choose(0, 0)
  return best
}
