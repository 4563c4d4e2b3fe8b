/**
 * The addon of a page. A worker (with shared memory, several) computes asynchronous calls, so that the page
 * stays responsive. Synchronous calls run on the page, in a second instance of the module.
 */
import { calls as known } from './calls.js'
import { Remote, RemoteDevice } from './handles.js'
import {
  type Kind,
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
  isRecord,
  partsOf,
  replacesAll,
  type TypedArray,
  type Written,
  whole,
  writtenBy,
} from './written.js'

type Call = (...values: unknown[]) => unknown

/** A call that the worker hasn't answered. */
interface Pending {
  /** Arrays for results: the array that was sent at each index. */
  readonly results: ReadonlyMap<number, Written[]>
  readonly resultIndices: readonly number[]
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

/**
 * Size in bytes from which arrays are copied in slices, and bytes of a slice, which takes about 0.1 ms, or 2 ms if its pages are new and
 * the machine is busy. The event loop runs between slices.
 */
const LARGE = 2 ** 20
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

/** Returns the number of occurrences of an array in a value. */
function countIn(value: unknown, array: TypedArray): number {
  if (value === array) return 1
  const insides = Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : []
  return insides.reduce<number>((sum, inside) => sum + countIn(inside, array), 0)
}

/** Copies elements in slices. */
async function copyInSlices(to: TypedArray, from: TypedArray, written: Written): Promise<void> {
  for (const part of partsOf(written, SLICE / from.BYTES_PER_ELEMENT)) {
    copyElements(to, from, part)
    await turn()
  }
}

const isLarge = ({ byteLength }: TypedArray) => byteLength >= LARGE

/**
 * Returns the copies of arrays for a message. Copies of large arrays are empty and are filled later, except
 * copies of `replaced` arrays, whose contents aren't needed.
 */
function copiesOf(arrays: readonly TypedArray[], replaced: ReadonlySet<TypedArray>): TypedArray[] {
  try {
    return arrays.map((array) => {
      if (!isLarge(array) && !replaced.has(array)) return copyOf(array)
      const Type = array.constructor as new (length: number) => TypedArray
      return new Type(array.length)
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
  let calls = 0
  let failure: Error | undefined

  /** Resolves when all earlier messages are posted; null if none is pending. */
  let posting: Promise<void> | null = null
  /** Runs work that posts a message after the messages of earlier calls. */
  const inOrder = (work: () => void | Promise<void>) => {
    const started = posting ? posting.then(work) : work()
    if (!(started instanceof Promise)) return
    posting = started
    started.then(() => {
      if (posting === started) posting = null
    })
  }
  const post = (request: Request, transfer: Transferable[] = []) =>
    inOrder(() => {
      worker.postMessage(request, transfer)
    })
  const collected = new FinalizationRegistry<number>((handle) => post({ release: handle }))
  post({ start: start.compiled, kind: start.kind, threads: start.threads })

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
    const resolve = () => call.resolve(takenFrom(data.given, received))
    const copies = data.arrays.flatMap((array, index) =>
      (call.results.get(call.resultIndices[index]!) ?? []).map((written) => ({ array, written })),
    )
    const large = copies.filter(({ array }) => isLarge(array))
    for (const { array, written } of copies) {
      if (!isLarge(array)) copyElements(written.array, array, written)
    }
    if (large.length === 0) return resolve()
    const copying = async () => {
      for (const { array, written } of large) await copyInSlices(written.array, array, written)
    }
    copying().then(resolve, call.reject)
  }

  function received(handle: RemoteHandle): Remote {
    const object = new (handle.kind === 'device' ? RemoteDevice : Remote)(handle, functions)
    numbers.set(object, handle.$handle)
    if (object instanceof RemoteDevice) devices.set(handle.$handle, new WeakRef(object))
    collected.register(object, handle.$handle, object)
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
        const results = new Map<number, Written[]>()
        for (const written of resultsOf(name, { report, cancel, ...others })) {
          const position = arrays.indexOf(written.array)
          results.set(position, [...(results.get(position) ?? []), written])
        }
        const resultIndices = [...results.keys()]
        // An array that is both an operand and a result occurs several times in the call.
        const replaced = new Set(
          [...results.values()].flatMap(([written, ...others]) =>
            written &&
            others.length === 0 &&
            arrays.includes(written.array) &&
            replacesAll(written) &&
            countIn(values, written.array) === 1
              ? [written.array]
              : [],
          ),
        )
        const copies = copiesOf(arrays, replaced)
        const call = ++calls
        const send = () =>
          worker.postMessage(
            { call, name, values: sent, arrays: copies, resultIndices },
            copies.map(({ buffer }) => buffer as ArrayBuffer),
          )
        const sliced = arrays.filter((array) => isLarge(array) && !replaced.has(array))
        const fillAndSend = async () => {
          try {
            for (const array of sliced) {
              // An aborted call needs no more copies.
              if (!pending.has(call)) return
              await copyInSlices(copies[arrays.indexOf(array)]!, array, whole(array))
            }
            if (pending.has(call)) send()
          } catch (error) {
            pending.delete(call)
            reject(error)
          }
        }
        // The worker only answers posted calls.
        if (sliced.length === 0 && !posting) send()
        pending.set(call, {
          results,
          resultIndices,
          report: report as Float64Array | undefined,
          cancel,
          resolve,
          reject,
        })
        if (sliced.length > 0 || posting) inOrder(fillAndSend)
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
      const created = here(definition)
      const handle = -1 - ++calls
      post({ semiring: handle, definition })
      numbers.set(created, handle)
      collected.register(created, handle)
      return created
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
