/** Products of arrays on disk, in every layout, compared with the oracle. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ArraysOptions, type ArraysProgress, multiplyArrays } from '../../lib/arrays.js'
import { readNpy, writeNpy } from '../../lib/files.js'
import { type Plain, readZarr, writeByHand, writeZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { randomMatrix } from '../support/generators.js'
import { oracle, type Policy, type SemiringName, type Strided, zeroValue } from '../support/oracle.js'

const inFolder = useFolder()

let names = 0
const fresh = (ending: string) => inFolder(`${names++}${ending}`)
const on = { backend: 'cpu' } as const

const [M, K, N] = [70, 83, 61]
const a = randomMatrix(M, K, 1) as Plain & Strided
const b = randomMatrix(K, N, 2) as Plain & Strided
a.data.fill(zeroValue('max-plus'), 5 * K, 6 * K)

function expected(
  x: Plain & Strided,
  y: Plain & Strided,
  semiring: SemiringName = 'max-plus',
  overflow: Policy = 'throw',
) {
  const c = oracle(x, y, { semiring, overflow })
  if (c.overflow) throw new Error('the oracle overflows')
  return c.data
}

async function npy(matrix: Plain): Promise<string> {
  const path = fresh('.npy')
  await writeNpy(path, matrix as Strided & { shape: [number, number] })
  return path
}

const read = async (path: string) =>
  path.endsWith('.npy') ? (await readNpy(path)).data : (await readZarr(path)).data

async function product(pathA: string, pathB: string, out: string, options: ArraysOptions = {}) {
  const result = await multiplyArrays(pathA, pathB, out, { ...on, ...options })
  expect(existsSync(`${out}.partial`)).toBe(false)
  return { result, data: await read(out) }
}

describe('inputs', () => {
  const zstd = { name: 'zstd', configuration: { level: 3, checksum: false } }
  const blosc = {
    name: 'blosc',
    configuration: { cname: 'lz4', clevel: 5, shuffle: 'shuffle', typesize: 4, blocksize: 0 },
  }
  const layouts: Record<string, (path: string, matrix: Plain) => Promise<void> | void> = {
    'raw chunks': (path, matrix) => writeZarr(path, matrix, [16, 24]),
    'one chunk larger than the array': (path, matrix) => writeByHand(path, matrix, { chunks: [128, 128] }),
    zstd: (path, matrix) => writeZarr(path, matrix, [32, 17], [zstd]),
    blosc: (path, matrix) => writeZarr(path, matrix, [13, 40], [blosc]),
    'big-endian': (path, matrix) => writeByHand(path, matrix, { chunks: [20, 30], endian: 'big' }),
    transposed: (path, matrix) => writeByHand(path, matrix, { chunks: [20, 30], byColumns: true }),
    shards: (path, matrix) => writeByHand(path, matrix, { chunks: [8, 10], shards: [32, 30] }),
    'shards of gzip, index first': (path, matrix) =>
      writeByHand(path, matrix, { chunks: [8, 10], shards: [32, 30], gzip: true, index: 'start' }),
    'transposed shards without checksum of the index': (path, matrix) =>
      writeByHand(path, matrix, { chunks: [8, 10], shards: [16, 40], byColumns: true, indexCrc: false }),
    'keys of version 2': (path, matrix) =>
      writeByHand(path, matrix, { chunks: [20, 30], keys: { name: 'v2', separator: '.' } }),
    'keys with dots': (path, matrix) =>
      writeByHand(path, matrix, { chunks: [20, 30], keys: { name: 'default', separator: '.' } }),
  }

  it.each(Object.entries(layouts))('are read: %s', async (_, write) => {
    const [pathA, pathB, out] = [fresh('.zarr'), fresh('.zarr'), fresh('.npy')]
    await write(pathA, a)
    await write(pathB, b)
    const { data } = await product(pathA, pathB, out, { block: { rows: 32, cols: 33, depth: 27 } })
    expect(data).toEqual(expected(a, b))
  })

  it.each([
    { chunks: [16, 16] as [number, number] },
    { chunks: [8, 16] as [number, number], shards: [16, 32] as [number, number] },
  ])('have the fill value in missing chunks: %#', async (layout) => {
    const zero = zeroValue('max-plus')
    const without = (row: number, col: number) => (row + col) % 3 === 0
    const [high, wide] = layout.chunks
    const holes = {
      shape: a.shape,
      data: a.data.map((value, at) =>
        without(Math.floor(at / K / high), Math.floor((at % K) / wide)) ? zero : value,
      ),
    }
    const path = fresh('.zarr')
    writeByHand(path, holes as Plain, { ...layout, fill: zero, without })
    const { data } = await product(path, await npy(b), fresh('.npy'), { block: 29 })
    expect(data).toEqual(expected(holes as Plain & Strided, b))
  })

  it('combine int16, whose least value is the zero, with int32', async () => {
    const short: Plain = { shape: a.shape, data: Int16Array.from(a.data, (value) => Math.max(value, -32768)) }
    const path = fresh('.zarr')
    await writeZarr(path, short, [16, 16])
    const { data, result } = await product(path, await npy(b), fresh('.npy'), { block: 32 })
    expect(result.dtype).toBe('int32')
    expect(data).toEqual(expected(a, b))
  })

  it.each(['float32', 'float64'] as const)('may be %s', async (dtype) => {
    const make = (matrix: Plain): Plain => ({
      shape: matrix.shape,
      data: new (dtype === 'float32' ? Float32Array : Float64Array)(
        Array.from(matrix.data, (value) =>
          value === zeroValue('max-plus') ? Number.NEGATIVE_INFINITY : value / 4,
        ),
      ),
    })
    const [pathA, pathB] = [fresh('.zarr'), fresh('.zarr')]
    await writeZarr(pathA, make(a), [16, 24], [zstd])
    await writeZarr(pathB, make(b), [16, 24])
    const { data } = await product(pathA, pathB, fresh('.zarr'), { block: 32, chunks: [16, 16] })
    const exact = Array.from(expected(a, b), (value) =>
      value === zeroValue('max-plus') ? Number.NEGATIVE_INFINITY : value / 4,
    )
    expect(Array.from(data)).toEqual(exact)
  })

  it('may be .npy in Fortran order, of other integers, and big-endian', async () => {
    const fortran = fresh('.npy')
    const short = fresh('.npy')
    const { writeFileSync } = await import('node:fs')
    const file = (descr: string, order: string, shape: number[], bytes: Buffer) => {
      const text = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${shape.join(', ')}), }`
        .padEnd(117)
        .concat('\n')
      const head = Buffer.from('\x93NUMPY\x01\x00\0\0', 'latin1')
      head.writeUInt16LE(text.length, 8)
      return Buffer.concat([head, Buffer.from(text), bytes])
    }
    const columns = new Int32Array(M * K)
    for (let i = 0; i < M; i++) for (let j = 0; j < K; j++) columns[j * M + i] = a.data[i * K + j]!
    writeFileSync(fortran, file('<i4', 'True', [M, K], Buffer.from(columns.buffer)))
    writeFileSync(short, file('>i2', 'False', [K, N], Buffer.from(Int16Array.from(b.data).buffer).swap16()))
    const { data } = await product(fortran, short, fresh('.npy'), {
      block: { rows: 20, cols: 30, depth: 40 },
    })
    expect(data).toEqual(expected(a, b))
  })
})

describe('outputs', () => {
  const outputs: Record<string, ArraysOptions> = {
    raw: { chunks: [16, 32] },
    zstd: { chunks: [32, 16], codec: 'zstd' },
    gzip: { chunks: [16, 32], codec: 'gzip' },
    blosc: { chunks: [16, 16], codec: 'blosc' },
    usual: {},
    'shards of zstd': { chunks: [8, 16], shards: [16, 32], codec: 'zstd' },
  }

  it.each(Object.entries(outputs))('are read by zarrita: %s', async (_, options) => {
    const { data, result } = await product(await npy(a), await npy(b), fresh('.zarr'), {
      block: { rows: 32, cols: 64, depth: 40 },
      ...options,
    })
    expect(data).toEqual(expected(a, b))
    expect(result).toMatchObject({ shape: [M, N], dtype: 'int32', backend: 'cpu', resumed: 0 })
    expect(result.bytesWritten).toBeGreaterThan(0)
  })

  it('record their inputs and options', async () => {
    const out = fresh('.zarr')
    await product(await npy(a), await npy(b), out)
    const { readFileSync } = await import('node:fs')
    const { attributes, fill_value } = JSON.parse(readFileSync(join(out, 'zarr.json'), 'utf8'))
    expect(attributes.mpmml).toMatchObject({ kind: 'multiply', semiring: 'max-plus', overflow: 'throw' })
    expect(attributes.mpmml.inputs).toHaveLength(2)
    expect(fill_value).toBe(zeroValue('max-plus'))
  })
})

describe('options', () => {
  const small: ArraysOptions = { block: { rows: 32, cols: 32, depth: 20 } }
  const [least, most] = [-(2 ** 31) + 1, 2 ** 31 - 1]

  it('min-plus', async () => {
    const x = {
      ...a,
      data: a.data.map((value) => (value === zeroValue('max-plus') ? zeroValue('min-plus') : value)),
    }
    const { data } = await product(await npy(x), await npy(b), fresh('.npy'), {
      ...small,
      semiring: 'min-plus',
    })
    expect(data).toEqual(expected(x, b, 'min-plus'))
  })

  it.each(['saturate', 'wrap'] as const)('apply overflow: %s', async (overflow) => {
    const x = randomMatrix(40, 60, 5, [2 ** 30, most]) as Plain & Strided
    const y = randomMatrix(60, 40, 6, [-(2 ** 30), most]) as Plain & Strided
    const { data } = await product(await npy(x), await npy(y), fresh('.npy'), { ...small, overflow })
    expect(data).toEqual(expected(x, y, 'max-plus', overflow))
  })

  it("apply overflow: 'throw' to elements of the result, not to blocks", async () => {
    // The sums of the first blocks along K overflow, but a later block has the greatest sums, which fit.
    const x = randomMatrix(40, 60, 5, [least, least + 10]) as Plain & Strided
    const y = randomMatrix(60, 40, 6, [-1000, -900]) as Plain & Strided
    for (let i = 0; i < 40; i++) x.data[i * 60 + 55] = i
    const { data } = await product(await npy(x), await npy(y), fresh('.npy'), small)
    expect(data).toEqual(expected(x, y))
    x.data[3 * 60 + 55] = least
    const out = fresh('.npy')
    await expect(multiplyArrays(await npy(x), await npy(y), out, { ...on, ...small })).rejects.toEqual(
      coded('OVERFLOW', /C\[3, 0\]/),
    )
    expect(existsSync(out)).toBe(false)
  })

  it.each([0, 1] as const)('allow an inner dimension of %i', async (k) => {
    const x = randomMatrix(20, k, 5) as Plain & Strided
    const y = randomMatrix(k, 30, 6) as Plain & Strided
    const { data } = await product(await npy(x), await npy(y), fresh('.zarr'), { chunks: [16, 16] })
    expect(data).toEqual(expected(x, y))
  })

  it.each([
    [0, 5],
    [5, 0],
  ] as const)('allow a result of %i × %i', async (m, n) => {
    const { result } = await product(
      await npy(randomMatrix(m, 4, 1) as Plain),
      await npy(randomMatrix(4, n, 1) as Plain),
      fresh('.npy'),
    )
    expect(result).toMatchObject({ shape: [m, n], blocks: 0 })
  })

  it('report every block to onProgress', async () => {
    const reports: ArraysProgress[] = []
    await product(await npy(a), await npy(b), fresh('.npy'), {
      block: 32,
      onProgress: (progress) => reports.push(progress),
    })
    const done = reports.map((progress) => progress.done)
    expect(done).toEqual([...done].sort((x, y) => x - y))
    expect(reports.at(-1)).toMatchObject({ done: 1, blocks: 6, total: 6, secondsLeft: 0 })
    expect(
      reports.filter(({ secondsLeft }) => secondsLeft !== undefined && secondsLeft > 0).length,
    ).toBeGreaterThan(0)
  })
})

describe('memory', () => {
  const x = randomMatrix(700, 600, 7) as Plain & Strided
  const y = randomMatrix(600, 650, 8) as Plain & Strided
  const z = expected(x, y)

  it.each(['1MiB', '2.5 MiB', 5 * 2 ** 20])('stays within %s', async (memory) => {
    const [pathX, pathY, out] = [fresh('.zarr'), await npy(y), fresh('.zarr')]
    await writeZarr(pathX, x, [64, 64])
    const before = process.memoryUsage().rss
    const { result, data } = await product(pathX, pathY, out, { memory })
    const limit = typeof memory === 'number' ? memory : Number.parseFloat(memory) * 2 ** 20
    expect(result.peakBytes).toBeLessThanOrEqual(limit)
    // The work uses more than a quarter of the limit, so the limit determines its size.
    expect(result.peakBytes).toBeGreaterThan(limit / 4)
    // The bound has a margin of 150 MiB for garbage and for the memory of threads.
    expect(process.memoryUsage().rss - before).toBeLessThan(limit + 150 * 2 ** 20)
    expect(Buffer.from(data.buffer).equals(Buffer.from(z.buffer))).toBe(true)
  })
})

it('writes few files', async () => {
  const out = fresh('.zarr')
  await product(await npy(a), await npy(b), out, { chunks: [32, 32], block: 64 })
  expect(readdirSync(out).sort()).toEqual(['c', 'zarr.json'])
  expect(statSync(join(out, 'c', '2', '1')).size).toBe(32 * 32 * 4)
})
