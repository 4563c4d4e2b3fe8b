/**
 * Products over any semiring by the definition, which calls functions of elements. An element is a list of
 * lanes.
 */

export type Element = readonly number[]

/** Elements by batch entry, row and column. */
export interface ElementMatrix {
  readonly batch: number
  readonly rows: number
  readonly cols: number
  at(item: number, row: number, col: number): Element
}

export interface Algebra {
  readonly zero: Element
  plus(x: Element, y: Element): Element
  times(x: Element, y: Element): Element
}

type Band = readonly [below: number, above: number]

const everything: Band = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
const isIn = ([below, above]: Band, row: number, col: number) => col - row >= -below && col - row <= above

export interface OracleOptions {
  readonly c0?: ElementMatrix | undefined
  readonly bands?: { readonly a?: Band; readonly b?: Band; readonly c?: Band } | undefined
}

export interface OracleResult {
  readonly batch: number
  readonly rows: number
  readonly cols: number
  /** Row-major elements; null outside of the results. */
  readonly elements: readonly (Element | null)[]
  /** Smallest k whose candidate is the result; −1 if no candidate is the result, or the result is zero. */
  readonly witness: readonly number[]
}

const isSame = (x: Element, y: Element) => x.every((value, lane) => Object.is(value, y[lane]))

/** Elements of all batch entries, row by row. */
const listOf = ({ batch, rows, cols, at }: ElementMatrix): Element[] =>
  Array.from({ length: batch * rows * cols }, (_, index) =>
    at(Math.floor(index / (rows * cols)), Math.floor(index / cols) % rows, index % cols),
  )

/** C0 ⊕ A⊗B, step by step in the order of k. */
export function userOracle(
  { zero, plus, times }: Algebra,
  a: ElementMatrix,
  b: ElementMatrix,
  { c0, bands = {} }: OracleOptions = {},
): OracleResult {
  const { a: bandA = everything, b: bandB = everything, c: bandC = everything } = bands
  const batch = a.batch === 1 ? b.batch : a.batch
  const [depth, cols] = [a.cols, b.cols]
  const [x, y] = [listOf(a), listOf(b)]
  const elements: (Element | null)[] = []
  const witness: number[] = []
  const candidates: (Element | undefined)[] = new Array(depth)
  for (let item = 0; item < batch; item++) {
    const [ofA, ofB] = [a.batch === 1 ? 0 : item * a.rows, b.batch === 1 ? 0 : item * depth]
    for (let row = 0; row < a.rows; row++) {
      for (let col = 0; col < cols; col++) {
        if (!isIn(bandC, row, col)) {
          elements.push(null)
          witness.push(-1)
          continue
        }
        let sum = zero
        for (let k = 0; k < depth; k++) {
          candidates[k] = undefined
          if (!isIn(bandA, row, k) || !isIn(bandB, k, col)) continue
          const candidate = times(x[(ofA + row) * depth + k]!, y[(ofB + k) * cols + col]!)
          candidates[k] = candidate
          sum = plus(sum, candidate)
        }
        if (c0) sum = plus(c0.at(c0.batch === 1 ? 0 : item, row, col), sum)
        elements.push(sum)
        const isSum = (candidate: Element | undefined) => candidate !== undefined && isSame(candidate, sum)
        witness.push(isSame(sum, zero) ? -1 : candidates.findIndex(isSum))
      }
    }
  }
  return { batch, rows: a.rows, cols, elements, witness }
}
