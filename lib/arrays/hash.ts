/** Hashes the content of arrays. */
import { createHash } from 'node:crypto'
import { inSlices, type Steps } from '../graph-core/slices.js'
import { WORK } from './names.js'

/** Bytes per update of a hash, which blocks JavaScript's thread for about a millisecond. */
const HASHED_BYTES = 1 << 20

/** Returns the SHA-256 of texts and bytes, one after the other. */
export const hashOf = (pieces: Iterable<string | Uint8Array>, signal: AbortSignal | undefined) =>
  inSlices(hashing(pieces), signal, WORK)

function* hashing(pieces: Iterable<string | Uint8Array>): Steps<string> {
  const hash = createHash('sha256')
  for (const piece of pieces) {
    if (typeof piece === 'string') hash.update(piece)
    else {
      for (let at = 0; at < piece.length; at += HASHED_BYTES) {
        hash.update(piece.subarray(at, at + HASHED_BYTES))
        yield
      }
    }
  }
  return hash.digest('hex')
}
