/** Matrices on a GPU with little memory: packed formats are dropped, and products are divided. */
import { expect, it } from 'vitest'
import { inDist, readOutput } from '../support/child.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const native = new URL('../../dist/lib/native.js', import.meta.url)
/** Output of a program with a limit of device memory; 0 stands for all free memory. */
function run(mebibytes: number, body: string): unknown {
  const output = readOutput(
    `
      import { matrix, mpmm, openDevice } from ${inDist('lib/index.js')}
      const square = (n, seed) =>
        matrix(n, n, Int32Array.from({ length: n * n }, (_, i) => (Math.imul(i + seed, 2654435761) >>> 8) % 2000000))
      const same = (x, y) => x.length === y.length && x.every((value, i) => value === y[i])
      const code = (promise) => promise.then(() => 'done', (error) => error.code)
      const device = await openDevice({ backend: 'cuda' })
      ${body}
      await device.close()
      `,
    { env: mebibytes > 0 ? { MPMML_DEVICE_MEMORY_MIB: String(mebibytes) } : {} },
  )
  return JSON.parse(output)
}

describeUnless(withoutCuda(), 'short memory', () => {
  it('computes a product exactly whose operands can be packed only in parts', () => {
    // Three matrices of 4 MiB each; packing both operands whole takes 8 more.
    const result = run(
      15,
      `
        const a = square(1024, 1), b = square(1024, 2)
        const A = await device.upload(a), B = await device.upload(b), C = await device.full([1024, 1024], 0)
        const { variant } = await mpmm(A, B, { out: C })
        const { c } = await mpmm(a, b, { backend: 'cpu' })
        console.log(JSON.stringify([same((await C.download()).data, c.data), variant.startsWith('pipelined')]))
        `,
    )
    expect(result).toEqual([true, true])
  })

  it('drops packed formats for matrices, and packs again', () => {
    const result = run(
      40,
      `
        const a = square(1024, 1), expected = (await mpmm(a, a, { backend: 'cpu' })).c
        const A = await device.upload(a), C = await device.full([1024, 1024], 0)
        const right = []
        const check = async () => {
          await mpmm(A, A, { out: C })
          right.push(same((await C.download()).data, expected.data))
        }
        await check()
        const rest = []
        for (let i = 0; i < 7; i++) rest.push(await device.full([1024, 1024], i))
        await check()
        for (const matrix of rest) matrix.dispose()
        await check()
        console.log(JSON.stringify(right))
        `,
    )
    expect(result).toEqual([true, true, true])
  })

  it('drops packed formats for products of arrays, and stays within the limit', () => {
    const limit = 400
    const n = 4000
    const result = run(
      limit,
      `
        const { addon } = await import(${JSON.stringify(native.href)})
        const kept = []
        for (let i = 0; i < 5; i++) {
          kept.push(await device.upload(square(2048, i)))
          const { c } = await mpmm(kept[i], kept[i])
          c.dispose()
        }
        const packed = [addon.packedBytes()]
        const n = ${n}, a = square(n, 7), b = square(n, 8)
        const { c, backend } = await mpmm(a, b, { backend: 'cuda' })
        packed.push(addon.packedBytes())
        const wrong = []
        for (let sample = 0; sample < 300; sample++) {
          const i = (sample * 7919) % n, j = (sample * 104729) % n
          let best = -Infinity
          for (let k = 0; k < n; k++) best = Math.max(best, a.data[i * n + k] + b.data[k * n + j])
          if (c.data[i * n + j] !== best) wrong.push([i, j])
        }
        const again = await (await mpmm(kept[0], kept[0])).c.download()
        const expected = (await mpmm(square(2048, 0), square(2048, 0), { backend: 'cpu' })).c
        console.log(JSON.stringify([backend, wrong, packed, same(again.data, expected.data)]))
        `,
    ) as [string, unknown[], [number, number], boolean]
    const [backend, wrong, [before, after], isSame] = result
    expect([backend, wrong, isSame]).toEqual(['cuda', [], true])
    expect(before).toBeGreaterThan(64 * 2 ** 20)
    // Five matrices of 16 MiB stay. The matrices of the product fit at once; otherwise the product would
    // have run in blocks.
    const most = (limit - 5 * 16) * 2 ** 20 - 3 * n * n * 4
    expect(after).toBeLessThanOrEqual(most)
  })

  it('drops packed formats if the driver has no more memory', () => {
    const result = run(
      0,
      `
        const { addon } = await import(${JSON.stringify(native.href)})
        const A = await device.upload(square(1024, 1)), a = square(900, 2), b = square(900, 3)
        const expected = (await mpmm(a, b, { backend: 'cpu' })).c.data
        const product = () => mpmm(a, b, { backend: 'cuda' })
        // The streams and the pinned memory exist from here on.
        await product()
        const right = []
        for (let nth = 1; nth <= 5; nth++) {
          (await mpmm(A, A)).c.dispose()
          addon.failAllocation(nth)
          right.push(same((await product()).c.data, expected))
          addon.failAllocation(0)
        }
        console.log(JSON.stringify(right))
        `,
    )
    expect(result).toEqual([true, true, true, true, true])
  })

  it('computes on two sessions that drop the packed formats of each other', () => {
    const result = run(
      200,
      `
        const other = await openDevice({ backend: 'cuda' })
        const sources = [1, 2, 3, 4].map((seed) => square(1024, seed))
        const expected = []
        for (const source of sources) expected.push((await mpmm(source, source, { backend: 'cpu' })).c.data)
        const there = await Promise.all(sources.map((source, i) => (i % 2 ? other : device).upload(source)))
        const large = square(3000, 5), best = (await mpmm(large, large, { backend: 'cpu' })).c.data
        const right = []
        for (let round = 0; round < 6; round++) {
          const all = await Promise.all([
            ...there.map((matrix) => mpmm(matrix, matrix)),
            mpmm(large, large, { backend: 'cuda' }),
          ])
          right.push(same(all.pop().c.data, best))
          for (const [i, { c }] of all.entries()) {
            right.push(same((await c.download()).data, expected[i]))
            c.dispose()
          }
        }
        await other.close()
        console.log(JSON.stringify([right.length, right.every(Boolean)]))
        `,
    )
    expect(result).toEqual([30, true])
  })

  it('rejects a matrix without enough memory, and computes the next call', () => {
    const result = run(
      19,
      `
        const A = await device.full([1024, 1024], 1)
        const refused = await code(device.full([4096, 1024], 1))
        const uploaded = await code(device.upload(square(1536, 1)).then((matrix) => matrix.dispose()))
        const B = await device.full([1024, 1024], 2)
        const { c } = await mpmm(A, B)
        const value = (await c.download()).data[12345]
        c.dispose(); A.dispose(); B.dispose()
        console.log(JSON.stringify([refused, uploaded, value, device.memory().used]))
        `,
    )
    expect(result).toEqual(['ERR_MPMML_OUT_OF_MEMORY', 'done', 3, 0])
  })
})
