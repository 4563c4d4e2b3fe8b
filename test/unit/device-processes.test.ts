/** Devices in worker threads, and in processes that end while a device works. Uses the output of `npm run build:ts`. */
import { describe, expect, it } from 'vitest'
import { ended, inDist, runModule, withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'

/**
 * Program in which each operation of a CPU device takes additional milliseconds, which simulates the
 * asynchronous work of a GPU.
 */
const program = (body: string, milliseconds: number) => `
  import { matrix, mpmm, mpmmGrouped, mpmmSync, openDevice } from ${inDist('lib/index.js')}
  import { addon } from ${inDist('lib/native.js')}
  addon.delayWork(${milliseconds})
  const open = () => openDevice({ backend: 'cpu' })
  const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))
  ${body}
`

const run = (body: string, milliseconds = 0, flags: string[] = []) =>
  runModule(program(body, milliseconds), { flags })

/** Program that starts many products and releases matrices. */
const busy = `
  const device = await open()
  const [a, b] = [await device.full([60, 60], 1), await device.full([60, 60], 2)]
  for (let round = 0; round < 40; round++) {
    mpmm(a, b).then(({ c }) => c.dispose())
    mpmm(a, b, { out: await device.full([60, 60], 0) })
    mpmmGrouped([{ a, b }, { a: b, b: matrix(60, 5) }])
    if (round % 10 === 0) await mpmm(a, b)
  }
  a.dispose()
  b.combine(b)
  const queued = b.download().then(({ data }) => data[0])
`

/** Returns the URL of a module for a worker thread that runs a program. */
const url = (body: string, milliseconds: number) =>
  JSON.stringify(`data:text/javascript,${encodeURIComponent(program(body, milliseconds))}`)

/** Code that counts the threads of the process, which only Linux lists. */
const counted = `
  import { existsSync, readdirSync } from 'node:fs'
  const threads = () => (existsSync('/proc/self/task') ? readdirSync('/proc/self/task').length : 0)
  const until = async (condition) => {
    for (let round = 0; round < 2000 && !condition(); round++) {
      await sleep(5)
      globalThis.gc?.()
    }
    return condition()
  }
`

/** Limit of the growth of a process. AddressSanitizer keeps freed memory for a while. */
const most = process.env.ASAN_OPTIONS ? 2 ** 29 : 2 ** 24

describeUnless(withoutBuild, 'devices in processes', () => {
  describe.each([0, 3])('whose work takes %d ms more', (milliseconds) => {
    it('survive process.exit() during work', () => {
      expect(run(`${busy}; process.exit(7)`, milliseconds)).toEqual(ended('', 7))
    })

    it('survive an exception during work', () => {
      const { status, signal, stderr } = run(
        `${busy}; setTimeout(() => { throw new Error('planned') })`,
        milliseconds,
      )
      expect({ status, signal }).toEqual({ status: 1, signal: null })
      expect(stderr).toContain('planned')
    })

    it('keep a process alive until they are done, and no longer, whether they are closed or not', () => {
      expect(run(`${busy}; queued.then(console.log)`, milliseconds)).toEqual(ended('2'))
      expect(run(`${busy}; queued.then(console.log); device.close()`, milliseconds)).toEqual(ended('2'))
    })

    it('compute products in a listener of the exit event', () => {
      const body = `
          const device = await open()
          const a = await device.full([5, 5], 3)
          process.on('exit', () => {
            a.dispose()
            console.log(mpmmSync(matrix(1, 1, [2]), matrix(1, 1, [3])).c.data[0], device.memory().used)
          })
        `
      expect(run(body, milliseconds)).toEqual(ended('5 0'))
    })

    it.each(['terminate', 'exit', 'throw'])('survive the end of a worker thread by %s during work', (how) => {
      const body = `${busy}
          ${how === 'exit' ? 'setTimeout(() => process.exit(3), 5)' : ''}
          ${how === 'throw' ? 'setTimeout(() => { throw new Error() }, 5)' : ''}
          import { parentPort } from 'node:worker_threads'
          parentPort.postMessage('busy')
          await queued
        `
      const said = run(
        `
          import { Worker } from 'node:worker_threads'
          const device = await open()
          const a = await device.full([40, 40], 4)
          for (let round = 0; round < 4; round++) {
            const worker = new Worker(new URL(${url(body, milliseconds)}))
            const gone = new Promise((resolve) => worker.on('error', () => {}).once('exit', resolve))
            await Promise.race([new Promise((resolve) => worker.once('message', resolve)), gone])
            if (${how === 'terminate'}) worker.terminate()
            await mpmm(a, a)
            await gone
          }
          const { c } = await mpmm(a, a)
          console.log((await c.download()).data[7])
        `,
        milliseconds,
      )
      expect(said).toEqual(ended('8'))
    })
  })

  it('release the memory of a matrix immediately, without other calls of the device', () => {
    const said = run(
      `${counted}
        const device = await open()
        const small = await device.full([10, 10], 0)
        await small.download()
        const before = process.memoryUsage.rss()
        const large = await device.full([8192, 8192], 5)
        const full = process.memoryUsage.rss()
        large.dispose()
        const { used } = device.memory()
        console.log(used, await until(() => process.memoryUsage.rss() < full - (full - before) / 2))
        small.dispose() // this call keeps the matrix alive until here
      `,
    )
    expect(said).toEqual(ended('400 true'))
  })

  it.each([0, 0.2])('release everything after a thousand were opened and closed: %d ms', (milliseconds) => {
    const said = run(
      `${counted}
        const use = async () => {
          const device = await open()
          const a = await device.full([30, 30], 1)
          const product = mpmm(a, a)
          await device.close()
          await product
        }
        for (let round = 0; round < 100; round++) await use()
        globalThis.gc()
        const [rss, before] = [process.memoryUsage.rss(), threads()]
        for (let round = 0; round < 1000; round++) await use()
        await Promise.all(Array.from({ length: 50 }, use))
        console.log(await until(() => threads() <= before))
        globalThis.gc()
        console.log(process.memoryUsage.rss() - rss < ${most})
      `,
      milliseconds,
      ['--expose-gc'],
    )
    expect(said).toEqual(ended('true\ntrue'))
  })

  it('are closed when they are collected, and their threads end', () => {
    const said = run(
      `${counted}
        const before = threads()
        const use = async () => {
          const device = await open()
          const a = await device.full([30, 30], 1)
          await mpmm(a, a)
        }
        for (let round = 0; round < 30; round++) await use()
        console.log(await until(() => threads() <= before))
      `,
      0.1,
      ['--expose-gc'],
    )
    expect(said).toEqual(ended('true'))
  })

  it('leave no thread if they can’t be opened', () => {
    const said = run(
      `${counted}
        await open()
        const before = threads()
        const codes = new Set()
        for (let round = 0; round < 50; round++) {
          await addon.openDevice(addon.backendChoices.indexOf('cuda'), 60000, 0).catch(({ code }) => codes.add(code))
        }
        console.log([...codes].join(), await until(() => threads() <= before))
      `,
    )
    expect(said).toEqual(ended('ERR_MPMML_NO_CUDA true'))
  })
})
