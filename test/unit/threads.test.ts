/**
 * Thread creation that the system refuses, in processes that have not started threads. Uses the output of `npm run build:ts`.
 * Threads of work on several devices are tested in suite-several.ts and suite-spread.ts.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { PATIENCE } from '../support/patience.js'
import { describeUnless } from '../support/skip.js'

const library = new URL('../../dist/lib/index.js', import.meta.url)
const built = existsSync(library)

/** Returns the output of a program in a process with `threads` threads for products on the CPU. */
function run(body: string, threads = 4) {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `
      import { matrix, mpmm, mpmmSync } from ${JSON.stringify(library.href)}
      import { addon } from ${JSON.stringify(new URL('native.js', library).href)}
      const ones = (rows, cols) => matrix(rows, cols, new Int32Array(rows * cols).fill(1))
      const options = { backend: 'cpu' }
      ${body}`,
    ],
    { encoding: 'utf8', timeout: PATIENCE, env: { ...process.env, MPMML_NUM_THREADS: String(threads) } },
  )
  return { status, signal, stdout: stdout.trim(), stderr }
}
const printed = (stdout: string) => ({ status: 0, signal: null, stdout, stderr: '' })

describeUnless(!built && `no ${fileURLToPath(library)}`, 'threads that are refused', () => {
  it.each([1, 2, 3])(
    'compute products with the available threads, if creation fails from number %i on',
    (nth) => {
      const body = `
        addon.failThread(${nth}, 1e15)
        const all = [1, 2, 3].map(() => mpmmSync(ones(400, 300), ones(300, 200), options).c.data)
        console.log(all.every((data) => data.every((element) => element === 2)))`
      expect(run(body)).toEqual(printed('true'))
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
    expect(run(body, 1)).toEqual(printed('ERR_MPMML_OUT_OF_MEMORY true\ntrue'))
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
