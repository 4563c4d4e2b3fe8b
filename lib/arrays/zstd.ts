/**
 * The checksums of zstd frames, which what zarrita brings neither writes nor looks at.
 * Source: RFC 8878 (frames), and the specification of XXH64 in the repository of xxHash, doc/xxhash_spec.md.
 */

const MAGIC = 0xfd2fb528
/** Of frames that decoders skip, but for their last four bits. */
const SKIPPED = 0x184d2a50
const DICTIONARY_BYTES = [0, 1, 2, 4] as const
const MOST_OF_BLOCK = 1 << 17

/** Kinds of blocks. */
const RLE = 1
const COMPRESSED = 2

/** Of the flags in a frame's header: it has a checksum. */
const CHECKSUM = 4

interface Frame {
  /** Where its header begins. */
  readonly start: number
  /** Where its blocks begin. */
  readonly blocks: number
  /** What it decodes to, as its header says; null if that doesn't. */
  readonly size: number | null
  /** The most that it can decode to. */
  readonly most: number
  /** Undefined if it has none. */
  readonly checksum: number | undefined
}

/** The frames of a chunk; throws if it isn't made of whole ones. */
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
    // What Node.js says of places beyond the end.
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
  let mostOfBlock = MOST_OF_BLOCK
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
  const isChecked = (flags & CHECKSUM) !== 0
  const checksum = isChecked ? view.readUInt32LE(at) : undefined
  const end = at + (isChecked ? 4 : 0)
  if (end > view.length) throw new RangeError()
  return { frame: { start, blocks, size, most: size ?? most, checksum }, end }
}

const viewOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/**
 * The same frames, if they decode to at most so many bytes; throws if they decode to more. A frame whose header doesn't say how many gets a
 * header that does, if it may be too many, because a decoder would take any memory for it.
 */
