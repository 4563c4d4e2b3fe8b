/** A king's moves on a chessboard: a graph whose distances are known in advance. */

/** Moves down and to the right; the opposite moves are added. */
const MOVES = [
  [0, 1],
  [1, -1],
  [1, 0],
  [1, 1],
] as const

/** Edges between neighbouring squares of an n × n board, all of weight 1. */
export function board(n: number) {
  const [from, to]: [number[], number[]] = [[], []]
  for (let node = 0; node < n * n; node++) {
    const [row, col] = [Math.floor(node / n), node % n]
    for (const [down, right] of MOVES) {
      if (row + down >= n || col + right < 0 || col + right >= n) continue
      const other = node + down * n + right
      from.push(node, other)
      to.push(other, node)
    }
  }
  return {
    nodes: n * n,
    from: Int32Array.from(from),
    to: Int32Array.from(to),
    weight: Int32Array.from(from, () => 1),
  }
}

/** Number of moves from one square of an n × n board to another. */
export const movesOfKing = (n: number, from: number, to: number): number =>
  Math.max(Math.abs(Math.floor(from / n) - Math.floor(to / n)), Math.abs((from % n) - (to % n)))
