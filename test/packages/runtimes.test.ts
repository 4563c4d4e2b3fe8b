/** Products in Bun and Deno. Uses the output of `npm run build:ts`. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { PATIENCE } from '../support/patience.js'
import { describeUnless } from '../support/skip.js'

const library = new URL('../../dist/lib/index.js', import.meta.url)

const modules = fileURLToPath(new URL('node_modules', import.meta.url))

/** Returns the program of the runtime, from its npm package for this system or on the PATH. */
function find(name: string, inPackage: string): string | undefined {
  const installed = join(modules, inPackage)
  const candidates = [join(modules, name, 'bin', `${name}.exe`), installed, name]
  return candidates.find((program) => spawnSync(program, ['--version']).status === 0)
}

const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
const runtimes = [
  {
    name: 'Bun',
    program: find('bun', `@oven/bun-${process.platform}-${arch}/bin/bun`),
    args: ['run', '-'],
  },
  {
    name: 'Deno',
    program: find('deno', `@deno/${process.platform}-${process.arch}-glibc/deno`),
    // Permissions that docs/services.md lists.
    args: ['run', '--no-prompt', '--allow-read', '--allow-env', '--allow-sys', '--allow-ffi', '-'],
  },
]

const prelude = `
  import { Worker } from 'node:worker_threads'
  import { matrix, mpmm, mpmmGrouped, mpmmSync, openDevice, variants } from ${JSON.stringify(library.href)}
  const { name } = variants().find(({ family, semiring }) => family === 'naive' && semiring === 'max-plus')
  const one = (value) => matrix(1, 1, [value])
  const slow = (options) => mpmm(matrix(6000, 6000), matrix(6000, 6000), { variant: name, ...options })
`

describe.each(runtimes)('$name', ({ name, program, args }) => {
  const missing = !existsSync(library)
    ? `no ${library.href}`
    : !program && `${name} was found neither in test/packages/node_modules nor on the PATH`
  const run = (body: string) => {
    const { status, signal, stdout, stderr } = spawnSync(program!, args, {
      input: prelude + body,
      encoding: 'utf8',
      timeout: PATIENCE,
    })
    return { status, signal, stdout: stdout.trim(), stderr }
  }
  const succeeds = (body: string) => {
    const { status, signal, stdout, stderr } = run(body)
    expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' })
    return stdout
  }

  describeUnless(missing, 'runs', () => {
    it('computes products, blocking and not, and throws errors with codes', () => {
      const output = succeeds(`
        const { c } = await mpmm(matrix(2, 3, [1, 6, 2, 8, 3, 4]), matrix(3, 2, [2, 5, 3, 3, 1, 6]))
        console.log(c.data.join(), mpmmSync(one(2), one(3)).c.data[0])
        await mpmm(matrix(2, 3), matrix(2, 3)).catch((error) => console.log(error.name, error.code))
      `)
      expect(output).toBe('9,9,10,13 5\nArgumentError ERR_MPMML_SHAPE')
    })

    it('computes products with traces, progress and signals', () => {
      const output = succeeds(`
        import { tracingChannel } from 'node:diagnostics_channel'
        const asyncEnd = ({ products: [{ m }], error }) => console.log(...(error ? [error.code] : ['run', m]))
        tracingChannel('mpmml:product').subscribe({ asyncEnd })
        const controller = new AbortController()
        const onProgress = ({ done }) => { if (done > 0) controller.abort() }
        await slow({ signal: controller.signal, onProgress }).catch(({ code }) => console.log(code))
        await mpmm(matrix(70, 70), matrix(70, 70))
      `)
      expect(output).toBe('ERR_MPMML_ABORTED\nERR_MPMML_ABORTED\nrun 70')
    })

    it('computes chains of matrices on a device, and ends with the device open', () => {
      const output = succeeds(`
        const device = await openDevice()
        let a = await device.upload(matrix(2, 2, [1, 2, 3, 4]))
        for (let length = 1; length < 8; length *= 2) a = (await mpmm(a, a)).c
        const view = a.view({ rows: [1, 2] }).transpose()
        console.log((await a.download()).data.join(), (await view.download()).data.join())
        const [{ c }] = await mpmmGrouped([{ a: view, b: await device.full([1, 1], 1) }])
        await c.combine(view)
        view.dispose()
        console.log((await c.download()).data.join(), device.memory().used > 0)
        await mpmm(view, a).catch(({ code }) => console.log(code))
        await device.close()
        await mpmm(a, a).catch(({ code }) => console.log(code))
        await openDevice()
      `)
      // Eighth power of a: the best chains stay at element 4 in all steps except the first and the last.
      expect(output).toBe('29,30,31,32 31,32\n32,33 true\nERR_MPMML_DISPOSED\nERR_MPMML_DISPOSED')
    })

    it('ends by process.exit while a device works', () => {
      const { status, signal, stderr } = run(`
        const device = await openDevice({ backend: 'cpu' })
        const a = await device.full([6000, 6000], 1)
        mpmm(a, a, { variant: name })
        setTimeout(() => process.exit(7), 100)
      `)
      expect({ status, signal, stderr }).toEqual({ status: 7, signal: null, stderr: '' })
    })

    it('runs until the products are done, and then ends', () => {
      expect(succeeds(`mpmm(matrix(800, 800), matrix(800, 800)).then(() => console.log('done'))`)).toBe(
        'done',
      )
    })

    it('ends by process.exit while products run', () => {
      const { status, signal, stderr } = run(`
        for (let index = 0; index < 6; index++) slow()
        setTimeout(() => process.exit(7), 100)
      `)
      expect({ status, signal, stderr }).toEqual({ status: 7, signal: null, stderr: '' })
    })

    it('continues after a worker thread was terminated while its product ran', () => {
      const body = JSON.stringify(`${prelude}
        import { parentPort } from 'node:worker_threads'
        slow()
        parentPort.postMessage(mpmmSync(one(2), one(3)).c.data[0])
      `)
      const output = succeeds(`
        const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${body})))
        console.log(await new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject)))
        await worker.terminate()
        console.log((await mpmm(one(4), one(5))).c.data[0])
      `)
      expect(output).toBe('5\n9')
    })
  })
})
