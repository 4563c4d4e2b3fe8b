/** A kernel with a fatal error. The tests run it in a separate process, which can't use CUDA afterwards. */
import { expect, it } from 'vitest'
import { inDist, readOutput } from '../support/child.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const reason = withoutCuda()

function run(body: string) {
  const program = `
    import { explainBackend, matrix, mpmm, mpmmGrouped, mpmmSync, openDevice, pinned } from ${inDist('lib/index.js')}
    import { addon } from ${inDist('lib/native.js')}
    const device = await openDevice({ backend: 'cuda' })
    const other = await openDevice({ backend: 'cpu' })
    const a = await device.full([2000, 2000], 1)
    const b = await device.full([2000, 2000], 2)
    const host = matrix(300, 300, new Int32Array(90000).fill(3))
    const code = (work) => work.then(() => 'done', ({ code, message }) => code + (message.includes('cudaError') ? ' with its cause' : ''))
    const thrown = (call) => { try { return call() } catch ({ code }) { return code } }
    const said = {}
    ${body}
  `
  return JSON.parse(readOutput(program))
}

describeUnless(reason, 'cuda', () => {
  it('is reported; after that CUDA is rejected with this cause, and the CPU continues', () => {
    const said = run(`
      said.fault = await addon.labFault({}).catch(({ code, message }) => [code, message])
      said.host = await code(mpmm(host, host, { backend: 'cuda' }))
      said.sync = thrown(() => mpmmSync(host, host, { backend: 'cuda' }))
      said.resident = await code(mpmm(a, b))
      said.residentSync = thrown(() => mpmmSync(a, b))
      said.into = await code(mpmm(a, a, { out: b }))
      said.group = await code(mpmmGrouped([{ a, b }, { a: b, b: a }]))
      said.full = await code(device.full([9, 9], 1))
      said.upload = await code(device.upload(host))
      said.download = await code(a.download())
      said.combine = await code(a.combine(b))
      said.open = await openDevice({ backend: 'cuda' }).catch(({ code, message }) => [code, message])
      said.explanation = explainBackend()
      said.memory = thrown(() => device.memory().used > 0)
      a.dispose()
      said.auto = [(await mpmm(host, host)).backend, mpmmSync(host, host).backend, (await mpmm(host, host)).c.data[7]]
      said.cpu = (await mpmm(host, host, { backend: 'cpu' })).c.data[7]
      const there = await other.upload(host)
      said.other = (await (await mpmm(there, host)).c.download()).data[7]
      said.opened = (await openDevice()).backend
      said.pinned = (await pinned('int32', 5)).length
      await device.close()
      said.closed = await code(device.full([9, 9], 1))
      console.log(JSON.stringify(said))
    `)
    expect(said.fault[0]).toBe('ERR_MPMML_CUDA')
    expect(said.fault[1]).toMatch(/cudaErrorIllegalAddress.*until the process is restarted/)
    const refused = 'ERR_MPMML_NO_CUDA with its cause'
    expect([said.host, said.sync]).toEqual([refused, 'ERR_MPMML_NO_CUDA'])
    const failed = /^ERR_MPMML_(NO_)?CUDA with its cause$/
    for (const work of ['resident', 'into', 'group', 'full', 'upload', 'download', 'combine']) {
      expect(said[work], work).toMatch(failed)
    }
    expect(said.residentSync).toMatch(/^ERR_MPMML_(NO_)?CUDA$/)
    expect(said.open[0]).toBe('ERR_MPMML_NO_CUDA')
    expect(said.open[1]).toMatch(/cudaErrorIllegalAddress.*restart the process/)
    expect(said.explanation.backend).toBe('cpu')
    expect(said.explanation.reason).toMatch(/cudaErrorIllegalAddress/)
    expect([true, 'ERR_MPMML_CUDA']).toContain(said.memory)
    expect(said.auto).toEqual(['cpu', 'cpu', 6])
    expect([said.cpu, said.other, said.opened, said.pinned]).toEqual([6, 6, 'cpu', 5])
    expect(said.closed).toBe('ERR_MPMML_DISPOSED')
  })

  it('rejects running and queued products, and no process hangs, closed or not', () => {
    for (const end of ['await device.close()', '', 'process.exit()']) {
      const said = run(`
        const running = Array.from({ length: 100 }, (_, index) => index % 3 ? mpmm(a, b) : b.download())
        const fault = addon.labFault({})
        const later = Array.from({ length: 20 }, () => mpmm(host, host, { backend: 'cuda' }))
        const codes = async (all) => [...new Set(await Promise.all(all.map(code)))].sort()
        const ended = [code(fault), codes(running), codes(later)]
        ;[said.fault, said.running, said.later] = await Promise.all(ended)
        console.log(JSON.stringify(said))
        ${end}
      `)
      expect(said.fault).toBe('ERR_MPMML_CUDA with its cause')
      for (const outcome of [...said.running, ...said.later]) {
        expect(outcome).toMatch(/^done$|^ERR_MPMML_(NO_)?CUDA with its cause$/)
      }
    }
  })
})
