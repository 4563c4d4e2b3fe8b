/** The tracing channel of products, which creates no trace without subscribers. */
import { tracingChannel } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from 'vitest'
import { matrix, mpmm, mpmmGrouped, mpmmSync, openDevice, type ProductTrace, plan } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { tracePromise, traceSync } from '../../lib/product/tracing.js'
import { counting, hamming } from '../../lib/semirings.js'

const channel = tracingChannel<'mpmml:product', ProductTrace>('mpmml:product')
const subscribed: Parameters<typeof channel.subscribe>[0][] = []

/**
 * Subscribes to all channels; returns the names of channels that receive messages, and the distinct messages.
 */
function listen(): { events: string[]; messages: ProductTrace[] } {
  const events: string[] = []
  const messages: ProductTrace[] = []
  const to = (event: string) => (message: unknown) => {
    events.push(event)
    if (!messages.includes(message as ProductTrace)) messages.push(message as ProductTrace)
  }
  const subscribers = {
    ...{ start: to('start'), end: to('end'), error: to('error') },
    ...{ asyncStart: to('asyncStart'), asyncEnd: to('asyncEnd') },
  }
  channel.subscribe(subscribers)
  subscribed.push(subscribers)
  return { events, messages }
}

afterEach(() => {
  for (const subscribers of subscribed.splice(0)) channel.unsubscribe(subscribers)
})

const a = matrix(2, 3, Int32Array.of(1, 6, 2, 8, 3, 4))
const b = matrix(3, 2, Int32Array.of(2, 5, 3, 3, 1, 6))
const large = matrix(2, 3, new Int32Array(6).fill(2 ** 31 - 1))

const product = {
  semiring: 'max-plus',
  dtype: 'int32',
  overflow: 'throw',
  batch: 1,
  m: 2,
  n: 2,
  k: 3,
  structure: null,
  a: { shape: [2, 3], dtype: 'int32', bytes: 24, resident: false },
  b: { shape: [3, 2], dtype: 'int32', bytes: 24, resident: false },
  accumulate: null,
  c: { shape: [2, 2], dtype: 'int32', bytes: 16, resident: false },
}

describe('calls', () => {
  it('have a message with the product and the result', async () => {
    const { events, messages } = listen()
    const result = await mpmm(a, b)
    expect(messages).toEqual([{ call: 'mpmm', products: [product], result }])
    expect(messages[0]!.result).toBe(result)
    expect(events).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
    expect([...result.c.data]).toEqual([9, 9, 10, 13])
  })

  it('have only a start and an end if they are synchronous', () => {
    const { events, messages } = listen()
    const result = mpmmSync(a, b)
    expect(messages).toEqual([{ call: 'mpmmSync', products: [product], result }])
    expect(events).toEqual(['start', 'end'])
  })

  it('have the structure of all three matrices', () => {
    const { messages } = listen()
    mpmmSync(a, b, { structure: { a: 'upper', c: { band: [0, 1] } } })
    expect(messages[0]!.products).toMatchObject([
      { structure: { a: 'upper', b: 'general', c: { band: [0, 1] } } },
    ])
  })

  it('have batches, int16, semirings, options and C0', () => {
    const { messages } = listen()
    const half = { data: new Int16Array(12), shape: [2, 2, 3] } as const
    mpmmSync(half, b, { semiring: 'min-plus', overflow: 'wrap', accumulate: matrix(2, 2) })
    const floats = { data: new Float64Array(6), shape: [2, 3] as [number, number] }
    mpmmSync(floats, { data: new Float64Array(12), shape: [3, 4] }, { semiring: 'max-times' })
    expect(messages.flatMap(({ products }) => products)).toMatchObject([
      {
        semiring: 'min-plus',
        overflow: 'wrap',
        batch: 2,
        a: { shape: [2, 2, 3], dtype: 'int16', bytes: 24 },
        b: product.b,
        accumulate: product.c,
        c: { shape: [2, 2, 2], dtype: 'int32', bytes: 32 },
      },
      { semiring: 'max-times', dtype: 'float64', overflow: null, a: { bytes: 48 }, c: { bytes: 64 } },
    ])
  })

  it('have a plan as their result for plan()', async () => {
    const { messages } = listen()
    const result = await plan(a, b)
    expect(messages).toEqual([{ call: 'plan', products: [product], result }])
  })
})

describe('matrices on a device, and groups', () => {
  it('report which matrices are resident', async () => {
    const { messages } = listen()
    const device = await openDevice({ backend: 'cpu' })
    const [there, narrow] = [await device.upload(a), await device.upload(matrix(2, 3, new Int16Array(6)))]
    const { c } = await mpmm(there, b)
    await mpmm(narrow, b, { accumulate: c })
    await device.close()
    const resident = true
    expect(messages.flatMap(({ products }) => products)).toMatchObject([
      { ...product, a: { ...product.a, resident }, c: { ...product.c, resident } },
      { a: { dtype: 'int16', bytes: 12, resident }, b: product.b, accumulate: { resident }, c: { resident } },
    ])
  })

  it('publish one message for a group', async () => {
    const { messages } = listen()
    const result = await mpmmGrouped([
      { a, b },
      { a: b, b: a },
    ])
    expect(messages).toMatchObject([
      { call: 'mpmmGrouped', products: [product, { m: 3, n: 3, k: 2 }], result },
    ])
    await mpmmGrouped([])
    expect(messages[1]).toEqual({ call: 'mpmmGrouped', products: [], result: [] })
  })

  it('name the product that made a group fail', async () => {
    const { messages } = listen()
    const error = await mpmmGrouped([
      { a: b, b: a },
      { a: large, b },
    ]).catch((thrown: unknown) => thrown)
    await expect(mpmmGrouped([{ a, b: a }])).rejects.toThrow()
    expect(messages).toEqual([
      { call: 'mpmmGrouped', products: [expect.objectContaining({ m: 3 }), product], failed: 1, error },
      {
        call: 'mpmmGrouped',
        products: [],
        error: expect.objectContaining({ code: 'ERR_MPMML_SHAPE' }),
      },
    ])
    expect(error).toMatchObject({ code: 'ERR_MPMML_OVERFLOW' })
  })
})

