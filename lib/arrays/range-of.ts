/** Computes the magnitude of the weights of an array. */
import { throwIfAborted } from '../abort.js'
import { bytesOfStored } from '../elements.js'
import type { Semiring } from '../variant-names.js'
import { type ArraySource, elementsIn } from './array-source.js'
import { zeroOn } from './convert.js'
import type { PlannedInput } from './job.js'

/**
 * Returns the greatest absolute value of elements other than the semiring's zero. Reads the array once, with
 * at most `memory` bytes of buffers.
 */
export async function greatestWeight(
  source: ArraySource,
  semiring: Semiring,
  planned: PlannedInput,
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { shape, dtype, unit } = source
  const cols = Math.min(shape[1], Math.max(unit[1], 4096))
  const rows = Math.max(1, Math.min(shape[0], Math.floor(bytes / (cols * bytesOfStored(dtype)))))
  const memory = new Uint8Array(rows * cols * bytesOfStored(dtype))
  const zero = zeroOn(semiring, dtype)
  let greatest = 0
  for (let top = 0; top < shape[0]; top += rows) {
    for (let left = 0; left < shape[1]; left += cols) {
      throwIfAborted(signal, 'reading the weights')
      const [bottom, right] = [Math.min(top + rows, shape[0]), Math.min(left + cols, shape[1])]
      await source.read([top, bottom], [left, right], memory, planned)
      const elements = elementsIn(memory, dtype, (bottom - top) * (right - left))
      for (let index = 0; index < elements.length; index++) {
        const value = elements[index]!
        if (value !== zero) greatest = Math.max(greatest, Math.abs(value))
      }
    }
  }
  return greatest
}
