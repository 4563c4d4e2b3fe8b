/**
 * .npy files, read and written. The files are created byte by byte from the description of the format (numpy.lib.format, "Format
 * Version 1.0"), not by the tested writer.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { AbortedError, DTypeError, FileError, OutOfMemoryError, ShapeError } from '../../lib/errors.js'
import { type ReadNpyOptions, readNpy as readFile, writeNpy as writeFile } from '../../lib/files/npy.js'
import { formatNpy, parseNpy } from '../../lib/files/npy-bytes.js'
import type { Matrix } from '../../lib/matrix.js'
import type { ElementArray } from '../../lib/storage.js'
import { expectError, expectThrown, thrown } from '../support/expect.js'
import { useFolder } from '../support/folder.js'
import { itUnless } from '../support/skip.js'

const inFolder = useFolder()

let files = 0
const fresh = () => inFolder(`${files++}.npy`)

interface Parts {
  version?: [number, number]
  header: string
  data?: Uint8Array | number[]
}

/** Writes a .npy file with the given header text, and returns its path. */
function npy({ version = [1, 0], header, data = [] }: Parts): string {
  const length = Buffer.alloc(version[0] === 1 ? 2 : 4)
  if (version[0] === 1) length.writeUInt16LE(header.length)
  else length.writeUInt32LE(header.length)
  const path = fresh()
  writeFileSync(
    path,
    Buffer.concat([
      Buffer.from('\x93NUMPY', 'latin1'),
      Buffer.from(version),
      length,
      Buffer.from(header, 'latin1'),
      Buffer.from(data),
    ]),
  )
  return path
}

const header = (descr: string, shape: string, fortran = 'False') =>
  `{'descr': ${descr.startsWith('[') ? descr : `'${descr}'`}, 'fortran_order': ${fortran}, 'shape': ${shape}, }\n`

const bytesOf = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

/** [1, -2, 3, …]: six distinct numbers of both signs, as little-endian int32, typed out. */
const six = [1, 0, 0, 0, 254, 255, 255, 255, 3, 0, 0, 0, 0, 0, 0, 128, 255, 255, 255, 127, 0, 1, 0, 0]
const sixValues = [1, -2, 3, -2147483648, 2147483647, 256]

/** Returns the elements in row-major order, by the definition of strides. */
function elements({ data, shape, strides, offset = 0 }: Matrix<ElementArray>): number[] {
  const steps = strides ?? shape.map((_, axis) => shape.slice(axis + 1).reduce((p, n) => p * n, 1))
  let all = [offset]
  shape.forEach((size, axis) => {
    all = all.flatMap((start) => Array.from({ length: size }, (_, index) => start + index * steps[axis]!))
  })
  return all.map((index) => data[index]!)
}

/**
 * Reads a matrix from a file and from the bytes of the file. Both must return equal matrices or throw equal
 * errors.
 */
async function readNpy(path: string | URL, options: ReadNpyOptions = {}): Promise<Matrix<ElementArray>> {
  const [read] = await Promise.allSettled([readFile(path, options)])
  const stats = typeof path === 'string' && existsSync(path) ? statSync(path) : undefined
  if (stats?.isFile() && stats.size < 2 ** 30) {
    const { dtype } = options
    // The bytes start at an odd address, which is unaligned for every element type.
    const bytes = Buffer.concat([Buffer.of(0), readFileSync(path)]).subarray(1)
    if (read.status === 'fulfilled') {
      const { data, ...layout } = parseNpy(bytes, { dtype })
      const { data: expected, ...expectedLayout } = read.value
      expect(layout).toEqual(expectedLayout)
      expect(data.constructor).toBe(expected.constructor)
      expect(Buffer.compare(bytesOf(data), bytesOf(expected))).toBe(0)
    } else if (!(read.reason instanceof AbortedError)) {
      const error = thrown(() => parseNpy(bytes, { dtype })) as Error
      expect(error.name).toBe(read.reason.name)
      const [which, ...rest] = read.reason.message.split(': ')
      if (which === path) expect(error.message).toBe(['bytes of a .npy file', ...rest].join(': '))
      else expect(error.message).toBe(read.reason.message)
    }
  }
  if (read.status === 'rejected') throw read.reason
  return read.value
}

/** Writes a file, which must have the bytes of formatNpy. */
async function writeNpy(path: string, matrix: Matrix<ElementArray>): Promise<void> {
  await writeFile(path, matrix)
  const bytes = formatNpy(matrix)
  expect(Buffer.compare(bytes, readFileSync(path))).toBe(0)
}

