/** Matrices of random calls: their values, and the forms in which calls accept them. */
import {
  type DataType,
  type DenseMatrix,
  type Device,
  type DeviceMatrix,
  type ElementArray,
  matrix,
  type OperandArray,
  type Semiring,
  type Shape,
  zeroOf,
} from '../../lib/index.js'
import { arrays, dtypeOf } from '../dtype.js'
import type { Draw } from '../random.js'

/** Devices that calls use. */
export interface OperandPlacements {
  device: Device
  /** Second open device. A call can't combine matrices of two devices. */
  elsewhere: Device
}

export type Dense = DenseMatrix<ElementArray>
export type Anywhere = DenseMatrix<OperandArray> | DeviceMatrix<OperandArray>

/**
 * Sums of 'any' int32 values may overflow; sums of values in 'half' of the range never do. 'small'
 * floating-point values are integers, so that plus-times products are exact in any order of the sums.
 */
export type Values = 'small' | 'half' | 'any'

const limits: Record<Values, [number, number]> = {
  small: [-60, 90],
  half: [-(2 ** 30) + 1, 2 ** 30 - 1],
  any: [-(2 ** 31) + 1, 2 ** 31 - 2],
}

/** Returns a row-major matrix of valid elements of the semiring, including its zero. */
export function randomDense(
  draw: Draw,
  shape: Readonly<Shape>,
  semiring: Semiring,
  dtype: DataType,
  values: Values,
): Dense {
  const zero = zeroOf(semiring, dtype)
  const [least, most] = limits[values]
  const low = semiring === 'max-times' || dtype === 'uint8' ? 0 : least
  const high = dtype === 'uint8' ? 2 : most
  const data = new arrays[dtype](shape.reduce<number>((product, size) => product * size, 1))
  // A single random number decides whether the element is zero, and its value otherwise.
  const step = (high - low + 1) / 0.8
  for (let index = 0; index < data.length; index++) {
    const share = draw.share()
    data[index] = share < 0.8 ? low + Math.floor(share * step) : zero
  }
  return matrix(shape, data) as Dense
}

interface Layout {
  length: number
  offset: number
  /** Strides in elements between matrices, rows and columns. */
  strides: [number, number, number]
}

const layouts = {
  'row-major': ([batch, rows, cols]) => ({
    length: batch * rows * cols,
    offset: 0,
    strides: [rows * cols, cols, 1],
  }),
  transposed: ([batch, rows, cols]) => ({
    length: batch * rows * cols,
    offset: 0,
    strides: [rows * cols, 1, rows],
  }),
  'in a larger matrix': ([batch, rows, cols]) => ({
    length: batch * (rows + 2) * (cols + 3),
    offset: cols + 3 + 2,
    strides: [(rows + 2) * (cols + 3), cols + 3, 1],
  }),
  'every other element': ([batch, rows, cols]) => ({
    length: 2 * batch * rows * cols + 1,
    offset: 1,
    strides: [2 * rows * cols, 2 * cols, 2],
  }),
} satisfies Record<string, (sizes: [batch: number, rows: number, cols: number]) => Layout>

export type LayoutName = keyof typeof layouts
export const layoutNames = Object.keys(layouts) as LayoutName[]

/** Returns the filler between the elements of a matrix, which would change results if a kernel read it. */
const betweenOf = (data: OperandArray) =>
  data instanceof Uint8Array ? 1 : data instanceof Int16Array ? 29_999 : 1_000_000_000

const sizesOf = (shape: Readonly<Shape>): [batch: number, rows: number, cols: number] =>
  shape.length === 3 ? [...shape] : [1, ...shape]

function forEach(
  shape: Readonly<Shape>,
  { offset, strides: [batchStride, rowStride, colStride] }: Layout,
  visit: (place: number, index: number) => void,
): void {
  const [batch, rows, cols] = sizesOf(shape)
  let index = 0
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < rows; i++) {
      const row = offset + item * batchStride + i * rowStride
      for (let j = 0; j < cols; j++) visit(row + j * colStride, index++)
    }
  }
}

