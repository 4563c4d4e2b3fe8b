/**
 * Products of matrices on a GPU that fail or are aborted between two parts. Products are launched in parts if
 * they take long or memory is short.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  type Device,
  type DeviceMatrix,
  matrix,
  mpmm,
  openDevice,
  type VariantName,
  variants,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { caught, expectError } from '../support/expect.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

/** All allocations from the nth on fail. */
const ALL = 1e15

const pipelined: VariantName = 'pipelined_maxplus_i32_128x64x16_8x8_st4_sl4'

/** Description of the first element that isn't `expected`. */
function mismatch(data: ArrayLike<number>, expected: number): string | undefined {
  for (let index = 0; index < data.length; index++) {
    if (data[index] !== expected) return `element ${index} is ${data[index]} and should be ${expected}`
  }
  return undefined
}

describeUnless(withoutCuda(), 'cuda', () => {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend: 'cuda' })
  })
  afterEach(() => addon.failAllocation(0))
  afterAll(() => device.close())

  describe('memory that runs out between two parts', () => {
    const UNTOUCHED = 2 ** 31 - 5
    const ranked = variants().find(({ name }) => name.startsWith('ranked_maxplus_i32'))?.name
    type Case = {
      witness?: true
      accumulate?: true
      overflow?: 'saturate'
      variant?: VariantName | undefined
    }
    const cases: Record<
      string,
      Case & { int16?: boolean; batch?: number; structure?: object; value?: number }
    > = {
      'a product': {},
      pipelined: { variant: pipelined },
      'of a batch': { batch: 3 },
      'added to C0': { accumulate: true, value: -5 },
      'with witnesses': { witness: true },
      'of int16': { int16: true },
      'of int16, ranked': { int16: true, variant: ranked },
      ranked: { variant: ranked },
      'of a band': { structure: { a: { band: [30_000, 19_000] } } },
      'of a band, with witnesses': { structure: { a: { band: [30_000, 19_000] } }, witness: true },
    }

    it.each(Object.keys(cases))('leaves C complete or unchanged: %s', async (name) => {
      const { int16 = false, batch = 1, structure, value = UNTOUCHED, ...options } = cases[name]!
      // More than 3e11 steps, with few elements in C.
      const [m, k, n] = [batch > 1 ? 2048 : 4096, 20_000, 4096]
      const shape = (rows: number, cols: number) => (batch > 1 ? [batch, rows, cols] : [rows, cols])
      const make = async (rows: number, cols: number, element: number) =>
        int16
          ? await device.upload({
              data: new Int16Array(batch * rows * cols).fill(element),
              shape: shape(rows, cols),
            })
          : await device.full(shape(rows, cols) as [number, number], element)
      const [a, b] = [(await make(m, k, 1)) as DeviceMatrix, (await make(k, n, 2)) as DeviceMatrix]
      for (let nth = 1, done = false; !done; nth++) {
        expect(nth, 'it never succeeds').toBeLessThan(100)
        // C is a view in some attempts, and a separate matrix in the others.
        const whole = await device.full(shape(m, n + (nth % 2) * 8) as [number, number], value)
        const out = whole.view({ cols: [0, n] })
        const { used } = device.memory()
        addon.failAllocation(nth, ALL)
        let failure: unknown
        const running = mpmm(a, b, { ...options, structure, out } as never) as Promise<{
          witness?: DeviceMatrix
        }>
        const result = await running.catch((error: unknown) => {
          failure = error
        })
        addon.failAllocation(0)
        const { data } = await out.download()
        if (failure === undefined) {
          expect(mismatch(data, 3), `allocation ${nth}`).toBeUndefined()
          result?.witness?.dispose()
          done = true
        } else {
          expectError(failure, 'OUT_OF_MEMORY')
          expect(mismatch(data, value), `allocation ${nth}`).toBeUndefined()
          expect(device.memory().used).toBe(used)
        }
        out.dispose()
        whole.dispose()
      }
      a.dispose()
      b.dispose()
    })
  })

  it('keeps valid bounds of C after a product that was aborted between two parts', async () => {
    // Each part takes about 10 ms on an H200.
    const [m, k] = [8192, 40_000]
    const a = await device.full([m, k], 1_000_000)
    const b = await device.full([k, m], 2_000_000)
    const small = matrix(
      m,
      9,
      Int32Array.from({ length: m * 9 }, (_, index) => index % 5),
    )
    const there = await device.upload(small)
    let mixed = 0
    for (const delay of [25, 50, 15, 80, 5, 120, 200, 1]) {
      const out = await device.full([m, m], 1)
      // This product creates a packed format of `out`.
      ;(await mpmm(out, there)).c.dispose()
      const controller = new AbortController()
      const running = caught(
        mpmm(a, b, { out, variant: pipelined, signal: controller.signal }).then(() => expect.fail('done')),
      )
      setTimeout(() => controller.abort(), delay)
      const error = await running
      const { c } = await mpmm(out, there)
      const [elements, products] = [await out.download(), await c.download()]
      const expected = (await mpmm(elements, small, { backend: 'cpu' })).c
      expect(products.data).toEqual(expected.data)
      const written = elements.data.reduce((count, value) => count + (value === 3_000_000 ? 1 : 0), 0)
      for (const each of [out, c]) each.dispose()
      if ((error as { code?: string }).code === 'ERR_MPMML_ABORTED' && written > 0 && written < m * m) mixed++
      if (mixed === 2) break
    }
    expect(mixed, 'products aborted between two parts').toBeGreaterThan(0)
    for (const each of [a, b, there]) each.dispose()
  })
})