export function withinZstd(bytes: Uint8Array, most: number): Uint8Array {
  const view = viewOf(bytes)
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

/** A frame with the checksum of what it was made from. */
export function withChecksum(frame: Uint8Array, content: Uint8Array): Uint8Array {
  if ((frame[4]! & CHECKSUM) !== 0) return frame
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(xxh64Low(content))
  const bytes = Buffer.concat([frame, sum])
  bytes[4] = bytes[4]! | CHECKSUM
  return bytes
}

/** Throws an error if a frame has a checksum that isn't that of what it decodes to. Several frames in one chunk are not checked. */
export function checkZstd(bytes: Uint8Array, decoded: Uint8Array): void {
  const frames = framesOf(viewOf(bytes))
  const [{ checksum } = { checksum: undefined }] = frames
  if (frames.length !== 1 || checksum === undefined || checksum === xxh64Low(decoded)) return
  throw new Error('its checksum (zstd) is wrong')
}

// Numbers of 64 bits as two of 32, because BigInt is a tenth as fast here. `low` and `high` are the latest result.
let low = 0
let high = 0

/** The upper half of a product of two unsigned numbers of 32 bits. */
function upper(x: number, y: number): number {
  const [x0, x1, y0, y1] = [x & 0xffff, x >>> 16, y & 0xffff, y >>> 16]
  const first = x1 * y0 + ((x0 * y0) >>> 16)
  const second = x0 * y1 + (first & 0xffff)
  return x1 * y1 + (first >>> 16) + (second >>> 16)
}

function multiply(xLow: number, xHigh: number, yLow: number, yHigh: number): void {
  high = (upper(xLow, yLow) + Math.imul(xLow, yHigh) + Math.imul(xHigh, yLow)) | 0
  low = Math.imul(xLow, yLow)
}

function add(xLow: number, xHigh: number, yLow: number, yHigh: number): void {
  const sum = (xLow >>> 0) + (yLow >>> 0)
  low = sum | 0
  high = (xHigh + yHigh + (sum > 0xffffffff ? 1 : 0)) | 0
}

/** By 1 to 31 bits. */
function rotate(xLow: number, xHigh: number, bits: number): void {
  low = (xLow << bits) | (xHigh >>> (32 - bits))
  high = (xHigh << bits) | (xLow >>> (32 - bits))
}

/** The primes of XXH64, lower and upper halves. */
const [P1, Q1] = [0x85ebca87 | 0, 0x9e3779b1 | 0]
const [P2, Q2] = [0x27d4eb4f | 0, 0xc2b2ae3d | 0]
const [P3, Q3] = [0x9e3779f9 | 0, 0x165667b1 | 0]
const [P4, Q4] = [0xc2b2ae63 | 0, 0x85ebca77 | 0]
const [P5, Q5] = [0x165667c5 | 0, 0x27d4eb2f | 0]

function round(sumLow: number, sumHigh: number, lane: number, laneHigh: number): void {
  multiply(lane, laneHigh, P2, Q2)
  add(sumLow, sumHigh, low, high)
  rotate(low, high, 31)
  multiply(low, high, P1, Q1)
}

/** The lower 32 bits of XXH64 with the seed 0. */
export function xxh64Low(bytes: Uint8Array): number {
  const { length } = bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset, length)
  let at = 0
  if (length >= 32) {
    const sums = new Int32Array(8)
    const keep = (lane: number) => {
      sums[2 * lane] = low
      sums[2 * lane + 1] = high
    }
    add(P1, Q1, P2, Q2)
    keep(0)
    sums.set([P2, Q2, 0, 0, -P1, ~Q1], 2)
    for (; at + 32 <= length; at += 32) {
      for (let lane = 0; lane < 4; lane++) {
        const from = at + 8 * lane
        round(sums[2 * lane]!, sums[2 * lane + 1]!, view.getInt32(from, true), view.getInt32(from + 4, true))
        sums[2 * lane] = low
        sums[2 * lane + 1] = high
      }
    }
    let [sumLow, sumHigh] = [0, 0]
    for (const [lane, bits] of [1, 7, 12, 18].entries()) {
      rotate(sums[2 * lane]!, sums[2 * lane + 1]!, bits)
      add(sumLow, sumHigh, low, high)
      sumLow = low
      sumHigh = high
    }
    for (let lane = 0; lane < 4; lane++) {
      round(0, 0, sums[2 * lane]!, sums[2 * lane + 1]!)
      multiply(sumLow ^ low, sumHigh ^ high, P1, Q1)
      add(low, high, P4, Q4)
      sumLow = low
      sumHigh = high
    }
    low = sumLow
    high = sumHigh
  } else {
    low = P5
    high = Q5
  }
  add(low, high, length | 0, Math.floor(length / 2 ** 32))
  return finish(view, at)
}

/** The last bytes, fewer than 32, and the mixing at the end. */
function finish(view: DataView, start: number): number {
  const { byteLength: length } = view
  let at = start
  let [sumLow, sumHigh] = [low, high]
  for (; at + 8 <= length; at += 8) {
    round(0, 0, view.getInt32(at, true), view.getInt32(at + 4, true))
    rotate(sumLow ^ low, sumHigh ^ high, 27)
    multiply(low, high, P1, Q1)
    add(low, high, P4, Q4)
    ;[sumLow, sumHigh] = [low, high]
  }
  if (at + 4 <= length) {
    multiply(view.getInt32(at, true), 0, P1, Q1)
    rotate(sumLow ^ low, sumHigh ^ high, 23)
    multiply(low, high, P2, Q2)
    add(low, high, P3, Q3)
    ;[sumLow, sumHigh] = [low, high]
    at += 4
  }
  for (; at < length; at++) {
    multiply(view.getUint8(at), 0, P5, Q5)
    rotate(sumLow ^ low, sumHigh ^ high, 11)
    multiply(low, high, P1, Q1)
    ;[sumLow, sumHigh] = [low, high]
  }
  // A shift to the right by 33 leaves the upper half, shifted by 1, in the lower one.
  multiply(sumLow ^ (sumHigh >>> 1), sumHigh, P2, Q2)
  const [midLow, midHigh] = [low, high]
  multiply(midLow ^ ((midLow >>> 29) | (midHigh << 3)), midHigh ^ (midHigh >>> 29), P3, Q3)
  return (low ^ high) >>> 0
}
