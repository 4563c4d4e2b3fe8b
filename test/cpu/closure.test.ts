/** Closures and powers, on the CPU. */
import { describe, expect, it } from 'vitest'
import { addon } from '../../lib/native.js'
import { ended, inDist, runModule, withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'
import { closureSuite } from '../support/suite-closure.js'

describe('cpu', () => closureSuite('cpu'))

describeUnless(withoutBuild, 'processes', () => {
  const run = (body: string, env: NodeJS.ProcessEnv = {}) =>
    runModule(`import { star } from ${inDist('lib/algebra.js')}\n${body}`, { env })

  it('end with their process, whatever the library has opened', () => {
    const body = 'console.log((await star({ data: new Int32Array(4), shape: [2, 2] })).c.data.join())'
    expect(run(body)).toEqual(ended('0,0,0,0'))
  })

  it('use the backend in MPMML_BACKEND', () => {
    const body = 'console.log((await star({ data: new Int32Array(4), shape: [2, 2] })).backend)'
    expect(run(body, { MPMML_BACKEND: 'cpu' }).stdout).toBe('cpu')
  })

  /** Checksum of all elements and all next nodes. */
  const digest = `
    import { createHash } from 'node:crypto'
    import { computeClosure } from ${inDist('lib/closure/closure.js')}
    import { readAlgebraOptions } from ${inDist('lib/algebra/options.js')}
    import { zeroOf } from ${inDist('lib/built-in-semirings.js')}
    import { readView } from ${inDist('lib/view.js')}
    const types = { int32: Int32Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array }
    const hash = createHash('sha256')
    let seed = 1
    const random = () => (seed = (seed * 48271) % 2147483647)
    for (const [semiring, names] of [['max-plus', ['int32', 'float32', 'float64']], ['min-plus', ['int32', 'float32', 'float64']],
        ['max-min', ['int32', 'float32', 'float64']], ['min-max', ['int32', 'float64']], ['max-times', ['float32', 'float64']],
        ['or-and', ['uint8']]]) {
      for (const name of names) {
        for (const n of [3, 65, 150]) {
          const zero = zeroOf(semiring, name)
          const sign = semiring === 'max-plus' ? -1 : 1
          const data = new types[name](n * n).map(() => random() % 3 ? zero : name === 'uint8' ? 1 : semiring === 'max-times' ? (random() % 100) / 101 : sign * (random() % 1000))
          for (const next of [false, true]) {
            const view = readView({ data, shape: [n, n] }, 'a', 'operand')
            const closed = await computeClosure(view, readAlgebraOptions({ semiring, backend: 'cpu' }), { reflexive: true, next })
            hash.update(closed.distances.data)
            if (next) hash.update(closed.next.data)
          }
        }
      }
    }
    console.log(hash.digest('hex'))`

  it('have the same results with every instruction set and any number of threads', () => {
    const { instructionSets } = addon.describe().cpu
    const first = run(digest).stdout
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    for (const isa of instructionSets) {
      expect(run(digest, { MPMML_CPU_ISA: isa, MPMML_NUM_THREADS: '3' }), isa).toEqual(ended(first))
    }
  })
})
