/** The library in worker threads and in processes that end while a product runs. Uses the output of `npm run build:ts`. */
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { ended, inDist, readOutput, runModule, withoutBuild } from '../support/child.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless, itIf } from '../support/skip.js'

const program = (body: string) => `
  import { matrix, mpmm, mpmmSync, openDevice, explainBackend, variants } from ${inDist('lib/index.js')}
  ${body}
`
/** Starts products that take at least a minute each. The test kills a process that waits for the products. */
const slow = (size = 6000, count = 1) => `
  const { name } = variants().find(({ family, semiring }) => family === 'naive' && semiring === 'max-plus')
  const start = () => mpmm(matrix(${size}, ${size}), matrix(${size}, ${size}), { variant: name })
  const running = Promise.all(Array.from({ length: ${count} }, start))
`

/**
 * Opens a device. `slow()` starts work of at least a minute on the device, and `square()` creates a small
 * matrix of ones.
 */
const onDevice = (backend: string) => `
  const device = await openDevice({ backend: '${backend}' })
  const square = (size = 100) => device.full([size, size], 1)
  const { name } = variants().find(({ family, semiring }) => family === 'naive' && semiring === 'max-plus')
  async function slow() {
    const [a, out] = [await square(6000), await square(6000)]
    if (device.backend === 'cpu') return mpmm(a, a, { out, variant: name })
    return Promise.all(Array.from({ length: 5000 }, () => mpmm(a, a, { out })))
  }
`

const run = (body: string, env: NodeJS.ProcessEnv = {}) => runModule(program(body), { env })

