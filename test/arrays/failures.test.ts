/**
 * Errors of arrays on disk: every error has a code and advice, and work continues with `resume` after errors
 * that are not final.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { decodeBytes, encodeBytes } from '../../lib/arrays/codecs.js'
import { xxh64Of } from '../../lib/arrays/packages.js'
import {
  type ArraysOptions,
  multiplyArrays,
  planBlocks,
  runBlock,
  shortestPathsArrays,
} from '../../lib/arrays.js'
import { AbortedError, FileError, ResumeError } from '../../lib/errors.js'
import { readNpy, writeNpy } from '../../lib/files.js'
import { root, runProgram } from '../cli/support.js'
import { type HandMade, type Plain, readZarr, spoil, writeByHand, writeZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { randomMatrix } from '../support/generators.js'
import { oracle, type Strided } from '../support/oracle.js'

const inFolder = useFolder()
beforeAll(async () => {
  pathB = inFolder('b.npy')
  await writeNpy(pathB, b as never)
  pathS = inFolder('s.npy')
  await writeNpy(pathS, randomMatrix(80, 80, 3) as never)
})
afterEach(() => vi.restoreAllMocks())

let pathB: string
let pathS: string
const a = randomMatrix(100, 90, 1) as Plain & Strided
const b = randomMatrix(90, 80, 2) as Plain & Strided
const product = oracle(a, b)
const c = product.overflow ? new Int32Array() : product.data

let names = 0
const fresh = (ending: string) => inFolder(`${names++}${ending}`)
const on: ArraysOptions = { backend: 'cpu', block: 32 }

describe('a damaged chunk', () => {
  const damages: [string, HandMade, (path: string) => void, RegExp][] = [
    [
      'is too short',
      { chunks: [30, 30] },
      (path) => truncateSync(join(path, 'c/1/1'), 100),
      /it has 100 bytes and not 3600/,
    ],
    [
      'is too long',
      { chunks: [30, 30] },
      (path) => writeFileSync(join(path, 'c/1/1'), new Uint8Array(3604)),
      /3604 bytes and not 3600/,
    ],
    [
      'is empty',
      { chunks: [30, 30], gzip: true },
      (path) => truncateSync(join(path, 'c/1/1'), 0),
      /c.1.1 is damaged/,
    ],
    [
      'is not gzip',
      { chunks: [30, 30], gzip: true },
      (path) => spoil(join(path, 'c/1/1'), 1),
      /incorrect header/,
    ],
    [
      'has another gzip checksum',
      { chunks: [30, 30], gzip: true },
      (path) => spoil(join(path, 'c/1/1'), -6),
      /incorrect data check/,
    ],
    [
      'has another crc32c',
      { chunks: [30, 30], crc: true },
      (path) => spoil(join(path, 'c/1/1'), 9),
      /checksum \(crc32c\) is wrong/,
    ],
    [
      'is of a shard whose index is damaged',
      { chunks: [10, 10], shards: [30, 30] },
      (path) => spoil(join(path, 'c/1/1'), -20),
      /checksum \(crc32c\) of its shard's index is wrong/,
    ],
    [
      'is of a shard whose index leads out of the file',
      { chunks: [10, 10], shards: [30, 30], indexCrc: false },
      (path) => spoil(join(path, 'c/1/1'), -15),
      /chunk 8 is damaged/,
    ],
    [
      'is of a shard that is cut off',
      { chunks: [10, 10], shards: [30, 30] },
      (path) => truncateSync(join(path, 'c/1/1'), 50),
      /shorter than/,
    ],
  ]

  it.each(damages)('is rejected: %s', async (_, created, damage, message) => {
    const [path, out] = [fresh('.zarr'), fresh('.zarr')]
    writeByHand(path, a, created)
    damage(path)
    const work = multiplyArrays(path, pathB, out, on)
    await expect(work).rejects.toEqual(coded('CHUNK', message))
    await expect(work).rejects.toEqual(coded('CHUNK', /c.1.1.* is damaged.*Write it again/))
    expect(existsSync(out)).toBe(false)
  })

  const blosc = { clevel: 5, typesize: 4, blocksize: 0 }
  const codecs: [string, object][] = [
    ['zstd', { level: 1, checksum: true }],
    ['blosc', { ...blosc, cname: 'zstd', shuffle: 'noshuffle' }],
    ['blosc', { ...blosc, cname: 'lz4', shuffle: 'shuffle' }],
    ['blosc', { ...blosc, cname: 'zlib', shuffle: 'bitshuffle' }],
  ]

  it.each(codecs)('is rejected if %s %j is truncated anywhere', async (name, configuration) => {
    const whole = fresh('.zarr')
    await writeZarr(
      whole,
      { ...a, data: a.data.map((value) => value >> 5) },
      [30, 30],
      [{ name, configuration: configuration as never }],
    )
    // Multiplication succeeds before the chunk is truncated.
    await multiplyArrays(whole, pathB, fresh('.npy'), on)
    const file = join(whole, 'c/1/1')
    const bytes = readFileSync(file)
    const cuts = [0, 10, 16, 40, bytes.length >> 1, bytes.length - 1].map((end) => bytes.subarray(0, end))
    if (name === 'blosc') {
      const consistent = Buffer.from(bytes.subarray(0, -20))
      consistent.writeUInt32LE(consistent.length, 12)
      cuts.push(consistent)
    }
    for (const cut of cuts) {
      writeFileSync(file, cut)
      await expect(multiplyArrays(whole, pathB, fresh('.npy'), on)).rejects.toEqual(
        coded('CHUNK', /c.1.1 is damaged/),
      )
    }
  })
})

describe('files that are not arrays', () => {
  const edit = (path: string, change: (metadata: Record<string, unknown>) => void) => {
    const file = join(path, 'zarr.json')
    const metadata = JSON.parse(readFileSync(file, 'utf8'))
    change(metadata)
    writeFileSync(file, JSON.stringify(metadata))
  }
  const bytes = { name: 'bytes', configuration: { endian: 'little' } }

  it.each<[string, (metadata: Record<string, unknown>) => void, RegExp]>([
    [
      'another type',
      (m) => Object.assign(m, { data_type: 'complex64' }),
      /expected .*int64.*complex numbers/,
    ],
    ['three dimensions', (m) => Object.assign(m, { shape: [1, 2, 3] }), /expected a matrix/],
    [
      'another codec',
      (m) => Object.assign(m, { codecs: [bytes, { name: 'lz4' }] }),
      /codec 'lz4' is not one of/,
    ],
    [
      'a field that must be understood',
      (m) => Object.assign(m, { compass: { north: 1 } }),
      /zarr\.json has 'compass', .*"must_understand": false/,
    ],
    ['the same as a text', (m) => Object.assign(m, { compass: 'north' }), /zarr\.json has 'compass'/],
    [
      'the same, and it says so',
      (m) => Object.assign(m, { compass: { must_understand: true } }),
      /zarr\.json has 'compass'/,
    ],
    [
      'a storage transformer',
      (m) => Object.assign(m, { storage_transformers: [{ name: 'mirror' }] }),
      /storage transformers/,
    ],
    [
      'storage transformers that are no list',
      (m) => Object.assign(m, { storage_transformers: 'mirror' }),
      /storage transformers/,
    ],
    [
      'a fill value that is a text',
      (m) => Object.assign(m, { fill_value: '0x00000001' }),
      /fill value must be an integer that int32 holds/,
    ],
    [
      'a fill value that int32 does not hold',
      (m) => Object.assign(m, { fill_value: 2 ** 31 }),
      /fill value must be an integer/,
    ],
    ['no fill value', (m) => void delete m.fill_value, /fill value must be/],
    ['a group', (m) => Object.assign(m, { node_type: 'group' }), /expected a Zarr array/],
  ])('are rejected: %s', async (_, change, message) => {
    const path = fresh('.zarr')
    writeByHand(path, a, { chunks: [30, 30] })
    edit(path, change)
    await expect(multiplyArrays(path, pathB, fresh('.npy'), on)).rejects.toEqual(coded('FILE', message))
  })

  it('are rejected: a folder, a file, nothing, and other names', async () => {
    const empty = fresh('.zarr')
    mkdirSync(empty)
    await expect(multiplyArrays(empty, pathB, fresh('.npy'), on)).rejects.toEqual(coded('FILE', /zarr\.json/))
    const file = fresh('.zarr')
    writeFileSync(file, 'x')
    await expect(multiplyArrays(file, pathB, fresh('.npy'), on)).rejects.toEqual(coded('FILE'))
    await expect(multiplyArrays(fresh('.npy'), pathB, fresh('.npy'), on)).rejects.toEqual(
      coded('FILE', /ENOENT/),
    )
    await expect(multiplyArrays('a.csv', pathB, fresh('.npy'), on)).rejects.toEqual(
      coded('FILE', /\.zarr or a file \.npy/),
    )
    await expect(multiplyArrays(pathB, pathB, fresh('.csv'), on)).rejects.toEqual(
      coded('FILE', /ends with \.zarr or \.npy/),
    )
  })
})

describe('outputs', () => {
  it('are rejected in missing folders, and for URLs', async () => {
    const to = (first: string, output: string) => multiplyArrays(first, pathS, output, on)
    await expect(to(pathS, inFolder('none', 'c.npy'))).rejects.toEqual(coded('FILE', /there is no folder/))
    await expect(to('gs://bucket/a.zarr', fresh('.npy'))).rejects.toEqual(coded('FILE', /is an address/))
    await expect(to(pathS, 'https://example.org/c.zarr')).rejects.toEqual(coded('FILE', /is an address/))
  })

  it('leave no unfinished folder if no device is available, or if memory is too small', async () => {
    const out = fresh('.npy')
    await expect(multiplyArrays(pathS, pathS, out, { backend: 'cuda', device: 1000 })).rejects.toThrow()
    const work = (memory: number) => multiplyArrays(pathS, pathS, out, { ...on, memory })
    const refused: Error = await work(40_000).then(
      () => new Error('it was not refused'),
      (error) => error,
    )
    expect(existsSync(`${out}.partial`)).toBe(false)
    // Work succeeds with the amount of memory that the error states, and fails with 1 KiB less.
    const least = 1024 * Number(/at least (\d+) KiB/.exec(refused.message)?.[1])
    await expect(work(least - 1024)).rejects.toEqual(coded('OPTION', /memory must be at least/))
    await work(least)
  })

  it('can be started again with a damaged plan', async () => {
    const out = fresh('.npy')
    mkdirSync(`${out}.partial`)
    for (const text of ['', 'null', '{"kind":"multiply"}', '[1]']) {
      writeFileSync(join(`${out}.partial`, 'plan.json'), text)
      for (const options of [on, { ...on, resume: true }]) {
        await expect(multiplyArrays(pathS, pathS, out, options)).rejects.toEqual(coded('RESUME', /overwrite/))
      }
    }
    await multiplyArrays(pathS, pathS, out, { ...on, overwrite: true })
  })

  it.each<[string, unknown, RegExp]>([
    ['an unknown option', { memoty: 1 }, /memoty/],
    ['memory that is no size', { memory: 'much' }, /'8GiB'/],
    ['a codec', { codec: 'lzma' }, /'zstd'/],
    ['chunks of one size', { chunks: [3] }, /\[rows, cols\]/],
    ['shards that are no chunks', { chunks: [10, 10], shards: [15, 20] }, /multiples of the chunks/],
    ['blocks that are no chunks', { chunks: [10, 10], block: { rows: 15 } }, /multiple of 10/],
    ['no size of a block', { block: { depth: 0 } }, /depth is 0/],
    ['an unknown size of a block', { block: { row: 16 } }, /no option 'row' of block/],
    ['no block', { block: null }, /block must be an object/],
    ['both resume and overwrite', { resume: true, overwrite: true }, /contradict/],
  ])('are rejected with %s', async (_, options, message) => {
    await expect(multiplyArrays(pathS, pathS, fresh('.zarr'), options as ArraysOptions)).rejects.toEqual(
      coded('OPTION', message),
    )
  })

  it('are rejected with shapes and types that do not fit', async () => {
    await expect(multiplyArrays(pathB, pathB, fresh('.npy'), on)).rejects.toEqual(
      coded('SHAPE', /80 columns and .* 90 rows/),
    )
    const floats = fresh('.npy')
    await writeNpy(floats, { shape: [80, 3], data: new Float32Array(240) })
    await expect(multiplyArrays(pathB, floats, fresh('.npy'), on)).rejects.toEqual(coded('DTYPE', /one type/))
    await expect(
      multiplyArrays(floats, pathB, fresh('.npy'), { ...on, semiring: 'plus-times' }),
    ).rejects.toEqual(coded('SHAPE'))
    await expect(
      multiplyArrays(pathB, fresh('.npy'), fresh('.npy'), { ...on, semiring: 'or-and' }),
    ).rejects.toEqual(coded('FILE'))
  })
})

describe('a full disk', () => {
  /** Simulates a full disk: writes fail from the `count`-th one on. */
  async function fill(count: number): Promise<void> {
    const probe = await open(pathB, 'r')
    const handle = Object.getPrototypeOf(probe) as FileHandle
    await probe.close()
    let written = 0
    const full = () =>
      Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', errno: -28 })
    for (const name of ['write', 'writev'] as const) {
      const original = handle[name] as (...args: unknown[]) => Promise<unknown>
      vi.spyOn(handle, name).mockImplementation(async function (this: FileHandle, ...args: unknown[]) {
        if (++written > count) throw full()
        return original.apply(this, args)
      } as never)
    }
  }

  it.each([
    ['.npy', 20],
    ['.zarr', 8],
    ['.zarr', 1],
  ])('is reported with a code for %s after %i writes, and finished blocks stay', async (ending, count) => {
    const out = fresh(ending)
    const path = fresh('.npy')
    await writeNpy(path, a as never)
    await fill(count)
    await expect(multiplyArrays(path, pathB, out, on)).rejects.toEqual(
      coded('DISK_FULL', /no space left on device \(ENOSPC\).*resume/),
    )
    expect(existsSync(out)).toBe(false)
    vi.restoreAllMocks()
    await multiplyArrays(path, pathB, out, { ...on, resume: true })
    expect((ending === '.npy' ? await readNpy(out) : await readZarr(out)).data).toEqual(c)
  })
})

