/** Arrays of one dimension in NumPy's files: rows if a matrix is requested, and vectors. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { multiplyArrays } from '../../lib/arrays.js'
import { parseNpy, readEntries, readMatrix, readNpy, readNpz, writeNpy } from '../../lib/files.js'
import { readGraph, shortestPaths } from '../../lib/graph.js'
import { matrix, mpmm } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { temporaryFiles } from '../support/matrix-files.js'
import { bytesOf, format, int32, int64, npzOf, type Part } from '../support/scipy.js'

const { file, fresh } = temporaryFiles()

/** Returns the bytes that numpy.save writes for an array of one dimension. */
function npy(descr: string, elements: ArrayBufferView, shape: string, fortran = 'False'): Buffer {
  const header = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`
    .padEnd(117)
    .concat('\n')
  const head = Buffer.from('\x93NUMPY\x01\x00\0\0', 'latin1')
  head.writeUInt16LE(header.length, 8)
  return Buffer.concat([
    head,
    Buffer.from(header, 'latin1'),
    Buffer.from(elements.buffer, elements.byteOffset, elements.byteLength),
  ])
}

const three = npy('<i4', Int32Array.of(5, -7, 2), '(3,)')
const row = { data: Int32Array.of(5, -7, 2), shape: [1, 3] }

describe('an array of one dimension', () => {
  it('is a row if a matrix is requested', async () => {
    const path = file('.npy', three)
    expect(await readNpy(path)).toEqual(row)
    expect(await readMatrix(path)).toEqual(row)
    expect(parseNpy(three)).toEqual(row)
    const archive = file('.npz', await npzOf({ a: int32(5, -7, 2), b: int64(1, 2) }))
    expect(await readNpz(archive)).toEqual({ a: row, b: { data: Int32Array.of(1, 2), shape: [1, 2] } })
    expect(await readMatrix(archive, { array: 'a' })).toEqual(row)
    const { c } = await mpmm(await readMatrix(path), matrix(3, 1, [1, 10, 4]))
    expect(Array.from(c.data)).toEqual([6])
  })

  it('is a row on disk too', async () => {
    const [a, b, c] = [file('.npy', three), fresh('.npy'), fresh('.npy')]
    await writeNpy(b, matrix(3, 2, [1, 0, 10, 20, 4, 5]))
    await multiplyArrays(a, b, c, { backend: 'cpu' })
    expect(await readNpy(c)).toEqual({ data: Int32Array.of(6, 13), shape: [1, 2] })
  })

  it('is read in any length, type and order', async () => {
    const empty = npy('<f8', new Float64Array(0), '(0,)')
    expect(parseNpy(empty)).toEqual({ data: new Float64Array(0), shape: [1, 0] })
    const one = npy('<f4', Float32Array.of(0.5), '(1,)')
    expect(parseNpy(one)).toEqual({ data: Float32Array.of(0.5), shape: [1, 1] })
    const bits = npy('|b1', Uint8Array.of(1, 0, 7), '(3,)')
    expect(parseNpy(bits)).toEqual({ data: Uint8Array.of(1, 0, 1), shape: [1, 3] })
    const fortran = file('.npy', npy('<i4', Int32Array.of(5, -7, 2), '(3,)', 'True'))
    expect((await mpmm(await readMatrix(fortran), matrix(3, 1, [1, 10, 4]))).c.data[0]).toBe(6)
  })

  it.each([
    ['(4,)', 'its header claims (4,) int32, 16 bytes of data, but 12 follow it; it is truncated'],
    ['(2,)', 'it has trailing bytes'],
    ['(-3,)', 'its header claims (-3,)'],
    ['()', 'a.reshape(1, 1)'],
    ['(1, 1, 1, 3)', 'expected a matrix (2-D), a row (1-D) or a batch'],
  ])('is rejected with the shape %s', async (shape, message) => {
    const path = file('.npy', npy('<i4', Int32Array.of(5, -7, 2), shape))
    await expect(readMatrix(path)).rejects.toEqual(coded('FILE', message))
  })
})

describe('arrays of one dimension in an archive', () => {
  it('are the edges of a graph', async () => {
    const parts: Record<string, Part> = {
      start: int64(0, 1),
      end: int32(1, 2),
      weight: ['<f8', '(2,)', bytesOf(Float64Array.of(4.5, -1))],
    }
    const { start, end, weight } = await readNpz(file('.npz', await npzOf(parts)))
    const graph = { nodes: 3, from: start!.data, to: end!.data, weight: weight!.data }
    expect([...(await shortestPaths(graph, { sources: 0 })).distances.data]).toEqual([0, 4.5, 3.5])
  })
})

describe('maxBytes', () => {
  const lines = 5000
  const beyond = coded('LIMIT', 'but the option maxBytes allows')
  const market = (kind: string, line: string) =>
    gzipSync(`%%MatrixMarket matrix coordinate ${kind}\n9 9 ${lines}\n${line.repeat(lines)}`)

  // Each entry takes two int32 and a value.
  it.each<[string, string, Buffer, number]>([
    ['integers', '.mtx.gz', market('integer general', '3 2 5\n'), 12 * lines],
    ['ones', '.mtx.gz', market('pattern general', '3 2\n'), 12 * lines],
    ['real numbers', '.mtx.gz', market('real general', '3 2 0.5\n'), 16 * lines],
    ['both halves', '.mtx.gz', market('integer symmetric', '3 2 5\n'), 24 * lines],
    // Diagonal entries have no mirrored entry, so the matrix has only the announced number of entries.
    ['a diagonal', '.mtx.gz', market('integer symmetric', '3 3 5\n'), 12 * lines],
    ['DIMACS', '.gr.gz', gzipSync(`p sp 9 ${lines}\n${'a 3 2 5\n'.repeat(lines)}`), 12 * lines],
  ])('limits entries and edges of %s', async (_, ending, bytes, size) => {
    const path = file(ending, bytes)
    for (const read of [readEntries, readGraph]) {
      await expect(read(path, { maxBytes: size - 1 })).rejects.toEqual(beyond)
      await expect(read(path, { maxBytes: 0 })).rejects.toEqual(beyond)
    }
    const { row } = await readEntries(path, { maxBytes: size })
    const { from } = await readGraph(path, { maxBytes: size })
    expect(row).toEqual(new Int32Array(row.length).map((_, at) => row[at]!))
    expect([row.length, from.length]).toEqual(size === 24 * lines ? [2 * lines, 2 * lines] : [lines, lines])
    expect((await readEntries(path)).row).toEqual(row)
  })

  it('limits lines without a count', async () => {
    const path = file('.csv.gz', gzipSync('3,2,5\n'.repeat(lines)))
    await expect(readGraph(path, { maxBytes: 16 * lines - 1 })).rejects.toEqual(beyond)
    expect((await readGraph(path, { maxBytes: 16 * lines })).weight).toEqual(new Int32Array(lines).fill(5))
  })

  it("limits SciPy's archives", async () => {
    const count = 10_000
    const ramp = Array.from({ length: count }, (_, at) => at)
    const parts = { row: int32(...ramp), col: int32(...ramp), data: int32(...ramp) }
    const path = file('.npz', await npzOf({ format: format('coo'), shape: int64(count, count), ...parts }))
    await expect(readEntries(path, { maxBytes: 12 * count - 1 })).rejects.toEqual(beyond)
    expect((await readEntries(path, { maxBytes: 12 * count })).value).toEqual(Int32Array.from(ramp))
  })

  it('must be a number', async () => {
    const path = file('.gr', 'p sp 1 0\n')
    for (const read of [readEntries, readGraph]) {
      await expect(read(path, { maxBytes: -1 })).rejects.toEqual(coded('OPTION', 'option maxBytes'))
    }
  })
})
