/** Products, copies and combinations one after another, none of which is waited for. */
import { expect, it } from 'vitest'
import { type Device, mpmm } from '../../lib/index.js'
import { expectElements } from './expect.js'
import { randomMatrix } from './generators.js'
import { type Dense, oracle, type Strided } from './oracle.js'

export function chains(open: () => Device): void {
  const chain = (count: number, size: number) =>
    Array.from({ length: count }, (_, index) => randomMatrix(size, size, index + 1))

  it('of products that wait for nothing', async () => {
    const sources = chain(6, 65)
    const uploaded = await Promise.all(sources.map((source) => open().upload(source)))
    const places = await Promise.all(sources.map(() => open().full([65, 65], 0)))
    let expected: Strided = sources[0]!
    const running = sources.slice(1).map((source, index) => {
      expected = { ...(oracle(expected, source) as Dense), shape: [65, 65] }
      const from = index === 0 ? uploaded[0]! : places[index - 1]!
      return mpmm(from, uploaded[index + 1]!, { out: places[index]! })
    })
    const last = places[4]!.download()
    expectElements(await last, expected as unknown as Dense)
    for (const { c } of await Promise.all(running)) expect(places).toContain(c)
  })

  it('of products into two places in turn', async () => {
    const step = randomMatrix(48, 48, 7)
    const S = await open().upload(step)
    const places = [await open().upload(step), await open().full([48, 48], 0)]
    let expected: Strided = step
    const running: Promise<unknown>[] = []
    for (let i = 0; i < 9; i++) {
      running.push(mpmm(places[i % 2]!, S, { out: places[(i + 1) % 2]! }))
      expected = { ...(oracle(expected, step) as Dense), shape: [48, 48] }
    }
    expectElements(await places[1]!.download(), expected as unknown as Dense)
    await Promise.all(running)
  })

  it('of accumulations, copies and combinations', async () => {
    const [a, b] = chain(2, 40)
    const [A, B] = [await open().upload(a!), await open().upload(b!)]
    const C = await open().full([40, 40], -(2 ** 31))
    void mpmm(A, B, { out: C, accumulate: true })
    void C.combine(A)
    const before = C.download()
    void mpmm(B, A, { out: C, accumulate: true })
    const after = C.download()
    const expected = oracle(a!, b!, { c0: a! }) as Dense
    expectElements(await before, expected)
    expectElements(await after, oracle(b!, a!, { c0: { ...expected, shape: [40, 40] } }) as Dense)
  })

  it('of many small ones', async () => {
    const one = await open().full([4, 4], 1)
    const sum = [await open().full([4, 4], 0), await open().full([4, 4], 0)]
    const running: Promise<unknown>[] = []
    for (let i = 0; i < 1000; i++) running.push(mpmm(sum[i % 2]!, one, { out: sum[(i + 1) % 2]! }))
    expect([...(await sum[0]!.download()).data]).toEqual(new Array(16).fill(1000))
    await Promise.all(running)
  })
}
