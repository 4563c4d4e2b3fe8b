/** Progress, cancellation and yields to the event loop during work on files. */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { convertMatrix } from '../../lib/files/convert.js'
import { DenseEntries, denseRequest } from '../../lib/files/dense.js'
import { DecodedStream, decodeArray } from '../../lib/files/npy-decoder.js'
import type { FileOptions, WriteFileOptions } from '../../lib/files/progress.js'
import { FileWork } from '../../lib/files/progress.js'
import { readSparseArchive } from '../../lib/files/scipy.js'
import {
  readEntries,
  readMatrix,
  readNpy,
  readNpz,
  writeEntries,
  writeMatrix,
  writeNpy,
  writeNpz,
  writeText,
} from '../../lib/files.js'
import { readGraph } from '../../lib/graph.js'
import { atOnce } from '../../lib/graph-core/slices.js'
import { AbortedError, EPSILON, FileError, matrix } from '../../lib/index.js'
import { temporaryFiles } from '../support/matrix-files.js'
import { bytesOf, format, int32, int64, npzOf } from '../support/scipy.js'

const { inFolder, fresh } = temporaryFiles()

const square = matrix(2, 2, [0, 7, 3, EPSILON])
const entries = {
  shape: [2, 2],
  row: Int32Array.of(0, 1),
  col: Int32Array.of(1, 0),
  value: Int32Array.of(7, 3),
} as const
const csr = {
  format: format('csr'),
  shape: int64(2, 2),
  indptr: int32(0, 1, 2),
  indices: int32(1, 0),
  data: int32(7, 3),
}
const graphml =
  '<graphml><key id="w" for="edge" attr.name="weight" attr.type="int"/><graph edgedefault="directed"><node id="a"/><node id="b"/>' +
  '<edge source="a" target="b"><data key="w">7</data></edge></graph></graphml>\n'

const texts: Record<string, string> = {
  '.mtx': '%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 7\n',
  '.csv': '0,7\n3,1\n',
  '.tsv': '0\t7\n3\t1\n',
  '.gr': 'p sp 2 1\na 1 2 7\n',
  '.graphml': graphml,
}

/** Writes a file in the format of an extension, and returns its path. */
async function file(ending: string): Promise<string> {
  const path = fresh(ending)
  if (ending === '.npy') await writeNpy(path, square)
  else if (ending === '.int64.npy') {
    const header = `{'descr': '<i8', 'fortran_order': False, 'shape': (1, 3), }`.padEnd(117)
    writeFileSync(
      path,
      Buffer.concat([Buffer.from(`\x93NUMPY\x01\x00v\x00${header}\n`, 'latin1'), Buffer.alloc(24)]),
    )
  } else if (ending === '.npz') await writeNpz(path, { a: square })
  else if (ending === '.csr.npz') writeFileSync(path, await npzOf(csr))
  else if (ending === '.mtx.gz') writeFileSync(path, gzipSync(texts['.mtx']!))
  else writeFileSync(path, texts[ending]!)
  return path
}

type Reader = (path: string, options: FileOptions) => Promise<unknown>
type Writer = (path: string, options: WriteFileOptions) => Promise<unknown>
const readers: [string, string, Reader][] = [
  ['readNpy', '.npy', readNpy],
  ['readNpy', '.int64.npy', readNpy],
  ['readNpz', '.npz', readNpz],
  ...['.npy', '.npz', '.csr.npz', '.mtx', '.mtx.gz', '.csv', '.tsv', '.gr'].map(
    (ending): [string, string, Reader] => ['readMatrix', ending, readMatrix],
  ),
  ...['.csr.npz', '.mtx', '.gr'].map((ending): [string, string, Reader] => [
    'readEntries',
    ending,
    readEntries,
  ]),
  ...['.mtx', '.gr', '.graphml'].map((ending): [string, string, Reader] => ['readGraph', ending, readGraph]),
  ['readGraph with keys', '.csv', (path, options) => readGraph(path, { keys: true, ...options })],
]
const writers: [string, string, Writer][] = [
  ['writeNpy', '.npy', (path, options) => writeNpy(path, square, options)],
  [
    'writeNpy of a transpose',
    '.npy',
    (path, options) => writeNpy(path, { ...square, strides: [1, 2] }, options),
  ],
  ['writeNpz', '.npz', (path, options) => writeNpz(path, { a: square, b: square }, options)],
  [
    'compressed writeNpz',
    '.npz',
    (path, options) => writeNpz(path, { a: square }, { compress: true, ...options }),
  ],
  ...['.npy', '.npz', '.mtx', '.mtx.gz', '.csv', '.tsv', '.gr'].map((ending): [string, string, Writer] => [
    'writeMatrix',
    ending,
    (path, options) => writeMatrix(path, square, options),
  ]),
  ...['.mtx', '.mtx.gz', '.gr'].map((ending): [string, string, Writer] => [
    'writeEntries',
    ending,
    (path, options) => writeEntries(path, entries, options),
  ]),
  ['writeText', '.txt', (path, options) => writeText(path, 'text', options)],
]

