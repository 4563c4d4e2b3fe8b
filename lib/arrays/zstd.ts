/**
 * Checks and completes zstd frames for the codec of zarrita's registry. That codec allocates any size that a
 * header states, and writes no checksums. It verifies existing checksums itself. Source: RFC 8878.
 */
import { xxh64Of } from './packages.js'

const MAGIC = 0xfd2fb528
/** Magic number of skippable frames without its last four bits. */
const SKIPPED = 0x184d2a50
const DICTIONARY_BYTES = [0, 1, 2, 4] as const
const MAX_OF_BLOCK = 1 << 17

/** Block types. */
const RLE = 1
const COMPRESSED = 2

/** Flag in a frame's header for a checksum. */
const CHECKSUM = 4

interface Frame {
  /** Offset of the frame's header. */
  readonly start: number
  /** Offset of the frame's first block. */
  readonly blocks: number
  /** Decoded size in bytes according to the header; null if the header doesn't specify it. */
  readonly size: number | null
  /** Upper bound of the decoded size in bytes. */
  readonly most: number
}

/** Returns the frames of a chunk; throws if the last frame is incomplete. */
function framesOf(view: Buffer): Frame[] {
  const frames: Frame[] = []
  try {
    for (let start = 0; start < view.length; ) {
      const magic = view.readUInt32LE(start)
      if ((magic & ~15) === SKIPPED) {
        start += 8 + view.readUInt32LE(start + 4)
        if (start > view.length) throw new RangeError()
      } else {
        if (magic !== MAGIC) throw new Error('it is not made of frames (zstd)')
        const { frame, end } = readFrame(view, start)
        frames.push(frame)
        start = end
      }
    }
  } catch (error) {
    // Node.js reports positions beyond the end as RangeError.
    throw error instanceof RangeError ? new Error('its frame (zstd) is cut off', { cause: error }) : error
  }
  return frames
}

function readFrame(view: Buffer, start: number): { frame: Frame; end: number } {
  const flags = view.readUInt8(start + 4)
  const isSingle = (flags & 32) !== 0
  const sizeFlag = flags >> 6
  const sizeBytes = sizeFlag === 0 ? Number(isSingle) : 1 << sizeFlag
  let at = start + 5
  let mostOfBlock = MAX_OF_BLOCK
  if (!isSingle) {
    const window = view.readUInt8(at++)
    mostOfBlock = Math.min(mostOfBlock, 2 ** (10 + (window >> 3)) * (1 + (window & 7) / 8))
  }
  at += DICTIONARY_BYTES[flags & 3]!
  const size =
    sizeBytes === 8
      ? Number(view.readBigUInt64LE(at))
      : sizeBytes > 0
        ? view.readUIntLE(at, sizeBytes) + (sizeBytes === 2 ? 256 : 0)
        : null
  const blocks = at + sizeBytes
  let most = 0
  let isLast = false
  for (at = blocks; !isLast; ) {
    const block = view.readUIntLE(at, 3)
    const kind = (block >> 1) & 3
    isLast = (block & 1) === 1
    at += 3 + (kind === RLE ? 1 : block >> 3)
    most += kind === COMPRESSED ? mostOfBlock : block >> 3
  }
  const end = at + ((flags & CHECKSUM) !== 0 ? 4 : 0)
  if (end > view.length) throw new RangeError()
  return { frame: { start, blocks, size, most: size ?? most }, end }
}

/**
 * Returns frames whose decoded size is at most `most` bytes, and throws for larger ones. A frame that may be
 * too large and doesn't specify its size gets a header that does, because a decoder would allocate any amount
 * of memory for it.
 */
export function withinZstd(bytes: Uint8Array, most: number): Uint8Array {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const frames = framesOf(view)
  if (frames.reduce((sum, frame) => sum + frame.most, 0) <= most) return bytes
  const [frame] = frames
  if (frames.length > 1 || frame!.size !== null) throw new Error(`it decodes to more than ${most} bytes`)
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(most))
  const sized = Buffer.concat([
    view.subarray(frame!.start, frame!.blocks),
    size,
    view.subarray(frame!.blocks),
  ])
  sized[4] = sized[4]! | 0xc0
  return sized
}

/** Returns a frame with the checksum of its content. */
export async function withChecksum(frame: Uint8Array, content: Uint8Array): Promise<Uint8Array> {
  if ((frame[4]! & CHECKSUM) !== 0) return frame
  const bytes = Buffer.concat([frame, await xxh64Of(content)])
  bytes[4] = bytes[4]! | CHECKSUM
  return bytes
}
