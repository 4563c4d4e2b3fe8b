/**
 * The addon of a page. A worker (with shared memory, several) computes asynchronous calls, so that the page
 * stays responsive. Synchronous calls run on the page, in a second instance of the module.
 */
import {
  isLarge,
  type Kind,
  calls as known,
  named,
  type Port,
  packed,
  type RemoteHandle,
  type Reply,
  type Request,
  takenFrom,
} from './messages.js'
import {
  copyElements,
  type Exports,
  partsOf,
  replacesAll,
  type TypedArray,
  type Written,
  whole,
  writtenBy,
} from './written.js'

type Call = (...values: unknown[]) => unknown

/** Object of the addon in a worker. */
export class Remote {
  /** `addon`: the functions of that worker. */
  constructor(
    readonly info: RemoteHandle,
    readonly addon: Exports,
  ) {}
}

/** Device that was opened in the worker. */
class RemoteDevice extends Remote {
  /** Latest memory use that the worker reported. */
  use: unknown = this.info.use
}

/** A call that the worker hasn't answered. */
interface Pending {
  readonly results: readonly Written[]
  /** Arrays that the worker returns after success. */
  readonly resultArrays: readonly TypedArray[]
  readonly report: Float64Array | undefined
  readonly cancel: unknown
  resolve(value: unknown): void
  reject(error: unknown): void
}

function errorOf(message: string, code: unknown): Error {
  return Object.assign(new Error(message), typeof code === 'string' ? { code } : {})
}

/** Returns the error of a failed worker. */
export function workerError(event: ErrorEvent): Error {
  event.preventDefault()
  const why = event.message || 'its file was not found, or worker-src forbids it'
  return errorOf(`the worker that computes for this page has failed: ${why}`, 'ERR_MPMML_ADDON')
}

const copyOf = (array: TypedArray): TypedArray => {
  // The copy doesn't use slice(), which subclasses may override.
  const Type = array.constructor as new (elements: TypedArray) => TypedArray
  return new Type(array)
}

function outOfMemory(arrays: readonly TypedArray[]): Error {
  const bytes = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0)
  return errorOf(
    `out of memory: cannot allocate ${Math.ceil(bytes / 2 ** 20)} MiB for a copy of the arrays of this call: use smaller arrays`,
    'ERR_MPMML_OUT_OF_MEMORY',
  )
}

/** Bytes of a slice, which takes about 0.1 ms, or 2 ms if its pages are new and the machine is busy. The event loop runs between slices. */
const SLICE = 2 ** 19

/**
 * Resolves after a turn of the event loop. Both lib/platform.ts and lib/browser/platform.ts are left out of
 * the bundle of a page's addon.
 */
const turn = () =>
  new Promise<void>((resolve) => {
    const { setImmediate } = globalThis as { setImmediate?: (then: () => void) => void }
    if (setImmediate) return setImmediate(resolve)
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })

/** Copies elements, those of a large array in slices. */
async function copyInSlices(to: TypedArray, from: TypedArray, written: Written): Promise<void> {
  for (const part of partsOf(written, SLICE / from.BYTES_PER_ELEMENT)) {
    copyElements(to, from, part)
    if (isLarge(from)) await turn()
  }
}

/** Memory of large copies of earlier calls, for the next copies of their sizes: new memory has page faults, and garbage collections. */
class SpentMemory {
  #buffers: WeakRef<ArrayBuffer>[] = []

  /** Adds buffers. Those of earlier calls are forgotten. */
  replace(buffers: readonly ArrayBuffer[]): void {
    this.#buffers = buffers.map((buffer) => new WeakRef(buffer))
  }

  /** Returns a buffer of a size; undefined if there is none. */
  take(bytes: number): ArrayBuffer | undefined {
    const index = this.#buffers.findIndex((buffer) => buffer.deref()?.byteLength === bytes)
    return index < 0 ? undefined : this.#buffers.splice(index, 1)[0]!.deref()
  }
}

/**
 * Returns the copies of arrays for a message. Copies of large arrays have any content and are filled later, except
 * copies of `replaced` arrays, whose contents aren't needed.
 */
