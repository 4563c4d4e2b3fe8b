/** Round trips of .npy, .npz and SciPy's .npz: matrices of any shape, layout and type, generated from a seed. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  formatNpy,
  parseNpy,
  readEntries,
  readMatrix,
  readNpy,
  readNpz,
  writeNpy,
  writeNpz,
} from '../../lib/files.js'
import { Random } from '../support/generators.js'
import { temporaryFiles } from '../support/matrix-files.js'
import { format, int64, npzOf, type Part } from '../support/scipy.js'

const { fresh } = temporaryFiles()

const types = { int32: Int32Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array } as const
type Type = keyof typeof types
type Elements = InstanceType<(typeof types)[Type]>

const SIZES = [0, 1, 1, 2, 3, 5, 8, 17, 64]
const special: Record<Type, number[]> = {
  int32: [-(2 ** 31), 2 ** 31 - 1, 0, -1],
  float32: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, Math.fround(1e-45)],
  float64: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 5e-324, 2 ** 53 + 2],
  uint8: [0, 1, 255],
}

interface Drawn {
  readonly view: { data: Elements; shape: number[]; strides?: number[]; offset?: number }
  readonly type: Type
  readonly shape: number[]
  /** Elements in row-major order. */
  readonly elements: number[]
}

/** View of a matrix, or of a batch: of whole memory, with gaps between elements, transposed, or with strides of 0. */
function draw(random: Random, batched = random.chance(0.3)): Drawn {
  const type = random.pick(Object.keys(types) as Type[])
  const shape = Array.from({ length: batched ? 3 : 2 }, () => random.pick(SIZES))
  const kind = random.pick(['plain', 'transposed', 'apart', 'repeated'] as const)
  const order = shape.map((_, axis) => axis)
  if (kind === 'transposed' || random.chance(0.3)) order.reverse()
  const strides = shape.map(() => 0)
  let stride = kind === 'apart' ? random.integer(1, 3) : 1
  for (const axis of [...order].reverse()) {
    strides[axis] = kind === 'repeated' && random.chance(0.5) ? 0 : stride
    stride = stride * Math.max(1, shape[axis]!) + (kind === 'apart' ? random.integer(0, 3) : 0)
  }
  const offset = kind === 'plain' ? 0 : random.integer(0, 5)
  const last = shape.reduce((sum, size, axis) => sum + Math.max(0, size - 1) * strides[axis]!, offset)
  const data = new types[type](last + 1 + random.integer(0, 3))
  for (let at = 0; at < data.length; at++) {
    data[at] = random.chance(0.2)
      ? random.pick(special[type])
      : random.integer(-1000, 1000) / (type.startsWith('f') ? 8 : 1)
  }
  const elements: number[] = []
  const gather = (axis: number, at: number) => {
    if (axis === shape.length) elements.push(data[at]!)
    else for (let index = 0; index < shape[axis]!; index++) gather(axis + 1, at + index * strides[axis]!)
  }
  gather(0, offset)
  const isPlain = kind === 'plain' && `${order}` === `${shape.map((_, axis) => axis)}` && offset === 0
  return { view: isPlain ? { data, shape } : { data, shape, strides, offset }, type, shape, elements }
}

/** Compares a matrix with the generated one: the type, the shape, and each element, with sign and NaN. */
function expectSame(
  read: { data: unknown; shape: readonly number[] },
  { type, shape, elements }: Drawn,
  what: string,
) {
  expect(read.data, what).toBeInstanceOf(types[type])
  expect([...read.shape], what).toEqual(shape)
  const data = read.data as Elements
  expect(data.length, what).toBe(elements.length)
  const wrong = elements.findIndex((element, at) => !Object.is(element, data[at]))
  expect(wrong, `${what}: element ${wrong} is ${data[wrong]} and not ${elements[wrong]}`).toBe(-1)
}