/** Matrix in an array, with a method that reads the product written into it. */
export interface PlacedMatrix {
  matrix: DenseMatrix<OperandArray>
  /** @throws Error if the filler between the matrix's elements has changed. */
  read(): Dense
}

export function place(source: DenseMatrix<OperandArray>, name: LayoutName): PlacedMatrix {
  const { data: elements, shape } = source
  const layout: Layout = layouts[name](sizesOf(shape))
  const between = betweenOf(elements)
  const data = new (elements.constructor as Int32ArrayConstructor)(layout.length).fill(
    between,
  ) as OperandArray
  forEach(shape, layout, (place, index) => {
    data[place] = elements[index]!
  })
  const strides = (shape.length === 3 ? layout.strides : layout.strides.slice(1)) as Shape
  const placed = { data: data as never, shape, strides, offset: layout.offset }
  return { matrix: placed, read: () => readFrom(data, shape, layout) }
}

function readFrom(data: OperandArray, shape: Shape, layout: Layout): Dense {
  const between = betweenOf(data)
  const read = new arrays[dtypeOf(data as ElementArray)](
    shape.reduce<number>((product, size) => product * size, 1),
  )
  const rest = data.slice()
  forEach(shape, layout, (place, index) => {
    read[index] = data[place]!
    rest[place] = between
  })
  const changed = rest.findIndex((value) => value !== between)
  if (changed >= 0) throw new Error(`element ${changed} of out.data isn't one of out, but was written`)
  return matrix(shape, read) as Dense
}

/**
 * Converts a matrix to an Int16Array; the zero of max-plus or min-plus becomes the least or greatest value.
 */
export function narrowed({ data, shape }: Dense): DenseMatrix<Int16Array> {
  const ends = { [-(2 ** 31)]: -(2 ** 15), [2 ** 31 - 1]: 2 ** 15 - 1 } as Record<number, number>
  return matrix(
    shape,
    Int16Array.from(data, (value) => ends[value] ?? value),
  )
}

export const residentForms = ['uploaded', 'a view', 'a transpose'] as const
export type ResidentForm = (typeof residentForms)[number]

/** Matrix on a device, with a method that reads the product written into it. */
export interface Resident {
  matrix: DeviceMatrix<OperandArray>
  /** Downloads the matrix. For views it also checks that the surrounding elements are unchanged. */
  read(): Promise<Dense>
  dispose(): void
}

/** Uploads a matrix to a device: directly, or as a view of a larger or transposed matrix. */
export async function upload(
  device: Device,
  source: DenseMatrix<OperandArray>,
  form: ResidentForm,
  layout: LayoutName,
): Promise<Resident> {
  const { shape } = source
  const [rows, cols] = shape.slice(-2) as [number, number]
  const sizes = (height: number, width: number) => [...shape.slice(0, -2), height, width] as Shape
  const download = async (from: DeviceMatrix<OperandArray>) => (await from.download()) as Dense
  const handle = (
    parent: DeviceMatrix<OperandArray>,
    view: DeviceMatrix<OperandArray>,
    read: () => Promise<Dense>,
  ): Resident => ({
    matrix: view,
    read,
    dispose() {
      view.dispose()
      parent.dispose()
    },
  })
  if (form === 'a transpose') {
    const { data } = place(source, 'transposed').matrix
    const parent = await device.upload(matrix(sizes(cols, rows), data))
    const view = parent.transpose()
    return handle(parent, view, () => download(view))
  }
  if (form === 'a view') {
    const name = 'in a larger matrix'
    const { data } = place(source, name).matrix
    const parent = await device.upload(matrix(sizes(rows + 2, cols + 3), data))
    const view = parent.view({ rows: [1, 1 + rows], cols: [2, 2 + cols] })
    return handle(parent, view, async () =>
      readFrom((await parent.download()).data, shape, layouts[name](sizesOf(shape))),
    )
  }
  const whole = await device.upload(place(source, layout).matrix)
  return handle(whole, whole, () => download(whole))
}
