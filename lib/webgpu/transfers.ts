/** Copies between arrays and buffers of a GPU, through mapped memory. */
import { failure } from './failure.js'

export const roundUp = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple

const [MAP_READ, MAP_WRITE, COPY_SRC, COPY_DST] = [1, 2, 4, 8]
const [MODE_READ, MODE_WRITE] = [1, 2]

/** Bytes that are copied at a time, and buffers of that size for each direction. */
const CHUNK = 2 ** 23
const MAX_STAGING = 8
/** Arrays up to this size are copied by writeBuffer, which makes a copy of its own. */
const SMALL = 2 ** 18

/** Bytes that are copied from a buffer to an array. */
export interface ReadPart {
  readonly buffer: GPUBuffer
  /** Position of the first byte, a multiple of 4. */
  readonly at: number
  readonly into: ArrayBufferView
  /** Called before the first byte is written to the array; may throw. */
  readonly before?: (() => Promise<void>) | undefined
}

/** The device, as far as copies need it. */
interface Memory {
  readonly device: GPUDevice
  /** Creates a buffer. */
  allocate(size: number, usage: GPUBufferUsageFlags): Promise<GPUBuffer>
  /** Throws if the device is lost. */
  assertUsable(): void
}

interface Chunk extends ReadPart {
  readonly into: Uint8Array
  readonly staging: GPUBuffer
  readonly mapped: Promise<void>
}

export class Transfers {
  /** Free buffers, mapped when their last copy has ended; null for one that couldn't be mapped, and is destroyed. */
  readonly #writable: Promise<GPUBuffer | null>[] = []
  readonly #readable: GPUBuffer[] = []

  constructor(readonly gpu: Memory) {}

  /** Resolves when no buffer is being mapped. A thread must not end before. */
  async idle(): Promise<void> {
    await Promise.all(this.#writable)
  }

  /** Copies the bytes of an array to a buffer; `check` is called between parts. */
  async write(array: ArrayBufferView, buffer: GPUBuffer, check?: () => void): Promise<void> {
    const bytes = new Uint8Array(array.buffer as ArrayBuffer, array.byteOffset, array.byteLength)
    if (bytes.length <= SMALL) {
      const words = new Uint8Array(roundUp(bytes.length, 4))
      words.set(bytes)
      if (words.length > 0) this.gpu.device.queue.writeBuffer(buffer, 0, words)
      return
    }
    for (let at = 0; at < bytes.length; at += CHUNK) {
      check?.()
      const part = bytes.subarray(at, at + CHUNK)
      const staging = await this.#takeWritable()
      new Uint8Array(staging.getMappedRange()).set(part)
      staging.unmap()
      this.#copy(staging, 0, buffer, at, part.length)
      this.#giveWritable(staging)
    }
  }

  #copy(from: GPUBuffer, fromAt: number, to: GPUBuffer, toAt: number, bytes: number): void {
    const encoder = this.gpu.device.createCommandEncoder()
    encoder.copyBufferToBuffer(from, fromAt, to, toAt, roundUp(bytes, 4))
    this.gpu.device.queue.submit([encoder.finish()])
  }

  async #takeWritable(): Promise<GPUBuffer> {
    const free = this.#writable.length < MAX_STAGING ? null : await this.#writable.shift()!
    this.gpu.assertUsable()
    if (free) return free
    try {
      return this.gpu.device.createBuffer({
        size: CHUNK,
        usage: MAP_WRITE | COPY_SRC,
        mappedAtCreation: true,
      })
    } catch (error) {
      return this.#refuse(error as Error)
    }
  }

  #giveWritable(staging: GPUBuffer): void {
    const failed = () => {
      staging.destroy()
      return null
    }
    this.#writable.push(staging.mapAsync(MODE_WRITE).then(() => staging, failed))
  }

  #refuse({ message }: Error): never {
    this.gpu.assertUsable()
    throw failure(
      'ERR_MPMML_OUT_OF_MEMORY',
      `memory for copies from and to the GPU can't be mapped (${message}): use smaller matrices, or the backend 'cpu' or 'cuda'`,
    )
  }

  /** Copies from buffers into arrays. All is submitted before this waits, as far as mapped buffers suffice. */
  async read(parts: readonly ReadPart[], check?: () => void): Promise<void> {
    const chunks = parts.flatMap(({ buffer, at, into, before }) =>
      Array.from({ length: Math.ceil(into.byteLength / CHUNK) }, (_, index) => {
        const from = index * CHUNK
        const bytes = Math.min(CHUNK, into.byteLength - from)
        return {
          ...{ buffer, at: at + from, before: index === 0 ? before : undefined },
          into: new Uint8Array(into.buffer as ArrayBuffer, into.byteOffset + from, bytes),
        }
      }),
    )
    const begun: Chunk[] = []
    const beginNext = async () => {
      const chunk = chunks[begun.length]
      if (!chunk) return
      const size = roundUp(chunk.into.length, 4)
      const staging = await this.#takeReadable(size)
      this.#copy(chunk.buffer, chunk.at, staging, 0, size)
      const mapped = staging.mapAsync(MODE_READ, 0, size)
      mapped.catch(() => {})
      begun.push({ ...chunk, staging, mapped })
    }
    let done = 0
    try {
      while (begun.length < Math.min(chunks.length, MAX_STAGING)) await beginNext()
      for (; done < begun.length; done++) {
        const { into, staging, mapped, before } = begun[done]!
        check?.()
        await before?.()
        await mapped.catch((error: Error) => this.#refuse(error))
        into.set(new Uint8Array(staging.getMappedRange(0, roundUp(into.length, 4)), 0, into.length))
        staging.unmap()
        if (this.#readable.length < 2 * MAX_STAGING) this.#readable.push(staging)
        else staging.destroy()
        await beginNext()
      }
    } finally {
      for (const { staging, mapped } of begun.slice(done)) {
        await mapped.catch(() => {})
        staging.destroy()
      }
    }
  }

  /** Takes a buffer that isn't much larger than needed. */
  async #takeReadable(size: number): Promise<GPUBuffer> {
    const index = this.#readable.findIndex((one) => one.size >= size && one.size <= Math.max(4 * size, 4096))
    if (index >= 0) return this.#readable.splice(index, 1)[0]!
    return this.gpu.allocate(roundUp(size, 256), MAP_READ | COPY_DST)
  }
}