async function refusal(path: string, options = {}) {
  const error = await readNpy(path, options).then(
    () => expect.unreachable('the file was read'),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(FileError)
  expect(error.code).toBe('ERR_MPMML_FILE')
  expect(error.message).toContain(path)
  return error.message as string
}

describe('reading', () => {
  it('keeps int32 in C order without conversion', async () => {
    const { data, shape, strides } = await readNpy(npy({ header: header('<i4', '(2, 3)'), data: six }))
    expect(shape).toEqual([2, 3])
    expect(strides).toBeUndefined()
    expect([...data]).toEqual(sixValues)
  })

  it.each<[number, number]>([
    [1, 0],
    [2, 0],
    [3, 0],
  ])('accepts format %i.%i', async (...version) => {
    const { data } = await readNpy(npy({ version, header: header('<i4', '(3, 2)'), data: six }))
    expect([...data]).toEqual(sixValues)
  })

  it('describes Fortran order by strides', async () => {
    const m = await readNpy(npy({ header: header('<i4', '(2, 3)', 'True'), data: six }))
    expect(m.strides).toEqual([1, 2])
    // The file stores the columns [1, -2], [3, -2^31], [2^31 - 1, 256] one after the other.
    expect(elements(m)).toEqual([1, 3, 2147483647, -2, -2147483648, 256])
    const batch = await readNpy(npy({ header: header('<i4', '(3, 2, 1)', 'True'), data: six }))
    expect(elements(batch)).toEqual([1, -2147483648, -2, 2147483647, 3, 256])
  })

  it.each([
    ['float32', 'f4', Float32Array],
    ['float64', 'f8', Float64Array],
  ] as const)(
    'keeps %s without conversion, in both byte orders and in Fortran order',
    async (_, code, Type) => {
      const values = Type.of(0.1, -0, Number.NaN, Number.NEGATIVE_INFINITY, 2 ** -149, 1e30)
      const data = new Uint8Array(values.buffer)
      const straight = await readNpy(npy({ header: header(`<${code}`, '(2, 3)'), data }))
      expect(straight.data).toBeInstanceOf(Type)
      expect(straight).toEqual({ data: values, shape: [2, 3] })
      const size = values.BYTES_PER_ELEMENT
      const reversed = data.map((_, index) => data[index - (index % size) + size - 1 - (index % size)]!)
      const swapped = await readNpy(npy({ header: header(`>${code}`, '(2, 3)'), data: reversed }))
      expect(swapped.data).toEqual(values)
      const text = `{'descr': '<${code}', 'fortran_order': True, 'shape': (2, 3), }\n`
      const fortran = await readNpy(npy({ header: text, data }))
      expect(elements(fortran)).toEqual([0, 2, 4, 1, 3, 5].map((index) => values[index]))
      const path = fresh()
      await writeNpy(path, fortran)
      const written = readFileSync(path)
      expect(written.toString('latin1', 10, 128)).toContain(
        `{'descr': '<${code}', 'fortran_order': False, 'shape': (2, 3), }`,
      )
      expect(await readNpy(path)).toEqual({ data: Type.from(elements(fortran)), shape: [2, 3] })
    },
  )

  it('accepts a batch, and empty matrices', async () => {
    const batch = await readNpy(npy({ header: header('<i4', '(3, 1, 2)'), data: six }))
    expect(batch.shape).toEqual([3, 1, 2])
    for (const [text, shape] of [
      ['(0, 5)', [0, 5]],
      ['(5, 0)', [5, 0]],
      ['(0, 2147483647)', [0, 2147483647]],
    ] as const) {
      expect(await readNpy(npy({ header: header('<i4', text) }))).toEqual({ data: new Int32Array(0), shape })
    }
  })

  it.each<[string, number[], number[]]>([
    ['|i1', [1, 254, 127, 128], [1, -2, 127, -128]],
    ['|u1', [1, 254, 127, 128], [1, 254, 127, 128]],
    ['<i2', [1, 0, 0, 128, 255, 127, 255, 255], [1, -32768, 32767, -1]],
    ['>i2', [0, 1, 128, 0, 127, 255, 255, 255], [1, -32768, 32767, -1]],
    ['<u2', [1, 0, 0, 128, 255, 127, 255, 255], [1, 32768, 32767, 65535]],
    ['>u2', [0, 1, 128, 0, 127, 255, 255, 255], [1, 32768, 32767, 65535]],
    [
      '>i4',
      [0, 0, 0, 1, 128, 0, 0, 0, 127, 255, 255, 255, 255, 255, 255, 254],
      [1, -2147483648, 2147483647, -2],
    ],
    ['<u4', [1, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 127, 0, 1, 0, 0], [1, 0, 2147483647, 256]],
    ['>u4', [0, 0, 0, 1, 0, 0, 0, 0, 127, 255, 255, 255, 0, 0, 1, 0], [1, 0, 2147483647, 256]],
  ])('converts %s exactly', async (descr, data, values) => {
    const m = await readNpy(npy({ header: header(descr, '(2, 2)'), data }))
    expect(m.data).toBeInstanceOf(Int32Array)
    expect([...m.data]).toEqual(values)
  })

  it('converts 64-bit integers within int32, and names the first other one', async () => {
    const signed = BigInt64Array.of(0n, -1n, 2147483647n, -2147483648n, 4294967n, -77n)
    expect([
      ...(await readNpy(npy({ header: header('<i8', '(2, 3)'), data: bytesOf(signed) }))).data,
    ]).toEqual([0, -1, 2147483647, -2147483648, 4294967, -77])
    const big = Buffer.from(bytesOf(signed)).swap64()
    expect([...(await readNpy(npy({ header: header('>i8', '(2, 3)'), data: big }))).data]).toEqual([
      0, -1, 2147483647, -2147483648, 4294967, -77,
    ])
    const unsigned = BigUint64Array.of(0n, 2147483647n)
    expect([
      ...(await readNpy(npy({ header: header('<u8', '(1, 2)'), data: bytesOf(unsigned) }))).data,
    ]).toEqual([0, 2147483647])
  })

  it.each<[string, string, ArrayBufferView, string]>([
    [
      '<i8',
      'False',
      BigInt64Array.of(0n, 1n, 2n, 3n, 2147483648n, -2147483649n),
      'int64 value 2147483648 at index [1, 1]',
    ],
    [
      '<i8',
      'False',
      BigInt64Array.of(0n, 1n, -2147483649n, 3n, 4n, 5n),
      'int64 value -2147483649 at index [0, 2]',
    ],
    // In Fortran order element 3 of the file is at [1, 1].
    [
      '<i8',
      'True',
      BigInt64Array.of(0n, 1n, 2n, 1n << 40n, 4n, 5n),
      'int64 value 1099511627776 at index [1, 1]',
    ],
    [
      '<u8',
      'False',
      BigUint64Array.of(0n, 1n, 2n, 3n, 4n, 18446744073709551615n),
      'uint64 value 18446744073709551615 at index [1, 2]',
    ],
    [
      '<u8',
      'False',
      BigUint64Array.of(2147483648n, 1n, 2n, 3n, 4n, 5n),
      'uint64 value 2147483648 at index [0, 0]',
    ],
    ['<u4', 'False', Uint32Array.of(0, 1, 2, 2147483648, 4, 5), 'uint32 value 2147483648 at index [1, 0]'],
  ])('rejects values of %s (Fortran order: %s) outside of int32', async (descr, fortran, data, expected) => {
    expect(await refusal(npy({ header: header(descr, '(2, 3)', fortran), data: bytesOf(data) }))).toContain(
      expected,
    )
  })

  it('reads booleans as bytes of 0 and 1, for every byte that means true', async () => {
    const plain = await readNpy(npy({ header: header('|b1', '(2, 3)'), data: [0, 1, 1, 0, 0, 1] }))
    expect(plain).toEqual({ data: Uint8Array.of(0, 1, 1, 0, 0, 1), shape: [2, 3] })
    const strange = npy({ header: header('|b1', '(2, 3)', 'True'), data: [0, 2, 255, 128, 0, 0] })
    for (const options of [{}, { dtype: 'uint8' } as const]) {
      const m = await readNpy(strange, options)
      expect(m.data).toEqual(Uint8Array.of(0, 1, 1, 1, 0, 0))
      expect(elements(m)).toEqual([0, 1, 0, 1, 1, 0])
    }
    expect(await refusal(npy({ header: header('?', '(1, 1)'), data: [1] }))).toContain('another type')
    expect((await readNpy(npy({ header: header('|b1', '(2, 0, 3)') }))).data).toEqual(new Uint8Array(0))
  })

  describe("with dtype 'uint8'", () => {
    const asBytes = { dtype: 'uint8' } as const
    it.each<[string, number[] | ArrayBufferView]>([
      ['|u1', [0, 1, 254, 255]],
      ['|i1', [0, 1, 126, 127]],
      ['<i2', Int16Array.of(0, 1, 254, 255)],
      ['>i2', [0, 0, 0, 1, 0, 254, 0, 255]],
      ['<u2', Uint16Array.of(0, 1, 254, 255)],
      ['<i4', Int32Array.of(0, 1, 254, 255)],
      ['>i4', [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 254, 0, 0, 0, 255]],
      ['<u4', Uint32Array.of(0, 1, 254, 255)],
      ['<i8', BigInt64Array.of(0n, 1n, 254n, 255n)],
      ['<u8', BigUint64Array.of(0n, 1n, 254n, 255n)],
    ])('converts %s exactly', async (descr, values) => {
      const data = Array.isArray(values) ? values : bytesOf(values)
      const m = await readNpy(npy({ header: header(descr, '(2, 2)'), data }), asBytes)
      expect(m).toEqual({
        data: descr === '|i1' ? Uint8Array.of(0, 1, 126, 127) : Uint8Array.of(0, 1, 254, 255),
        shape: [2, 2],
      })
    })

    it.each<[string, ArrayBufferView, string]>([
      ['|i1', Int8Array.of(0, 1, 2, 3, -1, 5), 'int8 value -1 at index [1, 1]'],
      ['<i2', Int16Array.of(0, 1, 256, 3, 4, 5), 'int16 value 256 at index [0, 2]'],
      ['<i2', Int16Array.of(-256, 1, 2, 3, 4, 5), 'int16 value -256 at index [0, 0]'],
      ['<u2', Uint16Array.of(0, 1, 2, 3, 4, 65535), 'uint16 value 65535 at index [1, 2]'],
      ['<i4', Int32Array.of(0, 1, 2, -2147483648, 4, 5), 'int32 value -2147483648 at index [1, 0]'],
      ['<u4', Uint32Array.of(0, 1, 2, 3, 4294967295, 5), 'uint32 value 4294967295 at index [1, 1]'],
      ['<i8', BigInt64Array.of(0n, 1n << 32n, 2n, 3n, 4n, 5n), 'int64 value 4294967296 at index [0, 1]'],
      ['<i8', BigInt64Array.of(0n, 1n, 2n, 3n, 4n, -1n), 'int64 value -1 at index [1, 2]'],
      ['<u8', BigUint64Array.of(256n, 1n, 2n, 3n, 4n, 5n), 'uint64 value 256 at index [0, 0]'],
    ])('names the value of %s that is not a byte', async (descr, values, expected) => {
      const path = npy({ header: header(descr, '(2, 3)'), data: bytesOf(values) })
      const message = await refusal(path, asBytes)
      expect(message).toContain(expected)
      expect(message).toContain('outside the range of uint8, 0 … 255')
    })

    it('rejects floating-point numbers, and other types with their own reason', async () => {
      for (const [descr, bytes] of [
        ['<f4', 4],
        ['<f8', 8],
      ] as const) {
        const path = npy({ header: header(descr, '(1, 1)'), data: new Uint8Array(bytes) })
        const message = await refusal(path, asBytes)
        expect(message).toContain(`"${descr}" is float`)
        expect(message).toContain('astype(numpy.uint8)')
      }
      const complex = npy({ header: header('<c8', '(1, 1)'), data: new Uint8Array(8) })
      expect(await refusal(complex, asBytes)).toContain('complex')
    })

    it('is the only requestable type apart from int32', async () => {
      const path = npy({ header: header('|u1', '(2, 2)'), data: [1, 2, 3, 4] })
      for (const dtype of ['int32', 'bool', 8, null]) {
        const error = await readNpy(path, { dtype } as never).catch((reason: unknown) => reason)
        expectError(error, 'OPTION', "option dtype must be 'uint8'")
      }
      expect((await readNpy(path)).data).toEqual(Int32Array.of(1, 2, 3, 4))
    })

    it('reads files that are longer than a chunk', async () => {
      const values = new Int16Array(5 << 20).fill(7)
      values[(5 << 20) - 2] = 200
      const path = npy({ header: header('<i2', '(5120, 1024)'), data: bytesOf(values) })
      const { data } = await readNpy(path, asBytes)
      expect(data.findIndex((value) => value !== 7)).toBe((5 << 20) - 2)
      values[(5 << 20) - 3] = 300
      const wrong = npy({ header: header('<i2', '(5120, 1024)'), data: bytesOf(values) })
      expect(await refusal(wrong, asBytes)).toContain('int16 value 300 at index [5119, 1021]')
    })
  })

  it('finds the invalid value beyond the first chunk', async () => {
    const values = new BigInt64Array(1 << 21)
    values[(1 << 21) - 3] = 1n << 33n
    const path = npy({ header: header('<i8', '(2048, 1024)'), data: bytesOf(values) })
    expect(await refusal(path)).toContain('8589934592 at index [2047, 1021]')
    values[(1 << 21) - 3] = -5n
    const { data } = await readNpy(npy({ header: header('<i8', '(2048, 1024)'), data: bytesOf(values) }))
    expect(data.findIndex((value) => value !== 0)).toBe((1 << 21) - 3)
    expect(data[(1 << 21) - 3]).toBe(-5)
  })

  it.each([
    ['<f2', 'half precision', 'astype(numpy.float32)'],
    ['<f16', 'long double', 'astype(numpy.float64)'],
    ['f4', 'byte order', '"<f4"'],
    ['<c16', 'complex', ''],
    ['|S8', 'byte strings', ''],
    ['<U3', 'strings', ''],
    ['|V16', 'raw bytes', ''],
    ['|O', 'pickled', ''],
    ['<M8[ns]', 'dates', ''],
    ['<i16', 'another type', ''],
    ['constructor', 'another type', ''],
    ['', 'another type', ''],
    ['i4', 'byte order', '"<i4"'],
    ['|i4', 'byte order', '">i4"'],
    ['=i8', 'byte order', ''],
    ["[('x', '<i4'), ('y', '<f4', (2, 2))]", 'records', ''],
  ])('rejects the type %s', async (descr, reason, advice) => {
    const message = await refusal(npy({ header: header(descr, '(1, 1)'), data: [0, 0, 0, 0] }))
    expect(message).toContain(reason)
    expect(message).toContain(advice)
  })

  it.each([
    ['()', 'reshape(1, 1)'],
    ['(1, 1, 2, 3)', 'reshape(-1, *a.shape[-2:])'],
  ])('rejects the shape %s with advice', async (shape, advice) => {
    const message = await refusal(npy({ header: header('<i4', shape), data: six }))
    expect(message).toContain(shape)
    expect(message).toContain(advice)
  })

  it.each([
    ['too few bytes', '(2, 4)', 'claims (2, 4) int32, 32 bytes of data, but 24 follow it; it is truncated'],
    [
      'too many bytes',
      '(2, 2)',
      'claims (2, 2) int32, 16 bytes of data, but 24 follow it; it has trailing bytes',
    ],
    ['huge dimensions', '(2147483647, 2147483647)', 'truncated'],
    ['dimensions whose product wraps to 24 bytes', '(1, 4611686018427387910)', 'damaged'],
    ['three dimensions whose product is 2^64 + …', '(65536, 65536, 1073741824)', 'truncated'],
    ['a negative dimension', '(-2, -3)', 'claims (-2, -3)'],
    ['a dimension of a hundred digits', `(1, ${'9'.repeat(100)})`, 'damaged'],
  ])('rejects an inconsistent header: %s', async (_, shape, expected) => {
    expect(await refusal(npy({ header: header('<i4', shape), data: six }))).toContain(expected)
  })

  it.each([
    ['no dictionary', 'print("hello")\n'],
    ['a missing key', "{'descr': '<i4', 'fortran_order': False, }\n"],
    ['an unknown key', "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}\n"],
    ['a key of Object.prototype', "{'descr': '<i4', 'fortran_order': False, 'toString': (2, 3)}\n"],
    ['a key twice', "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), 'shape': (2, 3)}\n"],
    ['an expression', "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1+2)}\n"],
    ['a shape without parentheses', "{'descr': '<i4', 'fortran_order': False, 'shape': 6}\n"],
    ['a shape that is a list', "{'descr': '<i4', 'fortran_order': False, 'shape': [2, 3]}\n"],
    ['a number in parentheses', "{'descr': '<i4', 'fortran_order': False, 'shape': (6)}\n"],
    ['an order that is a number', "{'descr': '<i4', 'fortran_order': 0, 'shape': (2, 3)}\n"],
    ['a type that is a number', "{'descr': 4, 'fortran_order': False, 'shape': (2, 3)}\n"],
    ['something after the dictionary', "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)} {}\n"],
    ['an open dictionary', "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)\n"],
    ['an open string', "{'descr': '<i4, 'fortran_order': False, 'shape': (2, 3)}\n"],
    ['an open list', "{'descr': [('x', '<i4'), 'fortran_order': False, 'shape': (2, 3)}\n"],
    ['nothing', ''],
    ['zeros', '\0'.repeat(60)],
  ])('rejects a damaged header: %s', async (_, text) => {
    expect(await refusal(npy({ header: text, data: six }))).toContain('damaged')
  })

  it('accepts the headers of other writers', async () => {
    for (const text of [
      '{"shape":(2,3),"fortran_order":False,"descr":"<i4"}',
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 3L)}          \n",
      "  { 'shape' : ( 2 , 3 , ) , 'descr' : '<i4' , 'fortran_order' : False }  ",
    ]) {
      const { data, shape } = await readNpy(npy({ header: text, data: six }))
      expect(shape).toEqual([2, 3])
      expect([...data]).toEqual(sixValues)
    }
  })

  it('rejects files that are not NumPy files', async () => {
    const write = (content: string | Uint8Array) => {
      const path = fresh()
      writeFileSync(path, content)
      return path
    }
    expect(await refusal(write(''))).toContain('it is empty')
    expect(await refusal(write('PK\x03\x04 a zip file'))).toContain('"PK\\u0003')
    expect(await refusal(write('1,2,3\n4,5,6\n'))).toContain('expected a NumPy .npy file')
    expect(await refusal(write('\x93'))).toContain('expected a NumPy .npy file')
    expect(await refusal(write(Buffer.from('\x93NUM', 'latin1')))).toContain('expected a NumPy .npy file')
    expect(await refusal(write(Buffer.from('\x93NUMPY', 'latin1')))).toContain('truncated')
    expect(await refusal(write(Buffer.from('\x93NUMPY\x01\x00v', 'latin1')))).toContain('truncated')
    expect(await refusal(npy({ version: [4, 0], header: header('<i4', '(2, 3)'), data: six }))).toContain(
      '4.0',
    )
    expect(await refusal(npy({ version: [1, 1], header: header('<i4', '(2, 3)'), data: six }))).toContain(
      '1.1',
    )
    expect(await refusal(write(Buffer.from('\x93NUMPY\x02\x00\xff\xff\xff\xff', 'latin1')))).toContain(
      '4294967295',
    )
  })

  it('rejects a file truncated at any byte', async () => {
    const whole = npy({ header: header('<i4', '(2, 3)'), data: six })
    const { length } = readFileSync(whole)
    for (let size = length - 1; size >= 0; size -= 3) {
      truncateSync(whole, size)
      await refusal(whole)
    }
  })

  it('allocates nothing for a header, and rejects a file larger than memory', async () => {
    const path = npy({ header: header('<i4', '(2147483647, 2147483647)') })
    const before = process.memoryUsage().arrayBuffers
    await refusal(path)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20)
    // A sparse file of 1 TiB, the size that its header states.
    const sparse = npy({ header: header('<i4', '(524288, 524288)') })
    truncateSync(sparse, readFileSync(sparse).length + 2 ** 40)
    await expect(readNpy(sparse)).rejects.toThrow(OutOfMemoryError)
    await expect(readNpy(sparse)).rejects.toThrow(sparse)
  })

  it('names the path, the kind and the reason if the file cannot be read', async () => {
    expect(await refusal(inFolder('absent.npy'))).toContain('no such file or directory (ENOENT)')
    expect(await refusal(inFolder())).toContain('this is a folder')
    expect(await refusal('/dev/zero')).toContain('this is a device')
    expect(await refusal(join(npy({ header: '' }), 'x.npy'))).toContain('not a directory (ENOTDIR)')
    const pipe = fresh()
    execFileSync('mkfifo', [pipe])
    expect(await refusal(pipe)).toContain('this is a named pipe')
    expect(await refusal('')).toContain('ENOENT')
    await expect(readNpy('a\0b')).rejects.toThrow(FileError)
    await expect(readNpy(7 as unknown as string)).rejects.toThrow(FileError)
    await expect(readNpy(new URL('https://example.org/a.npy'))).rejects.toThrow(FileError)
  })

  it('accepts a file: URL, and aborts by the signal', async () => {
    const path = npy({ header: header('<i4', '(2, 3)'), data: six })
    expect((await readNpy(pathToFileURL(path))).shape).toEqual([2, 3])
    const reason = new Error('enough')
    const error = await readNpy(path, { signal: AbortSignal.abort(reason) }).catch((e) => e)
    expect(error).toBeInstanceOf(AbortedError)
    expect(error.cause).toBe(reason)
  })
})

