/** Matrices that stay on a GPU, when its memory is short: packed forms are dropped, and products are divided. */

import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { PATIENCE } from '../support/patience.js'

const reason = withoutCuda()

/** What a program prints with this much device memory. */
function run(mebibytes: number, body: string): unknown {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `
      import { matrix, mpmm, openDevice } from ${JSON.stringify(new URL('../../dist/lib/index.js', import.meta.url).href)}
      const square = (n, seed) =>
        matrix(n, n, Int32Array.from({ length: n * n }, (_, i) => (Math.imul(i + seed, 2654435761) >>> 8) % 2000000))
      const same = (x, y) => x.length === y.length && x.every((value, i) => value === y[i])
      const code = (promise) => promise.then(() => 'done', (error) => error.code)
      const device = await openDevice({ backend: 'cuda' })
      ${body}
      await device.close()
      `,
    ],
    {
      encoding: 'utf8',
      timeout: PATIENCE,
      env: { ...process.env, MPMML_DEVICE_MEMORY_MIB: String(mebibytes) },
    },
  )
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

describe.skipIf(reason !== undefined)(
  reason === undefined ? 'short memory' : `short memory (skipped: ${reason})`,
  () => {
    it('a product whose operands can be packed only in parts is exact', () => {
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

    it('packed forms make room for matrices, and are made again', () => {
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

    it('a matrix without room is an error, and the next call works', () => {
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
  },
)