/** Thrown values of a listener: errors of the library and of the system, and values that are no errors. */
const thrown = () => [
  new Error('boom'),
  new FileError('boom'),
  new AbortedError('boom'),
  Object.assign(new Error('boom'), { code: 'ENOENT', syscall: 'open', errno: -2 }),
  'boom',
  null,
  undefined,
]

const outcome = (work: Promise<unknown>) =>
  work.then(
    () => 'it was not rejected',
    (error: unknown) => ({ error }),
  )

describe.each(writers)('overwrite of %s to %s', (_, ending, write) => {
  it('keeps an existing file if it is false, and replaces it otherwise', async () => {
    const path = fresh(ending)
    writeFileSync(path, 'before')
    await expect(write(path, { overwrite: false })).rejects.toMatchObject({ code: 'ERR_MPMML_EXISTS' })
    expect(readFileSync(path, 'utf8')).toBe('before')
    await write(path, {})
    const written = readFileSync(path)
    expect(`${written}`).not.toBe('before')
    rmSync(path)
    await write(path, { overwrite: false })
    expect(readFileSync(path)).toEqual(written)
    await write(path, { overwrite: true })
    expect(readFileSync(path)).toEqual(written)
  })

  it('must be a boolean', async () => {
    const options = { overwrite: 'no' } as unknown as WriteFileOptions
    await expect(write(fresh(ending), options)).rejects.toMatchObject({ code: 'ERR_MPMML_OPTION' })
  })
})

describe('onProgress', () => {
  // Each reading of the simulated clock is a second later, so that the listener is called even for the
  // smallest file.
  let now = 0
  beforeEach(() => {
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000))
  })
  afterEach(() => vi.restoreAllMocks())

  it.each(readers)('ends %s, %s, with the value that it throws', async (_, ending, read) => {
    const path = await file(ending)
    for (const error of thrown()) {
      const onProgress = vi.fn(() => {
        throw error
      })
      expect(await outcome(read(path, { onProgress }))).toEqual({ error })
      expect(onProgress).toHaveBeenCalledTimes(1)
    }
    const shares: number[] = []
    const last = ({ done }: { done: number }) => {
      shares.push(done)
      if (done === 1) throw 'the end'
    }
    expect(await outcome(read(path, { onProgress: last }))).toEqual({ error: 'the end' })
    expect(shares).toEqual([...shares].sort((x, y) => x - y))
    expect(shares[0]).toBeGreaterThanOrEqual(0)
  })

  it.each(readers)(
    'that writes to the file ends %s, %s, with an error of the file',
    async (_, ending, read) => {
      const path = await file(ending)
      const onProgress = vi.fn(() => appendFileSync(path, '\n'))
      await expect(read(path, { onProgress })).rejects.toThrow(
        new FileError(`${path} changed while it was read: read it again when no program writes it`),
      )
      expect(onProgress).toHaveBeenCalled()
    },
  )

  it.each(writers)(
    'ends %s, %s, with exactly the thrown value, and leaves no file',
    async (_, ending, write) => {
      const path = fresh(ending)
      const before = readdirSync(inFolder())
      for (const error of thrown()) {
        const onProgress = vi.fn(() => {
          throw error
        })
        expect(await outcome(write(path, { onProgress }))).toEqual({ error })
        expect(onProgress).toHaveBeenCalledTimes(1)
        expect(readdirSync(inFolder())).toEqual(before)
      }
      expect(existsSync(path)).toBe(false)
    },
  )
})

