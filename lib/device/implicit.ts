/** Devices that the library opens by itself, for work on arrays that takes several steps. */
import { AUTO, automaticBackend, CPU } from '../backend.js'
import { openSession } from './device.js'
import type { Session } from './resident.js'

/** Opened when they are first needed. An open device keeps no process alive. */
const sessions = new Map<string, Promise<Session>>()

/**
 * The device for work on arrays. `backend` is an index into the addon's list of choices; AUTO takes a GPU if CUDA can be used
 * and the work isn't `small`.
 */
export function implicitSession(backend: number, device: number, small: boolean): Promise<Session> {
  const choice = backend === AUTO ? automaticBackend() : backend
  if (choice === CPU || (choice === AUTO && small)) return opened(CPU, 0)
  return opened(choice, device)
}

function opened(choice: number, device: number): Promise<Session> {
  const key = `${choice} ${device}`
  const known = sessions.get(key)
  if (known) return known
  const session = openSession(choice, device)
  sessions.set(key, session)
  // The next call may find what was missing.
  session.catch(() => sessions.delete(key))
  return session
}
