/** Sequences of bases. */
import { show } from '../describe.js'
import { ShapeError, ValueError } from '../errors.js'

/** Bases in the order of native code's numbers. */
const BASES = 'ACGU'

/** Limit of bases, above the limit of any table over intervals. */
const MAX_BASES = 2 ** 20

/** Code of the base (upper case, U for T) by the code of a letter; 0 for other letters. */
export const codeOfBase = new Uint8Array(256)
for (const letter of 'ACGUTacgut') {
  codeOfBase[letter.charCodeAt(0)] = letter.toUpperCase().replace('T', 'U').charCodeAt(0)
}

export const expectedBases = 'A, C, G, U or T, in upper or lower case'

/**
 * Returns the bases of the user's sequence in native code's numbers. `name` names the sequence in messages.
 */
export function readStrand(sequence: unknown, name: string): Uint8Array {
  if (typeof sequence !== 'string') {
    throw new ValueError(`${name} must be a string of bases such as 'GGGAAAUCC', but it is ${show(sequence)}`)
  }
  if (sequence.length > MAX_BASES) {
    throw new ShapeError(`${name} must have at most ${MAX_BASES} bases, but it has ${sequence.length}`)
  }
  const bases = new Uint8Array(sequence.length)
  for (let at = 0; at < bases.length; at++) {
    const code = codeOfBase[sequence.charCodeAt(at)]
    if (code) bases[at] = BASES.indexOf(String.fromCharCode(code))
    else wrongLetter(sequence, name, at)
  }
  return bases
}

function wrongLetter(sequence: string, name: string, at: number): never {
  throw new ValueError(
    `${name}[${at}] must be ${expectedBases}, but it is ${show(sequence[at])}: leave out gaps and unknown bases`,
  )
}