describe('a matrix that is written', () => {
  it('survives .npy', async () => {
    const random = new Random(11)
    const path = fresh('.npy')
    for (let round = 0; round < 150; round++) {
      const drawn = draw(random)
      const what = `round ${round}: ${drawn.type} [${drawn.shape}] ${JSON.stringify(drawn.view.strides)}`
      await writeNpy(path, drawn.view as never)
      const options = drawn.type === 'uint8' ? { dtype: 'uint8' as const } : {}
      expectSame(await readNpy(path, options), drawn, what)
      const bytes = formatNpy(drawn.view as never)
      // The bytes may begin at any address.
      const moved = new Uint8Array(bytes.length + 8).subarray(random.integer(0, 7))
      moved.set(bytes)
      expectSame(parseNpy(moved.subarray(0, bytes.length), options), drawn, what)
    }
  })

  it('survives .npz, under any name', async () => {
    const random = new Random(12)
    const names = ['a', '__proto__', 'constructor', 'a/b', 'ε ∞', ' ', '.npy', 'a.npy', '0', 'x'.repeat(900)]
    const path = fresh('.npz')
    for (let round = 0; round < 40; round++) {
      const chosen = names.filter(() => random.chance(0.4))
      const drawn = new Map(chosen.map((name) => [name, draw(random)]))
      const arrays = Object.fromEntries([...drawn].map(([name, { view }]) => [name, view]))
      await writeNpz(path, arrays as never, { compress: random.chance(0.5) })
      for (const [name, one] of drawn) {
        const options = one.type === 'uint8' ? { dtype: 'uint8' as const } : {}
        const read = await readNpz(path, { arrays: [name], ...options })
        expect(Object.keys(read)).toEqual([name])
        expectSame(read[name]!, one, `round ${round}, array ${name}`)
        if (one.type !== 'uint8')
          expectSame(await readMatrix(path, { array: name }), one, `round ${round}, ${name}`)
      }
      expect(Object.keys(await readNpz(path)).sort()).toEqual([...chosen].sort())
    }
  })
})

