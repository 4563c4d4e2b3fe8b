/** Worker thread that decodes and encodes chunks. It never loads the addon. */
import { parentPort } from 'node:worker_threads'
import type { Answer, CodecRequest } from './arrays/codec-pool.js'
import { decodeBytes, encodeBytes } from './arrays/codecs.js'
import { ChunkError, PackageError } from './errors.js'
import { swapBytes } from './platform.js'

/** @throws ERR_MPMML_CHUNK for damaged content. */
async function answerTo({ bytes, codecs, decoded }: CodecRequest): Promise<Uint8Array> {
  if (!decoded) return withOwnBuffer(await encodeBytes(bytes, codecs))
  const { size, swap } = decoded
  const content = await decodeBytes(bytes, codecs, size).catch((error) => {
    throw error instanceof PackageError
      ? error
      : new ChunkError(error instanceof Error ? error.message : String(error))
  })
  if (content.length !== size) throw new ChunkError(`it holds ${content.length} bytes and not ${size}`)
  const own = withOwnBuffer(content)
  swapBytes(own, swap)
  return own
}

/**
 * Returns bytes that fill their buffer, so that the buffer can be transferred. Codecs may return a part of a
 * larger buffer, such as Node.js's pool. The constructor of Uint8Array makes the copy, because Buffer.slice
 * returns a view.
 */
const withOwnBuffer = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

parentPort?.on('message', async ({ id, ...request }: { id: number } & CodecRequest) => {
  let answer: Answer
  try {
    answer = { id, bytes: await answerTo(request) }
  } catch (error) {
    const { name, message, code } = error as NodeJS.ErrnoException
    answer = { id, error: { name, message, code } }
  }
  parentPort!.postMessage(answer, answer.bytes ? [answer.bytes.buffer as ArrayBuffer] : [])
})
