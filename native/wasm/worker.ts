/** The worker that computes for a page (remote.ts). */
import { givenOf, named, type Reply, type Request, unpacked } from './messages.js'
import type { RemoteHandle } from './remote.js'
import { type Exports, TAKES } from './staging.js'

type Call = (...values: unknown[]) => unknown
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<Request>) => void
  postMessage(reply: Reply, transfer?: Transferable[]): void
}

/** Between two messages about how far calls are. */
const REPORT_MS = 50

/** What the page knows by numbers: devices, memories and semirings. */
const objects = new Map<number, object>()
const numbers = new WeakMap<object, number>()
/** The device that a memory is of. */
const deviceOf = new Map<number, number>()
const running = new Map<number, { cancel: Int32Array | undefined; report: Float64Array | undefined }>()
let last = 0
let timer: ReturnType<typeof setInterval> | undefined

/** Serves the page with the addon, which is there when what was promised is. Messages that come before wait for it. */
export function serve(begin: (start: Extract<Request, { start: unknown }>) => Promise<Exports>): void {
  let addon: Promise<Exports> | undefined
  scope.onmessage = async ({ data }) => {
    if ('start' in data) {
      addon = begin(data)
      addon.then(
        () => scope.postMessage({ started: '' }),
        (error: Error) => scope.postMessage({ started: `the worker can't start: ${error.message}` }),
      )
      return
    }
    try {
      take(await addon!, data)
    } catch {
      // The page has been told why there is no addon.
    }
  }
}

function take(addon: Exports, request: Exclude<Request, { start: unknown }>): void {
  if ('call' in request) {
    run(addon, request)
  } else if ('semiring' in request) {
    const make = addon.userSemiring as (definition: unknown) => object
    objects.set(request.semiring, make(request.definition))
  } else if ('giveUp' in request) {
    const cancel = running.get(request.giveUp)?.cancel
    if (cancel) (addon.giveUp as Call)(cancel)
  } else {
    const { release } = request
    const memory = objects.get(release)
    const device = deviceOf.get(release)
    objects.delete(release)
    deviceOf.delete(release)
    if (memory === undefined || device === undefined) return
    ;(addon.release as Call)(memory)
    tellUse(addon, device)
  }
}

function useOf(addon: Exports, device: number): unknown {
  const found = objects.get(device)
  try {
    return found && (addon.memoryUse as Call)(found)
  } catch {
    return undefined
  }
}

function tellUse(addon: Exports, device: number): void {
  const use = useOf(addon, device)
  if (use !== undefined) scope.postMessage({ device, use })
}

async function run(addon: Exports, request: Extract<Request, { call: number }>): Promise<void> {
  const { call, name, arrays, wanted } = request
  const values = unpacked(request.values, arrays, (handle) => objects.get(handle))
  const { cancel, report, device } = named(TAKES[name] ?? [], values)
  const number = numbers.get(device as object)
  const watched = { cancel: cancel as Int32Array | undefined, report: report as Float64Array | undefined }
  running.set(call, watched)
  timer ??= setInterval(tellReports, REPORT_MS)
  try {
    const given = await (addon[name] as Call)(...values)
    const encoded = givenOf(given, (object) => handleOf(addon, object, name, number))
    if (number !== undefined) tellUse(addon, number)
    const written = wanted.map((place) => arrays[place]!)
    scope.postMessage(
      { call, given: encoded, arrays: written },
      written.map(({ buffer }) => buffer as ArrayBuffer),
    )
  } catch (error) {
    const { message, code } = error as { message: string; code: unknown }
    scope.postMessage({ call, error: { message, code }, report: watched.report })
  } finally {
    running.delete(call)
    if (running.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }
}

function tellReports(): void {
  for (const [call, { report }] of running) if (report) scope.postMessage({ call, report })
}

function handleOf(addon: Exports, object: object, name: string, device: number | undefined): RemoteHandle {
  const handle = ++last
  objects.set(handle, object)
  numbers.set(object, handle)
  if (name === 'openDevice') {
    const description = (addon.describeDevice as Call)(object)
    return { $handle: handle, description, use: (addon.memoryUse as Call)(object) }
  }
  if (device !== undefined) deviceOf.set(handle, device)
  return { $handle: handle, number: (addon.memoryNumber as Call)(object) as number }
}