describe('writing', () => {
  const m = (shape: Matrix['shape'], values: number[], more: Partial<Matrix> = {}): Matrix => ({
    data: Int32Array.from(values),
    shape,
    ...more,
  })

  it("writes NumPy's own bytes", async () => {
    const path = fresh()
    await writeNpy(path, m([2, 3], sixValues))
    // Output of numpy.save (2.4) for this array: the text padded with blanks to 127 bytes and a line break.
    const text = "\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }"
    expect(readFileSync(path)).toEqual(
      Buffer.concat([Buffer.from(`${text.padEnd(127, ' ')}\n`, 'latin1'), Buffer.from(six)]),
    )
  })

  it('aligns the data to 64 bytes for any length of the shape', async () => {
    for (const shape of [
      [0, 2147483647],
      [2147483647, 0],
      [2147483647, 0, 2147483647],
      [1, 0, 1],
    ] as Matrix['shape'][]) {
      const path = fresh()
      await writeNpy(path, m(shape, []))
      expect(readFileSync(path).length % 64).toBe(0)
      expect(await readNpy(path)).toEqual({ data: new Int32Array(0), shape })
    }
  })

  it.each<[string, Matrix, number[]]>([
    ['a transpose', m([3, 2], [1, 2, 3, 4, 5, 6], { strides: [1, 3] }), [1, 4, 2, 5, 3, 6]],
    ['a sub-matrix', m([2, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9], { strides: [3, 1], offset: 4 }), [5, 6, 8, 9]],
    ['a broadcast row', m([3, 2], [7, 8], { strides: [0, 1] }), [7, 8, 7, 8, 7, 8]],
    [
      'a batch, the last dimension first',
      m([2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8], { strides: [1, 2, 4] }),
      [1, 5, 3, 7, 2, 6, 4, 8],
    ],
    ['a batch of two with a gap', m([2, 1, 2], [1, 2, 9, 3, 4], { strides: [3, 2, 1] }), [1, 2, 3, 4]],
    ['one matrix twice', m([2, 1, 2], [1, 2, 3, 4], { strides: [0, 2, 1] }), [1, 2, 1, 2]],
    ['data that is longer', m([1, 2], [1, 2, 3, 4, 5]), [1, 2]],
  ])('writes %s in C order', async (_, matrix, values) => {
    const path = fresh()
    await writeNpy(path, matrix)
    const file = readFileSync(path)
    const data = file.subarray(128)
    expect(Array.from({ length: data.length / 4 }, (_, i) => data.readInt32LE(4 * i))).toEqual(values)
  })

  it('writes bytes as |u1 for any strides', async () => {
    const path = fresh()
    const data = Uint8Array.of(1, 2, 3, 4, 5, 255)
    for (const [matrix, values] of [
      [{ data, shape: [2, 3] }, [1, 2, 3, 4, 5, 255]],
      [{ data, shape: [3, 2], strides: [1, 3] }, [1, 4, 2, 5, 3, 255]],
      [{ data: Buffer.from(data), shape: [1, 2], offset: 4 }, [5, 255]],
    ] as [Matrix<Uint8Array>, number[]][]) {
      await writeNpy(path, matrix)
      const file = readFileSync(path)
      const text = `{'descr': '|u1', 'fortran_order': False, 'shape': (${matrix.shape.join(', ')}), }`
      expect(file.toString('latin1', 10, 128)).toContain(text)
      expect([...file.subarray(128)]).toEqual(values)
      expect(await readNpy(path, { dtype: 'uint8' })).toEqual({
        data: Uint8Array.from(values),
        shape: matrix.shape,
      })
    }
    await expect(writeNpy(path, { data: new Uint8ClampedArray(1), shape: [1, 1] } as never)).rejects.toThrow(
      DTypeError,
    )
  })

  it('writes files of more than one chunk', async () => {
    const [rows, cols] = [1283, 2111]
    const data = Int32Array.from({ length: rows * cols }, (_, i) => Math.imul(i, 2654435761))
    const plain = fresh()
    const transposed = fresh()
    await writeNpy(plain, { data, shape: [rows, cols] })
    await writeNpy(transposed, { data, shape: [cols, rows], strides: [1, cols] })
    expect(readFileSync(plain).subarray(128).equals(Buffer.from(data.buffer))).toBe(true)
    const file = readFileSync(transposed).subarray(128)
    let wrong = 0
    for (let i = 0; i < cols; i++) {
      for (let j = 0; j < rows; j++) if (file.readInt32LE(4 * (i * rows + j)) !== data[j * cols + i]) wrong++
    }
    expect(wrong).toBe(0)
  })

  it('rejects invalid matrices before it touches the disk', async () => {
    const path = fresh()
    await expect(writeNpy(path, m([2, 3], [1, 2, 3, 4, 5]))).rejects.toThrow(ShapeError)
    await expect(writeNpy(path, { data: [1], shape: [1, 1] } as never)).rejects.toThrow(DTypeError)
    await expect(writeNpy(path, undefined as never)).rejects.toThrow(DTypeError)
    const detached = m([1, 2], [1, 2])
    structuredClone(detached.data.buffer, { transfer: [detached.data.buffer as ArrayBuffer] })
    await expect(writeNpy(path, detached)).rejects.toThrow(DTypeError)
    await expect(readNpy(path)).rejects.toThrow('ENOENT')
    expectThrown(() => formatNpy(m([2, 3], [1, 2, 3, 4, 5])), 'SHAPE')
    for (const matrix of [{ data: [1], shape: [1, 1] }, undefined, detached]) {
      expectThrown(() => formatNpy(matrix as never), 'DTYPE')
    }
  })
})

