/** Pictures of matrices in the terminal. */

const SHADES = ' ░▒▓█'

/** Limits of a picture in characters. A character is about twice as high as wide. */
const COLUMNS = 48
const LINES = 24

/** Number of elements in each character cell of a picture of a matrix. */
export class Pattern {
  readonly #counts: Float64Array
  readonly #lines: number
  readonly #columns: number
  readonly #rows: number
  readonly #cols: number

  constructor(rows: number, cols: number) {
    this.#rows = rows
    this.#cols = cols
    const scale = Math.max(rows / LINES, cols / COLUMNS, 1)
    this.#lines = Math.min(LINES, Math.max(1, Math.ceil(rows / scale)))
    this.#columns = Math.min(COLUMNS, Math.max(1, Math.ceil(cols / scale)))
    // Each element of a small matrix occupies two characters.
    if (2 * cols <= COLUMNS && scale === 1) this.#columns = 2 * cols
    else if (scale > 1) this.#columns = Math.min(COLUMNS, Math.max(1, Math.round((2 * cols) / scale)), cols)
    this.#counts = new Float64Array(this.#lines * this.#columns)
  }

  /** Counts an element that isn't the semiring's zero. */
  add(row: number, col: number): void {
    const line = Math.floor((row * this.#lines) / this.#rows)
    const first = Math.floor((col * this.#columns) / this.#cols)
    // An element that is wider than a character fills all of its characters.
    const last = Math.max(first, Math.ceil(((col + 1) * this.#columns) / this.#cols) - 1)
    for (let column = first; column <= last; column++) this.#counts[line * this.#columns + column]!++
  }

  /** Returns the picture. Darker characters represent larger fractions of elements that aren't the zero. */
  text(): string {
    const perCell = Math.max(1, this.#rows / this.#lines) * Math.max(1, this.#cols / this.#columns)
    const edge = (left: string, right: string) => `${left}${'─'.repeat(this.#columns)}${right}`
    const lines = Array.from({ length: this.#lines }, (_, line) => {
      const cells = this.#counts.subarray(line * this.#columns, (line + 1) * this.#columns)
      return `│${Array.from(cells, (count) => shade(count / perCell)).join('')}│`
    })
    return [edge('┌', '┐'), ...lines, edge('└', '┘')].join('\n')
  }
}

function shade(share: number): string {
  return SHADES[share > 0 ? Math.min(SHADES.length - 1, Math.max(1, Math.round(share * 4))) : 0]!
}