it('names a .npy file that ends while it is read', async () => {
  const path = fresh('.npy')
  await writeNpy(path, a as never)
  const plan = await planBlocks({
    kind: 'multiply',
    a: path,
    b: pathB,
    c: fresh('.npy'),
    block: { depth: 48 },
  })
  const probe = await open(pathB, 'r')
  const nothing = { bytesRead: 0, buffers: [] }
  vi.spyOn(Object.getPrototypeOf(probe) as FileHandle, 'readv').mockResolvedValue(nothing)
  await probe.close()
  await expect(runBlock(plan, { name: 'c-0-0', stage: 0 }, { backend: 'cpu' })).rejects.toEqual(
    coded('CHUNK', `${path} is damaged: it ends too early. Write it again from its source`),
  )
})

it('leaves nothing of work whose beginning failed', async () => {
  const out = fresh('.npy')
  const probe = await open(pathB, 'r')
  const error = Object.assign(new Error('EFBIG: file too large'), { code: 'EFBIG', errno: -27 })
  vi.spyOn(Object.getPrototypeOf(probe) as FileHandle, 'truncate').mockRejectedValue(error)
  await probe.close()
  await expect(multiplyArrays(pathS, pathS, out, on)).rejects.toEqual(coded('DISK_FULL'))
  expect(existsSync(`${out}.partial`)).toBe(false)
})

