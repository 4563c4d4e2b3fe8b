/** What the readers of edge lists have in common. */
import { FileError, OutOfMemoryError } from '../../errors.js'
import type { EdgeList } from '../edges.js'
import type { TextReader } from './text.js'

/** What the readers make. */
export interface ReadEdgeList extends EdgeList<Int32Array | Float64Array> {
  readonly from: Int32Array
  readonly to: Int32Array
  readonly weight: Int32Array | Float64Array
}

/** The range of int32. */
export const LEAST = -(2 ** 31)
export const MOST = 2 ** 31 - 1

export const code = (character: string) => character.charCodeAt(0)

export function newEdges<Data>(count: number, make: (count: number) => Data, name: string): Data {
  try {
    return make(count)
  } catch (error) {
    throw new OutOfMemoryError(`${name}: there is no memory for ${count} edges`, { cause: error })
  }
}

/** A file can't hold more edges than it has bytes for: then its count lies, and needs no memory. */
export function requireRoom(reader: TextReader, count: number, bytesPerEdge: number, what: string): void {
  const left = reader.bytes.length - reader.position
  // The last line may lack its end.
  if (count * bytesPerEdge <= left + 1) return
  reader.fail(`the file says that it has ${count} ${what}, but only ${left} bytes follow: it is not complete`)
}

export function requireCount(reader: TextReader, came: number, said: number, what: string): void {
  if (came === said) return
  throw new FileError(
    `${reader.name}: the file says that it has ${said} ${what}, but there are ${came > said ? 'more' : `only ${came}`}`,
  )
}
