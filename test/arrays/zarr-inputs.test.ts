/** Zarr arrays of other programs: in groups, of other types, and with invalid metadata. */
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { finish, multiplyArrays, planBlocks, shortestPathsArrays } from '../../lib/arrays.js'
import { readNpy, writeNpy } from '../../lib/files.js'
import { MpmmlError } from '../../lib/index.js'
import { type HandMade, otherTypes, type Plain, readZarr, writeByHand } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { Random, randomMatrix } from '../support/generators.js'
import { oracle, type Strided } from '../support/oracle.js'
import { runAll, StorageLocation } from '../support/storage-location.js'

const on = { backend: 'cpu', block: 16 } as const
const product = (x: Strided, y: Strided) => {
  const c = oracle(x, y)
  if (c.overflow) throw new Error('these operands must not overflow')
  return c.data
}

const inFolder = useFolder()
let names = 0
const fresh = (ending: string) => inFolder(`${names++}${ending}`)

describe.each(['.zarr', 's3'] as const)('arrays in groups, %s:', (kind) => {
  const storage = new StorageLocation(kind)
  const a = randomMatrix(40, 40, 1) as Plain & Strided
  const group = JSON.stringify({ zarr_format: 3, node_type: 'group', attributes: {} })

  async function store(): Promise<string> {
    const path = storage.fresh()
    await storage.write(`${path}/deep/a`, a)
    for (const name of ['', '/deep']) storage.put(`${path}${name}/zarr.json`, group)
    return path
  }

  it('are read and written by their names', async () => {
    const path = await store()
    const before = storage.contents(path)
    await multiplyArrays(`${path}/deep/a`, `${path}/deep/a`, `${path}/deep/c`, on)
    expect(await storage.read(`${path}/deep/c`)).toEqual(product(a, a))
    await shortestPathsArrays(`${path}/deep/a`, `${path}/paths`, { ...on, semiring: 'max-min' })
    await multiplyArrays(`${path}/deep/a`, `${path}/deep/a`, `${path}/deep/c`, { ...on, overwrite: true })
    const after = [...storage.contents(path)].filter(([name]) => !/\/(deep\/c|paths)\//.test(name))
    expect(new Map(after)).toEqual(before)
  })

  it('are distinguished from their groups', async () => {
    const path = await store()
    await expect(multiplyArrays(path, `${path}/deep/a`, storage.fresh(), on)).rejects.toEqual(
      coded('FILE', /is of a group: name an array in it, such as .*\/NAME/),
    )
    await expect(multiplyArrays(`${path}/deep/b`, `${path}/deep/a`, storage.fresh(), on)).rejects.toEqual(
      coded('FILE', /there is no .*deep.b.zarr\.json/),
    )
    for (const inside of ['c', 'c/0', 'new/x']) {
      const out = `${path}/deep/a/${inside}`
      if (kind === '.zarr') mkdirSync(join(out, '..'), { recursive: true })
      const other = storage.fresh()
      await storage.write(other, a)
      await expect(planBlocks({ kind: 'multiply', a: other, b: other, c: out })).rejects.toEqual(
        coded('OPTION', /is in the folder of a Zarr array/),
      )
    }
    expect(storage.contents(`${path}.partial`).size).toBe(0)
  })
})

describe('the types of elements', () => {
  const shape = [21, 18] as const
  const other = randomMatrix(18, 17, 4) as Plain & Strided
  const layouts: [string, HandMade][] = [
    ['chunks', { chunks: [8, 8] }],
    ['big-endian chunks', { chunks: [8, 8], endian: 'big' }],
    ['chunks by columns, gzip', { chunks: [8, 16], byColumns: true, gzip: true }],
    ['shards', { chunks: [4, 8], shards: [8, 16] }],
    ['one chunk', { chunks: [64, 64], endian: 'big', byColumns: true }],
  ]
  const cases = Object.keys(otherTypes).flatMap((type) =>
    layouts.map(([name, layout]) => [type as keyof typeof otherTypes, name, layout] as const),
  )

  /** Returns elements that include the extreme values that both int32 and the type represent. */
  function valuesOf(type: keyof typeof otherTypes): number[] {
    const bits = 8 * otherTypes[type].BYTES_PER_ELEMENT
    const [least, most] = type.startsWith('u')
      ? [0, 2 ** bits - 1]
      : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]
    const ends = [Math.max(least, -(2 ** 31)), Math.min(most, 2 ** 31 - 1)]
    // Extreme values beyond 2^30 are halved so that sums stay within int32.
    const inner = ends.map((end) =>
      Math.abs(end) > 2 ** 30 && end !== -(2 ** 31) ? Math.trunc(end / 2) : end,
    )
    return Array.from({ length: shape[0] * shape[1] }, (_, at) =>
      at % 11 === 0 ? inner[at % 2]! : Math.max(inner[0]!, ((at * 7919) % 200) - 100),
    )
  }

  it.each(cases)('convert %s in %s like .npy', async (type, _, layout) => {
    const values = valuesOf(type)
    const Elements = otherTypes[type] as unknown as {
      from(values: unknown[]): InstanceType<typeof Int8Array>
    }
    const isWide = type.endsWith('64')
    const data = Elements.from(isWide ? values.map(BigInt) : values)
    const [path, pathB, out] = [fresh('.zarr'), fresh('.npy'), fresh('.npy')]
    const isByte = type.endsWith('t8')
    writeByHand(
      path,
      { shape, data },
      isByte && layout.endian !== 'big' ? { ...layout, endian: null } : layout,
    )
    const halved = { ...other, data: other.data.map((value) => (value === -(2 ** 31) ? value : value >> 2)) }
    await writeNpy(pathB, halved as never)
    const { dtype } = await multiplyArrays(path, pathB, out, { ...on, block: { rows: 7, cols: 9, depth: 5 } })
    expect(dtype).toBe('int32')
    const a = { shape: [...shape], data: Int32Array.from(values) } as unknown as Strided
    expect((await readNpy(out)).data).toEqual(product(a, halved as unknown as Strided))
  })

  it.each([
    ['uint32', Uint32Array.of(1, 2, 3, 2 ** 31, 5, 6), '2147483648'],
    ['int64', BigInt64Array.of(1n, 2n, 3n, -(2n ** 40n), 5n, 6n), '-1099511627776'],
    ['uint64', BigUint64Array.of(1n, 2n, 3n, 2n ** 63n, 5n, 6n), '9223372036854775808'],
  ] as const)('reject %s beyond int32 with its position', async (type, data, value) => {
    const square = fresh('.npy')
    await writeNpy(square, { shape: [2, 2], data: Int32Array.of(0, 1, 2, 3) })
    for (const byColumns of [false, true]) {
      const path = fresh('.zarr')
      writeByHand(path, { shape: [3, 2], data }, { chunks: [2, 2], byColumns })
      await expect(multiplyArrays(path, square, fresh('.npy'), on)).rejects.toEqual(
        coded('FILE', `its ${type} value ${value} at index [1, 1] is outside the range of int32`),
      )
    }
  })

  it('ignore the fill value in padding, and check it for missing chunks', async () => {
    const square = fresh('.npy')
    await writeNpy(square, { shape: [2, 2], data: Int32Array.of(0, 1, 2, 3) })
    const whole = { shape: [3, 2] as const, data: BigInt64Array.of(1n, 2n, 3n, 4n, 5n, 6n) }
    const [path, holes, out] = [fresh('.zarr'), fresh('.zarr'), fresh('.npy')]
    writeByHand(path, whole, { chunks: [2, 4], fill: 2 ** 40 })
    await multiplyArrays(path, square, out, on)
    expect([...(await readNpy(out)).data]).toEqual([4, 5, 6, 7, 8, 9])
    writeByHand(holes, whole, { chunks: [2, 4], fill: 2 ** 40, without: (row) => row === 1 })
    await expect(multiplyArrays(holes, square, out, { ...on, overwrite: true })).rejects.toEqual(
      coded('FILE', /the fill value 1099511627776 is outside the range of int32/),
    )
  })

  it('are rejected with the reason of .npy', async () => {
    const data = Uint8Array.of(0, 1, 1, 0)
    const square = fresh('.npy')
    await writeNpy(square, { shape: [2, 2], data: Int32Array.of(0, 1, 2, 3) })
    const refusals: [unknown, RegExp][] = [
      ['bool', /expected numbers, but it holds booleans/],
      ['complex64', /complex numbers/],
      ['float16', /half precision/],
      ['r16', /raw bytes/],
      ['string', /strings/],
      ['numpy.datetime64', /dates/],
      [{ name: 'numpy.timedelta64', configuration: { unit: 's' } }, /time spans/],
      ['quaternion', /its type is "quaternion"/],
      ['', /its type is ""/],
    ]
    for (const [type, message] of refusals) {
      const path = fresh('.zarr')
      writeByHand(path, { shape: [2, 2], data }, { chunks: [2, 2], type })
      await expect(multiplyArrays(path, square, fresh('.npy'), on)).rejects.toEqual(coded('FILE', message))
    }
    const path = fresh('.zarr')
    writeByHand(
      path,
      { shape: [2, 2], data: Int32Array.of(4, 3, 2, 1) },
      { chunks: [2, 2], type: { name: 'int32' } },
    )
    const out = fresh('.npy')
    await multiplyArrays(path, square, out, on)
    expect([...(await readNpy(out)).data]).toEqual([5, 6, 3, 4])
  })

  it.each([
    ['int64', BigInt64Array, '9223372036854775807'],
    ['int64', BigInt64Array, '-9223372036854775808'],
    ['uint64', BigUint64Array, '18446744073709551615'],
  ] as const)('accept the extreme fill value of %s, %#', async (_, Elements, fill) => {
    const [path, square, out] = [fresh('.zarr'), fresh('.npy'), fresh('.npy')]
    await writeNpy(square, { shape: [2, 2], data: Int32Array.of(0, 1, 2, 3) })
    writeByHand(
      path,
      { shape: [2, 2], data: Elements.of(1n, 2n, 3n, 4n) as BigInt64Array<ArrayBuffer> },
      { chunks: [2, 2] },
    )
    const file = join(path, 'zarr.json')
    // JSON.stringify() would write a number with 17 digits.
    writeFileSync(file, readFileSync(file, 'utf8').replace('"fill_value":0', `"fill_value":${fill}`))
    await multiplyArrays(path, square, out, on)
    expect([...(await readNpy(out)).data]).toEqual([4, 5, 6, 7])
  })
})

