/** What zlib makes of compressed bytes, as `work` asks it to, which names `most` as the longest output. */
export function inflated(work: () => Buffer, most: number): Buffer {
  try {
    return work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error
    throw new Error(`it decodes to more than ${most} bytes`, { cause: error })
  }
}
