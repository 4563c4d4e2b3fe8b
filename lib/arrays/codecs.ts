/**
 * The codecs of Zarr that turn bytes into bytes: gzip by Node.js, zstd and blosc by what zarrita brings, and crc32c. The
 * checksums of zstd and crc32c are looked at here, which zarrita leaves out.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import { checkBlosc } from './blosc.js'
import { checksumOf } from './crc32c.js'
import { loadZarrita } from './zarrita.js'
import { checkZstd, withChecksum } from './zstd.js'

/** A codec as zarr.json names it. */
export interface CodecEntry {
  readonly name: string
  readonly configuration?: Readonly<Record<string, unknown>> | undefined
}

/** The codecs of bytes that can be read. */
export const byteCodecs = ['gzip', 'zstd', 'blosc', 'crc32c'] as const

interface Coder {
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
}

async function coderOf({ name, configuration }: CodecEntry): Promise<Coder> {
  if (name === 'crc32c') return checked
  if (name === 'gzip') {
    const level = typeof configuration?.level === 'number' ? configuration.level : 1
    return { encode: (bytes) => gzipSync(bytes, { level }), decode: (bytes) => gunzipSync(bytes) }
  }
  const coder = await registered(name, configuration)
  if (name === 'zstd') {
    return {
      async encode(bytes) {
        const frame = await coder.encode(bytes)
        return configuration?.checksum === true ? withChecksum(frame, bytes) : frame
      },
      async decode(bytes) {
        const decoded = await coder.decode(bytes)
        checkZstd(bytes, decoded)
        return decoded
      },
    }
  }
  return {
    encode: (bytes) => coder.encode(bytes),
    async decode(bytes) {
      await checkBlosc(bytes, async (stream) => (await registered('zstd', { level: 1 })).decode(stream))
      return coder.decode(bytes)
    },
  }
}

/** A codec of zarrita's. */
async function registered(name: string, configuration: CodecEntry['configuration']): Promise<Coder> {
  const { registry } = await loadZarrita()
  const codec = await registry.get(name)?.()
  if (!codec) throw new Error(`zarrita has no codec ${name}`)
  const metadata = { dataType: 'uint8' as const, shape: [], codecs: [], fillValue: 0 }
  return codec.fromConfig(configuration ?? {}, metadata) as unknown as Coder
}

const checked: Coder = {
  encode: (bytes) => Buffer.concat([bytes, checksumOf(bytes)]),
  decode(bytes) {
    const content = bytes.subarray(0, Math.max(0, bytes.length - 4))
    if (!checksumOf(content).equals(bytes.subarray(content.length))) {
      throw new Error('its checksum (crc32c) is wrong')
    }
    return content
  },
}

/** What the codecs were given, from what they made of it. */
export async function decodeBytes(bytes: Uint8Array, codecs: readonly CodecEntry[]): Promise<Uint8Array> {
  let decoded = bytes
  for (const codec of [...codecs].reverse()) decoded = await (await coderOf(codec)).decode(decoded)
  return decoded
}

export async function encodeBytes(bytes: Uint8Array, codecs: readonly CodecEntry[]): Promise<Uint8Array> {
  let encoded = bytes
  for (const codec of codecs) encoded = await (await coderOf(codec)).encode(encoded)
  return encoded
}
