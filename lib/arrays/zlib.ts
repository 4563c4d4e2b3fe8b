/**
 * Inflates zlib streams with a limit on the size of the output. `work` calls zlib with `most` as its
 * maxOutputLength.
 */
export function inflated(work: () => Buffer, most: number): Buffer {
  try {
    return work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error
    throw new Error(`it decodes to more than ${most} bytes`, { cause: error })
  }
}
