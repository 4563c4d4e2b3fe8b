/**
 * Arrays on disk, written and read without the library: Zarr by zarrita, and by hand from its specification for features that
 * zarrita lacks.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import FileSystemStore from '@zarrita/storage/fs'
import * as zarr from 'zarrita'

export const arrayTypes = {
  int16: Int16Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
} as const
export type ArrayTypeName = keyof typeof arrayTypes
export type Elements = InstanceType<(typeof arrayTypes)[ArrayTypeName]>

export interface Plain {
  shape: [number, number]
  data: Elements
}

/** Data types of Zarr that blocks don't support. */
export const otherTypes = {
  int8: Int8Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
} as const

type AnyElements = Elements | InstanceType<(typeof otherTypes)[keyof typeof otherTypes]>

const typeOf = (data: AnyElements) =>
  Object.entries({ ...arrayTypes, ...otherTypes }).find(([, type]) => data instanceof type)![0]

/** Writes an array by zarrita. */
export async function writeZarr(
  path: string,
  { shape, data }: Plain,
  chunks: [number, number],
  codecs: zarr.CodecMetadata[] = [],
): Promise<void> {
  const array = await zarr.create(new FileSystemStore(path), {
    shape,
    chunkShape: chunks,
    dtype: typeOf(data) as ArrayTypeName,
    codecs: [{ name: 'bytes', configuration: { endian: 'little' } }, ...codecs],
    fillValue: 0,
  })
  await zarr.set(array, null, { data, shape, stride: [shape[1], 1] } as never)
}

/** Reads an array by zarrita. */
export async function readZarr(path: string): Promise<Plain> {
  const array = await zarr.open(new FileSystemStore(path), { kind: 'array' })
  const { data, shape } = await zarr.get(array as zarr.Array<'int32', FileSystemStore>)
  return { data: data as Elements, shape: shape as [number, number] }
}

/** CRC-32C bit by bit. */
export function checksum(bytes: Uint8Array): Buffer {
  let rest = 0xffffffff
  for (const byte of bytes) {
    rest ^= byte
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0x82f63b78 : rest >>> 1
  }
  const four = Buffer.alloc(4)
  four.writeUInt32LE((rest ^ 0xffffffff) >>> 0)
  return four
}

export interface HandMade {
  chunks: [number, number]
  shards?: [number, number]
  fill?: number
  /** Fill value in the notation of zarr.json, if it isn't the number `fill`. */
  fillValue?: unknown
  gzip?: boolean
  crc?: boolean
  /** Whether the checksum is computed of the input of gzip, not of its output. */
  crcFirst?: boolean
  /** Byte order; null if the codec has no `endian`. */
  endian?: 'little' | 'big' | null
  /** Data type in zarr.json, if it differs from the type of the elements. */
  type?: unknown
  byColumns?: boolean
  index?: 'start' | 'end'
  indexCrc?: boolean
  /** Missing chunks, by row and column. */
  without?: (row: number, col: number) => boolean
  keys?: { name: 'default' | 'v2'; separator: '/' | '.' }
}

