/** Makes random calls and judges their outcomes. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Device,
  type DeviceMatrix,
  type GroupedProduct,
  type MpmmResult,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  type Shape,
} from '../../lib/index.js'
import { arrays, dtypeOf } from '../dtype.js'
import { type Call, type Dense, matricesOf, type Product, type ProductCall } from './calls.js'
import type { OperandPlacements } from './mistakes.js'

/** Outcome of a call: its results as row-major arrays, or the error. */
export type Outcome = { results: Dense[] } | { error: unknown }

/** Waits until the device is idle, because an aborted product keeps its memory until its kernels end. */
export async function untilIdle(device: Device): Promise<void> {
  const last = await device.full([1, 1], 0)
  await last.download()
  last.dispose()
}

export async function perform(call: Call, placements: OperandPlacements): Promise<Outcome> {
  try {
    if (call.mistake) {
      await call.mistake.make(placements)
      return { results: [] }
    }
    return { results: await multiply(call.call, placements.device) }
  } catch (error) {
    return { error }
  }
}

/** Copies a matrix, or a view of one, to one that is stored by rows, or by columns. */
function copied({ data, shape, strides, offset }: Dense, byColumns: boolean): Dense {
  const [rows, cols] = shape.slice(-2) as [number, number]
  const [batch, ownStrides] = shape.length === 3 ? [shape[0], strides] : [1, [0, ...strides]]
  const [ofItem, ofRow, ofCol] = ownStrides as [number, number, number]
  const copy = new arrays[dtypeOf(data)](batch * rows * cols)
  const [down, right] = byColumns ? [1, rows] : [cols, 1]
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < cols; j++) {
        const from = offset + item * ofItem + i * ofRow + j * ofCol
        copy[item * rows * cols + i * down + j * right] = data[from]!
      }
    }
  }
  const steps = shape.length === 3 ? [rows * cols, down, right] : [down, right]
  return { data: copy, shape, strides: steps as Shape, offset: 0 }
}

/** Handle of a matrix in an array or on the device. */
type Handle = Dense | DeviceMatrix<never>

async function multiply(call: ProductCall, device: Device): Promise<Dense[]> {
  const residents: { dispose(): void }[] = []
  const put = async (source: Dense, byColumns: boolean, isResident: boolean): Promise<Handle> => {
    const given = copied(source, byColumns)
    if (!isResident) return given
    const there = (await device.upload(given)) as DeviceMatrix<never>
    residents.push(there)
    return there
  }
  const makeProduct = async (product: Product): Promise<GroupedProduct> => {
    const { a, b, c0 } = matricesOf(product)
    const { accumulate, hasOut, byColumns, shapes, bothResident } = product
    const there = call.isResident
    // A product without C0 overwrites `out`.
    const before = () => matrix(shapes.c, new arrays[product.dtype](sizeOf(shapes.c)).fill(1))
    const out = accumulate === 'out' ? c0 : hasOut ? (before() as Dense) : null
    const c = accumulate === 'a matrix' ? await put(c0!, byColumns.c, there && bothResident) : undefined
    return {
      a: await put(a, byColumns.a, there),
      b: await put(b, byColumns.b, there && bothResident),
      ...(out && { out: await put(out, byColumns.c, there) }),
      ...(accumulate !== 'nothing' && { accumulate: c ?? true }),
    } as GroupedProduct
  }
  try {
    const products: GroupedProduct[] = []
    for (const product of call.products) products.push(await makeProduct(product))
    const dense: Dense[] = []
    for (const { c } of await run(call, products, device)) {
      if ('dispose' in c) residents.push(c)
      dense.push(copied('download' in c ? ((await c.download()) as Dense) : c, false))
    }
    return dense
  } finally {
    for (const one of residents) one.dispose()
  }
}

const sizeOf = (shape: Readonly<Shape>) => shape.reduce<number>((product, size) => product * size, 1)

async function run(
  { verb, abortTime, isResident, products: [first] }: ProductCall,
  products: readonly GroupedProduct[],
  device: Device,
): Promise<MpmmResult<Handle>[]> {
  const controller = new AbortController()
  if (abortTime === 'before') controller.abort()
  const options = {
    semiring: first!.semiring,
    overflow: first!.overflow,
    ...(!isResident && { backend: device.backend, device: device.index }),
    ...(abortTime !== null && { signal: controller.signal }),
  }
  const { a, b, ...rest } = products[0]!
  const start = async () => {
    if (verb === 'mpmmGrouped') return mpmmGrouped(products, options as never)
    const one = [a as Dense, b as Dense, { ...options, ...rest } as never] as const
    return [verb === 'mpmm' ? await mpmm(...one) : mpmmSync(...one)]
  }
  const running = start()
  if (abortTime === 'at once') controller.abort()
  if (typeof abortTime === 'number') {
    const handled = running.catch(() => {})
    await sleep(abortTime)
    controller.abort()
    await handled
  }
  return (await running) as never
}

/**
 * Compares the outcome of a call with the expected one. Returns a description of the difference; undefined if
 * there is none. `compare` computes each product independently.
 */
export function judge(
  call: Call,
  outcome: Outcome,
  compare: (product: Product, c: Dense) => string | undefined,
): string | undefined {
  if ('error' in outcome) {
    const code = (outcome.error as { code?: unknown } | null)?.code
    if (code !== undefined && code === call.code) return undefined
    // The call may abort, or finish before the abort.
    if (!call.mistake && call.call.abortTime !== null && code === 'ERR_MPMML_ABORTED') return undefined
    const { message } = outcome.error as { message?: string }
    return `ended with ${code ?? 'an error without a code'} instead of ${call.code ?? 'a result'}: ${message}`
  }
  if (call.code !== null) return `succeeded, but ${call.code} was to be expected`
  if (call.mistake) return undefined
  const { products } = call.call
  for (const [index, product] of products.entries()) {
    const c = outcome.results[index]!
    const expected = product.shapes.c
    if (dtypeOf(c.data) !== product.dtype) return `product ${index} is of ${dtypeOf(c.data)}`
    if (String(c.shape) !== String(expected)) return `product ${index} has the shape [${c.shape}]`
    const wrong = compare(product, c)
    if (wrong !== undefined) return `product ${index}: ${wrong}`
  }
  return undefined
}