it('rejects an array whose folder of chunks is a file', async () => {
  const [path, square] = [fresh('.zarr'), fresh('.npy')]
  await writeNpy(square, { shape: [2, 2], data: Int32Array.of(0, 1, 2, 3) })
  writeByHand(path, { shape: [4, 2], data: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8) }, { chunks: [2, 2] })
  rmSync(join(path, 'c/1'), { recursive: true })
  writeFileSync(join(path, 'c/1'), '')
  await expect(multiplyArrays(path, square, fresh('.npy'), on)).rejects.toEqual(
    coded('FILE', /c.1.0 can't be read: not a directory/),
  )
})

it('reads chunks in a linked folder, and detects their changes', async () => {
  const [path, square, elsewhere] = [fresh('.zarr'), fresh('.npy'), fresh('')]
  await writeNpy(square, { shape: [2, 2], data: Int32Array.of(0, 1, 2, 3) })
  writeByHand(path, { shape: [4, 2], data: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8) }, { chunks: [2, 2] })
  renameSync(join(path, 'c'), elsewhere)
  symlinkSync(elsewhere, join(path, 'c'))
  // The chunks are younger than the metadata and the link.
  const early = new Date(Date.now() - 60_000)
  for (const older of [join(path, 'zarr.json'), elsewhere]) utimesSync(older, early, early)
  const request = { kind: 'multiply', a: path, b: square, c: fresh('.npy'), block: 2 } as const
  const plan = await planBlocks(request)
  await runAll(plan)
  const late = new Date(Date.now() + 60_000)
  utimesSync(join(elsewhere, '1/0'), late, late)
  await expect(finish(plan)).rejects.toEqual(coded('CHANGED', path))
  await multiplyArrays(path, square, request.c, { ...on, overwrite: true })
  expect([...(await readNpy(request.c)).data]).toEqual([4, 5, 6, 7, 8, 9, 10, 11])
})

