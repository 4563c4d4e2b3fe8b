/** Interface between the parsers of sparse formats and the receivers of entries, such as edge lists. */
import { FileError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import { allocate } from '../matrix.js'
import { addon } from '../native.js'
import { assertWithinLimit } from './memory.js'
import { Pieces } from './pieces.js'

/** Number of entries between two checks of the memory limit. */
const PER_CHECK = 4096

/** Interface of the text that entries are read from. */
interface Source {
  /** Name of the text in errors. */
  readonly name: string
  /** Upper bound of the remaining bytes. */
  readonly left: number
  fail(problem: string): never
}

/** Kind of a file's values: integers, numbers, only ones, or unknown until its lines are read. */
export type Values = 'integer' | 'real' | 'pattern' | 'unknown'

/** Contents of a file's header. */
export interface EntriesHead {
  /** Number of rows; undefined if it follows from the entries. */
  readonly rows: number | undefined
  readonly cols: number | undefined
  /** Upper bound of the number of entries; undefined if the header doesn't specify it. */
  readonly most: number | undefined
  readonly values: Values
}

/** Range of a file's integers, and whether its numbers may be infinite or NaN. */
export interface Accepted {
  readonly least: number
  readonly most: number
  readonly special: boolean
}

/** Receiver of the entries of a file. */
export interface EntrySink<Result> {
  /** Called once, before any entry. May refuse the header, with an error that names its line. */
  begin(head: EntriesHead, reader: Pick<Source, 'fail'>): Steps<Accepted>
  /** Takes an entry, with its row and column from 0. */
  add(row: number, col: number, value: number): void
  /** Returns the result. The arguments are the sizes, and whether all values were written as integers. */
  end(rows: number, cols: number, integral: boolean): Steps<Result>
}

/** Throws if a file states more entries than its bytes can hold, before memory for them is allocated. */
export function assertCapacity(reader: Source, count: number, bytesPerEntry: number, what: string): void {
  // The last line may lack its end.
  if (count * bytesPerEntry <= reader.left + 1) return
  reader.fail(
    `the file says that it has ${count} ${what}, but only ${reader.left} bytes follow: it is not complete`,
  )
}

export function assertCount(reader: Source, came: number, said: number, what: string): void {
  if (came === said) return
  throw new FileError(
    `${reader.name}: the file says that it has ${said} ${what}, but there are ${came > said ? 'more' : `only ${came}`}`,
  )
}

/** Entries in arrays. */
export interface EntryArrays {
  rows: number
  cols: number
  row: Int32Array
  col: Int32Array
  value: Int32Array | Float64Array
}

/**
 * Stores entries in arrays: int32 if all values are int32 integers, otherwise float64.
 */
export class EntryList implements EntrySink<EntryArrays> {
  readonly #name: string
  readonly #graph: boolean
  readonly #maxBytes: number
  readonly #rows = new Pieces((length) => this.#made(length, 'int32') as Int32Array)
  readonly #cols = new Pieces((length) => this.#made(length, 'int32') as Int32Array)
  readonly #values = new Pieces((length) => this.#made(length, 'float64') as Float64Array)
  #count = 0
  #areInt32 = true
  #bytesPerEntry = 16

  /** @param graph - whether the entries are a graph, which must be square with finite weights. */
  constructor(name: string, graph: boolean, maxBytes = Number.POSITIVE_INFINITY) {
    this.#name = name
    this.#graph = graph
    this.#maxBytes = maxBytes
  }

  // biome-ignore lint/correctness/useYield: the other sink has work to do here
  *begin({ rows, cols, values }: EntriesHead, reader: Pick<Source, 'fail'>): Steps<Accepted> {
    if (this.#graph && rows !== cols) {
      reader.fail(`a graph has a square matrix, but this one is ${rows} × ${cols}`)
    }
    if (values === 'integer' || values === 'pattern') this.#bytesPerEntry = 12
    return { least: MIN_INT32, most: MAX_INT32, special: !this.#graph }
  }

  add(row: number, col: number, value: number): void {
    if (++this.#count % PER_CHECK === 0) this.#assertWithinLimit()
    this.#rows.add(row)
    this.#cols.add(col)
    this.#values.add(value)
    if ((value | 0) !== value) this.#areInt32 = false
  }

  #assertWithinLimit(): void {
    assertWithinLimit(this.#count * this.#bytesPerEntry, this.#maxBytes, this.#name)
  }

  *end(rows: number, cols: number, integral: boolean): Steps<EntryArrays> {
    this.#assertWithinLimit()
    const count = this.#count
    const row = yield* this.#rows.into(this.#made(count, 'int32') as Int32Array)
    const col = yield* this.#cols.into(this.#made(count, 'int32') as Int32Array)
    const value = yield* this.#values.into(
      this.#made(count, integral && this.#areInt32 ? 'int32' : 'float64'),
    )
    return { rows, cols, row, col, value }
  }

  #made(length: number, dtype: 'int32' | 'float64'): Int32Array | Float64Array {
    return allocate(
      length,
      `the entries of ${this.#name}`,
      addon.dataTypes.indexOf(dtype),
      undefined,
      'give the process more memory, or split the file',
    ) as Int32Array | Float64Array
  }
}