describe('the checksum of zstd', () => {
  it.each<[string, number]>([
    ['', 0x51d8e999],
    ['a', 0xa98c6e5b],
    ['abc', 0xad770999],
  ])('is as published for %o', async (text, expected) => {
    expect((await xxh64Of(new TextEncoder().encode(text))).readUInt32LE()).toBe(expected)
  })

  it('is right for all lengths, and finds each change', async () => {
    const codecs = [{ name: 'zstd', configuration: { level: 1, checksum: true } }]
    for (let length = 0; length < 140; length++) {
      // Every third byte is 0, so that zstd compresses the content.
      const bytes = Uint8Array.from({ length }, (_, at) => (at * at * 37 + length * 91) & (at % 3 ? 255 : 0))
      const encoded = await encodeBytes(bytes.slice(), codecs)
      expect(Buffer.from(await decodeBytes(encoded, codecs, length)).equals(bytes)).toBe(true)
      const at = encoded.length - 1 - ((length * 7) % (length + 5))
      encoded[at] = encoded[at]! ^ (1 << (length % 8))
      await expect(decodeBytes(encoded, codecs, length)).rejects.toThrow()
    }
  })
})

describe('onProgress', () => {
  const square = { nodes: 80, from: [0], to: [1], weight: [4] }
  const runs: [string, (out: string, options: ArraysOptions) => Promise<unknown>][] = [
    ['multiplyArrays', (out, options) => multiplyArrays(pathS, pathS, out, { ...on, ...options })],
    [
      'shortestPathsArrays',
      (out, options) => shortestPathsArrays(pathS, out, { ...on, semiring: 'max-min', ...options }),
    ],
    [
      'shortestPathsArrays of edges',
      (out, options) => shortestPathsArrays(square, out, { block: 32, ...options }),
    ],
  ]

  it.each(runs)('ends %s with the value that it throws, and the work can be resumed', async (_, run) => {
    const thrown = [
      new Error('boom'),
      new FileError('boom'),
      new ResumeError('boom'),
      new AbortedError('boom'),
      Object.assign(new Error('boom'), { code: 'ENOENT', syscall: 'open', errno: -2 }),
      null,
      undefined,
    ]
    // The listener throws at its first call, in the middle of the work, or after the output is complete.
    for (const from of [0, 0.4, 1]) {
      const out = fresh('.npy')
      for (const error of thrown) {
        const isBegun = existsSync(`${out}.partial`)
        const work = run(out, {
          resume: isBegun,
          overwrite: !isBegun && existsSync(out),
          onProgress: ({ done }) => {
            if (done >= from) throw error
          },
        })
        const end = await work.then(
          () => 'it was completed',
          (error: unknown) => ({ error }),
        )
        expect(end).toEqual({ error })
      }
      if (existsSync(`${out}.partial`)) await run(out, { resume: true })
      expect(existsSync(out)).toBe(true)
    }
  })
})

