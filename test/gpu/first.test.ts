/** The first use of CUDA in a process: its threads, and the end of such a process. Uses the output of `npm run build:ts`. */
import { expect, it } from 'vitest'
import { info } from '../../lib/index.js'
import { inDist, runModule } from '../support/child.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const program = (body: string) => `
  import { matrix, mpmm, mpmmSync } from ${inDist('lib/index.js')}
  import { addon } from ${inDist('lib/native.js')}
  const square = (n) => matrix(n, n)
  ${body}
`

const run = (body: string, env: NodeJS.ProcessEnv = {}) => runModule(program(body), { env })

describeUnless(withoutCuda(), 'first use', () => {
  it('makes no CUDA call on JavaScript’s thread: a worker reads the properties of the result', () => {
    const { stdout, stderr } = run(`
        const called = []
        for (const name of ['describe', 'explain', 'pinnedBufferSync', 'multiplySync']) {
          const call = addon[name]
          addon[name] = (...values) => { called.push(name); return call(...values) }
        }
        const before = addon.deviceName(0)
        const { device, backend } = await mpmm(square(300), square(300), { backend: 'cuda' })
        console.log(JSON.stringify({ before, called, device, backend, after: addon.deviceName(0) }))
      `)
    expect(stderr).toBe('')
    const name = String(info().cuda.devices[0]!.name)
    expect(JSON.parse(stdout)).toEqual({
      before: '',
      called: [],
      device: name,
      backend: 'cuda',
      after: name,
    })
  })

  it('ignores measured choices of other GPU models', () => {
    const { stdout, stderr } = run(`
        const automatic = addon.variants.flatMap((row, variant) =>
          row.backend === 'cuda' && row.automatic && row.semiring === 'max-plus' && row.dtype === 'int32' ? [variant] : [])
        const path = addon.paths.indexOf('half')
        const names = []
        const product = async () => names.push((await mpmm(square(300), square(300), { backend: 'cuda' })).variant)
        const choose = (gpu, variant) =>
          addon.setMeasuredChoices(gpu, [{ variant, path, m: 300, n: 300, k: 300, batch: 1 }])
        await product()
        for (const variant of automatic) {
          choose('another model', variant)
          await product()
        }
        console.log(JSON.stringify([...new Set(names)].length))
      `)
    expect(stderr).toBe('')
    expect(stdout).toBe('1')
  })

  // CUDA starts in the first hundreds of milliseconds, then the product runs.
  it.each([0, 20, 60, 120, 250, 500, 1000])(
    'ends with process.exit %i ms after CUDA was first used, and after a product on the CPU',
    (delay) => {
      const { status, signal, stderr } = run(`
          await mpmm(square(50), square(50), { backend: 'cpu' })
          for (let index = 0; index < 4; index++) mpmm(square(6000), square(6000), { backend: 'cuda' })
          setTimeout(() => process.exit(7), ${delay})
        `)
      expect({ status, signal, stderr }).toEqual({ status: 7, signal: null, stderr: '' })
    },
  )

  it('ignores wrong settings of the CPU backend in products on the GPU', () => {
    const code = (size: number, backend: string) => `
        try { console.log((await mpmm(square(${size}), square(${size}), { backend: '${backend}' })).backend) }
        catch (error) { console.log(error.code) }`
    for (const env of [{ MPMML_NUM_THREADS: 'many' }, { MPMML_CPU_ISA: 'mmx' }]) {
      expect(run(code(500, 'cuda'), env).stdout).toBe('cuda')
      expect(run(code(3000, 'auto'), env).stdout).toBe('cuda')
      expect(run(code(50, 'auto'), env).stdout).toBe('cuda')
      // Tiny products are for the CPU, without a check of its availability.
      expect(run(code(4, 'auto'), env).stdout).toBe('ERR_MPMML_OPTION')
      expect(run(code(4, 'cpu'), env).stdout).toBe('ERR_MPMML_OPTION')
    }
  })

  it('rejects a wrong limit of device memory in products that may run on the GPU', () => {
    const code = (backend: string, size = 50) => `
        try { console.log((await mpmm(square(${size}), square(${size}), { backend: '${backend}' })).backend) }
        catch (error) { console.log(error.code) }`
    const env = { MPMML_DEVICE_MEMORY_MIB: '1 GB' }
    expect(run(code('cuda'), env).stdout).toBe('ERR_MPMML_OPTION')
    expect(run(code('auto'), env).stdout).toBe('ERR_MPMML_OPTION')
    expect(run(code('auto', 9), env).stdout).toBe('cpu')
    expect(run(code('cpu'), env).stdout).toBe('cpu')
  })
})
