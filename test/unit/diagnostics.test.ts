/** What the channels of node:diagnostics_channel tell, and that they cost nothing if nobody listens. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type ErrorMessage,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  openDevice,
  type PlanMessage,
  plan,
  type RunMessage,
  variants,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { watch } from '../../lib/product/diagnostics.js'
import { counting, hamming } from '../../lib/semirings.js'

const listeners: [name: string, listener: (message: unknown) => void][] = []

/** What a channel tells from now on. */
function listen<Message>(name: string): Message[] {
  const messages: Message[] = []
  const listener = (message: unknown) => void messages.push(message as Message)
  subscribe(name, listener)
  listeners.push([name, listener])
  return messages
}

afterEach(() => {
  for (const [name, listener] of listeners.splice(0)) unsubscribe(name, listener)
})

const a = matrix(2, 3, Int32Array.of(1, 6, 2, 8, 3, 4))
const b = matrix(3, 2, Int32Array.of(2, 5, 3, 3, 1, 6))

const asked = {
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

describe('mpmml:run', () => {
  it.each(['mpmm', 'mpmmSync'] as const)('has what was asked for and the result of %s', async (call) => {
    const messages = listen<RunMessage>('mpmml:run')
    const result = call === 'mpmm' ? await mpmm(a, b) : mpmmSync(a, b)
    const { backend, device, variant, path, timing, gops } = result
    expect(messages).toEqual([
      {
        ...asked,
        call,
        backend,
        device,
        variant,
        path,
        timing: { ...timing, callMs: expect.any(Number) },
        gops,
      },
    ])
    expect([...result.c.data]).toEqual([9, 9, 10, 13])
    expect(messages[0]!.timing.callMs).toBeGreaterThanOrEqual(timing.kernelMs)
  })

  it('has the structure of all three matrices', () => {
    const messages = listen<RunMessage>('mpmml:run')
    mpmmSync(a, b, { structure: { a: 'upper', c: { band: [0, 1] } } })
    expect(messages).toMatchObject([{ structure: { a: 'upper', b: 'general', c: { band: [0, 1] } } }])
  })

  it('has batches, int16, semirings, options and C0', () => {
    const messages = listen<RunMessage>('mpmml:run')
    const half = { data: new Int16Array(12), shape: [2, 2, 3] } as const
    mpmmSync(half, b, { semiring: 'min-plus', overflow: 'wrap', accumulate: matrix(2, 2) })
    const floats = { data: new Float64Array(6), shape: [2, 3] as [number, number] }
    mpmmSync(floats, { data: new Float64Array(12), shape: [3, 4] }, { semiring: 'max-times' })
    expect(messages).toMatchObject([
      {
        semiring: 'min-plus',
        overflow: 'wrap',
        batch: 2,
        a: { shape: [2, 2, 3], dtype: 'int16', bytes: 24 },
        b: asked.b,
        accumulate: asked.c,
        c: { shape: [2, 2, 2], dtype: 'int32', bytes: 32 },
      },
      { semiring: 'max-times', dtype: 'float64', overflow: null, a: { bytes: 48 }, c: { bytes: 64 } },
    ])
  })

  it('has no message for a call that failed, nor for plan()', async () => {
    const messages = listen<RunMessage>('mpmml:run')
    await expect(mpmm(a, a)).rejects.toThrow()
    expect(() => mpmmSync(a, a)).toThrow()
    await plan(a, b)
    expect(messages).toEqual([])
  })
})

describe('matrices on a device, and groups', () => {
  it('say which matrices are resident', async () => {
    const messages = listen<RunMessage>('mpmml:run')
    const device = await openDevice({ backend: 'cpu' })
    const [there, narrow] = [await device.upload(a), await device.upload(matrix(2, 3, new Int16Array(6)))]
    const { c } = await mpmm(there, b)
    await mpmm(narrow, b, { accumulate: c })
    await device.close()
    const resident = true
    expect(messages).toMatchObject([
      { ...asked, a: { ...asked.a, resident }, c: { ...asked.c, resident } },
      { a: { dtype: 'int16', bytes: 12, resident }, b: asked.b, accumulate: { resident }, c: { resident } },
    ])
  })

  it('have a message for each product of a group', async () => {
    const [runs, plans] = [listen<RunMessage>('mpmml:run'), listen<PlanMessage>('mpmml:plan')]
    const results = await mpmmGrouped([
      { a, b },
      { a: b, b: a },
    ])
    const call = 'mpmmGrouped'
    expect(runs).toMatchObject([
      { ...asked, call, index: 0, gops: results[0]!.gops },
      { call, index: 1, m: 3, n: 3, k: 2, variant: results[1]!.variant, timing: results[1]!.timing },
    ])
    expect(plans).toMatchObject([
      { call, index: 0 },
      { call, index: 1 },
    ])
    await mpmmGrouped([])
    expect(runs).toHaveLength(2)
  })

  it('have one message for a group that fails: the product that did, if it was one', async () => {
    const messages = listen<ErrorMessage>('mpmml:error')
    const large = matrix(2, 3, new Int32Array(6).fill(2 ** 31 - 1))
    const error = await mpmmGrouped([
      { a: b, b: a },
      { a: large, b },
    ]).catch((thrown: unknown) => thrown)
    await expect(mpmmGrouped([{ a, b: a }])).rejects.toThrow()
    const timing = { callMs: expect.any(Number) }
    const call = 'mpmmGrouped'
    expect(messages).toEqual([
      { ...asked, call, index: 1, error, code: 'ERR_MPMML_OVERFLOW', timing },
      { call, error: expect.objectContaining({ code: 'ERR_MPMML_SHAPE' }), code: 'ERR_MPMML_SHAPE', timing },
    ])
  })
})

describe('mpmml:plan', () => {
  it('has the kernel and its parameters, from plan() and from products', async () => {
    const messages = listen<PlanMessage>('mpmml:plan')
    const planned = await plan(a, b)
    const { variant, path, backend } = await mpmm(a, b)
    const parametersOf = (name: string) => variants().find((row) => row.name === name)!.parameters
    expect(messages).toEqual([
      { ...asked, call: 'plan', ...planned },
      { ...asked, call: 'mpmm', variant, path, backend, parameters: parametersOf(variant) },
    ])
  })
})

describe('mpmml:error', () => {
  it('has the error, its code, and what was asked for', async () => {
    const messages = listen<ErrorMessage>('mpmml:error')
    const large = matrix(2, 3, new Int32Array(6).fill(2 ** 31 - 1))
    const error = await mpmm(large, b).catch((thrown: unknown) => thrown)
    const timing = { callMs: expect.any(Number) }
    expect(messages).toEqual([{ ...asked, call: 'mpmm', error, code: 'ERR_MPMML_OVERFLOW', timing }])
  })

  it('has only the call and the error if the arguments were wrong', async () => {
    const messages = listen<ErrorMessage>('mpmml:error')
    await expect(mpmm(a, a)).rejects.toThrow()
    expect(() => mpmmSync(a, a)).toThrow()
    await expect(plan(a, a)).rejects.toThrow()
    expect(messages).toEqual(
      ['mpmm', 'mpmmSync', 'plan'].map((call) => ({
        call,
        error: expect.objectContaining({ code: 'ERR_MPMML_SHAPE' }),
        code: 'ERR_MPMML_SHAPE',
        timing: { callMs: expect.any(Number) },
      })),
    )
  })

  it('has what user code threw, with no code', async () => {
    const messages = listen<ErrorMessage>('mpmml:error')
    const error = new Error('of a getter')
    const trap = {
      get data(): Int32Array {
        throw error
      },
      shape: [1, 1],
    }
    await expect(mpmm(trap, b)).rejects.toBe(error)
    expect(messages).toMatchObject([{ error, code: null }])
  })

  it('has no message for a call that succeeded', async () => {
    const messages = listen<ErrorMessage>('mpmml:error')
    await mpmm(a, b)
    expect(messages).toEqual([])
  })
})

describe('semirings that users write', () => {
  const pair = counting('max-plus')
  const lanes = ({ data, shape }: typeof a) =>
    [
      { data, shape },
      { data: new Uint32Array(data.length).fill(1), shape },
    ] as const
  const own = {
    ...asked,
    semiring: pair.name,
    dtype: ['int32', 'uint32'],
    overflow: null,
    a: { ...asked.a, dtype: pair.dtype, bytes: 48 },
    b: { ...asked.b, dtype: pair.dtype, bytes: 48 },
    c: { ...asked.c, dtype: pair.dtype, bytes: 32 },
  }
  const nameless = { variant: null, path: null }

  it('have messages of products, which name no variant', async () => {
    const [runs, plans] = [listen<RunMessage>('mpmml:run'), listen<PlanMessage>('mpmml:plan')]
    for (const call of ['mpmm', 'mpmmSync'] as const) {
      const options = { semiring: pair, backend: 'cpu' } as const
      const product =
        call === 'mpmm' ? await mpmm(lanes(a), lanes(b), options) : mpmmSync(lanes(a), lanes(b), options)
      const { backend, device, timing, gops } = product
      const times = { ...timing, callMs: expect.any(Number) }
      expect(runs.splice(0)).toEqual([{ ...own, ...nameless, call, backend, device, timing: times, gops }])
      expect(plans.splice(0)).toEqual([{ ...own, ...nameless, call, backend, parameters: {} }])
    }
  })

  it('have plans in words', async () => {
    const plans = listen<PlanMessage>('mpmml:plan')
    const planned = await plan(lanes(a), lanes(b), { semiring: pair, backend: 'cpu' })
    expect(planned).toEqual({ backend: 'cpu', explanation: expect.stringMatching(/^cpu/) })
    expect(plans).toEqual([{ ...own, ...nameless, ...planned, call: 'plan', parameters: {} }])
  })

  it('say which matrices are resident, and what is accumulated', async () => {
    const messages = listen<RunMessage>('mpmml:run')
    const bits = { data: new Uint32Array(6), shape: [2, 3] as [number, number] }
    const device = await openDevice({ backend: 'cpu' })
    const there = await device.upload(matrix(3, 2, new Int32Array(6)))
    const c0 = { data: new Uint32Array(4), shape: [2, 2] as [number, number] }
    await mpmm(bits, there, { semiring: hamming, accumulate: c0 })
    await device.close()
    const one = { dtype: 'uint32', resident: false }
    expect(messages).toMatchObject([
      {
        semiring: hamming.name,
        a: one,
        accumulate: { ...one, bytes: 16 },
        b: { resident: true },
        c: { resident: true },
      },
    ])
  })

  it('have a message for each product of a group, and one for what fails', async () => {
    const [runs, errors] = [listen<RunMessage>('mpmml:run'), listen<ErrorMessage>('mpmml:error')]
    const products = [
      { a: lanes(a), b: lanes(b) },
      { a: lanes(b), b: lanes(a) },
    ]
    await mpmmGrouped(products, { semiring: pair, backend: 'cpu' })
    const call = 'mpmmGrouped'
    expect(runs).toMatchObject([
      { ...own, ...nameless, call, index: 0 },
      { call, index: 1, m: 3, k: 2 },
    ])
    addon.failAllocation(1, 1e15)
    const error = await mpmmGrouped(products, { semiring: pair, backend: 'cpu' }).catch((thrown) => thrown)
    addon.failAllocation(0)
    const timing = { callMs: expect.any(Number) }
    expect(errors).toEqual([{ ...own, call, index: 0, error, code: 'ERR_MPMML_OUT_OF_MEMORY', timing }])
    await expect(mpmm(lanes(a), lanes(a), { semiring: pair })).rejects.toThrow()
    expect(errors.slice(1)).toMatchObject([{ call: 'mpmm', code: 'ERR_MPMML_SHAPE' }])
  })
})

describe('without subscribers', () => {
  it('no call is watched', () => {
    expect(watch('mpmm')).toBeNull()
    listen('mpmml:error')
    expect(watch('mpmm')).not.toBeNull()
  })
})
