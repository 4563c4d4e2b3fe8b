/** Results of a GPU in pinned memory: their values, and the lifetime of their memory. */
import { expect, it } from 'vitest'
import { type DenseMatrix, matrix, mpmm, mpmmGrouped, openDevice } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { inDist, readOutput, withoutBuild } from '../support/child.js'
import { expectElements } from '../support/expect.js'
import { operands, Random } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { type Dense, oracle, type Strided } from '../support/oracle.js'
import { describeUnless } from '../support/skip.js'

const reason = withoutBuild ?? withoutCuda()
const options = { backend: 'cuda' } as const

/** Computes products until results are in pinned memory. */
async function fill(): Promise<void> {
  const a = matrix(512, 512)
  for (let call = 0; call < 1000; call++) {
    const before = addon.pinnedUse().used
    const { c } = await mpmm(a, a, options)
    if (addon.pinnedUse().used >= before + c.data.byteLength) return
  }
  expect.fail('no result was in pinned memory')
}

const expected = (a: Strided, b: Strided) => oracle(a, b) as Dense

describeUnless(reason, 'results in pinned memory', () => {
  it.each([
    ['in one slot', [200, 190, 180]],
    ['in cells', [700, 300, 650]],
    ['tall', [9000, 20, 30]],
  ] as const)('are right: %s', async (_, size) => {
    await fill()
    for (const kind of ['small', 'small, ε scattered', 'full range'] as const) {
      const { a, b } = operands(kind, 'max-plus', size, 3)
      const overflow = 'saturate'
      const { c } = await mpmm(a, b, { ...options, overflow })
      expectElements(c, oracle(a, b, { overflow }) as Dense, kind)
    }
  })

  it('are right with witnesses, in batches and in groups', async () => {
    await fill()
    const { a, b } = operands('small', 'max-plus', [150, 140, 160], 4, 3)
    expectElements((await mpmm(a, b, options)).c, expected(a, b))
    const one = operands('small', 'max-plus', [300, 100, 200], 5)
    const { c, witness } = await mpmm(one.a, one.b, { ...options, witness: true })
    const right = expected(one.a, one.b)
    expectElements(c, right)
    for (let cell = 0; cell < c.data.length; cell += 11) {
      const [row, col, k] = [Math.floor(cell / 200), cell % 200, witness.data[cell]!]
      expect(one.a.data[row * 100 + k]! + one.b.data[k * 200 + col]!).toBe(right.data[cell])
    }
    const group = Array.from({ length: 5 }, (_, seed) => operands('small', 'max-plus', [160, 90, 170], seed))
    const results = await mpmmGrouped(group, options)
    for (const [index, { c }] of results.entries()) {
      expectElements(c, expected(group[index]!.a, group[index]!.b))
    }
  })

  it('are operands of other products', async () => {
    await fill()
    for (const size of [160, 700]) {
      const { a, b } = operands('small', 'max-plus', [size, size, size], 6)
      const first = (await mpmm(a, b, options)).c
      const second = (await mpmm(first, a, options)).c
      const third = (await mpmm(first, second, options)).c
      const right = toMatrix(expected(a, b))
      const next = toMatrix(expected(right, a))
      expectElements(second, expected(right, a))
      expectElements(third, expected(right, next))
    }
  })

  it('are the destination of downloads', async () => {
    await fill()
    const device = await openDevice(options)
    const { a, b } = operands('small', 'max-plus', [300, 200, 250], 7)
    const there = await device.upload(a)
    const { c } = await mpmm(there, b)
    const used = addon.pinnedUse().used
    expectElements(await c.download(), expected(a, b))
    expect(addon.pinnedUse().used).toBeGreaterThan(used)
    await device.close()
  })

  it('keep their values when others are dropped', async () => {
    await fill()
    const random = new Random(8)
    const pairs = [130, 260, 520].map((size) => operands('small', 'max-plus', [size, 40, size], size))
    const right = pairs.map(({ a, b }) => expected(a, b))
    const retained: { c: DenseMatrix<Int32Array>; which: number }[] = []
    const caller = async () => {
      for (let call = 0; call < 200; call++) {
        const which = random.integer(0, pairs.length - 1)
        const { a, b } = pairs[which]!
        const { c } = await mpmm(a, b, options)
        if (random.integer(0, 2) > 0) retained.push({ c, which })
        if (retained.length > 60) {
          const [one] = retained.splice(random.integer(0, retained.length - 1), 1)
          expectElements(one!.c, right[one!.which]!)
        }
      }
    }
    await Promise.all(Array.from({ length: 8 }, caller))
    for (const { c, which } of retained) expectElements(c, right[which]!)
  })

  /** Output of a program in a separate process. */
  const run = (body: string, env: NodeJS.ProcessEnv = {}) => {
    const program = `
        import { matrix, mpmm } from ${inDist('lib/index.js')}
        import { addon } from ${inDist('lib/native.js')}
        const options = { backend: 'cuda' }
        const square = (n, value) => matrix(n, n, new Int32Array(n * n).fill(value))
        const isAll = (array, value) => array.every((element) => element === value)
        const warm = async () => {
          for (let call = 0; call < 1000 && addon.pinnedUse().used === 0; call++) {
            await mpmm(square(512, 1), square(512, 1), options)
          }
        }
        ${body}`
    return readOutput(program, { flags: ['--expose-gc'], env })
  }

  it('are released when they have been collected', () => {
    const said = run(`
        await warm()
        const most = addon.pinnedUse().used
        for (let round = 0; round < 200 && addon.pinnedUse().used > 0; round++) {
          gc()
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
        console.log(most > 0, addon.pinnedUse().used)`)
    expect(said).toBe('true 0')
  })

  it('are ordinary arrays if the environment disables the pool', () => {
    const said = run(
      `
        for (let call = 0; call < 30; call++) await mpmm(square(512, 1), square(512, 1), options)
        await new Promise((resolve) => setTimeout(resolve, 200))
        const { limit, held, used } = addon.pinnedUse()
        console.log(limit, held, used)`,
      { MPMML_PINNED_MEMORY_MIB: '0' },
    )
    expect(said).toBe('0 0 0')
  })

  it('do no harm in a process that ends during a call', () => {
    const said = run(`
        await warm()
        const running = Array.from({ length: 20 }, () => mpmm(square(2048, 1), square(2048, 2), options))
        await Promise.race(running)
        console.log('ends')
        process.exit(0)`)
    expect(said).toBe('ends')
  })

  it('are not reused from workers that end during a call before the calls have ended', () => {
    const worker = `
        import { matrix, mpmm } from ${inDist('lib/index.js')}
        const square = (n, value) => matrix(n, n, new Int32Array(n * n).fill(value))
        const [a, b] = [square(2048, 3), square(2048, 4)]
        for (;;) await Promise.all(Array.from({ length: 6 }, () => mpmm(a, b, { backend: 'cuda' })))`
    const said = run(`
        import { Worker } from 'node:worker_threads'
        await warm()
        let right = true
        for (let round = 0; round < 5; round++) {
          const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(worker)})))
          await new Promise((resolve) => worker.once('online', resolve))
          await new Promise((resolve) => setTimeout(resolve, 300 + 37 * round))
          const ended = worker.terminate()
          const kept = []
          for (let call = 0; call < 10; call++) kept.push((await mpmm(square(2048, 1), square(2048, 1), options)).c.data)
          await ended
          for (let call = 0; call < 10; call++) kept.push((await mpmm(square(2048, 1), square(2048, 1), options)).c.data)
          await new Promise((resolve) => setTimeout(resolve, 100))
          right &&= kept.every((data) => isAll(data, 2))
        }
        console.log(right)`)
    expect(said).toBe('true')
  })
})

const toMatrix = ({ rows, cols, data }: Dense): DenseMatrix<Int32Array> => matrix(rows, cols, data)
