/** Interface between the parsers of sparse formats and the receivers of entries, such as edge lists. */
import { FileError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import { allocate } from '../matrix.js'
import { addon } from '../native.js'
import { assertWithinLimit } from './memory.js'
import { Pieces } from './pieces.js'

/** Number of entries per block. */
const BLOCK = 4096

/** Interface of the text that entries are read from. */
interface Source {
  /** Name of the text in errors. */
  readonly name: string
  /** Upper bound of the remaining bytes. */
  readonly left: number
  fail(problem: string): never
}

/** A block of entries, with rows and columns from 0. */
export interface EntryBlock {
  readonly row: Int32Array
  readonly col: Int32Array
  readonly value: Float64Array
  /** Number of entries. The arrays may be longer. */
  count: number
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
  take(block: EntryBlock): void
  /** Returns the result. The arguments are the sizes, and whether all values were written as integers. */
  end(rows: number, cols: number, integral: boolean): Steps<Result>
}

/** Collects entries, and passes them to a sink in blocks. */
export class EntryCollector {
  readonly #take: (block: EntryBlock) => void
  readonly #block: EntryBlock = {
    row: new Int32Array(BLOCK),
    col: new Int32Array(BLOCK),
    value: new Float64Array(BLOCK),
    count: 0,
  }

  constructor(take: (block: EntryBlock) => void) {
    this.#take = take
  }

  add(row: number, col: number, value: number): void {
    const block = this.#block
    const at = block.count++
    block.row[at] = row
    block.col[at] = col
    block.value[at] = value
    if (at === BLOCK - 1) this.flush()
  }

  flush(): void {
    if (this.#block.count > 0) this.#take(this.#block)
    this.#block.count = 0
  }
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

  take({ row, col, value, count }: EntryBlock): void {
    assertWithinLimit((this.#rows.count + count) * this.#bytesPerEntry, this.#maxBytes, this.#name)
    for (let e = 0; e < count; e++) {
      const number = value[e]!
      this.#rows.add(row[e]!)
      this.#cols.add(col[e]!)
      this.#values.add(number)
      if ((number | 0) !== number) this.#areInt32 = false
    }
  }

  *end(rows: number, cols: number, integral: boolean): Steps<EntryArrays> {
    const { count } = this.#rows
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