it.each<[object, RegExp]>([
  [{ device: 7 }, /option device is for the paths of matrices on disk/],
  [{ device: 0 }, /option device is for/],
  [{ deviceMemory: '1GiB' }, /option deviceMemory is for/],
  [{ block: { cols: 4 } }, /option block must have only rows/],
  [{ block: { rows: 4, cols: 2 } }, /option block must have only rows/],
  [{ block: { rows: 4, depth: 2 } }, /option block must have only rows/],
  [{ block: { depth: 2 } }, /option block must have only rows/],
])('rejects %j for paths of edges', async (options, message) => {
  const out = fresh('.npy')
  const edges = { nodes: 2, from: [0], to: [1], weight: [4] }
  await expect(shortestPathsArrays(edges, out, options)).rejects.toEqual(coded('OPTION', message))
  expect(existsSync(`${out}.partial`)).toBe(false)
})

it('rejects requests with members of other requests', async () => {
  const request = { kind: 'shortest-paths', a: pathS, c: fresh('.npy') } as const
  for (const [member, message] of [
    [{ b: pathS }, /b must be left out for paths/],
    [{ onProgress: () => {} }, /no option 'onProgress'/],
  ] as const) {
    await expect(planBlocks({ ...request, ...member } as never)).rejects.toEqual(coded('OPTION', message))
  }
  expect(existsSync(`${request.c}.partial`)).toBe(false)
})

