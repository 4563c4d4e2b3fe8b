/** Products over the semirings without sums, on a GPU, and that both backends give the same bits. */
import { afterEach, describe, expect, it } from 'vitest'
import {
  type ElementArray,
  info,
  type MatrixLike,
  type MpmmOptions,
  mpmmSync,
  type OperandArray,
  pinnedInt32Array,
} from '../../lib/index.js'
import { expectError, thrown } from '../support/expect.js'
import { withoutCuda } from '../support/machine.js'
import {
  type Algebra,
  algebras,
  kindsOf,
  mixed,
  otherOperands,
  randomOther,
} from '../support/other-operands.js'
import { type OtherMatrix, otherArrays } from '../support/semirings-oracle.js'
import { semiringSuite } from '../support/suite-semirings.js'

const reason = withoutCuda()

const bytesOf = ({ buffer, byteOffset, byteLength }: ElementArray) =>
  Buffer.from(buffer, byteOffset, byteLength)

function compute(a: OtherMatrix, b: OtherMatrix, options: object): ElementArray {
  const operands = [a, b] as [MatrixLike<OperandArray>, MatrixLike<OperandArray>]
  return mpmmSync(...operands, options as MpmmOptions).c.data as ElementArray
}

/** Both backends' results are the same bytes. */
function expectSame(a: OtherMatrix, b: OtherMatrix, { semiring }: Algebra, options: object = {}) {
  const [cuda, cpu] = (['cuda', 'cpu'] as const).map((backend) =>
    compute(a, b, { ...options, semiring, backend }),
  )
  expect(bytesOf(cuda!).equals(bytesOf(cpu!)), 'the results of cuda and cpu are the same').toBe(true)
  return cuda!
}

/** A product of this many steps is cut into panels. */
const large = [2900, 2100, 2700] as const

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () => {
  semiringSuite('cuda')

  for (const algebra of algebras) {
    const { semiring, type } = algebra
    describe(`${semiring} on ${type}, bit for bit as the CPU`, () => {
      afterEach(() => {
        delete process.env.MPMML_DEVICE_MEMORY_MIB
      })

      it.each(Object.keys(kindsOf(type)))('%s', (kind) => {
        const { a, b } = otherOperands(kind, algebra, [301, 257, 409], 51)
        expectSame(a, b, algebra, { accumulate: randomOther(kind, algebra, [301, 409], 52) })
      })

      it('in panels that overlap transfers, with a C0', () => {
        const { a, b } = otherOperands(mixed(type), algebra, large, 53)
        expectSame(a, b, algebra)
        expectSame(a, b, algebra, { accumulate: randomOther(mixed(type), algebra, [2900, 2700], 54) })
      })

      it.each([12, 25])('in blocks of %i MiB per byte of an element', (mebibytes) => {
        process.env.MPMML_DEVICE_MEMORY_MIB = String(mebibytes * otherArrays[type].BYTES_PER_ELEMENT)
        const { a, b } = otherOperands(mixed(type), algebra, large, 55)
        expectSame(a, b, algebra)
      })

      it('with operands and result in pinned memory', () => {
        const Type = otherArrays[type]
        const pinned = ({ data, shape }: OtherMatrix) => {
          const { buffer } = pinnedInt32Array(Math.ceil(data.byteLength / 4))
          const copy = new Type(buffer as ArrayBuffer, 0, data.length)
          copy.set(data)
          return { data: copy, shape }
        }
        for (const size of [
          [301, 257, 409],
          [1500, 1401, 1303],
        ] as const) {
          const { a, b } = otherOperands(mixed(type), algebra, size, 56)
          const out = pinned({ data: new Type(size[0] * size[2]), shape: [size[0], size[2]] })
          compute(pinned(a), pinned(b), { semiring, backend: 'cuda', out })
          expect(bytesOf(out.data).equals(bytesOf(compute(a, b, { semiring, backend: 'cpu' })))).toBe(true)
        }
      })
    })
  }

  it('or-and takes tensor cores on Hopper, if the product is large', () => {
    const isHopper = info().cuda.devices[0]!.computeCapability === '9.0'
    const algebra: Algebra = { semiring: 'or-and', type: 'uint8' }
    for (const kind of ['few bits', 'few bytes', 'all false']) {
      const { a, b } = otherOperands(kind, algebra, [2048, 2100, 2200], 59)
      expectSame(a, b, algebra)
      const operands = [a, b] as [MatrixLike<Uint8Array>, MatrixLike<Uint8Array>]
      const { variant } = mpmmSync(...operands, { semiring: 'or-and', backend: 'cuda' })
      expect(variant.startsWith('boolean_')).toBe(isHopper)
    }
  })

  it.each(['float32', 'float64'] as const)(
    'max-times on %s: a negative element in the last panel',
    (type) => {
      const algebra: Algebra = { semiring: 'max-times', type }
      for (const where of ['a', 'b', 'accumulate'] as const) {
        const { a, b } = otherOperands('probabilities', algebra, large, 57)
        const accumulate = randomOther('probabilities', algebra, [2900, 2700], 58)
        const { data, shape } = { a, b, accumulate }[where]
        data[data.length - 1] = -0.5
        const out = { data: new otherArrays[type](2900 * 2700).fill(77), shape: [2900, 2700] }
        const options = { semiring: 'max-times', backend: 'cuda', accumulate, out }
        const place = `[${shape[0]! - 1}, ${shape[1]! - 1}]`
        expectError(
          thrown(() => compute(a, b, options)),
          'ERR_MPMML_VALUE',
          place,
          '-0.5',
        )
        expect(out.data.every((value) => value === 77)).toBe(true)
      }
    },
  )
})