/** Values of the metadata that have substitutes: the separator has a default, and readers ignore the level of gzip. */
const acceptedOf: Record<string, string[]> = {
  chunks: [
    'attributes',
    'chunk_grid.configuration.chunk_shape',
    'chunk_grid.configuration.chunk_shape.0',
    'chunk_grid.configuration.chunk_shape.1',
    'chunk_key_encoding.configuration',
    'chunk_key_encoding.configuration.separator',
    'codecs.2.configuration',
    'codecs.2.configuration.level',
    'fill_value',
    'shape.0',
  ],
  shards: [
    'attributes',
    'chunk_grid.configuration.chunk_shape.0',
    'chunk_grid.configuration.chunk_shape.1',
    'chunk_key_encoding.configuration',
    'chunk_key_encoding.configuration.separator',
    'codecs.0.configuration.index_location',
    'fill_value',
    'shape.0',
  ],
}

describe('metadata', () => {
  const handMade: [string, HandMade][] = [
    ['chunks', { chunks: [2, 2], byColumns: true, gzip: true }],
    ['shards', { chunks: [1, 2], shards: [2, 2] }],
  ]
  const values = [
    null,
    7,
    -1,
    0.5,
    2 ** 40,
    'text',
    '',
    true,
    {},
    [],
    [[]],
    [null, null],
    [7, 7],
    { name: 7 },
    { name: 'text' },
  ]

  /** Returns the paths of all nested values, as lists of keys. */
  const placesIn = (value: unknown): (string | number)[][] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => [
          [key],
          ...placesIn(inner).map((rest) => [key, ...rest]),
        ])
      : []

  function replaced(value: unknown, [key, ...rest]: (string | number)[], by: unknown): unknown {
    if (key === undefined) return by
    const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>
    if (rest.length === 0 && by === undefined) delete copy[key]
    else copy[key] = replaced(copy[key], rest, by)
    return copy
  }

  it.each(handMade)('is rejected with a code or read for any change of a value: %s', async (name, layout) => {
    const [path, square] = [fresh('.zarr'), fresh('.npy')]
    await writeNpy(square, { shape: [2, 2], data: Int32Array.of(0, 1, 2, 3) })
    writeByHand(path, { shape: [2, 2], data: Int32Array.of(4, 3, 2, 1) }, layout)
    const file = join(path, 'zarr.json')
    const whole = JSON.parse(readFileSync(file, 'utf8'))
    const accepted = new Map<string, unknown[]>()
    for (const storage of [[], ...placesIn(whole)]) {
      for (const value of [undefined, ...values]) {
        writeFileSync(file, JSON.stringify(replaced(whole, storage, value)) ?? '')
        const error = await planBlocks({ kind: 'multiply', a: path, b: square, c: fresh('.npy') }).then(
          () => null,
          (error) => error,
        )
        if (error === null)
          accepted.set(storage.join('.'), [...(accepted.get(storage.join('.')) ?? []), value])
        else
          expect(error, `${storage.join('.')} is ${JSON.stringify(value)}: ${error.stack}`).toBeInstanceOf(
            MpmmlError,
          )
      }
    }
    // Substitutes of all other values are rejected.
    expect([...accepted.keys()].sort()).toEqual(acceptedOf[name])
    const levels = accepted.get('codecs.2.configuration.level') ?? []
    expect(levels.every((level) => level === undefined || Number.isInteger(level))).toBe(true)
  })

  it.each(['', '{', 'null', '7', '[]', '"text"', '{"node_type":"array"}', '\uFEFF{}'])(
    'is rejected: %j',
    async (text) => {
      const path = fresh('.zarr')
      mkdirSync(path)
      writeFileSync(join(path, 'zarr.json'), text)
      await expect(planBlocks({ kind: 'multiply', a: path, b: path, c: fresh('.npy') })).rejects.toEqual(
        coded('FILE'),
      )
    },
  )
})

