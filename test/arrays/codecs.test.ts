/**
 * Decoding of chunks: elements are exact, memory is limited to the size of the chunk, and missing chunks have
 * the fill value.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { elementsIn } from '../../lib/arrays/array-source.js'
import { type CodecEntry, decodeBytes, encodeBytes } from '../../lib/arrays/codecs.js'
import { planInput } from '../../lib/arrays/fingerprint.js'
import { openSource } from '../../lib/arrays/source.js'
import {
  type ArrayTypeName,
  arrayTypes,
  type Elements,
  type HandMade,
  type Plain,
  writeByHand,
} from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { describeUnless } from '../support/skip.js'

const inFolder = useFolder()

let names = 0
const fresh = () => inFolder(`${names++}.zarr`)

/** Returns all elements of an array in row-major order. */
async function readAll(path: string): Promise<Elements> {
  const source = await openSource(path)
  const [rows, cols] = source.shape
  const memory = new Uint8Array(rows * cols * 8)
  const { strides } = await source.read([0, rows], [0, cols], memory, await planInput(source))
  const data = elementsIn(memory, source.dtype, rows * cols) as Elements
  return strides[1] === 1
    ? data
    : data.map((_, at) => data[Math.floor(at / cols) + (at % cols) * strides[1]]!)
}

const numbered = (type: ArrayTypeName, [rows, cols]: [number, number]): Plain => ({
  shape: [rows, cols],
  data: new arrayTypes[type](Array.from({ length: rows * cols }, (_, at) => (at * 7919) % 32749)),
})

// Node.js allocates the small chunks in its Buffer pool, and the large ones separately.
describe.each([
  { shape: [9, 14], chunks: [3, 5], shards: [6, 10] },
  { shape: [100, 150], chunks: [70, 80], shards: [70, 160] },
] satisfies { shape: [number, number]; chunks: [number, number]; shards: [number, number] }[])(
  'chunks of %j',
  ({ shape, chunks, shards }) => {
    const forms: Partial<HandMade>[] = [
      { crc: true },
      { gzip: true },
      { gzip: true, crc: true },
      { gzip: true, crcFirst: true },
      { gzip: true, crcFirst: true, crc: true },
      { gzip: true, crcFirst: true, byColumns: true },
      { gzip: true, crcFirst: true, shards },
    ]
    for (const type of Object.keys(arrayTypes) as ArrayTypeName[]) {
      it.each(forms.flatMap((form) => (['little', 'big'] as const).map((endian) => ({ ...form, endian }))))(
        `have the right elements of ${type}: %j`,
        async (form) => {
          const path = fresh()
          const matrix = numbered(type, shape)
          writeByHand(path, matrix, { chunks, ...form })
          expect(await readAll(path)).toEqual(matrix.data)
        },
      )
    }
  },
)

/** Header of a zstd frame without a content size: magic number, flags, and a window of 128 KiB. */
const UNKNOWN = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]

/** Returns a zstd block that repeats a byte. */
function repeated(count: number, byte: number, isLast: boolean): number[] {
  const head = (count << 3) | (1 << 1) | Number(isLast)
  return [head & 255, (head >> 8) & 255, head >> 16, byte]
}

const zstd: CodecEntry = { name: 'zstd', configuration: { level: 1 } }
const gzip: CodecEntry = { name: 'gzip', configuration: { level: 1 } }

describe('zstd frames without a content size', () => {
  it('are decoded with sizes in their blocks', async () => {
    const frame = Uint8Array.from([...UNKNOWN, ...repeated(300, 7, false), ...repeated(200, 9, true)])
    const expected = [...new Array(300).fill(7), ...new Array(200).fill(9)]
    expect(Array.from(await decodeBytes(frame, [zstd], 500))).toEqual(expected)
  })

  it('are decoded without sizes in their blocks', async () => {
    const text = Buffer.from('to and fro '.repeat(100))
    const frame = Buffer.from(await encodeBytes(text, [zstd]))
    // The frame has a single segment, and its content size takes two bytes.
    expect(frame[4]).toBe(0x60)
    const unknown = Buffer.concat([Buffer.from(UNKNOWN), frame.subarray(7)])
    expect(Buffer.from(await decodeBytes(unknown, [zstd], text.length)).equals(text)).toBe(true)
    for (const other of [text.length - 1, text.length + 1, 1]) {
      await expect(
        decodeBytes(unknown, [zstd], other).then((decoded) => decoded.length === other),
      ).rejects.toThrow()
    }
  })

  it('are decoded if a chunk has several of them, with skippable frames', async () => {
    const one = [...UNKNOWN, ...repeated(300, 7, true)]
    const skipped = [0x5e, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 1]
    const frames = Uint8Array.from([...one, ...skipped, ...one])
    expect(Array.from(await decodeBytes(frames, [zstd], 600))).toEqual(new Array(600).fill(7))
  })
})

