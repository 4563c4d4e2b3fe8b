/** The worker that computes for a page (page.ts). */
import type { HandleKind } from '../native-interface.js'
import {
  calls,
  givenOf,
  isLarge,
  named,
  type Port,
  type RemoteHandle,
  type Reply,
  type Request,
  unpacked,
} from './messages.js'
import type { Exports } from './written.js'

type Call = (...values: unknown[]) => unknown
type Start = Extract<Request, { start: unknown }>
type CallRequest = Extract<Request, { call: number }>

/** Interval between two progress messages. */
const REPORT_MS = 50

/** Serves the page with the addon that `begin` returns. Earlier messages wait for the addon. */
export function serve(page: Port<Reply, Request>, begin: (start: Start) => Promise<Exports>): void {
  let service: Promise<Service> | undefined
  page.onmessage = async ({ data }) => {
    if ('start' in data) {
      service = begin(data).then(
        (addon) => new Service(addon, (reply, transfer = []) => page.postMessage(reply, transfer)),
      )
      service.then(
        () => page.postMessage({ started: '' }, []),
        (error: Error) => page.postMessage({ started: `the worker can't start: ${error.message}` }, []),
      )
      return
    }
    // The page already has the error of the addon's start.
    const started = await service!.catch(() => undefined)
    started?.take(data)
  }
}

/** The addon, and its objects by the numbers that the page uses. */
class Service {
  readonly #objects = new Map<number, object>()
  readonly #numbers = new WeakMap<object, number>()
  /** Number of the device by the number of the memory. */
  readonly #deviceOf = new Map<number, number>()
  readonly #running = new Map<number, { cancel: Int32Array | undefined; report: Float64Array | undefined }>()
  #last = 0
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(
    readonly addon: Exports,
    readonly tell: (reply: Reply, transfer?: Transferable[]) => void,
  ) {}

  take(request: Exclude<Request, Start>): void {
    if ('call' in request) this.#run(request)
    else if ('semiring' in request) this.#makeSemiring(request.semiring, request.definition)
    else if ('cancelWork' in request) {
      const cancel = this.#running.get(request.cancelWork)?.cancel
      if (cancel) this.#call('cancelWork', cancel)
    } else if ('end' in request) this.#end(request.end)
    else this.#release(request.release)
  }

  async #end(done: Int32Array): Promise<void> {
    await this.#call('end')
    Atomics.store(done, 0, 1)
    Atomics.notify(done, 0)
  }

  #call(name: string, ...values: unknown[]): unknown {
    return (this.addon[name] as Call)(...values)
  }

  #makeSemiring(number: number, definition: unknown): void {
    try {
      this.#objects.set(number, this.#call('userSemiring', definition) as object)
    } catch {
      // The definition is valid, because the page created it, so the only possible error is a lack of memory.
      // Calls with this semiring fail.
    }
  }

  #release(number: number): void {
    const object = this.#objects.get(number)
    const device = this.#deviceOf.get(number)
    this.#objects.delete(number)
    this.#deviceOf.delete(number)
    if (object === undefined || device === undefined) return
    this.#call('release', object)
    this.#tellUse(device)
  }

  #tellUse(device: number): void {
    const opened = this.#objects.get(device)
    if (opened === undefined) return
    try {
      this.tell({ device, use: this.#call('memoryUse', opened) })
    } catch {
      // A closed device has no memory use.
    }
  }

  async #run({ call, name, values, arrays, resultIndices }: CallRequest): Promise<void> {
    let report: Float64Array | undefined
    try {
      const taken = unpacked(values, arrays, (handle) => this.#objects.get(handle))
      const { device, ...others } = named(calls[name]!.takes, taken)
      report = others.report as Float64Array | undefined
      this.#running.set(call, { cancel: others.cancel as Int32Array | undefined, report })
      this.#timer ??= setInterval(() => this.#tellReports(), REPORT_MS)
      const number = this.#numbers.get(device as object)
      const written = resultIndices.map((place) => arrays[place]!)
      const transferred = [...written]
      const spent = arrays
        .filter((array) => isLarge(array) && !written.includes(array))
        .map(({ buffer }) => buffer as ArrayBuffer)
      const result = await this.#call(name, ...taken)
      const given = givenOf(result, (object) => this.#handleOf(object, number), transferred)
      if (number !== undefined) this.#tellUse(number)
      this.tell({ call, given, arrays: written, spent }, [
        ...new Set([...transferred.map(({ buffer }) => buffer as ArrayBuffer), ...spent]),
      ])
    } catch (error) {
      const { message, code } = error as { message: string; code: unknown }
      this.tell({ call, error: { message, code }, report })
    } finally {
      this.#running.delete(call)
      if (this.#running.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
    }
  }

  #tellReports(): void {
    for (const [call, { report }] of this.#running) if (report) this.tell({ call, report })
  }

  /** Returns a handle for an object of the addon. Other values are returned unchanged. */
  #handleOf(object: object, device: number | undefined): RemoteHandle | object {
    const kind = this.#call('handleKind', object) as HandleKind | ''
    if (kind === '') return object
    const handle = ++this.#last
    this.#objects.set(handle, object)
    this.#numbers.set(object, handle)
    if (kind === 'device') {
      const description = this.#call('describeDevice', object)
      return { $handle: handle, kind, description, use: this.#call('memoryUse', object) }
    }
    if (kind !== 'memory') return { $handle: handle, kind }
    if (device !== undefined) this.#deviceOf.set(handle, device)
    return { $handle: handle, kind, number: this.#call('memoryNumber', object) as number }
  }
}