it('reads its own arrays of any shape and layout', async () => {
  const random = new Random(15)
  for (let round = 0; round < 25; round++) {
    const [rows, cols] = [random.pick([0, 1, 2, 7, 33, 64]), random.pick([0, 1, 3, 16, 50])]
    const dtype = random.pick(['int32', 'float32', 'float64'] as const)
    const types = { int32: Int32Array, float32: Float32Array, float64: Float64Array }
    const Elements = types[dtype] as Int32ArrayConstructor
    const none = dtype === 'int32' ? -(2 ** 31) : Number.NEGATIVE_INFINITY
    const data = Elements.from({ length: rows * cols }, () =>
      random.chance(0.1) ? none : random.integer(-1000, 1000) / (dtype === 'int32' ? 1 : 4),
    )
    // In max-plus, a product with 0 on the diagonal and no other edges changes nothing.
    const same = Elements.from({ length: cols * cols }, (_, at) => (at % (cols + 1) === 0 ? 0 : none))
    const [a, b, created, back] = [fresh('.npy'), fresh('.npy'), fresh('.zarr'), fresh('.npy')]
    await writeNpy(a, { shape: [rows, cols], data })
    await writeNpy(b, { shape: [cols, cols], data: same })
    const chunks: [number, number] = [random.pick([1, 4, 8]), random.pick([2, 8, 16])]
    const shards = random.chance(0.5)
    const layout = {
      chunks,
      codec: random.pick(['none', 'zstd', 'gzip', 'blosc'] as const),
      ...(shards && { shards: [chunks[0] * 2, chunks[1] * 3] as [number, number] }),
    }
    const what = `round ${round}: ${dtype} [${rows}, ${cols}] ${JSON.stringify(layout)}`
    await multiplyArrays(a, b, created, { backend: 'cpu', ...layout })
    await multiplyArrays(created, b, back, { backend: 'cpu' })
    const read = await readNpy(back)
    expect(read.shape, what).toEqual([rows, cols])
    expect(read.data, what).toEqual(data)
    if (rows * cols > 0) expect((await readZarr(created)).data, what).toEqual(data)
  }
})
