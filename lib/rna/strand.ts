/** Sequences of bases. */
import { show } from '../describe.js'
import { ShapeError, ValueError } from '../errors.js'

/** As native code numbers them. */
const BASES = 'ACGU'

/** More than any table over intervals can be of. */
const MOST_BASES = 2 ** 20

/** The index in {@link BASES} of each letter that there is, by its code. */
const indices = new Map<number, number>()
for (const letter of 'ACGUTacgut') {
  indices.set(letter.charCodeAt(0), BASES.indexOf(letter.toUpperCase().replace('T', 'U')))
}

/** The place of the first letter that is no base; −1 if there is none. */
export function wrongLetter(letters: string): number {
  for (let at = 0; at < letters.length; at++) if (!indices.has(letters.charCodeAt(at))) return at
  return -1
}

export const expectedBases = 'A, C, G, U or T, in upper or lower case'

/** The bases of what the user passed, which messages call `name`, as native code has them. */
export function readStrand(sequence: unknown, name: string): Uint8Array {
  if (typeof sequence !== 'string') {
    throw new ValueError(`${name} must be a string of bases such as 'GGGAAAUCC', but it is ${show(sequence)}`)
  }
  if (sequence.length > MOST_BASES) {
    throw new ShapeError(`${name} must have at most ${MOST_BASES} bases, but it has ${sequence.length}`)
  }
  const wrong = wrongLetter(sequence)
  if (wrong >= 0) {
    throw new ValueError(
      `${name}[${wrong}] must be ${expectedBases}, but it is ${show(sequence[wrong])}: leave out gaps and unknown bases`,
    )
  }
  return Uint8Array.from(sequence, (letter) => indices.get(letter.charCodeAt(0))!)
}