function copiesOf(
  arrays: readonly TypedArray[],
  replaced: ReadonlySet<TypedArray>,
  spent: SpentMemory,
): TypedArray[] {
  try {
    return arrays.map((array) => {
      if (!isLarge(array) && !replaced.has(array)) return copyOf(array)
      const Type = array.constructor as new (lengthOrMemory: number | ArrayBuffer) => TypedArray
      return new Type(spent.take(array.byteLength) ?? array.length)
    })
  } catch (error) {
    throw error instanceof RangeError ? outOfMemory(arrays) : error
  }
}

/** Endpoint of the worker for the page, with its errors. */
export interface WorkerPort extends Port<Request, Reply> {
  onerror?: ((event: ErrorEvent) => unknown) | null
}

/**
 * Returns the addon of a page. `local` is the instance on the page, which has one thread.
 *
 * @param failureOf - gives the error of calls when the worker has failed.
 */
export function remote(
  local: Exports,
  worker: WorkerPort,
  start: { compiled: WebAssembly.Module | null; kind: Kind; threads: number },
  failureOf: (event: ErrorEvent) => Error = workerError,
): Exports {
  const resultsOf = writtenBy(local)
  const pending = new Map<number, Pending>()
  const devices = new Map<number, WeakRef<RemoteDevice>>()
  /** Numbers of objects of this worker. Those of semirings are negative, because the worker chooses the others. */
  const numbers = new WeakMap<object, number>()
  const spent = new SpentMemory()
  let calls = 0
  let failure: Error | undefined

  /** Resolves when all earlier messages are posted; null if none is pending. */
  let posting: Promise<void> | null = null
  /** Runs work that posts a message after the messages of earlier calls. It never rejects. */
  const inOrder = (work: () => Promise<void>) => {
    const started = posting ? posting.then(work) : work()
    posting = started
    started.then(() => {
      if (posting === started) posting = null
    })
  }
  const post = (request: Request) =>
    inOrder(async () => {
      try {
        worker.postMessage(request, [])
      } catch {
        // The worker lacks one object, or keeps it. Calls that need it fail in the worker; others don't.
      }
    })
  const collected = new FinalizationRegistry<number>((handle) => post({ release: handle }))
  worker.postMessage({ start: start.compiled, kind: start.kind, threads: start.threads }, [])

  function fail(error: Error): void {
    failure = error
    for (const { reject } of pending.values()) reject(error)
    pending.clear()
  }
  worker.onerror = (event) => fail(failureOf(event))
  worker.onmessageerror = () => fail(errorOf("the worker sent what the page can't read", 'ERR_MPMML_ADDON'))
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    if ('started' in data) {
      if (data.started !== '') fail(errorOf(data.started, 'ERR_MPMML_ADDON'))
      return
    }
    if ('device' in data) {
      const device = devices.get(data.device)?.deref()
      if (device) device.use = data.use
      return
    }
    const call = pending.get(data.call)
    if (!call) {
      // The call was aborted, so its results are released here.
      if ('given' in data) takenFrom(data.given, ({ $handle }) => post({ release: $handle }))
      return
    }
    if ('report' in data && data.report) call.report?.set(data.report)
    if ('error' in data) {
      pending.delete(data.call)
      call.reject(errorOf(data.error.message, data.error.code))
    }
    if (!('given' in data)) return
    pending.delete(data.call)
    const returned = new Map(call.resultArrays.map((array, index) => [array, data.arrays[index]!]))
    const finish = async () => {
      for (const written of call.results)
        await copyInSlices(written.array, returned.get(written.array)!, written)
      const results = data.arrays.filter(isLarge).map(({ buffer }) => buffer as ArrayBuffer)
      if (results.length + data.spent.length > 0) spent.replace([...results, ...data.spent])
      call.resolve(takenFrom(data.given, received))
    }
    finish().catch(call.reject)
  }

  function received(made: RemoteHandle): Remote {
    const object = new (made.kind === 'device' ? RemoteDevice : Remote)(made, functions)
    numbers.set(object, made.$handle)
    if (object instanceof RemoteDevice) devices.set(made.$handle, new WeakRef(object))
    collected.register(object, made.$handle, object)
    return object
  }

  function handleOf(value: object): number {
    const handle = numbers.get(value)
    if (handle === undefined) throw new TypeError('the worker has no such object')
    return handle
  }

  const computedThere = (name: string): Call => {
    const { takes } = known[name]!
    return (...values) =>
      new Promise((resolve, reject) => {
        if (failure) throw failure
        const { values: sent, arrays } = packed(values, handleOf)
        const { report, cancel, ...others } = named(takes, values)
        // Wrong arguments, which the worker rejects, may lack an array.
        const results = resultsOf(name, { report, cancel, ...others }).filter(({ array }) =>
          arrays.has(array),
        )
        const resultArrays = [...new Set(results.map(({ array }) => array))]
        // An array that is both an operand and a result is used several times in the call.
        const isReplaced = (written: Written) => replacesAll(written) && arrays.get(written.array)!.uses === 1
        const replaced = new Set(results.filter(isReplaced).map(({ array }) => array))
        const copies = copiesOf([...arrays.keys()], replaced, spent)
        const call = ++calls
        const fillAndSend = async () => {
          try {
            for (const [array, { index }] of arrays) {
              if (!isLarge(array) || replaced.has(array)) continue
              // An aborted call needs no more copies.
              if (!pending.has(call)) return
              await copyInSlices(copies[index]!, array, whole(array))
            }
            if (!pending.has(call)) return
            worker.postMessage(
              {
                call,
                name,
                values: sent,
                arrays: copies,
                resultIndices: resultArrays.map((array) => arrays.get(array)!.index),
              },
              copies.map(({ buffer }) => buffer as ArrayBuffer),
            )
          } catch (error) {
            pending.delete(call)
            reject(error)
          }
        }
        pending.set(call, {
          ...{ results, resultArrays, cancel, resolve, reject },
          report: report as Float64Array | undefined,
        })
        inOrder(fillAndSend)
      })
  }

  const onlyWithout = (name: string, instead: string): Call => {
    const here = local[name] as Call
    return (...values) => {
      if (values.some((value) => [value].flat().some((inside) => inside instanceof Remote))) {
        throw errorOf(
          `what stays on a device is in a worker, which a page can't wait for: ${instead}`,
          'ERR_MPMML_DEVICE',
        )
      }
      return here(...values)
    }
  }

  const promising = Object.keys(known).filter((name) => known[name]!.givesPromise)
  const functions: Exports = {
    ...local,
    ...Object.fromEntries(promising.map((name) => [name, computedThere(name)])),
    multiplySync: onlyWithout('multiplySync', 'call await mpmm(…); plan(…) takes arrays'),
    multiplyUserSync: onlyWithout('multiplyUserSync', 'call await mpmm(…)'),
    configureCpu(settings: { threads: number }) {
      const here = local.configureCpu as Call
      here({ ...settings, threads: 1 })
      const threads = Math.min(settings.threads || start.threads, start.threads)
      const call = computedThere('configureCpu') as (settings: object) => Promise<unknown>
      call({ ...settings, threads }).catch(() => {})
    },
    describe() {
      const here = local.describe as () => { cpu: object }
      const described = here()
      return { ...described, cpu: { ...described.cpu, threads: start.threads } }
    },
    describeDevice: ({ info }: Remote) => info.description,
    memoryUse: (device: RemoteDevice) => device.use,
    memoryNumber: ({ info }: Remote) => info.number,
    release(memory: Remote) {
      collected.unregister(memory)
      post({ release: memory.info.$handle })
    },
    userSemiring(definition: unknown) {
      const here = local.userSemiring as (definition: unknown) => object
      const made = here(definition)
      const handle = -1 - ++calls
      post({ semiring: handle, definition })
      numbers.set(made, handle)
      collected.register(made, handle)
      return made
    },
    cancelWork(cancel: Int32Array) {
      cancel[0] = 1
      for (const [call, { cancel: flag, reject }] of pending) {
        if (flag !== cancel) continue
        post({ cancelWork: call })
        pending.delete(call)
        // The promise is rejected at once, because a worker without threads reads the cancellation only after
        // the call.
        reject(errorOf('the call was aborted', 'ERR_MPMML_ABORTED'))
      }
    },
  }
  return functions
}
