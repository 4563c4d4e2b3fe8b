/** Devices that the library opens by itself, for work on arrays that takes several steps. */
import { ALL_DEVICES, AUTO, automaticBackend, CPU } from '../backend.js'
import { OutOfMemoryError } from '../errors.js'
import { LEFT_OUT, type ReadOptions } from '../product/options.js'
import { openSession } from './device.js'
import type { Session } from './resident.js'

/** Steps ⊕, ⊗ that the CPU does sooner than a GPU, the copies included. */
const MOST_STEPS_FOR_CPU = 2 ** 24

/** Opened when they are first needed. An open device keeps no process alive. */
const sessions = new Map<string, Promise<Session>>()

/**
 * Does work of about so many steps on the device that the options name. 'auto' takes a GPU if CUDA can be used, the work isn't
 * small, and memory suffices; otherwise the CPU. A list of devices is taken as it is.
 */
export async function onImplicitDevice<Result>(
  { backend, device, devices }: ReadOptions,
  steps: number,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const asked = backend === AUTO ? automaticBackend() : backend
  const isListed = devices !== 0 && devices !== ALL_DEVICES
  const choice = asked === AUTO && steps <= MOST_STEPS_FOR_CPU && !isListed ? CPU : asked
  const index = choice === CPU || device === LEFT_OUT ? 0 : device
  const session = await opened(choice, index, devices)
  try {
    return await work(session)
  } catch (error) {
    const mayTryCpu =
      choice === AUTO && !isListed && session.backend === 'cuda' && error instanceof OutOfMemoryError
    if (!mayTryCpu) throw error
  }
  return work(await opened(CPU, 0, 0))
}

function opened(choice: number, device: number, devices: number): Promise<Session> {
  const key = `${choice} ${device} ${devices}`
  const known = sessions.get(key)
  if (known) return known
  const session = openSession(choice, device, devices)
  sessions.set(key, session)
  // What is missing may be there at the next call.
  session.catch(() => sessions.delete(key))
  return session
}
