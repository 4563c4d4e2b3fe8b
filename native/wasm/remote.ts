/**
 * The addon of a page. A worker, with shared memory several, runs the functions that return promises, so that
 * the page stays responsive. Synchronous functions run on the page, in a separate instance of the same
 * module.
 */
import { nativeCalls } from '../../lib/native-interface.js'
import {
  type Kind,
  type MadeHandle,
  named,
  type Port,
  packed,
  type Reply,
  type Request,
  takenFrom,
} from './messages.js'
import { copyElements, type Exports, type TypedArray, type Written, writtenBy } from './staging.js'

type Call = (...values: unknown[]) => unknown

/** Proxy of an object of the addon in the worker. */
class Remote {
  constructor(readonly made: MadeHandle) {}
}

class RemoteDevice extends Remote {
  /** Latest memory use that the worker has reported. */
  use: unknown

  constructor(made: MadeHandle) {
    super(made)
    this.use = made.use
  }
}

/** A call without a reply so far. */
interface Pending {
  /** Destinations of the results, by index of the sent array. */
  readonly results: ReadonlyMap<number, Written[]>
  readonly wanted: readonly number[]
  readonly report: Float64Array | undefined
  readonly cancel: unknown
  resolve(value: unknown): void
  reject(error: unknown): void
}

function errorOf(message: string, code: unknown): Error {
  return Object.assign(new Error(message), typeof code === 'string' ? { code } : {})
}

/** Returns the error of a worker that has failed. */
export function workerError(event: ErrorEvent): Error {
  event.preventDefault()
  const why = event.message || 'its file was not found, or worker-src forbids it'
  return errorOf(`the worker that computes for this page has failed: ${why}`, 'ERR_MPMML_ADDON')
}

const copyOf = (array: TypedArray): TypedArray => {
  // slice() isn't used, because subclasses may override it.
  const Type = array.constructor as new (elements: TypedArray) => TypedArray
  return new Type(array)
}

function outOfMemory(arrays: readonly TypedArray[]): Error {
  const bytes = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0)
  return errorOf(
    `there is no memory for a copy of the arrays of this call, ${Math.ceil(bytes / 2 ** 20)} MiB: compute with smaller ones`,
    'ERR_MPMML_OUT_OF_MEMORY',
  )
}

/** Returns copies of arrays, to be transferred with a message. */
function copiesOf(arrays: readonly TypedArray[]): TypedArray[] {
  try {
    return arrays.map(copyOf)
  } catch (error) {
    throw error instanceof RangeError ? outOfMemory(arrays) : error
  }
}

/** The worker's port, with the errors that a page receives. */
export interface WorkerPort extends Port<Request, Reply> {
  onerror?: ((event: ErrorEvent) => unknown) | null
}

/** Returns the addon of a page. `local` is the single-threaded instance on the page. */
export function remote(
  local: Exports,
  worker: WorkerPort,
  start: { compiled: WebAssembly.Module; kind: Kind; threads: number },
): Exports {
  const resultsOf = writtenBy(local)
  const pending = new Map<number, Pending>()
  const devices = new Map<number, WeakRef<RemoteDevice>>()
  /** Numbers of semirings are negative, because the page assigns them. */
  const semirings = new WeakMap<object, number>()
  let calls = 0
  let failure: Error | undefined

  const post = (request: Request, transfer: Transferable[] = []) => worker.postMessage(request, transfer)
  const collected = new FinalizationRegistry<number>((handle) => post({ release: handle }))
  post({ start: start.compiled, kind: start.kind, threads: start.threads })

  function fail(error: Error): void {
    failure = error
    for (const { reject } of pending.values()) reject(error)
    pending.clear()
  }
  worker.onerror = (event) => fail(workerError(event))
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
      // The call was cancelled, so the objects that it has created are released here.
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
    data.arrays.forEach((array, index) => {
      for (const written of call.results.get(call.wanted[index]!) ?? []) {
        copyElements(written.array, array, written)
      }
    })
    call.resolve(takenFrom(data.given, received))
  }

  function received(made: MadeHandle): Remote {
    const object = made.kind === 'device' ? new RemoteDevice(made) : new Remote(made)
    if (object instanceof RemoteDevice) devices.set(made.$handle, new WeakRef(object))
    collected.register(object, made.$handle, object)
    return object
  }

  function handleOf(value: object): number {
    const handle = value instanceof Remote ? value.made.$handle : semirings.get(value)
    if (handle === undefined) throw new TypeError('the worker has no such object')
    return handle
  }

  const computedThere = (name: string): Call => {
    const { takes } = nativeCalls[name]!
    return (...values) =>
      new Promise((resolve, reject) => {
        if (failure) throw failure
        const { values: replaced, arrays } = packed(values, handleOf)
        const { report, cancel, ...others } = named(takes, values)
        const results = new Map<number, Written[]>()
        for (const written of resultsOf(name, { report, cancel, ...others })) {
          const place = arrays.indexOf(written.array)
          results.set(place, [...(results.get(place) ?? []), written])
        }
        const wanted = [...results.keys()]
        const copies = copiesOf(arrays)
        const call = ++calls
        post(
          { call, name, values: replaced, arrays: copies, wanted },
          copies.map(({ buffer }) => buffer as ArrayBuffer),
        )
        // Registered after the call has been posted, because only posted calls get a reply.
        pending.set(call, {
          results,
          wanted,
          report: report as Float64Array | undefined,
          cancel,
          resolve,
          reject,
        })
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

  const promising = Object.keys(nativeCalls).filter((name) => nativeCalls[name]!.givesPromise)
  return {
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
    describeDevice: ({ made }: Remote) => made.description,
    memoryUse: (device: RemoteDevice) => device.use,
    memoryNumber: ({ made }: Remote) => made.number,
    release(memory: Remote) {
      collected.unregister(memory)
      post({ release: memory.made.$handle })
    },
    userSemiring(definition: unknown) {
      const here = local.userSemiring as (definition: unknown) => object
      const made = here(definition)
      const handle = -1 - ++calls
      post({ semiring: handle, definition })
      semirings.set(made, handle)
      collected.register(made, handle)
      return made
    },
    giveUp(cancel: Int32Array) {
      cancel[0] = 1
      for (const [call, { cancel: flag, reject }] of pending) {
        if (flag !== cancel) continue
        post({ giveUp: call })
        pending.delete(call)
        // A worker without threads receives the cancellation only after it has finished the call.
        reject(errorOf('the work was given up', 'ERR_MPMML_ABORTED'))
      }
    },
  }
}
