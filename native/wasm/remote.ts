/**
 * The addon of a page. What gives a promise is computed by a worker, so that the page stays alive; with shared memory, by several.
 * What has to be known at once is computed on the page, by an instance of its own of the same module.
 */
import { type Handle, type Kind, named, packed, type Reply, type Request, takenFrom } from './messages.js'
import { copyElements, type Exports, TAKES, type TypedArray, type Written, writtenBy } from './staging.js'

type Call = (...values: unknown[]) => unknown

/** The functions that take arrays, and give what is known at once. */
const AT_ONCE = new Set(['multiplySync', 'userSemiring', 'evaluateUserSemiring', 'multiplyUserSync'])
/** What gives a promise is computed by the worker. */
const PROMISING = [
  ...Object.keys(TAKES).filter((name) => !AT_ONCE.has(name)),
  ...['openDevice', 'closeDevice', 'cpuCeiling', 'cpuNaiveLoop'],
]

/** A device, or memory of one: it is in the worker. */
class Remote {
  constructor(readonly handle: number) {}
}

class RemoteDevice extends Remote {
  constructor(
    handle: number,
    readonly description: unknown,
    /** As the worker said it last. */
    public use: unknown,
  ) {
    super(handle)
  }
}

class RemoteMemory extends Remote {
  constructor(
    handle: number,
    /** By which requests name it. */
    readonly number: number,
  ) {
    super(handle)
  }
}

/** What the worker says of a device, or of memory of one. */
export interface RemoteHandle extends Handle {
  readonly number?: number
  readonly description?: unknown
  readonly use?: unknown
}

/** A call that the worker hasn't answered. */
interface Pending {
  /** Where results go: the array that was sent at each place. */
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

/** Why there is no worker any more. */
export function workerError(event: ErrorEvent): Error {
  event.preventDefault()
  const why = event.message || 'its file was not found, or worker-src forbids it'
  return errorOf(`the worker that computes for this page has failed: ${why}`, 'ERR_MPMML_ADDON')
}

const copyOf = (array: TypedArray): TypedArray => {
  // Not slice(): subclasses have their own.
  const Type = array.constructor as new (elements: TypedArray) => TypedArray
  return new Type(array)
}

/** `local` is the instance on the page, which has one thread. */
export function remote(
  local: Exports,
  worker: Worker,
  start: { compiled: WebAssembly.Module; kind: Kind; threads: number },
): Exports {
  const resultsOf = writtenBy(local)
  const pending = new Map<number, Pending>()
  const devices = new Map<number, WeakRef<RemoteDevice>>()
  /** The numbers of semirings are negative, because the page gives them. */
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
      // It was given up, so what it has made is released here.
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
    call.resolve(takenFrom(data.given, (handle) => received(handle)))
  }

  function received({ $handle, number, description, use }: RemoteHandle): Remote {
    const made =
      number === undefined ? new RemoteDevice($handle, description, use) : new RemoteMemory($handle, number)
    if (made instanceof RemoteDevice) devices.set($handle, new WeakRef(made))
    collected.register(made, $handle, made)
    return made
  }

  function handleOf(value: object): number {
    const handle = value instanceof Remote ? value.handle : semirings.get(value)
    if (handle === undefined) throw new TypeError('the worker has no such object')
    return handle
  }

  const computedThere = (name: string): Call => {
    const names = TAKES[name] ?? []
    return (...values) =>
      new Promise((resolve, reject) => {
        if (failure) throw failure
        const { values: replaced, arrays } = packed(values, handleOf)
        const { report, cancel, ...others } = named(names, values)
        const results = new Map<number, Written[]>()
        for (const written of resultsOf(name, { report, cancel, ...others })) {
          const place = arrays.indexOf(written.array)
          results.set(place, [...(results.get(place) ?? []), written])
        }
        const wanted = [...results.keys()]
        const copies = arrays.map(copyOf)
        const call = ++calls
        pending.set(call, {
          results,
          wanted,
          report: report as Float64Array | undefined,
          cancel,
          resolve,
          reject,
        })
        post(
          { call, name, values: replaced, arrays: copies, wanted },
          copies.map(({ buffer }) => buffer as ArrayBuffer),
        )
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

  return {
    ...local,
    ...Object.fromEntries(PROMISING.map((name) => [name, computedThere(name)])),
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
    describeDevice: (device: RemoteDevice) => device.description,
    memoryUse: (device: RemoteDevice) => device.use,
    memoryNumber: (memory: RemoteMemory) => memory.number,
    release(memory: RemoteMemory) {
      collected.unregister(memory)
      post({ release: memory.handle })
    },
    userSemiring(definition: unknown) {
      const here = local.userSemiring as (definition: unknown) => object
      const made = here(definition)
      const handle = -1 - ++calls
      semirings.set(made, handle)
      collected.register(made, handle)
      post({ semiring: handle, definition })
      return made
    },
    giveUp(cancel: Int32Array) {
      cancel[0] = 1
      for (const [call, { cancel: flag, reject }] of pending) {
        if (flag !== cancel) continue
        post({ giveUp: call })
        pending.delete(call)
        // A worker without threads hears of it only when it has finished.
        reject(errorOf('the work was given up', 'ERR_MPMML_ABORTED'))
      }
    },
  }
}
