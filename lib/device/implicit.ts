/** Opens devices implicitly for work on arrays that consists of several products. */
import { AUTO, CPU, WEBGPU } from '../backend.js'
import { type PlacementRequest, placeClosure } from '../backend-selection.js'
import { DeviceLostError, OutOfMemoryError } from '../errors.js'
import { isFromListener } from '../listener.js'
import { measureProduct } from '../product/multiply.js'
import { isSquareWorkFaster, mayComputeInstead, type SquareWork } from '../product/webgpu.js'
import { openSession } from './device.js'
import type { Session } from './resident.js'

/** Open devices by backend and index, opened on first use. An open device doesn't keep the process alive. */
const sessions = new Map<string, Promise<Session>>()

/**
 * Runs work of about `steps` steps on the backend that the options or the library choose. `kind` is the kind of work if `auto` may
 * choose WebGPU, otherwise null.
 */
export async function onImplicitDevice<Result>(
  options: PlacementRequest,
  steps: number,
  kind: SquareWork | null,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const { backend: placed, device, mayTryCpu } = placeClosure(options, steps)
  const mayBeFaster = kind !== null && placed === AUTO && options.devices === 0
  const isFaster = mayBeFaster && (await isSquareWorkFaster(kind, steps, options.device, measureProduct))
  const backend = isFaster ? WEBGPU : placed
  let session: Session | undefined
  try {
    session = await opened(backend, device, options.devices)
    return await work(session)
  } catch (error) {
    // The next call opens a new device.
    if (error instanceof DeviceLostError) sessions.delete(keyOf(backend, device, options.devices))
    const isShort = error instanceof OutOfMemoryError && !isFromListener(error)
    const mayTry =
      isFaster || session?.backend === 'webgpu'
        ? mayComputeInstead(error)
        : session?.backend === 'cuda' && isShort
    if (!(mayTryCpu && mayTry)) throw error
  }
  return work(await opened(CPU, 0, 0))
}

const keyOf = (choice: number, device: number, devices: number) => `${choice} ${device} ${devices}`

function opened(choice: number, device: number, devices: number): Promise<Session> {
  const key = keyOf(choice, device, devices)
  const known = sessions.get(key)
  if (known) return known
  const session = openSession(choice, device, devices)
  sessions.set(key, session)
  // The failed device isn't cached, because the next call may succeed.
  session.catch(() => sessions.delete(key))
  return session
}
