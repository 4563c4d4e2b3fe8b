/** Makes random calls and judges their outcomes. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type DenseMatrix,
  type Device,
  type DeviceMatrix,
  type GroupedOptions,
  type GroupedProduct,
  type MpmmOptions,
  type MpmmResult,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  type OperandArray,
} from '../../lib/index.js'
import { dtypeOf } from '../dtype.js'
import {
  type Call,
  type Matrices,
  matricesOf,
  type OperandForm,
  type Product,
  type ProductCall,
} from './calls.js'
import {
  type Anywhere,
  type Dense,
  narrowed,
  type OperandPlacements,
  type PlacedMatrix,
  place,
  type Resident,
  upload,
} from './matrices.js'

/** Outcome of a call: its results as row-major arrays, or the error. */
export type Outcome = { results: Dense[] } | { error: unknown }

/** Waits until the device is idle, because an aborted product keeps its memory until its kernels end. */
export async function untilIdle(device: Device): Promise<void> {
  const last = await device.full([1, 1], 0)
  await last.download()
  last.dispose()
}

export async function perform(call: Call, places: OperandPlacements): Promise<Outcome> {
  try {
    if (call.mistake) {
      await call.mistake.make(places)
      return { results: [] }
    }
    return { results: await multiply(call.call, places) }
  } catch (error) {
    return { error }
  }
}

interface Made {
  product: GroupedProduct
  /** Reads `out` after the call. */
  read: (() => Dense | Promise<Dense>) | null
}

async function multiply(call: ProductCall, { device }: OperandPlacements): Promise<Dense[]> {
  const residents: Resident[] = []
  const results: DeviceMatrix<OperandArray>[] = []
  try {
    const inArrays = call.products.every(({ a, b }) => a.resident === null && b.resident === null)
    const made: Made[] = []
    for (const product of call.products) {
      made.push(await hand(product, matricesOf(product), inArrays, device, residents))
    }
    const { semiring, overflow } = call.products[0]!
    const where = inArrays ? { backend: device.backend, device: device.index } : {}
    const came = await run(call, made, { semiring, overflow, ...where })
    const dense: Dense[] = []
    for (const [index, { c }] of came.entries()) {
      const { read } = made[index]!
      if ('dispose' in c && !read) results.push(c as DeviceMatrix<OperandArray>)
      if (read) dense.push(await read())
      else dense.push('download' in c ? ((await c.download()) as Dense) : (c as Dense))
    }
    return dense
  } finally {
    for (const matrix of [...residents, ...results]) matrix.dispose()
  }
}

/** Prepares the matrices of a product in the requested forms. */
async function hand(
  product: Product,
  { a, b, c0 }: Matrices,
  inArrays: boolean,
  device: Device,
  residents: Resident[],
): Promise<Made> {
  const put = async (
    source: Dense,
    { layout, resident, int16 }: OperandForm,
  ): Promise<PlacedMatrix | Resident> => {
    const given: DenseMatrix<OperandArray> = int16 ? narrowed(source) : source
    if (resident === null) return place(given, layout)
    const there = await upload(device, given, resident, layout)
    residents.push(there)
    return there
  }
  const made: GroupedProduct = {
    a: (await put(a, product.a)).matrix as Anywhere,
    b: (await put(b, product.b)).matrix as Anywhere,
  }
  if (product.accumulate === 'a matrix') made.accumulate = (await put(c0!, product.c0)).matrix as never
  if (product.accumulate === 'out') made.accumulate = true
  if (!product.out) return { product: made, read: null }
  // In a group, one device matrix moves all results to the device.
  const onDevice = product.out.resident ?? (inArrays ? null : 'uploaded')
  const before = product.accumulate === 'out' ? c0! : overwritten(product, a)
  const out = await put(before, { ...product.out, resident: onDevice })
  made.out = out.matrix as never
  return { product: made, read: () => out.read() }
}

/** Returns the content of `out` for a product that doesn't read it. */
function overwritten({ shapes }: Product, like: Dense): Dense {
  const length = shapes.c.reduce<number>((product, size) => product * size, 1)
  const Type = like.data.constructor as Int32ArrayConstructor
  const [rows, cols] = shapes.c.slice(-2) as [number, number]
  const strides = shapes.c.length === 3 ? [rows * cols, cols, 1] : [cols, 1]
  return { data: new Type(length).fill(1), shape: shapes.c, strides, offset: 0 } as unknown as Dense
}

async function run(
  { verb, givenUp }: ProductCall,
  made: readonly Made[],
  options: MpmmOptions & GroupedOptions,
): Promise<MpmmResult<Dense | DeviceMatrix<never>>[]> {
  const controller = new AbortController()
  if (givenUp === 'before') controller.abort()
  const given = givenUp === null ? options : { ...options, signal: controller.signal }
  const { a, b, ...rest } = made[0]!.product
  const start = async () => {
    if (verb === 'mpmmGrouped')
      return mpmmGrouped(
        made.map(({ product }) => product),
        given as never,
      )
    if (verb === 'mpmm') return [await mpmm(a, b, { ...given, ...rest } as never)]
    return [mpmmSync(a, b, { ...given, ...rest } as never)]
  }
  const running = start()
  if (givenUp === 'at once') controller.abort()
  if (typeof givenUp === 'number') {
    const handled = running.catch(() => {})
    await sleep(givenUp)
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
    if (!call.mistake && call.call.givenUp !== null && code === 'ERR_MPMML_ABORTED') return undefined
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