describe('few bytes that expand to many', () => {
  const bomb = Buffer.alloc(1 << 24)
  const blocks = Array.from({ length: 100 }, (_, at) => repeated(1 << 17, 1, at === 99)).flat()
  const blosc = (cname: string): CodecEntry => ({
    name: 'blosc',
    configuration: { cname, clevel: 5, shuffle: 'noshuffle', typesize: 4, blocksize: 0 },
  })
  const encoded = (codecs: readonly CodecEntry[]) => encodeBytes(bomb, codecs)

  it.each<[string, readonly CodecEntry[], () => Promise<Uint8Array> | Uint8Array]>([
    ['gzip', [gzip], () => gzipSync(bomb)],
    ['gzip twice', [gzip, gzip], () => gzipSync(gzipSync(bomb))],
    ['gzip in parts', [gzip], () => Buffer.concat([gzipSync(bomb.subarray(0, 900)), gzipSync(bomb)])],
    ['zstd', [zstd], () => encoded([zstd])],
    ['zstd twice', [zstd, zstd], () => encoded([zstd, zstd])],
    ['blosc of lz4', [blosc('lz4')], () => encoded([blosc('lz4')])],
    ['blosc of zlib', [blosc('zlib')], () => encoded([blosc('zlib')])],
    ['blosc of zstd', [blosc('zstd')], () => encoded([blosc('zstd')])],
    [
      'zstd in parts',
      [zstd],
      async () => {
        const [small, large] = [await encodeBytes(bomb.subarray(0, 900), [zstd]), await encoded([zstd])]
        return Buffer.concat([small, large])
      },
    ],
    [
      'zstd in parts of unknown sizes',
      [zstd],
      () => Uint8Array.from([...UNKNOWN, ...repeated(900, 1, true), ...UNKNOWN, ...blocks]),
    ],
  ])('are rejected: %s', async (_, codecs, make) => {
    const bytes = await make()
    await expect(decodeBytes(bytes, codecs, 3600)).rejects.toThrow(/decodes to more than \d+ bytes/)
  })

  it('are rejected in zstd of unknown size', async () => {
    const bytes = Uint8Array.from([...UNKNOWN, ...blocks])
    await expect(decodeBytes(bytes, [zstd], 3600)).rejects.toThrow()
  })

  it.each([3, 4])(
    'are rejected in blosc whose stream (of number %i) holds more than its header states',
    async (number) => {
      const codec = blosc(number === 3 ? 'zlib' : 'zstd')
      const honest = Buffer.from(await encodeBytes(Buffer.alloc(3600), [codec]))
      expect(honest[2]! >> 5).toBe(number)
      const { deflateSync } = await import('node:zlib')
      const stream = number === 3 ? deflateSync(bomb) : await encoded([zstd])
      const container = Buffer.alloc(24 + stream.length)
      honest.copy(container, 0, 0, 12)
      // The blosc container has one block with one stream.
      container[2] = (number << 5) | 16
      container.writeUInt32LE(3600, 8)
      container.writeUInt32LE(container.length, 12)
      container.writeUInt32LE(20, 16)
      container.writeUInt32LE(stream.length, 20)
      Buffer.from(stream).copy(container, 24)
      await expect(decodeBytes(container, [codec], 3600)).rejects.toThrow(/decodes to more than 3600 bytes/)
    },
  )

  it('are not read from a file that is longer than any encoded chunk', async () => {
    const path = fresh()
    writeByHand(path, numbered('int32', [30, 30]), { chunks: [30, 30], gzip: true })
    const file = join(path, 'c/0/0')
    writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.alloc(10_000)]))
    await expect(readAll(path)).rejects.toEqual(coded('CHUNK', /it has \d+ bytes, more than \d+/))
  })
})