function inWorker(body: string): Promise<unknown> {
  const url = new URL(
    `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    ${program(body)}
  `)}`,
  )
  return new Promise((resolve, reject) => {
    const worker = new Worker(url)
    let message: unknown
    worker.on('message', (value) => {
      message = value
    })
    worker.on('error', reject)
    worker.on('exit', (code) => resolve(message ?? code))
  })
}

describeUnless(withoutBuild, 'processes and threads', () => {
  it.each([1, 9])('ends with process.exit while products run: %i', (count) => {
    expect(run(`${slow(6000, count)}; setTimeout(() => process.exit(7), 100)`)).toEqual(ended('', 7))
  })

  it('ends by an exception while a product runs', () => {
    const { status, signal, stderr } = run(`${slow()}; setTimeout(() => { throw new Error('planned') }, 20)`)
    expect({ status, signal }).toEqual({ status: 1, signal: null })
    expect(stderr).toContain('planned')
  })

  it('stays alive until the products are done', () => {
    const { status, stdout } = run(
      `${slow(500, 6)}; running.then((all) => console.log(all.map(({ c }) => c.data.length)))`,
    )
    expect(status).toBe(0)
    expect(stdout).toContain('250000, 250000, 250000, 250000, 250000, 250000')
  })

  it('works in several worker threads at once', async () => {
    const body = (value: number) => `
      const { c } = await mpmm(matrix(100, 100), matrix(100, 100, new Int32Array(10000).fill(${value})))
      parentPort.postMessage([c.data[0], mpmmSync(matrix(1, 1), matrix(1, 1, [${value}])).c.data[0]])
    `
    const answers = await Promise.all([1, 2, 3, 4].map((value) => inWorker(body(value))))
    expect(answers).toEqual([1, 2, 3, 4].map((value) => [value, value]))
  })

  it('works in worker threads and in the main thread at once', () => {
    const numbers = (from: number) => Array.from({ length: 20 }, (_, index) => from + index)
    const products = (from: number) => `
        Promise.all(${JSON.stringify(numbers(from))}.map((value) =>
          mpmm(matrix(90, 90), matrix(90, 90, new Int32Array(8100).fill(value)))))
        .then((results) => results.map(({ c }) => c.data[8099]))
      `
    const worker = (from: number) => {
      const body = `
          import { parentPort } from 'node:worker_threads'
          ${program(`parentPort.postMessage(await ${products(from)})`)}
        `
      return JSON.stringify(`data:text/javascript,${encodeURIComponent(body)}`)
    }
    const { status, stdout, stderr } = run(`
        import { Worker } from 'node:worker_threads'
        const answers = [${[100, 200, 300].map(worker)}].map((url) => new Promise((resolve, reject) =>
          new Worker(new URL(url)).on('message', resolve).on('error', reject)))
        console.log(JSON.stringify(await Promise.all([${products(0)}, ...answers])))
      `)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual([0, 100, 200, 300].map(numbers))
  })

  it('outlives a worker thread that calls process.exit while its products run', () => {
    const body = JSON.stringify(
      encodeURIComponent(program(`${slow(6000, 6)}; setTimeout(() => process.exit(3), 50)`)),
    )
    expect(
      run(`
        import { Worker } from 'node:worker_threads'
        const worker = new Worker(new URL('data:text/javascript,' + ${body}))
        console.log(await new Promise((resolve) => worker.once('exit', resolve)))
        console.log((await mpmm(matrix(1, 1, [2]), matrix(1, 1, [3]))).c.data[0])
      `),
    ).toEqual(ended('3\n5'))
  })

  it('keeps no idle process alive after any use', () => {
    expect(
      run(`
        import { tracingChannel } from 'node:diagnostics_channel'
        tracingChannel('mpmml:product').subscribe({ asyncEnd() {} })
        const controller = new AbortController()
        const options = { signal: controller.signal, onProgress() {} }
        await mpmm(matrix(300, 300), matrix(300, 300), options)
        await mpmm(matrix(2, 3), matrix(2, 3), options).catch(() => {})
        controller.abort()
        await mpmm(matrix(300, 300), matrix(300, 300), options).catch(() => {})
        mpmmSync(matrix(300, 300), matrix(300, 300))
        explainBackend()
        console.log('idle')
      `),
    ).toEqual(ended('idle'))
  })

  it('survives environments that end while the computing thread still reports to them', () => {
    const body = JSON.stringify(
      encodeURIComponent(program('await mpmm(matrix(1, 1, [2]), matrix(1, 1, [3]))')),
    )
    const { status, signal, stdout } = run(`
        import { Worker } from 'node:worker_threads'
        const end = () => new Promise((resolve) => {
          new Worker(new URL('data:text/javascript,' + ${body})).once('exit', resolve)
        })
        for (let round = 0; round < 20; round++) await Promise.all([end(), end(), end(), end()])
        console.log('alive')
      `)
    expect({ status, signal, stdout }).toEqual({ status: 0, signal: null, stdout: 'alive' })
  })

  it('works in a worker thread after another one ended', async () => {
    const body = `parentPort.postMessage(mpmmSync(matrix(50, 50), matrix(50, 50)).c.data[7])`
    for (let round = 0; round < 3; round++) expect(await inWorker(body)).toBe(0)
  })

  // The test uses a separate process, because a failure would end the process.
  it.each([1, 9])('outlives a worker thread that is terminated while its products run: %i', (count) => {
    const body = JSON.stringify(encodeURIComponent(program(`${slow(6000, count)}; await running`)))
    expect(
      run(`
        import { Worker } from 'node:worker_threads'
        const worker = new Worker(new URL('data:text/javascript,' + ${body}))
        await new Promise((resolve) => worker.once('online', resolve))
        await new Promise((resolve) => setTimeout(resolve, 200))
        await worker.terminate()
        await new Promise((resolve) => setTimeout(resolve, 500))
        console.log((await mpmm(matrix(1, 1, [2]), matrix(1, 1, [3]))).c.data[0])
      `),
    ).toEqual(ended('5'))
  })

  const places = [
    { backend: 'cpu', missing: undefined },
    { backend: 'cuda', missing: withoutCuda() },
  ]
  describe.each(places)('with an open device: $backend', ({ backend, missing }) => {
    const open = onDevice(backend)
    const worker = (body: string) =>
      JSON.stringify(`data:text/javascript,${encodeURIComponent(program(body))}`)
    const succeeds = (body: string) => readOutput(program(body))

    // test/unit/device-processes.test.ts covers the CPU.
    const itOnGpu = (what: string, test: () => void) => itIf(backend !== 'cpu', what, test)

    describeUnless(missing, 'a process', () => {
      itOnGpu('keeps no idle process alive after any use', () => {
        const output = succeeds(`
            ${open}
            const a = await device.upload(matrix(2, 2, [1, 2, 3, 4]))
            const { c } = await mpmm(a, a.transpose(), { onProgress() {} })
            await c.combine(a)
            await mpmm(a, a.view({ cols: [0, 1] }), { signal: new AbortController().signal })
            await mpmm(a, matrix(3, 3)).catch(({ code }) => console.log(code))
            mpmmSync(await square(500), await square(500))
            console.log((await c.download()).data.join())
          `)
        // The elements are the largest of 1+1 and 2+2, of 1+3 and 2+4, of 3+1 and 4+2, and of 3+3 and 4+4.
        expect(output).toBe('ERR_MPMML_SHAPE\n4,6,6,8')
      })

      itOnGpu('stays alive until its queued work is done', () => {
        const output = succeeds(`
            ${open}
            let a = await square()
            for (let length = 0; length < 6; length++) a = (await mpmm(a, a)).c
            const out = await square()
            for (let time = 0; time < 50; time++) mpmm(a, a, { out })
            out.download().then(({ data }) => console.log(data[9999]))
          `)
        expect(output).toBe('128')
      })

      itOnGpu('stays alive until it is closed, after its work', () => {
        const output = succeeds(`
            ${open}
            const [a, out] = [await square(), await square()]
            const products = Array.from({ length: 50 }, () => mpmm(a, a, { out }))
            Promise.all(products).then(() => console.log('done'))
            device.close().then(() => console.log('closed'))
            device.upload(matrix(1, 1)).catch(({ code }) => console.log(code))
          `)
        expect(output.split('\n').sort()).toEqual(['ERR_MPMML_DISPOSED', 'closed', 'done'])
      })

      itOnGpu('ends with process.exit while it works', () => {
        expect(
          run(`
            ${open}
            slow()
            const queued = square().then((a) => mpmm(a, a))
            setTimeout(() => process.exit(7), 100)
          `),
        ).toEqual(ended('', 7))
      })

      itOnGpu('ends by an exception while it works', () => {
        const { status, signal, stderr } = run(`
            ${open}
            slow()
            setTimeout(() => { throw new Error('planned') }, 100)
          `)
        expect({ status, signal }).toEqual({ status: 1, signal: null })
        expect(stderr).toContain('planned')
      })

      for (const end of ['worker.terminate()', 'process.exit(3) in it'])
        itOnGpu(`outlives a worker that works: ${end}`, () => {
          const exits = end.startsWith('process')
          const output = succeeds(`
            import { Worker } from 'node:worker_threads'
            ${open}
            const worker = new Worker(new URL(${worker(`
              import { parentPort } from 'node:worker_threads'
              ${open}
              slow()
              parentPort.postMessage('started')
              ${exits ? 'setTimeout(() => process.exit(3), 100)' : ''}
            `)}))
            const ended = new Promise((resolve) => worker.once('exit', resolve))
            console.log(await new Promise((resolve) => worker.once('message', resolve)))
            ${exits ? '' : 'setTimeout(() => worker.terminate(), 100)'}
            console.log(await ended)
            const a = await square()
            console.log((await (await mpmm(a, a)).c.download()).data[7])
          `)
          expect(output).toBe(`started\n${exits ? 3 : 1}\n2`)
        })

      it('works in workers and in the main thread, each with a device of its own', () => {
        const chain = (value: number) => `
            ${open}
            let a = await device.full([90, 90], ${value})
            for (let length = 0; length < 5; length++) a = (await mpmm(a, a)).c
            const { data } = await a.download()
          `
        const output = succeeds(`
            import { Worker } from 'node:worker_threads'
            const answers = [${[1, 2, 3].map((value) =>
              worker(`
                import { parentPort } from 'node:worker_threads'
                ${chain(value)}
                parentPort.postMessage(data[8099])
              `),
            )}].map((url) => new Promise((resolve, reject) =>
              new Worker(new URL(url)).on('message', resolve).on('error', reject)))
            ${chain(4)}
            console.log(data[8099], ...await Promise.all(answers))
          `)
        expect(output).toBe('128 32 64 96')
      })

      it('survives workers that end while the device still works or is being opened', () => {
        const output = succeeds(`
            import { Worker } from 'node:worker_threads'
            const bodies = [
              ${worker(`${open}; await square()`)},
              ${worker(`openDevice({ backend: '${backend}' }); process.exit(0)`)},
              ${worker(`${open}; square(); process.exit(0)`)},
              ${worker(`${open}; const a = await square(); mpmm(a, a); process.exit(0)`)},
              ${worker(`${open}; const a = await square(); mpmm(a, a); device.close(); process.exit(0)`)},
            ]
            const end = (body) => new Promise((resolve) => new Worker(new URL(body)).once('exit', resolve))
            for (let round = 0; round < 5; round++) await Promise.all(bodies.map(end))
            console.log('alive')
          `)
        expect(output).toBe('alive')
      })
    })
  })

  describe('MPMML_BACKEND', () => {
    const backend = `console.log(mpmmSync(matrix(1, 1), matrix(1, 1)).backend, explainBackend().backend, explainBackend().reason)`
    const code = (options: string) =>
      `try { console.log(mpmmSync(matrix(1, 1), matrix(1, 1), ${options}).backend) } catch (e) { console.log(e.code, e.message) }`

    it('selects cpu', () => {
      expect(run(backend, { MPMML_BACKEND: 'cpu' }).stdout).toMatch(/^cpu cpu .*MPMML_BACKEND=cpu/)
    })
    it('selects cuda', () => {
      const { stdout } = run(code(''), { MPMML_BACKEND: 'cuda' })
      expect(stdout).toMatch(/^(cuda$|ERR_MPMML_NO_CUDA )/)
      expect(run('console.log(JSON.stringify(explainBackend()))', { MPMML_BACKEND: 'cuda' }).stdout).toMatch(
        /^\{"backend":"cuda","reason":"MPMML_BACKEND=cuda /,
      )
    })
    it('overrides auto only', () => {
      expect(run(code("{ backend: 'auto' }"), { MPMML_BACKEND: 'wrong' }).stdout).toMatch(/^ERR_MPMML_OPTION/)
      expect(run(code("{ backend: 'cpu' }"), { MPMML_BACKEND: 'cuda' }).stdout).toBe('cpu')
      expect(run(code("{ backend: 'cpu' }"), { MPMML_BACKEND: 'wrong' }).stdout).toBe('cpu')
      expect(run(code('{ variant: variants()[0].name }'), { MPMML_BACKEND: 'cuda' }).stdout).toBe('cpu')
    })
    it('is reported by name if its value is invalid', () => {
      const { stdout } = run(code(''), { MPMML_BACKEND: 'gpu' })
      expect(stdout).toMatch(/^ERR_MPMML_OPTION .*MPMML_BACKEND.*'auto', 'cuda', 'webgpu' or 'cpu'.*'gpu'/)
    })
    it('is unset if it is empty', () => {
      expect(run(code(''), { MPMML_BACKEND: '' }).stdout).toMatch(/^(cpu|cuda)$/)
    })
  })
})