describe('bytes', () => {
  it('are returned in a Uint8Array', () => {
    for (const bytes of [undefined, 'text', [1], new ArrayBuffer(8), Int8Array.of(1)]) {
      expectThrown(() => parseNpy(bytes as never), 'DTYPE', 'Uint8Array')
    }
  })

  it('are copied: the matrix has data of its own', () => {
    const bytes = Buffer.from(formatNpy({ data: Int32Array.from(sixValues), shape: [2, 3] }))
    const read = parseNpy(bytes)
    bytes.fill(0)
    expect([...read.data]).toEqual(sixValues)
  })
})

describe('numpy itself', () => {
  const python = (script: string) =>
    execFileSync('python3', ['-c', script], { encoding: 'utf8', stdio: 'pipe' })
  let reason = ''
  try {
    python('import numpy')
  } catch {
    reason = 'python3 with numpy is not there'
  }

  itUnless(reason, 'reads what is written, and is read', async () => {
    const path = fresh()
    await writeNpy(path, { data: Int32Array.from(sixValues), shape: [3, 2], strides: [1, 3] })
    expect(
      JSON.parse(
        python(`import numpy, json; print(json.dumps(numpy.load(${JSON.stringify(path)}).tolist()))`),
      ),
    ).toEqual([
      [1, -2147483648],
      [-2, 2147483647],
      [3, 256],
    ])
    const created: string[] = JSON.parse(
      python(`
import itertools, json, numpy
paths = []
for type, order in itertools.product(['i1', 'u2', '>i2', '>i4', 'u4', 'i8', '>i8', '>u8'], 'CF'):
    paths.append(f'{${JSON.stringify(path)}}.{len(paths)}.npy')
    numpy.save(paths[-1], numpy.asarray(numpy.arange(24).reshape(2, 3, 4), dtype=type, order=order))
print(json.dumps(paths))`),
    )
    expect(created).toHaveLength(16)
    for (const file of created) {
      const all = Array.from({ length: 24 }, (_, i) => i)
      expect(elements(await readNpy(file))).toEqual(all)
      expect(elements(await readNpy(file, { dtype: 'uint8' }))).toEqual(all)
    }
  })

  itUnless(reason, 'shares booleans and bytes', async () => {
    const path = fresh()
    python(`import numpy; numpy.save(${JSON.stringify(path)}, numpy.arange(6).reshape(2, 3) % 3 == 0)`)
    expect(await readNpy(path)).toEqual({ data: Uint8Array.of(1, 0, 0, 1, 0, 0), shape: [2, 3] })
    await writeNpy(path, { data: Uint8Array.of(0, 1, 255, 128), shape: [2, 2] })
    const script = `import numpy, json; a = numpy.load(${JSON.stringify(path)}); print(json.dumps([str(a.dtype), a.tolist()]))`
    expect(JSON.parse(python(script))).toEqual([
      'uint8',
      [
        [0, 1],
        [255, 128],
      ],
    ])
  })
})
