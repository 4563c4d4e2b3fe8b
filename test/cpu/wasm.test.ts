/**
 * The WebAssembly addon compared with this platform's addon: equal bits, and separate memory. Uses the output
 * of `npm run build:wasm` and `build:ts`.
 */
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { inDist, readOutput, withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'

const wasm = new URL('../../build/Release/wasm/addon.cjs', import.meta.url)
const missing =
  withoutBuild ?? (existsSync(wasm) ? undefined : 'run npm run build:wasm, which needs Emscripten')

/** Returns the output of a program with an addon. */
function printed(addon: string, body: string, environment: Record<string, string> = {}): string {
  const text = `import * as library from ${inDist('lib/index.js')}\n${body}`
  return readOutput(text, { env: { MPMML_ADDON: addon, ...environment } })
}

/**
 * Program that prints one line per product: all semirings and types, with witnesses, strides, batches and C0.
 */
const PRODUCTS = `
  import { createHash } from 'node:crypto'
  const { mpmm, mpmmSync, openDevice } = library
  let seed = 7
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below
  const types = { int32: Int32Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array }
  const zeros = { 'max-plus': -Infinity, 'min-plus': Infinity, 'max-min': -Infinity, 'min-max': Infinity, 'max-times': 0, 'or-and': 0 }
  const value = (semiring, type, spread) => {
    if (random(7) === 0) return type === 'int32' ? (zeros[semiring] > 0 ? 2147483647 : -2147483648) : zeros[semiring]
    if (semiring === 'or-and') return random(2)
    if (semiring === 'max-times') return random(1000) / 1001
    return (random(spread) - (spread >> 1)) / (type === 'int32' ? 1 : 8)
  }
  const hash = (...arrays) => {
    const sum = createHash('sha256')
    for (const array of arrays) sum.update(array)
    return sum.digest('hex')
  }
  for (const [semiring, names] of Object.entries({ 'max-plus': ['int32', 'float32', 'float64'], 'min-plus': ['int32', 'float32', 'float64'],
      'max-min': ['int32', 'float32'], 'min-max': ['int32', 'float64'], 'max-times': ['float32', 'float64'], 'or-and': ['uint8'] })) {
    for (const type of names) {
      for (const [batch, m, n, k] of [[1, 1, 1, 1], [2, 5, 67, 33], [1, 130, 70, 257], [1, 1, 300, 200]]) {
        for (const spread of [200, 40000, 2000000000]) {
          const fill = (size) => types[type].from({ length: size }, () => value(semiring, type, spread))
          // A is transposed, B is row-major.
          const a = { data: fill(batch * m * k), shape: [batch, m, k], strides: [m * k, 1, m] }
          const b = { data: fill(batch * k * n), shape: [batch, k, n] }
          const c0 = { data: fill(batch * m * n), shape: [batch, m, n] }
          const options = { semiring, backend: 'cpu', witness: true, accumulate: c0, overflow: semiring.endsWith('plus') && type === 'int32' ? 'saturate' : undefined }
          if (semiring === 'or-and' ) delete options.overflow
          if (options.overflow === undefined) delete options.overflow
          const { c, witness } = await mpmm(a, b, options)
          const plain = mpmmSync(a, b, { semiring, backend: 'cpu', ...(options.overflow ? { overflow: 'wrap' } : {}) })
          console.log(semiring, type, batch, m, n, k, spread, hash(c.data, witness.data, plain.c.data))
        }
      }
    }
  }`

describeUnless(missing, 'the addon as WebAssembly', () => {
  it('has the bits of this platform’s addon, with one thread and with three', () => {
    const expected = printed('cpu', PRODUCTS)
    expect(expected.split('\n').length).toBeGreaterThan(150)
    expect(printed('wasm', PRODUCTS, { MPMML_NUM_THREADS: '1' })).toBe(expected)
    expect(printed('wasm', PRODUCTS, { MPMML_NUM_THREADS: '3' })).toBe(expected)
  })

  it('is selected by MPMML_ADDON, and is reported', () => {
    const body = `
      const { addon, cpu, cuda, auto } = library.info()
      console.log(JSON.stringify([addon.kind, cpu.simd, cuda.built, auto.reason]))`
    const [kind, simd, cuda, reason] = JSON.parse(printed('wasm', body))
    expect([kind, simd, cuda]).toEqual(['wasm', 'simd128', false])
    expect(reason).toContain('MPMML_ADDON=wasm asks for it')
  })

  it('writes only the elements of its result into an array that several calls write', () => {
    const body = `
      const { mpmm, matrix } = library
      const whole = new Int32Array(64 * 64).fill(7)
      const a = matrix(32, 3, new Int32Array(96).fill(2)), b = matrix(3, 32, new Int32Array(96).fill(3))
      const tile = (row, col) => ({ data: whole, shape: [32, 32], strides: [64, 1], offset: row * 64 + col })
      await Promise.all([[0, 0], [0, 32], [32, 32]].map(([row, col]) => mpmm(a, b, { out: tile(row, col), backend: 'cpu' })))
      const sums = [[0, 0], [0, 32], [32, 0], [32, 32]].map(([row, col]) => {
        let sum = 0
        for (let i = 0; i < 32; ++i) for (let j = 0; j < 32; ++j) sum += whole[(row + i) * 64 + col + j]
        return sum / 1024
      })
      console.log(sums.join())`
    expect(printed('wasm', body)).toBe('5,5,7,5')
  })

  it('aborts a product, and computes the next one', () => {
    const body = `
      const { mpmm, matrix } = library
      const n = 1500
      const a = matrix(n, n, Float64Array.from({ length: n * n }, (_, i) => i % 97))
      const controller = new AbortController()
      const given = mpmm(a, a, { signal: controller.signal, backend: 'cpu' })
      setTimeout(() => controller.abort(), 30)
      console.log(await given.then(() => 'done', (error) => error.code))
      const { c } = await mpmm(matrix(1, 1, Int32Array.of(2)), matrix(1, 1, Int32Array.of(3)))
      console.log(c.data[0])`
    expect(printed('wasm', body)).toBe('ERR_MPMML_ABORTED\n5')
  })

  it('rejects a product that exceeds its memory, with the size', () => {
    const body = `
      const { mpmm, matrix } = library
      const n = 33000
      const [a, b] = [matrix(n, 1, new Int32Array(n)), matrix(1, n, new Int32Array(n))]
      const error = await mpmm(a, b, { backend: 'cpu' }).catch((error) => error)
      console.log(error.code, /([0-9]+) MiB/.exec(error.message)?.[1])`
    expect(printed('wasm', body)).toBe('ERR_MPMML_OUT_OF_MEMORY 4155')
  })
})
