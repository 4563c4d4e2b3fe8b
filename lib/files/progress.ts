/** Telling how far the reading or writing of a file is. */
import { inSlices, type Steps } from '../graph-core/slices.js'
import { tell } from '../listener.js'
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

/** Calls the listener of one piece of work. An exception of the listener ends the work: {@link run} rejects with exactly that. */
export class ProgressListener<Told> {
  readonly #listener: ((told: Told) => void) | undefined
  #thrown: { readonly error: unknown } | undefined

  constructor(listener: ((told: Told) => void) | undefined) {
    this.#listener = listener
  }

  /** Calls the listener, and throws if it throws. */
  tell(told: Told): void {
    this.goOn()
    try {
      if (this.#listener) tell(this.#listener, told)
    } catch (error) {
      this.#thrown = { error }
      this.goOn()
    }
  }

  /** Throws if the listener has thrown: a stream or a thread may have lost that. An Error, because streams ignore null. */
  goOn(): void {
    if (this.#thrown) throw new Error('the listener has thrown', { cause: this.#thrown.error })
  }

  /** Runs the work, whose code may wrap an exception or blame a file for it. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: the exception of the listener replaces all that followed from it.
      if (this.#thrown) throw this.#thrown.error
    }
  }
}

/** Progress and cancellation of the work on one file. */
export class FileWork {
  readonly signal: AbortSignal | undefined
  readonly #listener: ProgressListener<Progress>
  readonly #what: string
  readonly #isSilent: boolean
  #next = performance.now() + INTERVAL_MS
  #told = false

  private constructor(what: string, { signal, onProgress }: ReadFileOptions) {
    this.#what = what
    this.signal = signal
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

  /** Reports the share `done` of the work. Throws AbortedError if the signal is aborted. */
  reached(done: number): void {
    this.#listener.goOn()
    throwIfAborted(this.signal, this.#what)
    if (this.#isSilent) return
    const now = performance.now()
    if (now < this.#next) return
    this.#next = now + INTERVAL_MS
    this.#told = true
    this.#listener.tell({ done: Math.min(done, 1) || 0 })
  }

  /** Reports the end of the work. */
  end(): void {
    this.#listener.goOn()
    if (this.#told) this.#listener.tell({ done: 1 })
  }

  /** Runs a long loop in slices, between which the event loop turns and the signal is checked. */
  inSlices<Result>(steps: Steps<Result> | AsyncGenerator<void, Result, void>): Promise<Result> {
    return inSlices(steps, this.signal, this.#what)
  }
}
