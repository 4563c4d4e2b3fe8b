/** Finds the known name nearest to a misspelled one. */

/** Largest number of changed characters in a misspelled name. */
const MAX_CHANGES = 2

/** Returns the known name nearest to a misspelled one; undefined if none is near. Case is ignored. */
export function nearestSpelling(wrong: string, known: Iterable<string>): string | undefined {
  const most = Math.min(MAX_CHANGES, Math.floor((wrong.length - 1) / 2))
  let [nearest, fewest]: [string | undefined, number] = [undefined, most + 1]
  const word = wrong.toLowerCase()
  for (const name of known) {
    if (Math.abs(name.length - wrong.length) >= fewest) continue
    const changes = changesBetween(word, name.toLowerCase(), fewest)
    if (changes < fewest) [nearest, fewest] = [name, changes]
    if (fewest === 0) break
  }
  return nearest
}

/**
 * Returns the Damerau–Levenshtein distance (optimal string alignment) of two words, or `limit` if the
 * distance is at least `limit`.
 */
function changesBetween(a: string, b: string, limit: number): number {
  if (a === b) return 0
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let changes = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1))
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) changes = Math.min(changes, before[j - 2]! + 1)
      next.push(changes)
    }
    if (Math.min(...next) >= limit) return limit
    before = row
    row = next
  }
  return row[b.length]!
}
