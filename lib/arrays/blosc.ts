/**
 * Checks of Blosc containers, by hand because the decoder of zarrita's registry never fails: it returns
 * uninitialized memory for a damaged container. These checks find detectable damage first. A container has no
 * checksum: a changed element that still decodes is not found. Source: c-blosc, README_CHUNK_FORMAT.rst
 * (version 2 of the format).
 */
import { inflateSync } from 'node:zlib'
import { inflated } from './zlib.js'

const HEADER_BYTES = 16

/** Compression formats of streams, by their numbers in the flags. */
const LZ4 = 1
const ZLIB = 3
const ZSTD = 4

/** Decodes a stream of zstd to at most `most` bytes. Throws if the stream is damaged. */
type DecodeZstd = (stream: Uint8Array, most: number) => Promise<Uint8Array>

/** A block is split into a stream per byte of its elements, if they have at most this many bytes and there are enough of them. */
const MAX_SPLITS = 16
const MIN_ELEMENTS = 128

/**
 * Throws an error that describes the damage of a container. Its decoded length must be at most `most` bytes.
 */
export async function checkBlosc(bytes: Uint8Array, most: number, decodeZstd: DecodeZstd): Promise<void> {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.length < HEADER_BYTES) throw new Error('its header (blosc) is cut off')
  const flags = view[2]!
  const typeSize = view[3]!
  const [decoded, blockSize, encoded] = [4, 8, 12].map((at) => view.readUInt32LE(at)) as [
    number,
    number,
    number,
  ]
  if (encoded !== view.length)
    throw new Error(`it should have ${encoded} bytes (blosc), but it has ${view.length}`)
  if (decoded > most) throw new Error(`it decodes to more than ${most} bytes`)
  const isCopy = (flags & 2) !== 0
  if (typeSize === 0 || (isCopy && encoded !== decoded + HEADER_BYTES)) {
    throw new Error('its sizes (blosc) contradict each other')
  }
  if (isCopy) return
  const blocks = blockSize > 0 ? Math.ceil(decoded / blockSize) : 0
  if (decoded > 0 && (blocks === 0 || HEADER_BYTES + 4 * blocks > view.length)) {
    throw new Error('its list of blocks (blosc) is cut off')
  }
  const mayBeSplit = (flags & 16) === 0 && typeSize <= MAX_SPLITS && blockSize / typeSize >= MIN_ELEMENTS
  for (let block = 0; block < blocks; block++) {
    const length = Math.min(blockSize, decoded - block * blockSize)
    const streams = mayBeSplit && length === blockSize ? typeSize : 1
    let at = view.readUInt32LE(HEADER_BYTES + 4 * block)
    for (let stream = 0; stream < streams; stream++) {
      const size = at + 4 <= view.length ? view.readUInt32LE(at) : view.length
      at += 4 + size
      if (at > view.length) throw new Error(`its block ${block} (blosc) leads out of it`)
      const content = view.subarray(at - size, at)
      const expected = length / streams
      if (
        size !== expected &&
        (await decodedLength(content, flags >> 5, expected, decodeZstd)) !== expected
      ) {
        throw new Error(`its block ${block} (blosc) holds something else`)
      }
    }
  }
}

/** Returns the decoded length of a stream in bytes. A damaged stream throws or yields another length. */
async function decodedLength(
  stream: Buffer,
  compressor: number,
  expected: number,
  decodeZstd: DecodeZstd,
): Promise<number> {
  // Only damaged containers have a fraction of a byte or no byte here.
  const most = Math.ceil(expected)
  if (compressor === LZ4) return lz4Length(stream)
  if (compressor === ZLIB) return inflated(() => inflateSync(stream, { maxOutputLength: most }), most).length
  if (compressor === ZSTD) return (await decodeZstd(stream, most)).length
  throw new Error(
    `its compressor (blosc, number ${compressor}) is not LZ4, zlib or zstd, whose streams can be checked`,
  )
}

/**
 * Returns the decoded length of an LZ4 block; −1 if the block is damaged. Source: lz4,
 * doc/lz4_Block_format.md
 */
function lz4Length(stream: Buffer): number {
  let at = 0
  let length = 0
  const long = (short: number) => {
    let sum = short
    if (short === 15) {
      let byte: number
      do {
        byte = stream[at++] ?? 0
        sum += byte
      } while (byte === 255)
    }
    return sum
  }
  while (at < stream.length) {
    const token = stream[at++]!
    const literals = long(token >> 4)
    at += literals
    length += literals
    if (at === stream.length) return length
    if (at + 2 > stream.length) return -1
    const distance = stream.readUInt16LE(at)
    at += 2
    if (distance === 0 || distance > length) return -1
    length += long(token & 15) + 4
  }
  return -1
}