it('detects an input that changes while it is read', async () => {
  const [path, out] = [fresh('.zarr'), fresh('.npy')]
  await writeZarr(path, a, [30, 30])
  let changed = false
  const work = multiplyArrays(path, pathB, out, {
    ...on,
    onProgress: () => {
      if (changed) return
      changed = true
      spoil(join(path, 'c/0/0'), 3)
    },
  })
  await expect(work).rejects.toEqual(coded('CHANGED', /overwrite/))
  expect(existsSync(out)).toBe(false)
  await expect(multiplyArrays(path, pathB, out, { ...on, resume: true })).rejects.toEqual(coded('CHANGED'))
})

it.each([
  ['chunks', undefined],
  ['shards', [60, 60] as [number, number]],
])('reports %s that are unavailable for a while instead of treating them as empty', async (_, shards) => {
  const [path, out] = [fresh('.zarr'), fresh('.npy')]
  // The first row of chunks is missing from the start, so its elements have the fill value.
  const without = (row: number) => row === 0
  writeByHand(path, a, { chunks: [30, 30], fill: 7, without, ...(shards && { shards }) })
  const filled = { ...a, data: a.data.slice() }
  filled.data.fill(7, 0, 30 * a.shape[1])
  // The library may call the listener several times for one block.
  let isAway = false
  const work = multiplyArrays(path, pathB, out, {
    ...on,
    memory: '64kB',
    onProgress: ({ blocks }) => {
      if (isAway || blocks < 1) return
      isAway = true
      renameSync(path, `${path}.away`)
    },
  })
  await expect(work).rejects.toEqual(coded('FILE'))
  renameSync(`${path}.away`, path)
  await multiplyArrays(path, pathB, out, { ...on, resume: true })
  const expected = oracle(filled, b)
  expect(expected.overflow || [...(await readNpy(out)).data]).toEqual(expected.overflow || [...expected.data])
})