describe('long loops', () => {
  // Each reading of the simulated clock is a second later, so a slice ends after each step.
  let now = 0
  beforeEach(() => {
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000))
  })
  afterEach(() => vi.restoreAllMocks())

  const COUNT = 100_000
  const npy = (descr: string, shape: string, bytes: Uint8Array) =>
    Buffer.concat([
      Buffer.from(
        `\x93NUMPY\x01\x00v\x00{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(
          127,
        ),
        'latin1',
      ),
      Buffer.from('\n'),
      bytes,
    ])
  const decoded = (file: Uint8Array) => {
    const stream = new DecodedStream(decodeArray(file.length, (length) => new Uint8Array(length)))
    stream.push(file)
    return stream.end()
  }
  const vector = (values: Int32Array) => npy('<i4', `(${values.length},)`, bytesOf(values))
  const zeros = () => new Int32Array(COUNT)
  const formats: [string, Record<string, () => Uint8Array>][] = [
    ['csr', { indptr: () => vector(Int32Array.of(0, COUNT)), indices: () => vector(zeros()) }],
    ['csc', { indptr: () => vector(Int32Array.of(0, COUNT)), indices: () => vector(zeros()) }],
    ['coo', { row: () => vector(zeros()), col: () => vector(zeros()) }],
    ['csr', { indptr: () => vector(new Int32Array(COUNT + 1)), indices: () => vector(new Int32Array(0)) }],
  ]

  it.each(formats)('observe the signal between steps over the entries of %s', async (name, places) => {
    const isEmpty = name === 'csr' && places.indices!().length < COUNT
    const parts: Record<string, () => Uint8Array> = {
      format: () => npy('|S3', '()', Buffer.from(name)),
      shape: () => npy('<i8', '(2,)', bytesOf(BigInt64Array.of(isEmpty ? BigInt(COUNT) : 1n, 1n))),
      data: () => vector(isEmpty ? new Int32Array(0) : zeros()),
      ...places,
    }
    const controller = new AbortController()
    let taken = 0
    const sink = {
      *begin() {
        // The next turn of the event loop aborts: only a loop that yields observes that.
        setImmediate(() => controller.abort('enough'))
        return { least: -(2 ** 31), most: 2 ** 31 - 1, special: false }
      },
      add() {
        taken++
      },
      // biome-ignore lint/correctness/useYield: the sink has no work at the end
      *end() {
        return 'all of it was read'
      },
    }
    const work = FileWork.run('reading a file', { signal: controller.signal }, (work) =>
      readSparseArchive(
        { name: 'a.npz', names: Object.keys(parts), read: async (array) => decoded(parts[array]!()), work },
        sink,
      ),
    )
    await expect(work).rejects.toMatchObject({ code: 'ERR_MPMML_ABORTED', cause: 'enough' })
    expect(taken).toBeLessThan(COUNT)
  })

  it('observe the signal over the elements of a dense matrix of few entries', async () => {
    const controller = new AbortController()
    const sink = new DenseEntries('a.gr', denseRequest('min-plus', undefined))
    // The matrix takes 144 MB, which are filled with zeros before the first entry.
    const filling = FileWork.run('reading a file', { signal: controller.signal }, (work) =>
      work.inSlices(sink.begin({ rows: 6000, cols: 6000, most: 1, values: 'integer' })),
    )
    setImmediate(() => controller.abort('enough'))
    await expect(filling).rejects.toMatchObject({ code: 'ERR_MPMML_ABORTED', cause: 'enough' })
  })

  it('observe the signal during the conversion of one long row', async () => {
    const controller = new AbortController()
    const row = matrix(1, COUNT, new Int32Array(COUNT))
    const converted = convertMatrix(row, denseRequest('max-plus', 'float64'), 'a.npy', controller.signal)
    setImmediate(() => controller.abort('enough'))
    await expect(converted).rejects.toMatchObject({ code: 'ERR_MPMML_ABORTED', cause: 'enough' })
  })

  it('observe the signal during writing of entries', async () => {
    const controller = new AbortController()
    const [path, before] = [fresh('.mtx'), readdirSync(inFolder())]
    const writing = writeEntries(
      path,
      { shape: [1, 1], row: zeros(), col: zeros(), value: zeros() },
      { signal: controller.signal },
    )
    setImmediate(() => controller.abort('enough'))
    await expect(writing).rejects.toMatchObject({ code: 'ERR_MPMML_ABORTED', cause: 'enough' })
    expect(readdirSync(inFolder())).toEqual(before)
  })
})

describe('entries in a dense matrix', () => {
  it.each([
    ['max-plus', [EPSILON, 0, -0, 5]],
    ['min-plus', [2 ** 31 - 1, 0, 3]],
    ['max-times', [0, 2]],
    ['max-min', [EPSILON, 0, -4]],
  ] as const)('keep zeros, and the semiring’s, of %s', async (semiring, values) => {
    for (const dtype of ['int32', 'float64', 'float32'] as const) {
      if (semiring === 'max-times' && dtype === 'int32') continue
      const sink = new DenseEntries('a.mtx', denseRequest(semiring, dtype))
      atOnce(sink.begin({ rows: 2, cols: values.length, most: undefined, values: 'real' }))
      const zero =
        { 'max-plus': -1, 'min-plus': 1, 'max-times': 0, 'max-min': -1 }[semiring] *
          Number.POSITIVE_INFINITY || 0
      const given = values.map((value) => (Math.abs(value) >= 2 ** 31 - 1 ? zero : value))
      const count = values.length
      // ⊕ of an entry with itself is the entry, so repeated entries change nothing.
      for (const entries of [given, given])
        for (const [col, value] of entries.entries()) sink.add(0, col, value)
      const { data, shape } = atOnce(sink.end(2, count))
      const stored = dtype === 'int32' ? (zero < 0 ? EPSILON : 2 ** 31 - 1) : zero
      const expected = given.map((value) =>
        Object.is(value, zero) ? stored : dtype === 'int32' ? value + 0 : value,
      )
      expect([...data]).toEqual([...expected, ...expected.map(() => stored)])
      expect(shape).toEqual([2, count])
    }
  })
})
