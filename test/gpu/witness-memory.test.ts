/** Products of arrays with witnesses, and groups of arrays, on a GPU with a small memory limit. */
import { afterEach, expect, it } from 'vitest'
import { matrix, mpmm, mpmmGrouped, openDevice } from '../../lib/index.js'
import { caught, errorWithoutMemory, expectElements, expectError } from '../support/expect.js'
import { randomMatrix } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { type Dense, oracle } from '../support/oracle.js'
import { describeUnless } from '../support/skip.js'

const reason = withoutCuda()
const before = process.env.MPMML_DEVICE_MEMORY_MIB
const allow = (mebibytes: number | undefined) => {
  if (mebibytes === undefined) delete process.env.MPMML_DEVICE_MEMORY_MIB
  else process.env.MPMML_DEVICE_MEMORY_MIB = String(mebibytes)
}
type Plain = ReturnType<typeof randomMatrix>

/** Compares some elements of C and their witnesses with the definition. */
function expectSamples(a: Plain, b: Plain, c: ArrayLike<number>, witness: ArrayLike<number>): void {
  const [m, k] = a.shape as [number, number]
  const n = b.shape[1]!
  for (let sample = 0; sample < 400; sample++) {
    const [i, j] = [(sample * 7919) % m, (sample * 104_729) % n]
    let [best, place] = [-Infinity, -1]
    for (let step = 0; step < k; step++) {
      const sum = a.data[i * k + step]! + b.data[step * n + j]!
      if (sum > best) [best, place] = [sum, step]
    }
    expect([c[i * n + j], witness[i * n + j]], `element ${i}, ${j}`).toEqual([best, place])
  }
}

describeUnless(reason, 'little memory', () => {
  afterEach(() => allow(before === undefined ? undefined : Number(before)))

  it('computes a product with witnesses in blocks', async () => {
    const [a, b] = [randomMatrix(3000, 3000, 1), randomMatrix(3000, 3000, 2)]
    for (const mebibytes of [48, 96, undefined]) {
      allow(mebibytes)
      const { c, witness, backend } = await mpmm(a, b, { backend: 'cuda', witness: true })
      expect(backend).toBe('cuda')
      expectSamples(a, b, c.data, witness.data)
    }
  })

  it('computes blocks of skinny products', async () => {
    allow(24)
    for (const [m, k, n] of [
      [40, 3000, 9000],
      [5000, 64, 3000],
    ] as const) {
      const [a, b] = [randomMatrix(m, k, m), randomMatrix(k, n, n)]
      const { c, witness } = await mpmm(a, b, { backend: 'cuda', witness: true })
      expectSamples(a, b, c.data, witness.data)
    }
  })

  it('leaves `out` unchanged after an overflow in a later block', async () => {
    allow(24)
    const n = 2000
    const [a, b] = [matrix(n, n), matrix(n, n)]
    a.data[(n - 1) * n] = 2 ** 31 - 1
    b.data[n - 1] = 5
    const out = matrix(n, n, new Int32Array(n * n).fill(7))
    const error = await caught(mpmm(a, b, { backend: 'cuda', witness: true, out }))
    expectError(error, 'OVERFLOW', `C[${n - 1}, ${n - 1}]`)
    expect(out.data.every((value) => value === 7)).toBe(true)
  })

  it('leaves `out` unchanged after a failed allocation, within a structure too', async () => {
    const n = 200
    const [a, b] = [randomMatrix(n, n, 1), randomMatrix(n, n, 2)]
    let refused = 0
    for (let nth = 1; nth <= 40; nth++) {
      const out = matrix(n, n, new Int32Array(n * n).fill(7))
      const options = { backend: 'cuda', witness: true, structure: { c: 'lower' }, out } as const
      const error = await errorWithoutMemory(() => mpmm(a, b, options), nth, 1)
      if (!error) continue
      refused++
      expectError(error, 'OUT_OF_MEMORY')
      expect(out.data.every((value) => value === 7)).toBe(true)
    }
    expect(refused).toBeGreaterThan(0)
  })

  it('computes a group of arrays in parts', async () => {
    allow(32)
    const products = Array.from({ length: 60 }, (_, index) => ({
      a: randomMatrix(300 + index, 200, index),
      b: randomMatrix(200, 350 - index, index + 100),
    }))
    const results = await mpmmGrouped(products, { backend: 'cuda' })
    results.forEach(({ c }, index) => {
      expectElements(c, oracle(products[index]!.a, products[index]!.b) as Dense)
    })
  })

  it('applies the limit of each call, not of the first', async () => {
    const [a, b] = [randomMatrix(600, 500, 1), randomMatrix(500, 400, 2)]
    for (const mebibytes of [64, 4, undefined, 4]) {
      allow(mebibytes)
      const { c, witness } = await mpmm(a, b, { backend: 'cuda', witness: true })
      expectSamples(a, b, c.data, witness.data)
    }
  })

  it('delays no product on the CPU by products on the GPU', async () => {
    const large = randomMatrix(4096, 4096, 5)
    const controller = new AbortController()
    const running = Array.from({ length: 200 }, (_, index) =>
      mpmm(large, large, { backend: 'cuda', witness: index % 2 === 0, signal: controller.signal }),
    )
    const ends = Promise.allSettled(running)
    const [a, b] = [randomMatrix(200, 200, 3), randomMatrix(200, 200, 4)]
    expectElements((await mpmm(a, b, { backend: 'cpu' })).c, oracle(a, b) as Dense)
    controller.abort()
    const aborted = (await ends).filter(({ status }) => status === 'rejected')
    for (const { reason: error } of aborted as PromiseRejectedResult[]) {
      expectError(error, 'ABORTED')
    }
  })

  it('aborts a result that waits for memory of other products', async () => {
    allow(120)
    const device = await openDevice({ backend: 'cuda' })
    const small = await device.full([1500, 1500], 1)
    const n = 8000
    const large = matrix(n, n)
    large.data.forEach((_, index) => {
      large.data[index] = (index * 7919) % 1_000_003
    })
    const products = new AbortController()
    let done = 0
    let running: Promise<unknown>[] = []
    // Each of these products uses all memory from its beginning, and the others wait for it.
    await new Promise<void>((begun) => {
      const onProgress = () => begun()
      running = Array.from({ length: 12 }, () =>
        caught(mpmm(large, large, { backend: 'cuda', signal: products.signal, onProgress })).finally(() => {
          done++
        }),
      )
    })
    const waiting = new AbortController()
    const errors = Array.from({ length: 3 }, () =>
      mpmm(small, small, { signal: waiting.signal }).catch((error: unknown) => error),
    )
    await new Promise((resolve) => setTimeout(resolve, 50))
    waiting.abort()
    for (const error of await Promise.all(errors)) expectError(error, 'ABORTED')
    expect(done).toBeLessThan(running.length)
    products.abort()
    expectError(await running.at(-1), 'ABORTED')
    await device.close()
  })
})
