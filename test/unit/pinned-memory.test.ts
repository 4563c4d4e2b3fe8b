/**
 * Ownership and release of the pinned memory of results. The programs run in processes of their own, which
 * can request a garbage collection, with ordinary memory in place of pinned memory. Uses the output of `npm
 * run build:ts`.
 */
import { expect, it } from 'vitest'
import { inDist, readOutput, withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'

const common = `
  import { Worker } from 'node:worker_threads'
  import { setTimeout as sleep } from 'node:timers/promises'
  import { matrix, mpmm, pinned } from ${inDist('lib/index.js')}
  import { addon } from ${inDist('lib/native.js')}
  const MIB = 2 ** 20
  const make = (bytes) => addon.resultBuffer(bytes, 0)
`

/** Program of a worker: \`send(value, transferred)\` posts to the main thread. */
const inWorker = `
  const inWorker = (body, data, transferred = []) => new Promise((resolve, reject) => {
    const program = \`${common.replaceAll('`', '\\`').replaceAll('$', '\\$')}
      import { parentPort, workerData as data } from 'node:worker_threads'
      const send = (value, transferred) => parentPort.postMessage(value, transferred)
      \${body}\`
    const url = new URL('data:text/javascript,' + encodeURIComponent(program))
    const worker = new Worker(url, { workerData: data, transferList: transferred })
    let told
    worker.on('message', (value) => {
      told = value
      if (value === 'terminate') worker.terminate()
    })
    worker.on('error', reject)
    worker.on('exit', () => resolve(told))
  })
`

/** Returns the output of a program, which begins with a block of 64 MiB. */
function run(body: string): string {
  const program = `
    ${common}
    ${inWorker}
    addon.pretendPinned(true)
    const atFirst = addon.pinnedUse()
    const missing = [make(16 * MIB), make(16 * MIB)]
    const until = async (holds) => {
      for (let round = 0; round < 60 && !holds(); round++) {
        gc()
        await sleep(5)
      }
    }
    /** Returns the MiB of live arrays after garbage collection. */
    const usedAfter = async (expected) => {
      await until(() => addon.pinnedUse().used === expected * MIB)
      return addon.pinnedUse().used / MIB
    }
    await until(() => addon.pinnedUse().held > 0)
    const filled = (mib, value) => new Int32Array(make(mib * MIB)).fill(value)
    const isAll = (array, value) => array.every((element) => element === value)
    ${body}
  `
  return readOutput(program, { flags: ['--expose-gc'] })
}

describeUnless(withoutBuild, 'pinned memory', () => {
  it('does not exist before the second request', () => {
    expect(run(`console.log(atFirst.held, atFirst.used, ...missing, addon.pinnedUse().held / MIB)`)).toBe(
      '0 0 null null 64',
    )
  })

  it('is reused when an array has been collected', () => {
    const said = run(`
        let array = filled(4, 1)
        const before = addon.pinnedUse().used / MIB
        array = null
        console.log(before, await usedAfter(0), addon.pinnedUse().held / MIB)`)
    expect(said).toBe('4 0 64')
  })

  it('has a separate range for each array', () => {
    const said = run(`
        const kept = new Map()
        let random = 1, most = 0
        const use = () => {
          random = (random * 48271) % 2147483647
          const place = random % 60, bytes = ((random % 33) + 1) * 65537
          if (kept.has(place) && Buffer.compare(kept.get(place), Buffer.alloc(kept.get(place).length, place)) !== 0) {
            throw new Error('overwritten')
          }
          kept.delete(place)
          const buffer = make(bytes)
          if (buffer && buffer.byteLength !== bytes) throw new Error('of another size')
          kept.set(place, new Uint8Array(buffer ?? bytes).fill(place))
        }
        for (let call = 0; call < 1000; call++) {
          use()
          if (call % 50 === 0) await sleep(0)
          most = Math.max(most, addon.pinnedUse().used)
        }
        const { held, limit } = addon.pinnedUse()
        kept.clear()
        console.log(most > 0, held <= limit, await usedAfter(0))`)
    expect(said).toBe('true true 0')
  })

  it('grows before the last piece is used', () => {
    const said = run(`
        const arrays = []
        for (let call = 0; call < 40; call++) {
          arrays.push(make(4 * MIB))
          // Waits until another thread has allocated a block, because without one the next allocation would
          // return null.
          while (addon.pinnedUse().held < addon.pinnedUse().used + 4 * MIB) await sleep(1)
        }
        console.log(arrays.includes(null), addon.pinnedUse().used / MIB)`)
    expect(said).toBe('false 160')
  })

  it('stays within its limit', () => {
    const said = run(`
        addon.limitPinned(100 * MIB)
        const arrays = []
        for (let call = 0; call < 200; call++) {
          arrays.push(make(5 * MIB))
          await sleep(1)
        }
        const made = arrays.filter((array) => array !== null).length
        console.log(made, addon.pinnedUse().held / MIB, make(101 * MIB))`)
    // The two blocks have 64 and 20 MiB. A third block would exceed the limit.
    expect(said).toBe('16 84 null')
  })

  it('is replaced by larger blocks on larger requests', () => {
    const said = run(`
        addon.limitPinned(100 * MIB)
        let found = null
        for (let call = 0; call < 200 && !found; call++) {
          found = make(80 * MIB)
          await sleep(1)
        }
        console.log(found.byteLength / MIB, addon.pinnedUse().held / MIB)`)
    expect(said).toBe('80 80')
  })

  it('is not kept beyond the limit', () => {
    const said = run(`
        addon.limitPinned(0)
        let array = await pinned('float64', 3 * MIB)
        const { held, used } = addon.pinnedUse()
        const isZero = isAll(array, 0)
        array = null
        const rest = await usedAfter(0)
        await until(() => addon.pinnedUse().held === 0)
        console.log(isZero, held / MIB, used / MIB, rest, addon.pinnedUse().held / MIB, make(MIB) !== null)`)
    expect(said).toBe('true 64 24 0 0 false')
  })

  it('serves pinned(), whose arrays are zeros', () => {
    const said = run(`
        let array = filled(32, 77)
        array = null
        await usedAfter(0)
        const zeros = await pinned('int32', 15 * MIB)
        console.log(isAll(zeros, 0), addon.pinnedUse().used / MIB, addon.pinnedUse().held / MIB)`)
    expect(said).toBe('true 60 64')
  })

  it('holds operands and results', async () => {
    const said = run(`
        const [a, b] = [filled(1, 3), filled(1, 4)]
        const out = matrix(512, 512, filled(1, 0))
        await mpmm(matrix(512, 512, a), matrix(512, 512, b), { out })
        const { c } = await mpmm(out, out)
        console.log(isAll(out.data, 7), isAll(c.data, 14))`)
    expect(said).toBe('true true')
  })

  it('is kept by a part of an array', () => {
    const said = run(`
        let part = filled(4, 5).subarray(10, 20)
        const kept = await usedAfter(0)
        const isThere = isAll(part, 5) && part.length === 10
        part = null
        console.log(kept, isThere, await usedAfter(0))`)
    expect(said).toBe('4 true 0')
  })

  // From Node.js 22 on buffers of native code can be moved. Node.js 20 copies them.
  const moves = 'transfer' in ArrayBuffer.prototype

  it('is transferred to a worker, and released when that has ended', () => {
    const said = run(`
        const array = filled(4, 6)
        const there = await inWorker('send(data.every((element) => element === 6))', array, [array.buffer])
        const { length } = array
        console.log(there, length, ${moves} ? await usedAfter(0) : 0)`)
    expect(said).toBe(`true ${moves ? 0 : 2 ** 20} 0`)
  })

  it('is transferred by a worker that ends, and keeps its values', () => {
    const said = run(`
        const array = await inWorker(
          'const array = new Int32Array(make(4 * MIB)).fill(8); send(array, [array.buffer])')
        const others = Array.from({ length: 15 }, () => make(4 * MIB)).filter((buffer) => buffer)
        for (const buffer of others) new Int32Array(buffer).fill(1)
        gc()
        console.log(array.length, isAll(array, 8), others.length)`)
    expect(said).toBe(`${2 ** 20} true 15`)
  })

  it('is released by workers that end', () => {
    const said = run(`
        await inWorker('globalThis.kept = [1, 2, 3].map(() => make(4 * MIB)); send(1)')
        const ended = await usedAfter(0)
        await inWorker("globalThis.kept = make(4 * MIB); setInterval(() => {}, 1000); send('terminate')")
        console.log(ended, await usedAfter(0))`)
    expect(said).toBe('0 0')
  })

  it('grows after the end of a worker whose block was not yet allocated', () => {
    const said = run(`
        addon.limitPinned(1024 * MIB)
        await inWorker(\`
          const [a, b] = [matrix(3000, 3000), matrix(3000, 3000)]
          for (let product = 0; product < 12; product++) mpmm(a, b).catch(() => {})
          // These requests for blocks follow all other tasks.
          make(100 * MIB)
          make(100 * MIB)
          send('terminate')\`)
        let found = null
        await until(() => (found ??= make(100 * MIB)) !== null)
        console.log(found?.byteLength / MIB)`)
    expect(said).toBe('100')
  })

  it('survives a transfer', () => {
    const said = run(`
        const array = filled(4, 9)
        const moved = structuredClone(array, { transfer: [array.buffer] })
        console.log(isAll(moved, 9), moved.length, array.length)`)
    expect(said).toBe(`true ${2 ** 20} ${moves ? 0 : 2 ** 20}`)
  })
})
