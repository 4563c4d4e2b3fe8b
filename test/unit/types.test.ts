/** Types that TypeScript infers for products: checked by `npm run lint`, and computed here. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { greatestSubsolution, leftResidual, rightResidual } from '../../lib/algebra.js'
import {
  type DenseMatrix,
  DeviceMatrix,
  type ElementArray,
  type GroupedProduct,
  type MatrixLike,
  type MpmmOptions,
  type MpmmResult,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  openDevice,
} from '../../lib/index.js'

const ints = matrix(2, 2)
const narrow = matrix(2, 2, new Int16Array(4))
const floats = matrix(2, 2, new Float64Array(4))

describe('the type of a result', () => {
  it('is the type of the elements', async () => {
    expectTypeOf((await mpmm(ints, narrow)).c).toExtend<DenseMatrix>()
    expectTypeOf(mpmmSync(narrow, narrow).c).toExtend<DenseMatrix>()
    expectTypeOf(mpmmSync(floats, floats).c).toExtend<DenseMatrix<Float64Array>>()
    const [result] = await mpmmGrouped([{ a: floats, b: floats }])
    expectTypeOf(result!.c).toExtend<DenseMatrix<Float64Array>>()
    expect(result!.c.data).toBeInstanceOf(Float64Array)
  })

  it('is a matrix on a device if an operand is', async () => {
    await using device = await openDevice({ backend: 'cpu' })
    const A = await device.upload(ints)
    const half = await device.upload(narrow)
    const F = await device.full([2, 2], 0, 'float64')
    expectTypeOf(A).toExtend<DeviceMatrix<Int32Array>>()
    expectTypeOf(half).toExtend<DeviceMatrix<Int16Array>>()
    expectTypeOf(F).toExtend<DeviceMatrix<Float64Array>>()
    expectTypeOf((await mpmm(half, ints)).c).toExtend<DeviceMatrix<Int32Array>>()
    expectTypeOf((await mpmm(ints, half)).c).toExtend<DeviceMatrix<Int32Array>>()
    expectTypeOf(mpmmSync(F, floats).c).toExtend<DeviceMatrix<Float64Array>>()
    expectTypeOf((await mpmm(ints, ints, { accumulate: A, out: A })).c).toExtend<DeviceMatrix<Int32Array>>()
    expectTypeOf(await F.download()).toExtend<DenseMatrix<Float64Array>>()
    expectTypeOf(await half.download()).toExtend<DenseMatrix<Int16Array>>()
    expectTypeOf(await A.transpose().download(ints)).toExtend<typeof ints>()
    const [result] = await mpmmGrouped(
      [
        { a: F, b: floats },
        { a: F, b: F, out: F.view() },
      ].slice(0, 1),
    )
    expectTypeOf(result!.c).toExtend<DeviceMatrix<Float64Array>>()
    expect(result!.c.dtype).toBe('float64')
  })

  it('has a witness if the option is true, and may have one if it is a boolean', async () => {
    await using device = await openDevice({ backend: 'cpu' })
    const A = await device.upload(floats)
    const { witness } = await mpmm(floats, floats, { witness: true })
    expectTypeOf(witness).toEqualTypeOf<DenseMatrix<Int32Array>>()
    expect(witness.data).toBeInstanceOf(Int32Array)
    expectTypeOf(mpmmSync(ints, narrow, { witness: true }).witness).toEqualTypeOf<DenseMatrix<Int32Array>>()
    expectTypeOf((await mpmm(A, floats, { witness: true })).witness).toEqualTypeOf<DeviceMatrix<Int32Array>>()
    expectTypeOf((await mpmm(floats, A, { witness: true })).witness).toEqualTypeOf<DeviceMatrix<Int32Array>>()
    const [result] = await mpmmGrouped([{ a: floats, b: floats }], { witness: true })
    expectTypeOf(result!.witness).toEqualTypeOf<DenseMatrix<Int32Array>>()
    const [resident] = await mpmmGrouped([{ a: A, b: floats }], { witness: true })
    expectTypeOf(resident!.witness).toEqualTypeOf<DeviceMatrix<Int32Array>>()
    const asks = Math.random() < 2
    const maybe = mpmmSync(ints, ints, { witness: asks })
    expectTypeOf(maybe.witness).toEqualTypeOf<DenseMatrix<Int32Array> | undefined>()
    expect(maybe.witness?.data).toHaveLength(4)
    const options: MpmmOptions = {}
    expectTypeOf(mpmmSync(ints, ints, options).witness).toEqualTypeOf<DenseMatrix<Int32Array> | undefined>()
    expectTypeOf(await mpmm(ints, ints, { witness: true })).toExtend<MpmmResult>()
    // @ts-expect-error: no witness was requested
    expect(mpmmSync(ints, ints).witness).toBeUndefined()
    // @ts-expect-error: no witness was requested of min-plus
    expect(mpmmSync(ints, ints, { semiring: 'min-plus' }).witness).toBeUndefined()
    // @ts-expect-error: `witness` is false
    expect((await mpmm(ints, ints, { witness: false })).witness).toBeUndefined()
    // @ts-expect-error: it is a boolean
    await expect(mpmm(ints, ints, { witness: 1 })).rejects.toThrow('boolean')
  })

  it('is as open as the types of all matrices', async () => {
    await using device = await openDevice({ backend: 'cpu' })
    const A = await device.upload(ints)
    const any: DenseMatrix<ElementArray> = ints
    const maybe: DenseMatrix | DeviceMatrix = A
    expectTypeOf(mpmmSync(any, any).c).toEqualTypeOf<DenseMatrix<ElementArray>>()
    // Only elements of one type can be multiplied.
    expectTypeOf(mpmmSync(any, ints).c).toEqualTypeOf<DenseMatrix>()
    const either = mpmmSync(ints, maybe as typeof A | typeof ints)
    expectTypeOf(either.c).toEqualTypeOf<DenseMatrix | DeviceMatrix>()
    const view = { data: new Int32Array(4), shape: [2, 2] }
    expectTypeOf(mpmmSync(ints, ints, { out: view }).c).toEqualTypeOf<typeof view>()
    expectTypeOf(mpmmSync(ints, ints, { accumulate: view }).c).toEqualTypeOf<DenseMatrix>()
    expectTypeOf(mpmmSync(ints, ints, { out: undefined }).c).toEqualTypeOf<DenseMatrix>()
    expectTypeOf(mpmmSync(ints, ints, { accumulate: A }).c).toEqualTypeOf<DeviceMatrix<Int32Array>>()
    const options: MpmmOptions = { out: view }
    expectTypeOf(mpmmSync(ints, ints, options).c).toEqualTypeOf<MatrixLike>()
    const products: GroupedProduct<DenseMatrix, DenseMatrix, DenseMatrix>[] = [{ a: ints, b: ints }]
    expectTypeOf((await mpmmGrouped(products))[0]!.c).toEqualTypeOf<DenseMatrix>()
    const mixed = [
      { a: ints, b: narrow },
      { a: narrow, b: ints, out: view },
    ]
    const results = await mpmmGrouped(mixed)
    expectTypeOf(results[0]!.c).toExtend<DenseMatrix | typeof view>()
    const resident = await mpmmGrouped([
      { a: ints, b: A },
      { a: A, b: ints },
    ])
    expectTypeOf(resident[0]!.c).toExtend<DenseMatrix | DeviceMatrix>()
    expect(resident[0]!.c).toBeInstanceOf(DeviceMatrix)
  })

  it('is the type of products for residuals', async () => {
    await using device = await openDevice({ backend: 'cpu' })
    const F = await device.upload(floats)
    expectTypeOf((await leftResidual(ints, narrow)).c).toEqualTypeOf<DenseMatrix>()
    expectTypeOf((await rightResidual(floats, F)).c).toExtend<DeviceMatrix<Float64Array>>()
    const { x } = await greatestSubsolution(F, F)
    expectTypeOf(x).toExtend<DeviceMatrix<Float64Array>>()
    expect(x.dtype).toBe('float64')
  })

  it('is in an ArrayBuffer, so that functions without support of shared memory accept it', async () => {
    await using device = await openDevice({ backend: 'cpu' })
    const { c } = await mpmm(ints, ints)
    expectTypeOf(c.data).toEqualTypeOf<Int32Array<ArrayBuffer>>()
    expectTypeOf(ints.data).toEqualTypeOf<Int32Array<ArrayBuffer>>()
    const A = await device.upload(floats)
    expectTypeOf((await A.download()).data).toEqualTypeOf<Float64Array<ArrayBuffer>>()
    expect(new Blob([c.data]).size).toBe(16)
  })

  it('rejects an out of other elements, and accumulation without a matrix', async () => {
    // @ts-expect-error: there is no matrix to accumulate to
    await expect(mpmm(ints, ints, { accumulate: true })).rejects.toThrow('accumulate')
    // @ts-expect-error: `out` has no content to accumulate to
    expect(() => mpmmSync(floats, floats, { accumulate: true })).toThrow('accumulate')
    // @ts-expect-error: the result is of int32
    await expect(mpmm(ints, narrow, { out: floats })).rejects.toThrow('int32')
    // @ts-expect-error: the result is of float64
    expect(() => mpmmSync(floats, floats, { out: ints })).toThrow('float64')
    const out = matrix(2, 2)
    expect(mpmmSync(ints, narrow, { out, accumulate: true }).c).toBe(out)
    const either: MpmmOptions = { accumulate: out }
    expect(mpmmSync(ints, ints, either).c.data).toHaveLength(4)
  })

  it('rejects in groups the errors of products', async () => {
    // @ts-expect-error: there is no matrix to accumulate to
    await expect(mpmmGrouped([{ a: ints, b: ints, accumulate: true }])).rejects.toThrow('accumulate')
    // @ts-expect-error: the result is of int32
    await expect(mpmmGrouped([{ a: ints, b: narrow, out: floats }])).rejects.toThrow('int32')
    const right = { a: ints, b: ints }
    // @ts-expect-error: the second result is of float64
    await expect(mpmmGrouped([right, { a: floats, b: floats, out: ints }])).rejects.toThrow('float64')
    const out = matrix(2, 2)
    const results = await mpmmGrouped([right, { a: narrow, b: ints, out, accumulate: true }])
    expectTypeOf(results[0]!.c).toExtend<DenseMatrix>()
    expect(results[1]!.c).toBe(out)
  })

  it('rejects fractions in matrices of int32', () => {
    // @ts-expect-error: arrays of numbers hold integers
    expect(() => matrix(1, 2, [1, 0.5])).toThrow('data[1]')
    // @ts-expect-error: arrays of numbers hold integers, also with a shape
    expect(() => matrix([1, 1], [-2.5])).toThrow('data[0]')
    const numbers: number[] = [1, -2]
    expectTypeOf(matrix(1, 2, numbers)).toEqualTypeOf<DenseMatrix>()
    expectTypeOf(matrix(1, 2, [1, -2])).toEqualTypeOf<DenseMatrix>()
    expectTypeOf(matrix([1, 2], [1, -(2 ** 31)] as const)).toEqualTypeOf<DenseMatrix>()
  })

  it('rejects calls that would throw', async () => {
    // @ts-expect-error: a matrix has no such property
    expect(mpmmSync({ data: new Int32Array(2), shape: [1, 1], ofset: 1 }, matrix(1, 1)).c.shape).toEqual([
      1, 1,
    ])
    await using device = await openDevice({ backend: 'cpu' })
    const [A, F] = [await device.upload(ints), await device.upload(floats)]
    // @ts-expect-error: combine takes a matrix of the same type
    await expect(A.combine(F)).rejects.toThrow('d must be of int32')
    // @ts-expect-error: a copy goes into an array of the same type
    await expect(A.download(floats)).rejects.toThrow('out must be of int32')
    // @ts-expect-error: a result isn't int16
    await expect(device.full([1, 1], 0, 'int16')).rejects.toThrow('int16')
    // @ts-expect-error: a group has no variant
    await expect(mpmmGrouped([{ a: ints, b: ints }], { variant: 'naive' })).rejects.toThrow('variant')
  })
})
