/**
 * Caches blocks of operands on the device, and reads them ahead of their products. All uses are known
 * beforehand, so the block with the farthest next use is evicted (L. A. Belady, A study of replacement
 * algorithms for a virtual-storage computer, IBM Systems Journal 5 (1966)): a row of blocks of A stays in the
 * cache while the blocks of B stream through it.
 */
import type { Device, DeviceMatrix } from '../device/device.js'
import type { MatrixLike } from '../matrix.js'
import type { OperandArray } from '../storage.js'

/** A block that a product needs. */
export interface Operand {
  /** Key of the block: equal keys mean equal blocks. */
  readonly key: string
  /** Bytes of the block's elements. */
  readonly bytes: number
  /** Reads the block into `memory`. */
  read(memory: Uint8Array): Promise<{ matrix: MatrixLike<OperandArray>; bytesRead: number }>
}

export type AnyMatrix = DeviceMatrix<OperandArray>

interface Entry {
  readonly matrix: Promise<AnyMatrix>
  readonly bytes: number
  /** Number of pending uses that have been read ahead. */
  uses: number
  /** Index of the next use after the pending ones. */
  next: number
}

export class ReadAhead {
  readonly #device: Device
  readonly #operands: readonly Operand[]
  readonly #next: Int32Array
  readonly #buffers: Uint8Array[]
  readonly #room: number
  readonly #entries = new Map<string, Entry>()
  readonly #loads = new Set<Promise<unknown>>()
  /** Entries of the uses that have been read ahead, by the use's index. */
  readonly #ahead = new Map<number, Entry>()
  readonly #waiting = new Map<number, () => void>()
  #cursor = 0
  /** Bytes of the cached blocks. */
  #cached = 0
  #stopped = false
  bytesRead = 0
  /** Peak of the bytes of cached blocks. */
  peakBytes = 0

  /**
   * @param operands - operands in the order of their uses.
   * @param buffers - host buffers, each for one concurrent read.
   * @param room - limit in bytes of all blocks on the device; at least two blocks.
   */
  constructor(device: Device, operands: readonly Operand[], buffers: Uint8Array[], room: number) {
    this.#device = device
    this.#operands = operands
    this.#buffers = [...buffers]
    this.#room = room
    this.#next = nextUses(operands)
    this.#readAhead()
  }

  /** Returns the block of a use. Uses must be taken in order. */
  async take(index: number): Promise<AnyMatrix> {
    if (!this.#ahead.has(index)) await new Promise<void>((resolve) => this.#waiting.set(index, resolve))
    return this.#ahead.get(index)!.matrix
  }

  /** Ends a use, so that its block may be evicted. */
  done(index: number): void {
    const entry = this.#ahead.get(index)!
    this.#ahead.delete(index)
    entry.uses--
    this.#readAhead()
  }

  /** Releases all blocks after pending reads have ended. */
  async end(): Promise<void> {
    this.#stopped = true
    await Promise.allSettled(this.#loads)
    for (const { matrix } of this.#entries.values()) {
      await matrix.then((there) => there.dispose()).catch(() => {})
    }
  }

  #readAhead(): void {
    while (!this.#stopped && this.#cursor < this.#operands.length) {
      const index = this.#cursor
      const operand = this.#operands[index]!
      let entry = this.#entries.get(operand.key)
      if (!entry) {
        if (this.#buffers.length === 0 || !this.#makeRoom(operand.bytes)) return
        entry = { matrix: this.#load(operand), bytes: operand.bytes, uses: 0, next: 0 }
        // The caller that takes the block handles the error.
        entry.matrix.catch(() => {})
        this.#entries.set(operand.key, entry)
      }
      entry.uses++
      entry.next = this.#next[index]!
      this.#ahead.set(index, entry)
      this.#cursor++
      this.#waiting.get(index)?.()
      this.#waiting.delete(index)
    }
  }

  #makeRoom(bytes: number): boolean {
    while (this.#cached + bytes > this.#room) {
      let victim: [string, Entry] | undefined
      for (const candidate of this.#entries) {
        if (candidate[1].uses === 0 && (!victim || candidate[1].next > victim[1].next)) victim = candidate
      }
      if (!victim) return false
      const [key, { matrix, bytes: freed }] = victim
      this.#entries.delete(key)
      matrix.then((there) => there.dispose()).catch(() => {})
      this.#cached -= freed
    }
    this.#cached += bytes
    this.peakBytes = Math.max(this.peakBytes, this.#cached)
    return true
  }

  #load(operand: Operand): Promise<AnyMatrix> {
    const buffer = this.#buffers.pop()!
    const load = (async () => {
      try {
        const { matrix, bytesRead } = await operand.read(buffer)
        this.bytesRead += bytesRead
        return (await this.#device.upload(matrix)) as AnyMatrix
      } finally {
        this.#buffers.push(buffer)
      }
    })()
    this.#loads.add(load)
    const settled = () => {
      this.#loads.delete(load)
      this.#readAhead()
    }
    load.then(settled, settled)
    return load
  }
}

/**
 * Returns for each use the index of the next use of the same block, or the greatest integer if none follows.
 */
function nextUses(operands: readonly Operand[]): Int32Array {
  const next = new Int32Array(operands.length)
  const seen = new Map<string, number>()
  for (let index = operands.length - 1; index >= 0; index--) {
    const { key } = operands[index]!
    next[index] = seen.get(key) ?? 2 ** 31 - 1
    seen.set(key, index)
  }
  return next
}
