/** A thread that reads and decodes chunks, and encodes them. It never loads the addon. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { type CodecEntry, decodeBytes, encodeBytes, mostEncoded } from './codecs.js'

/** What bytes become when they are decoded. */
interface Form {
  readonly codecs: readonly CodecEntry[]
  /** The bytes that it must be when it is decoded. */
  readonly size: number
  /** The size of elements whose bytes must be reversed; 1 if none. */
  readonly swap: number
}

/** A piece of a file to be decoded. */
export interface ReadRequest extends Form {
  readonly path: string
  readonly position: number
  /** Null for the whole file. */
  readonly length: number | null
}

/** Bytes to be decoded. */
export interface DecodeRequest extends Form {
  readonly encoded: Uint8Array
}

export interface EncodeRequest {
  readonly bytes: Uint8Array
  readonly codecs: readonly CodecEntry[]
}

/** What a thread answers. */
export interface Answer {
  readonly id: number
  readonly bytes?: Uint8Array
  /** When the file was last changed. */
  readonly mtimeMs?: number
  readonly read?: number
  readonly missing?: true
  /** Why the chunk is damaged. */
  readonly damage?: string
  readonly error?: { readonly name: string; readonly message: string; readonly code: string | undefined }
}

async function read({ path, position, length, ...form }: ReadRequest) {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { missing: true as const }
    throw error
  }
  let encoded: Uint8Array
  let mtimeMs: number
  try {
    const stats = fstatSync(file)
    mtimeMs = stats.mtimeMs
    const wanted = length ?? stats.size
    if (position + wanted > stats.size) {
      return { mtimeMs, damage: `it should end at byte ${position + wanted} of a file of ${stats.size}` }
    }
    const most = mostEncoded(form.size, form.codecs.length)
    if (wanted > most) return { mtimeMs, damage: `it has ${wanted} bytes, more than ${most}` }
    encoded = new Uint8Array(wanted)
    for (let at = 0; at < wanted; ) {
      const count = readSync(file, encoded, at, wanted - at, position + at)
      if (count === 0) return { mtimeMs, damage: 'it ends too early' }
      at += count
    }
  } finally {
    closeSync(file)
  }
  return { mtimeMs, ...(await decode({ encoded, ...form })) }
}

async function decode({ encoded, codecs, size, swap }: DecodeRequest) {
  let decoded: Uint8Array
  try {
    decoded = await decodeBytes(encoded, codecs, size)
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_MPMML_PACKAGE') throw error
    return { damage: error instanceof Error ? error.message : String(error) }
  }
  if (decoded.length !== size)
    return { damage: `it holds ${decoded.length} bytes and not ${size}`, read: encoded.length }
  const bytes = withOwnBuffer(decoded)
  const buffer = Buffer.from(bytes.buffer)
  if (swap === 2) buffer.swap16()
  if (swap === 4) buffer.swap32()
  if (swap === 8) buffer.swap64()
  return { bytes, read: encoded.length }
}

async function encode({ bytes, codecs }: EncodeRequest) {
  return { bytes: withOwnBuffer(await encodeBytes(bytes, codecs)) }
}

/**
 * Bytes that are all of their buffer, which then can be given away. Codecs may return a part of a larger one, such as Node.js's pool;
 * `slice` doesn't copy that, because a Buffer's is a view.
 */
const withOwnBuffer = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

parentPort?.on('message', async (request: { id: number } & (ReadRequest | DecodeRequest | EncodeRequest)) => {
  let answer: Answer
  try {
    const done =
      'path' in request
        ? await read(request)
        : 'encoded' in request
          ? await decode(request)
          : await encode(request)
    answer = { id: request.id, ...done }
  } catch (error) {
    const { name, message, code } = error as NodeJS.ErrnoException
    answer = { id: request.id, error: { name, message, code } }
  }
  parentPort!.postMessage(answer, answer.bytes ? [answer.bytes.buffer as ArrayBuffer] : [])
})