it.each([
  ['zarrita', [['x.zarr'], ['one.npy', 'z.zarr']]],
  [
    'hash-wasm',
    [
      ['crc.zarr'],
      ['shards.zarr'],
      ['one.npy', 'z.zarr', { codec: 'zstd' }],
      ['one.npy', 'z.zarr', { chunks: [1, 1], shards: [1, 1] }],
    ],
  ],
])('names the command that installs a missing %s, and reads .npy without packages', async (name, calls) => {
  const [one, two] = [inFolder('one.npy'), fresh('.npy')]
  await writeNpy(one, { shape: [1, 1], data: Int32Array.of(4) })
  const element: Plain = { shape: [1, 1], data: Int32Array.of(4) }
  writeByHand(inFolder('crc.zarr'), element, { chunks: [1, 1], crc: true })
  writeByHand(inFolder('shards.zarr'), element, { chunks: [1, 1], shards: [1, 1] })
  // A module loader that rejects imports of the package.
  const loader = `export function resolve(name, context, next) {
    if (name === '${name}') throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    return next(name, context)
  }`
  const program = `
    import { register } from 'node:module'
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(loader)}`)})
    const { multiplyArrays } = await import('mpmml/arrays')
    const [one, two, folder, calls] = process.argv.slice(1)
    await multiplyArrays(one, one, two)
    for (const [a, c = 'other.npy', options] of JSON.parse(calls)) {
      await multiplyArrays(folder + a, one, folder + c, options).catch((error) => console.log(error.code, error.message))
    }`
  const { stdout, stderr } = await runProgram(
    process.execPath,
    // Node.js 20 has only module.register(), which newer versions deprecate with warning DEP0205.
    [
      '--disable-warning=DEP0205',
      '--input-type=module',
      '-e',
      program,
      one,
      two,
      `${inFolder()}/`,
      JSON.stringify(calls),
    ],
    { cwd: root },
  )
  expect(stderr).toBe('')
  expect(existsSync(two)).toBe(true)
  expect(existsSync(inFolder('z.zarr.partial'))).toBe(false)
  const said = new RegExp(`ERR_MPMML_PACKAGE .*npm install ${name}`, 'g')
  expect(stdout.match(said)).toHaveLength(calls.length)
})
