/**
 * Thread creation that the system refuses, in processes that have not started threads. Uses the output of `npm run build:ts`.
 * Threads of work on several devices are tested in suite-multi-device.ts and suite-sharded.ts.
 */
import { expect, it } from 'vitest'
import { ended, inDist, runModule, withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'

/** Returns the output of a program in a process with `threads` threads for products on the CPU. */
const run = (body: string, threads = 4) =>
  runModule(
    `
    import { matrix, mpmm, mpmmSync } from ${inDist('lib/index.js')}
    import { addon } from ${inDist('lib/native.js')}
    const ones = (rows, cols) => matrix(rows, cols, new Int32Array(rows * cols).fill(1))
    const options = { backend: 'cpu' }
    ${body}`,
    { env: { MPMML_NUM_THREADS: String(threads) } },
  )

describeUnless(withoutBuild, 'threads that are refused', () => {
  it.each([1, 2, 3])(
    'compute products with the available threads, if creation fails from number %i on',
    (nth) => {
      const body = `
        addon.failThread(${nth}, 1e15)
        const all = [1, 2, 3].map(() => mpmmSync(ones(400, 300), ones(300, 200), options).c.data)
        console.log(all.every((data) => data.every((element) => element === 2)))`
      expect(run(body)).toEqual(ended('true'))
    },
  )

  it('reject a product off the event loop, which needs one', () => {
    const body = `
        addon.failThread(1, 1e15)
        const { code, message } = await mpmm(ones(400, 300), ones(300, 200), options).catch((error) => error)
        console.log(code, message.includes('mpmmSync needs none'))
        addon.failThread(2, 1e15)
        const results = await Promise.all([1, 2, 3].map(() => mpmm(ones(400, 300), ones(300, 200), options)))
        console.log(results.every(({ c }) => c.data.every((element) => element === 2)))`
    expect(run(body, 1)).toEqual(ended('ERR_MPMML_OUT_OF_MEMORY true\ntrue'))
  })

  it('reject a measurement of the processor', () => {
    const body = `
        addon.failThread(3, 1e15)
        const measuring = addon.cpuCeiling({ isa: '', steps: 'int32', threads: 4, samples: 1, milliseconds: 1 })
        console.log((await measuring.catch((error) => error)).message)`
    const { status, signal, stdout, stderr } = run(body)
    expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' })
    expect(stdout).toContain('the system refused to start a thread to measure with')
  })
})
