/** Writes the output array block by block. */

import { open } from 'node:fs/promises'
import { zeroOf } from '../built-in-semirings.js'
import { bytesOfStored } from '../elements.js'
import { formatHeader } from '../files/npy-header.js'
import type { ElementArray } from '../storage.js'
import { bytesIn, type Range } from './array-source.js'
import { CODEC_THREADS, codeAside } from './codec-pool.js'
import type { CodecEntry } from './codecs.js'
import { atOnce, writeError, writeRectangle } from './disk.js'
import { writeWhole } from './file-store.js'
import { type AnyPlan, type PlannedOutput, resultType, type ZarrLayout } from './job.js'
import type { Journal } from './journal.js'
import { crc32cOf } from './packages.js'
import { asRow, type Rows } from './store.js'

/** Files that are written at once. */
const FILES_AT_ONCE = 4

const codecs: Record<ZarrLayout['codec'], CodecEntry[]> = {
  none: [],
  zstd: [{ name: 'zstd', configuration: { level: 1, checksum: true } }],
  gzip: [{ name: 'gzip', configuration: { level: 1 } }],
  blosc: [
    {
      name: 'blosc',
      configuration: { cname: 'lz4', clevel: 5, shuffle: 'shuffle', typesize: 4, blocksize: 0 },
    },
  ],
}

function codecsOf({ dtype, layout }: PlannedOutput): CodecEntry[] {
  const list = codecs[layout!.codec]
  return list.map(({ name, configuration }) =>
    name === 'blosc'
      ? { name, configuration: { ...configuration, typesize: bytesOfStored(dtype) } }
      : { name, configuration },
  )
}

const bytesCodec: CodecEntry = { name: 'bytes', configuration: { endian: 'little' } }

/** A number as Zarr's metadata has it. */
const scalar = (value: number) => (Number.isFinite(value) ? value : value < 0 ? '-Infinity' : 'Infinity')

const fillOf = ({ semiring, output }: Pick<AnyPlan, 'semiring' | 'output'>) =>
  zeroOf(semiring, resultType(output.dtype))

/** Returns the size of the whole file in bytes. */
const npyBytes = ({ shape, dtype }: PlannedOutput) =>
  formatHeader(shape, dtype as 'int32').length + shape[0] * shape[1] * bytesOfStored(dtype)

/**
 * Creates the array without its elements. The metadata stores `attributes`, which identifies the plan and its
 * inputs.
 */
export async function createTarget(
  plan: Pick<AnyPlan, 'output' | 'semiring'>,
  journal: Journal,
  attributes: Record<string, unknown>,
): Promise<void> {
  const { shape, dtype, layout } = plan.output
  if (!layout) {
    const header = formatHeader(shape, dtype as 'int32')
    await writeWhole(journal.array, journal.temporary, async (file) => {
      await file.truncate(npyBytes(plan.output))
      await file.write(header, 0, header.length, 0)
    })
    return
  }
  const inner = [bytesCodec, ...codecsOf(plan.output)]
  const index = [bytesCodec, { name: 'crc32c' }]
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape,
    data_type: dtype,
    chunk_grid: { name: 'regular', configuration: { chunk_shape: layout.shards ?? layout.chunks } },
    chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
    fill_value: scalar(fillOf(plan)),
    codecs: layout.shards
      ? [
          {
            name: 'sharding_indexed',
            configuration: {
              chunk_shape: layout.chunks,
              codecs: inner,
              index_codecs: index,
              index_location: 'end',
            },
          },
        ]
      : inner,
    attributes: { mpmml: attributes },
  }
  const { store } = journal
  await store.makeFolders([journal.array, store.join(journal.array, 'c')])
  const text = Buffer.from(`${JSON.stringify(metadata, null, 2)}\n`)
  await store.write(store.join(journal.array, 'zarr.json'), journal.temporary, [asRow(text)])
}

/** Elements in rows. */
export interface Block {
  readonly rows: Range
  readonly cols: Range
  readonly data: ElementArray
}

/**
 * Writes a block and returns the number of bytes written. The files of a Zarr array get a temporary name
 * first; a .npy file is written in place.
 */