it('reads a Fortran .npy of any type and byte order with the same elements', async () => {
  const random = new Random(13)
  const path = fresh('.npy')
  for (let round = 0; round < 60; round++) {
    const { type, shape, elements } = draw(random)
    const code = { int32: 'i4', float32: 'f4', float64: 'f8', uint8: 'u1' }[type]
    const isBig = random.chance(0.5)
    const bytes = Buffer.alloc(elements.length * types[type].BYTES_PER_ELEMENT)
    // The first index varies fastest in the order of the file.
    const position = (at: number) => {
      let [rest, linear] = [at, 0]
      const index = [...shape].reverse().map((size) => {
        const own = rest % size
        rest = Math.floor(rest / size)
        return own
      })
      index.reverse()
      let step = 1
      for (const [axis, own] of index.entries()) {
        linear += own * step
        step *= shape[axis]!
      }
      return linear
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    for (const [at, element] of elements.entries()) {
      const byte = position(at) * types[type].BYTES_PER_ELEMENT
      if (type === 'int32') view.setInt32(byte, element, !isBig)
      else if (type === 'float32') view.setFloat32(byte, element, !isBig)
      else if (type === 'float64') view.setFloat64(byte, element, !isBig)
      else view.setUint8(byte, element)
    }
    const order = type === 'uint8' ? '|' : isBig ? '>' : '<'
    const text =
      `{'descr': '${order}${code}', 'fortran_order': True, 'shape': (${shape.join(', ')}), }`.padEnd(117)
    writeFileSync(path, Buffer.concat([Buffer.from(`\x93NUMPY\x01\x00v\x00${text}\n`, 'latin1'), bytes]))
    const read = await readNpy(path, type === 'uint8' ? { dtype: 'uint8' } : {})
    const strides = read.strides ?? []
    const got: number[] = []
    const gather = (axis: number, at: number) => {
      if (axis === shape.length) got.push(read.data[at]!)
      else for (let index = 0; index < shape[axis]!; index++) gather(axis + 1, at + index * strides[axis]!)
    }
    expect([...read.shape]).toEqual(shape)
    gather(0, read.offset ?? 0)
    expect(
      got.every((element, at) => Object.is(element, elements[at])) && got.length === elements.length,
    ).toBe(true)
    await writeNpy(path, read)
    expectSame(
      await readNpy(path, type === 'uint8' ? { dtype: 'uint8' } : {}),
      { view: read, type, shape, elements } as never,
      `round ${round}`,
    )
  }
})

it('reads sparse archives of any format, type and byte order with their entries', async () => {
  const random = new Random(14)
  const path = fresh('.npz')
  const integers = { i1: 1, u1: 1, i2: 2, u2: 2, i4: 4, u4: 4, i8: 8, u8: 8 } as const
  /** Array of integers in the byte order of the file. */
  const packed = (values: number[], code: keyof typeof integers | 'f4' | 'f8', isBig: boolean): Part => {
    const size = code === 'f4' ? 4 : code === 'f8' ? 8 : integers[code]
    const bytes = Buffer.alloc(values.length * size)
    for (const [at, value] of values.entries()) {
      if (code === 'f4') isBig ? bytes.writeFloatBE(value, at * 4) : bytes.writeFloatLE(value, at * 4)
      else if (code === 'f8') isBig ? bytes.writeDoubleBE(value, at * 8) : bytes.writeDoubleLE(value, at * 8)
      else {
        const little = Buffer.alloc(8)
        little.writeBigInt64LE(BigInt(value))
        const own = little.subarray(0, size)
        if (isBig) own.reverse()
        own.copy(bytes, at * size)
      }
    }
    return [size === 1 ? `|${code}` : `${isBig ? '>' : '<'}${code}`, `(${values.length},)`, bytes]
  }
  for (let round = 0; round < 80; round++) {
    const [rows, cols] = [random.pick(SIZES), random.pick(SIZES)]
    const kind = random.pick(['csr', 'csc', 'coo'] as const)
    const count = rows * cols === 0 ? 0 : random.pick([0, 1, 7, 40])
    const valueCode = random.pick(['i1', 'i4', 'i8', 'u2', 'f4', 'f8'] as const)
    const indexCode = random.pick(['i4', 'i8', 'u2'] as const)
    const isBig = random.chance(0.5)
    const value = () =>
      valueCode.startsWith('f')
        ? random.integer(-1000, 1000) / 8
        : random.integer(valueCode.startsWith('u') ? 0 : -128, 127)
    const all = Array.from({ length: count }, () => ({
      row: random.integer(0, rows - 1),
      col: random.integer(0, cols - 1),
      value: value(),
    }))
    const line = kind === 'csc' ? 'col' : 'row'
    if (kind !== 'coo') all.sort((x, y) => x[line] - y[line])
    const lines = kind === 'csc' ? cols : rows
    const ends = Array.from(
      { length: lines + 1 },
      (_, end) => all.filter((entry) => entry[line] < end).length,
    )
    const list = (name: 'row' | 'col') => all.map((entry) => entry[name])
    const other = kind === 'csc' ? 'row' : 'col'
    writeFileSync(
      path,
      await npzOf({
        format: format(kind),
        shape: int64(rows, cols),
        data: packed(list('value' as never), valueCode, isBig),
        ...(kind === 'coo'
          ? { row: packed(list('row'), indexCode, isBig), col: packed(list('col'), indexCode, isBig) }
          : { indptr: packed(ends, indexCode, isBig), indices: packed(list(other), indexCode, isBig) }),
      }),
    )
    const read = await readEntries(path)
    const what = `round ${round}: ${kind} of ${valueCode}, ${rows} × ${cols}`
    expect(read.shape, what).toEqual([rows, cols])
    expect([...read.row], what).toEqual(list('row'))
    expect([...read.col], what).toEqual(list('col'))
    expect([...read.value], what).toEqual(list('value' as never))
    expect(read.value, what).toBeInstanceOf(valueCode.startsWith('f') ? Float64Array : Int32Array)
  }
})