describe('errors', () => {
  it('are in the message, with the arguments', async () => {
    const { events, messages } = listen()
    const error = await mpmm(large, b).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'ERR_MPMML_OVERFLOW' })
    expect(messages).toEqual([{ call: 'mpmm', products: [product], error }])
    expect(events).toContain('error')
  })

  it('have no products if the arguments were wrong', async () => {
    const { messages } = listen()
    await expect(mpmm(a, a)).rejects.toThrow()
    expect(() => mpmmSync(a, a)).toThrow()
    await expect(plan(a, a)).rejects.toThrow()
    const error = expect.objectContaining({ code: 'ERR_MPMML_SHAPE' })
    expect(messages).toEqual(['mpmm', 'mpmmSync', 'plan'].map((call) => ({ call, products: [], error })))
  })

  it('stay unchanged if user code threw them', async () => {
    const { messages } = listen()
    const error = new Error('of a getter')
    const trap = {
      get data(): Int32Array {
        throw error
      },
      shape: [1, 1],
    }
    await expect(mpmm(trap, b)).rejects.toBe(error)
    expect(messages).toMatchObject([{ error }])
  })

  it('are absent if a call succeeds', async () => {
    const { events } = listen()
    await mpmm(a, b)
    expect(events).not.toContain('error')
  })
})

describe('custom semirings', () => {
  const pair = counting('max-plus')
  const lanes = ({ data, shape }: typeof a) =>
    [
      { data, shape },
      { data: new Uint32Array(data.length).fill(1), shape },
    ] as const
  const own = {
    ...product,
    semiring: pair.name,
    dtype: ['int32', 'uint32'],
    overflow: null,
    a: { ...product.a, dtype: pair.dtype, bytes: 48 },
    b: { ...product.b, dtype: pair.dtype, bytes: 48 },
    c: { ...product.c, dtype: pair.dtype, bytes: 32 },
  }
  const options = { semiring: pair, backend: 'cpu' } as const

  it('publish messages of products and plans', async () => {
    const { messages } = listen()
    const results = [
      await mpmm(lanes(a), lanes(b), options),
      mpmmSync(lanes(a), lanes(b), options),
      await plan(lanes(a), lanes(b), options),
    ]
    const calls = ['mpmm', 'mpmmSync', 'plan']
    expect(messages).toEqual(calls.map((call, at) => ({ call, products: [own], result: results[at] })))
  })

  it('report which matrices are resident, and the accumulated matrix', async () => {
    const { messages } = listen()
    const bits = { data: new Uint32Array(6), shape: [2, 3] as [number, number] }
    const device = await openDevice({ backend: 'cpu' })
    const there = await device.upload(matrix(3, 2, new Int32Array(6)))
    const c0 = { data: new Uint32Array(4), shape: [2, 2] as [number, number] }
    await mpmm(bits, there, { semiring: hamming, accumulate: c0 })
    await device.close()
    const one = { dtype: 'uint32', resident: false }
    expect(messages[0]!.products).toMatchObject([
      {
        semiring: hamming.name,
        a: one,
        accumulate: { ...one, bytes: 16 },
        b: { resident: true },
        c: { resident: true },
      },
    ])
  })

  it('publish one message for a group, with the product that failed', async () => {
    const { messages } = listen()
    const products = [
      { a: lanes(a), b: lanes(b) },
      { a: lanes(b), b: lanes(a) },
    ]
    await mpmmGrouped(products, options)
    expect(messages[0]).toMatchObject({ call: 'mpmmGrouped', products: [own, { m: 3, k: 2 }] })
    addon.failAllocation(1, 1e15)
    const error = await mpmmGrouped(products, options).catch((thrown) => thrown)
    addon.failAllocation(0)
    expect(error).toMatchObject({ code: 'ERR_MPMML_OUT_OF_MEMORY' })
    expect(messages[1]).toMatchObject({ products: [own, { m: 3 }], failed: 0, error })
    await expect(mpmm(lanes(a), lanes(a), { semiring: pair })).rejects.toThrow()
    expect(messages[2]).toMatchObject({ call: 'mpmm', products: [], error: { code: 'ERR_MPMML_SHAPE' } })
  })
})

describe('without subscribers', () => {
  it('create no trace', async () => {
    const traces: unknown[] = []
    const look = () => {
      traceSync('mpmmSync', (trace) => traces.push(trace))
      return tracePromise('mpmm', async (trace) => traces.push(trace))
    }
    await look()
    expect(traces.splice(0)).toEqual([null, null])
    listen()
    await look()
    expect(traces).toEqual([expect.anything(), expect.anything()])
  })
})
