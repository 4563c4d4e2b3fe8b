/** Copies of matrices from arrays to a device. */
import { natively } from '../errors.js'
import type { Elements } from '../layout.js'
import { addon, type NativeMemory } from '../native.js'
import { assertAttached, assertStillAttached, type HostView } from '../view.js'
import { copyRequest } from './requests.js'
import type { Session } from './resident.js'

/**
 * Copies a matrix in an array to a device.
 *
 * @param elements - layout of the matrix in device memory.
 * @throws Rejects with ERR_MPMML_DTYPE for an array that is transferred away meanwhile, and with the errors of native code.
 */
export async function copyToDevice(
  session: Session,
  view: HostView,
  elements: Elements,
  cancel: Int32Array,
  name: string,
): Promise<NativeMemory> {
  assertAttached(view, name)
  const request = copyRequest(view, elements)
  const memory = await natively(() => addon.upload(session.native, view.data, request, cancel))
  try {
    assertStillAttached(view, name)
  } catch (error) {
    addon.release(memory)
    throw error
  }
  return memory
}