describe('missing chunks', () => {
  const holes = (type: ArrayTypeName, fillValue: unknown) => {
    const path = fresh()
    writeByHand(path, numbered(type, [4, 4]), { chunks: [2, 2], fillValue, without: () => true })
    return path
  }

  it.each<[ArrayTypeName, unknown, number]>([
    ['int16', -32768, -32768],
    ['int32', -(2 ** 31), -(2 ** 31)],
    ['int32', 2 ** 31 - 1, 2 ** 31 - 1],
    ['float32', 0.5, 0.5],
    ['float32', 'NaN', Number.NaN],
    ['float32', 'Infinity', Number.POSITIVE_INFINITY],
    ['float64', '-Infinity', Number.NEGATIVE_INFINITY],
    ['float32', '0xff800000', Number.NEGATIVE_INFINITY],
    ['float32', '0x3FC00000', 1.5],
    ['float32', '0x7fc00000', Number.NaN],
    ['float64', '0x400921fb54442d18', Math.PI],
    ['float64', '0x8000000000000000', -0],
  ])('have the fill value: %s %j', async (type, fillValue, value) => {
    expect(Array.from(await readAll(holes(type, fillValue)))).toEqual(new Array(16).fill(value))
  })

  it.each<[ArrayTypeName, unknown, RegExp]>([
    ['int32', 1.5, /fill value must be an integer that int32 holds, but it is 1\.5/],
    ['int16', 40_000, /fill value must be an integer that int16 holds/],
    ['float32', '0x7fc000', /"0x" and 8 hexadecimal digits, but it is '0x7fc000'/],
    ['float64', '0x7fc00000', /"0x" and 16 hexadecimal digits/],
    ['float64', 'inf', /fill value must be a number/],
    ['float64', true, /fill value must be a number/],
    ['float64', [0], /fill value must be a number/],
  ])('are rejected with the fill value %s %j', async (type, fillValue, message) => {
    await expect(readAll(holes(type, fillValue))).rejects.toEqual(coded('FILE', message))
  })

  it('are rejected with null, which needs an array with all chunks', async () => {
    await expect(readAll(holes('int32', null))).rejects.toEqual(
      coded('FILE', /c.0.0 is not there, and the fill value of .* is null/),
    )
    const whole = fresh()
    const matrix = numbered('int32', [4, 4])
    writeByHand(whole, matrix, { chunks: [2, 2], fillValue: null })
    expect(await readAll(whole)).toEqual(matrix.data)
  })
})

it('ignores members that need not be understood', async () => {
  const path = fresh()
  const matrix = numbered('int32', [4, 4])
  writeByHand(path, matrix, { chunks: [2, 2] })
  const file = join(path, 'zarr.json')
  const optional = { name: 'mirror', must_understand: false }
  writeFileSync(
    file,
    JSON.stringify({
      ...JSON.parse(readFileSync(file, 'utf8')),
      dimension_names: ['from', null],
      storage_transformers: [optional],
      compass: optional,
    }),
  )
  expect(await readAll(path)).toEqual(matrix.data)
})

describe('gzip', () => {
  it.each([Buffer.alloc(5), Buffer.concat([Buffer.alloc(5), gzipSync('more')])])(
    'is rejected if other bytes follow: %#',
    async (rest) => {
      const chunk = Buffer.concat([gzipSync('chunk'), rest])
      await expect(decodeBytes(chunk, [{ name: 'gzip' }], 5)).rejects.toThrow(
        `${rest.length} bytes follow its compressed data`,
      )
    },
  )
})

describeUnless(
  process.platform === 'win32' && 'Windows has no named pipes in folders',
  'a named pipe',
  () => {
    it.each(['c/0/0', 'zarr.json'])('is rejected in place of %s', async (name) => {
      const path = fresh()
      writeByHand(path, numbered('int32', [2, 2]), { chunks: [2, 2] })
      rmSync(join(path, name))
      execFileSync('mkfifo', [join(path, name)])
      await expect(readAll(path)).rejects.toEqual(coded('FILE', 'must be a regular file of an array'))
    })
  },
)