export async function writeBlock(plan: AnyPlan, journal: Journal, block: Block): Promise<number> {
  const { rows, cols, data } = block
  const { shape, dtype, layout } = plan.output
  if (!layout) {
    const size = bytesOfStored(dtype)
    const memoryPitch = (cols[1] - cols[0]) * size
    try {
      const file = await open(journal.array, 'r+')
      try {
        await writeRectangle(file, {
          position: formatHeader(shape, dtype as 'int32').length + (rows[0] * shape[1] + cols[0]) * size,
          pitch: shape[1] * size,
          width: memoryPitch,
          rows: rows[1] - rows[0],
          memory: bytesIn(data),
          memoryPitch,
        })
      } finally {
        await file.close()
      }
    } catch (error) {
      throw writeError(journal.array, error)
    }
    return data.byteLength
  }
  const { store } = journal
  const unit = layout.shards ?? layout.chunks
  const across = Math.ceil((cols[1] - cols[0]) / unit[1])
  const down = Math.ceil((rows[1] - rows[0]) / unit[0])
  let written = 0
  await atOnce(FILES_AT_ONCE, across * down, async (index) => {
    const top = Math.floor(index / across) * unit[0]
    const left = (index % across) * unit[1]
    const position = [`${(rows[0] + top) / unit[0]}`, `${(cols[0] + left) / unit[1]}`]
    const pieces = await fileOf(plan, block, top, left)
    await store.write(store.join(journal.array, 'c', ...position), journal.temporary, pieces)
    for (const piece of pieces) written += piece.rows * piece.width
  })
  return written
}

/** Bytes of buffers that writing a block takes besides the block. */
export function extraBytes({ dtype, layout }: PlannedOutput): number {
  if (!layout) return 0
  const bytes = layout.chunks[0] * layout.chunks[1] * bytesOfStored(dtype)
  if (!layout.shards) return (layout.codec === 'none' ? 1 : 2) * FILES_AT_ONCE * bytes
  const perShard = (layout.shards[0] * layout.shards[1]) / (layout.chunks[0] * layout.chunks[1])
  return FILES_AT_ONCE * (perShard + CODEC_THREADS) * bytes
}

/** Returns the rows of the file of a Zarr array whose first element is at (`top`, `left`) of the block. */
async function fileOf(plan: AnyPlan, block: Block, top: number, left: number): Promise<Rows[]> {
  const { chunks, shards } = plan.output.layout!
  if (!shards) return [await chunkOf(plan, block, top, left)]
  const across = shards[1] / chunks[1]
  const count = (shards[0] / chunks[0]) * across
  const pieces = new Array<Rows>(count)
  await atOnce(CODEC_THREADS, count, async (index) => {
    const [row, col] = [Math.floor(index / across), index % across]
    pieces[index] = await chunkOf(plan, block, top + row * chunks[0], left + col * chunks[1])
  })
  const entries = new BigUint64Array(2 * count)
  let position = 0
  for (const [index, { rows, width }] of pieces.entries()) {
    entries.set([BigInt(position), BigInt(rows * width)], 2 * index)
    position += rows * width
  }
  const index = Buffer.from(entries.buffer)
  return [...pieces, asRow(Buffer.concat([index, await crc32cOf(index)]))]
}

/** Returns a chunk as it is stored, without a copy if the block contains it in that form. */
async function chunkOf(plan: AnyPlan, { rows, cols, data }: Block, top: number, left: number): Promise<Rows> {
  const { chunks, codec } = plan.output.layout!
  const down = Math.max(0, Math.min(chunks[0], rows[1] - rows[0] - top))
  const across = Math.max(0, Math.min(chunks[1], cols[1] - cols[0] - left))
  const pitch = cols[1] - cols[0]
  const from = data.subarray(top * pitch + left)
  const isWhole = down === chunks[0] && across === chunks[1]
  if (isWhole && codec === 'none') {
    const size = data.BYTES_PER_ELEMENT
    return { memory: bytesIn(from), memoryPitch: pitch * size, width: across * size, rows: down }
  }
  const chunk = new (data.constructor as Float64ArrayConstructor)(chunks[0] * chunks[1])
  // A whole chunk needs no fill value, because all of its elements are overwritten.
  if (!isWhole) chunk.fill(fillOf(plan))
  for (let row = 0; row < down; row++) {
    chunk.set(from.subarray(row * pitch, row * pitch + across), row * chunks[1])
  }
  const bytes = bytesIn(chunk)
  return asRow(codec === 'none' ? bytes : await codeAside({ bytes, codecs: codecsOf(plan.output) }))
}
