/**
 * Zarr's codecs from bytes to bytes. zstd and blosc come from zarrita's registry. Its gzip decodes without a
 * limit, so Node.js's gzip replaces it. Its crc32c neither verifies nor writes checksums, so the package
 * hash-wasm computes them.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import { checkBlosc } from './blosc.js'
import { crc32cOf, loadZarrita } from './packages.js'
import { inflated } from './zlib.js'
import { withChecksum, withinZstd } from './zstd.js'

/** A codec as zarr.json names it. */
export interface CodecEntry {
  readonly name: string
  readonly configuration?: Readonly<Record<string, unknown>> | undefined
}

/** The codecs of bytes that can be read. */
export const byteCodecs = ['gzip', 'zstd', 'blosc', 'crc32c'] as const

interface Coder {
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
  /** @param most - limit of the decoded bytes, because a few bytes can encode a thousand times as many. */
  decode(bytes: Uint8Array, most: number): Uint8Array | Promise<Uint8Array>
}

async function coderOf({ name, configuration }: CodecEntry): Promise<Coder> {
  if (name === 'crc32c') return checked
  if (name === 'gzip') {
    const level = typeof configuration?.level === 'number' ? configuration.level : 1
    return {
      encode: (bytes) => gzipSync(bytes, { level }),
      decode: (bytes, most) => inflated(() => gunzipWhole(bytes, most), most),
    }
  }
  const coder = await registered(name, configuration)
  if (name === 'zstd') {
    return {
      async encode(bytes) {
        const frame = await coder.encode(bytes)
        return configuration?.checksum === true ? withChecksum(frame, bytes) : frame
      },
      decode: (bytes, most) => coder.decode(withinZstd(bytes, most)),
    }
  }
  return {
    encode: (bytes) => coder.encode(bytes),
    async decode(bytes, most) {
      await checkBlosc(bytes, most, async (stream, length) =>
        (await registered('zstd', { level: 1 })).decode(withinZstd(stream, length)),
      )
      return coder.decode(bytes)
    },
  }
}

/** Decompresses gzip. Throws if bytes follow, which zlib ignores. */
function gunzipWhole(bytes: Uint8Array, maxOutputLength: number): Buffer {
  // With the option `info`, which the declarations of Node.js lack, the result has the engine, too.
  const { buffer, engine } = gunzipSync(bytes, { maxOutputLength, info: true }) as unknown as {
    buffer: Buffer
    engine: { bytesWritten: number }
  }
  const rest = bytes.length - engine.bytesWritten
  if (rest > 0) throw new Error(`${rest} bytes follow its compressed data`)
  return buffer
}

type PackagedCoder = Record<'encode' | 'decode', (bytes: Uint8Array) => Promise<Uint8Array>>

/** Returns a codec from zarrita's registry. */
async function registered(name: string, configuration: CodecEntry['configuration']): Promise<PackagedCoder> {
  const { registry } = await loadZarrita()
  const codec = await registry.get(name)?.()
  if (!codec) throw new Error(`zarrita has no codec ${name}`)
  const metadata = { dataType: 'uint8' as const, shape: [], codecs: [], fillValue: 0 }
  return codec.fromConfig(configuration ?? {}, metadata) as unknown as PackagedCoder
}

const checked: Coder = {
  encode: async (bytes) => Buffer.concat([bytes, await crc32cOf(bytes)]),
  async decode(bytes) {
    const content = bytes.subarray(0, Math.max(0, bytes.length - 4))
    if (!(await crc32cOf(content)).equals(bytes.subarray(content.length))) {
      throw new Error('its checksum (crc32c) is wrong')
    }
    return content
  },
}

/**
 * Returns an upper bound for the encoded bytes of `size` bytes after `codecs` codecs: deflate adds at most an
 * eighth.
 */
export function mostEncoded(size: number, codecs: number): number {
  let most = size
  for (let codec = 0; codec < codecs; codec++) most += Math.ceil(most / 8) + 1024
  return most
}

/** Decodes `size` bytes from the output of a chain of codecs. */
export async function decodeBytes(
  bytes: Uint8Array,
  codecs: readonly CodecEntry[],
  size: number,
): Promise<Uint8Array> {
  let decoded = bytes
  for (const [before, codec] of [...codecs.entries()].reverse()) {
    decoded = await (await coderOf(codec)).decode(decoded, mostEncoded(size, before))
  }
  return decoded
}

export async function encodeBytes(bytes: Uint8Array, codecs: readonly CodecEntry[]): Promise<Uint8Array> {
  let encoded = bytes
  for (const codec of codecs) encoded = await (await coderOf(codec)).encode(encoded)
  return encoded
}
