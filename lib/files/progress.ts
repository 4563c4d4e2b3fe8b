/** Telling how far the reading or writing of a file is. */
import { Options, type OptionsOf, type ReadOf } from '../options.js'
import { longWorkSet, type Progress } from '../product/options.js'
import { throwIfAborted } from './files.js'

/** What all that reads or writes files takes. */
export interface FileOptions {
  /** Gives up reading or writing; the error's `cause` is the signal's reason. */
  signal?: AbortSignal | undefined
  /** Is called several times a second if there is much to do. If it throws, the work ends with what it threw. */
  onProgress?: ((progress: Progress) => void) | undefined
}

export const fileOptions = new Options(longWorkSet satisfies OptionsOf<FileOptions>)

/** Between two calls of `onProgress`. */
const INTERVAL_MS = 250

/** The same, read. */
export type ReadFileOptions = Partial<ReadOf<typeof fileOptions>>

/** How far the work on one file is. */
export class FileWork {
  readonly signal: AbortSignal | undefined
  readonly #listener: ((progress: Progress) => void) | undefined
  readonly #what: string
  #next = performance.now() + INTERVAL_MS
  #told = false
  #thrown: { readonly error: unknown } | null = null

  /** @param what - what messages call the work: "reading a file". */
  constructor(what: string, { signal, onProgress }: ReadFileOptions) {
    this.#what = what
    this.signal = signal
    this.#listener = onProgress
    throwIfAborted(this.signal, what)
  }

  /** The share `done` of the work is done. Throws AbortedError if the rest isn't wanted. */
  reached(done: number): void {
    throwIfAborted(this.signal, this.#what)
    const listener = this.#listener
    if (!listener) return
    const now = performance.now()
    if (now < this.#next) return
    this.#next = now + INTERVAL_MS
    this.#told = true
    this.#tell(listener, Math.min(done, 1) || 0)
  }

  /** All of it is done. */
  end(): void {
    const listener = this.#listener
    if (this.#told && listener) this.#tell(listener, 1)
  }

  /** Result of the work, which rejects with exactly what the listener threw. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      throw this.#thrown ? this.#thrown.error : error
    }
  }

  #tell(listener: (progress: Progress) => void, done: number): void {
    try {
      listener({ done })
    } catch (error) {
      this.#thrown = { error }
      // Streams take no other values for errors.
      throw new Error('the listener threw', { cause: error })
    }
  }
}
