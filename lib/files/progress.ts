/** Progress and cancellation of the reading and writing of files. */
import { throwIfAborted } from '../abort.js'
import { inSlices, type Steps } from '../graph-core/slices.js'
import { boolean, Options, type OptionsOf, type ReadOf } from '../options.js'
import { longWorkSet, type Progress } from '../product/options.js'
import { INTERVAL_MS, ProgressListener } from '../product/progress.js'
import { writePieces } from './files.js'

/** Bytes of a file, piece by piece. */
export type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Options of all functions that read or write files. */
export interface FileOptions {
  /** Aborts reading or writing. The error's `cause` is the signal's reason. */
  signal?: AbortSignal | undefined
  /**
   * Listener of progress, called several times a second during long work. If it throws, the work is aborted
   * with its exception.
   */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** Options of all functions that write a file. */
export interface WriteFileOptions extends FileOptions {
  /**
   * Whether an existing regular file is replaced. Default true. If false, an existing file is the error
   * ERR_MPMML_EXISTS.
   */
  overwrite?: boolean | undefined
}

export const fileOptions = new Options(longWorkSet satisfies OptionsOf<FileOptions>)

export const writeFileSet = {
  ...longWorkSet,
  overwrite: boolean(true),
} satisfies OptionsOf<WriteFileOptions>
export const writeFileOptions = new Options(writeFileSet)

/** Validated options of work on a file. */
export type ReadFileOptions = Partial<ReadOf<typeof writeFileOptions>>

/** Progress and cancellation of the work on one file. */
export class FileWork {
  readonly signal: AbortSignal | undefined
  readonly overwrite: boolean
  readonly #listener: ProgressListener<Progress>
  readonly #what: string
  readonly #isSilent: boolean
  #next = performance.now() + INTERVAL_MS
  #hasReported = false

  private constructor(what: string, { signal, onProgress, overwrite = true }: ReadFileOptions) {
    this.#what = what
    this.signal = signal
    this.overwrite = overwrite
    this.#listener = new ProgressListener(onProgress)
    this.#isSilent = onProgress === undefined
    throwIfAborted(this.signal, what)
  }

  /**
   * Runs the work on a file.
   *
   * @param what - its name in messages: "reading a file".
   */
  static async run<Result>(
    what: string,
    options: ReadFileOptions,
    steps: (work: FileWork) => Promise<Result>,
  ): Promise<Result> {
    const work = new FileWork(what, options)
    return work.#listener.run(() => steps(work))
  }

  /** Writes a file whose bytes `pieces` returns. */
  static write(name: string, options: ReadFileOptions, pieces: (work: FileWork) => Pieces): Promise<void> {
    return FileWork.run(`writing ${name}`, options, (work) => work.write(name, pieces(work)))
  }

  /** Writes the bytes of a file, and reports the end of the work. */
  async write(name: string, pieces: Pieces): Promise<void> {
    await writePieces(name, pieces, this)
    this.end()
  }

  /** Reports the share `done` of the work. Throws AbortedError if the signal is aborted. */
  reached(done: number): void {
    this.#listener.goOn()
    throwIfAborted(this.signal, this.#what)
    if (this.#isSilent) return
    const now = performance.now()
    if (now < this.#next) return
    this.#next = now + INTERVAL_MS
    this.#hasReported = true
    this.#listener.notify({ done: Math.min(done, 1) || 0 })
  }

  /** Reports the end of the work. */
  end(): void {
    this.#listener.goOn()
    if (this.#hasReported) this.#listener.notify({ done: 1 })
  }

  /** Runs a long loop in slices, between which the event loop turns and the signal is checked. */
  inSlices<Result>(steps: Steps<Result> | AsyncGenerator<void, Result, void>): Promise<Result> {
    return inSlices(steps, this.signal, this.#what)
  }
}