/** Writes an array from the specification; elements outside of `data` and missing chunks have the value `fill`. */
export function writeByHand(
  path: string,
  { shape, data }: { shape: readonly [number, number]; data: AnyElements },
  handMade: HandMade,
): void {
  const {
    chunks,
    shards,
    fill = 0,
    fillValue = fill,
    gzip,
    crc,
    crcFirst,
    endian = 'little',
    byColumns,
    index = 'end',
    indexCrc = true,
  } = handMade
  const { without = () => false, keys = { name: 'default', separator: '/' } } = handMade
  const codecs = [
    ...(byColumns ? [{ name: 'transpose', configuration: { order: [1, 0] } }] : []),
    { name: 'bytes', ...(endian && { configuration: { endian } }) },
    ...(crcFirst ? [{ name: 'crc32c' }] : []),
    ...(gzip ? [{ name: 'gzip', configuration: { level: 5 } }] : []),
    ...(crc ? [{ name: 'crc32c' }] : []),
  ]
  const file = shards ?? chunks
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape,
    data_type: handMade.type ?? typeOf(data),
    chunk_grid: { name: 'regular', configuration: { chunk_shape: file } },
    chunk_key_encoding: { name: keys.name, configuration: { separator: keys.separator } },
    fill_value: fillValue,
    codecs: shards
      ? [
          {
            name: 'sharding_indexed',
            configuration: {
              chunk_shape: chunks,
              codecs,
              index_codecs: [
                { name: 'bytes', configuration: { endian: 'little' } },
                ...(indexCrc ? [{ name: 'crc32c' }] : []),
              ],
              index_location: index,
            },
          },
        ]
      : codecs,
    attributes: {},
  }
  const put = (name: string, bytes: Uint8Array) => {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), bytes)
  }
  put('zarr.json', Buffer.from(JSON.stringify(metadata)))
  const chunkBytes = (row: number, col: number): Buffer => {
    const isWide = typeof data[0] === 'bigint'
    const values = new (data.constructor as Float64ArrayConstructor)(chunks[0] * chunks[1]).fill(
      isWide ? (BigInt(fill) as never) : fill,
    )
    for (let i = 0; i < chunks[0]; i++) {
      for (let j = 0; j < chunks[1]; j++) {
        const [y, x] = [row * chunks[0] + i, col * chunks[1] + j]
        if (y >= shape[0] || x >= shape[1]) continue
        values[byColumns ? j * chunks[0] + i : i * chunks[1] + j] = data[y * shape[1] + x]! as number
      }
    }
    let bytes: Buffer = Buffer.from(values.buffer)
    if (endian === 'big') {
      const size = data.BYTES_PER_ELEMENT
      if (size === 2) bytes.swap16()
      else if (size === 4) bytes.swap32()
      else if (size === 8) bytes.swap64()
    }
    if (crcFirst) bytes = Buffer.concat([bytes, checksum(bytes)])
    if (gzip) bytes = gzipSync(bytes)
    return crc ? Buffer.concat([bytes, checksum(bytes)]) : bytes
  }
  const per = [file[0] / chunks[0], file[1] / chunks[1]] as const
  for (let row = 0; row * file[0] < shape[0]; row++) {
    for (let col = 0; col * file[1] < shape[1]; col++) {
      const name = `${keys.name === 'default' ? `c${keys.separator}` : ''}${row}${keys.separator}${col}`
      if (!shards) {
        if (!without(row, col)) put(name, chunkBytes(row, col))
        continue
      }
      const entries: bigint[] = []
      const pieces: Buffer[] = []
      let position = index === 'start' ? 16 * per[0] * per[1] + (indexCrc ? 4 : 0) : 0
      for (let i = 0; i < per[0]; i++) {
        for (let j = 0; j < per[1]; j++) {
          const [y, x] = [row * per[0] + i, col * per[1] + j]
          if (without(y, x)) {
            entries.push(2n ** 64n - 1n, 2n ** 64n - 1n)
            continue
          }
          const piece = chunkBytes(y, x)
          entries.push(BigInt(position), BigInt(piece.length))
          position += piece.length
          pieces.push(piece)
        }
      }
      const list = Buffer.from(BigUint64Array.from(entries).buffer)
      const tail = indexCrc ? Buffer.concat([list, checksum(list)]) : list
      put(name, Buffer.concat(index === 'start' ? [tail, ...pieces] : [...pieces, tail]))
    }
  }
}

/** Changes the byte at `at` of a file; negative positions count from its end. */
export function spoil(path: string, at: number): void {
  const bytes = readFileSync(path)
  const position = at < 0 ? bytes.length + at : at
  bytes[position] = bytes[position]! ^ 0x55
  writeFileSync(path, bytes)
}
