/** Kernels of custom semirings: the driver compiles them, and a folder caches them for later processes. */
import { spawn } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { matrix, mpmm, openDevice, plan } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { semiring } from '../../lib/semirings.js'
import { expectError } from '../support/expect.js'
import { useFolder } from '../support/folder.js'
import { asRoot, withoutCuda } from '../support/machine.js'
import { PATIENCE } from '../support/patience.js'
import { describeUnless, itUnless } from '../support/skip.js'

const library = new URL('../../dist/lib/index.js', import.meta.url)
const semirings = new URL('../../dist/lib/semirings.js', import.meta.url)
const native = new URL('../../dist/lib/native.js', import.meta.url)
const mebibyte = 2 ** 20

interface Said {
  /** Plan of the kernel before its first use. */
  explanation: string
  /** The sum of all results. */
  sum: number
}

/** Process that computes a product with `folder` for its kernels, after the shell has run the commands in `before`. */
async function run(folder: string, bytes = 64 * mebibyte, before = ''): Promise<Said> {
  const program = `
    import { matrix, mpmm, plan } from ${JSON.stringify(library.href)}
    import { semiring } from ${JSON.stringify(semirings.href)}
    import { addon } from ${JSON.stringify(native.href)}
    const furthest = semiring({
      name: 'greatest difference, with "quotes" and // */ {',
      dtype: 'int32',
      zero: -(2 ** 31),
      plus: (x, y, { max }) => max(x, y),
      times: (x, y, { abs }) => abs(x.sub(y)),
      absorbs: false,
    })
    const one = matrix(1, 1)
    // The library's own folder is set by its first call.
    await plan(one, one, { semiring: furthest, backend: 'cpu' })
    addon.configureUserKernels(${JSON.stringify(folder)}, ${bytes})
    const a = matrix(65, 70, Int32Array.from({ length: 65 * 70 }, (_, i) => (i * 7919) % 1009))
    const b = matrix(70, 67, Int32Array.from({ length: 70 * 67 }, (_, i) => (i * 104729) % 1013))
    const options = { semiring: furthest, backend: 'cuda' }
    const { explanation } = await plan(a, b, options)
    const { c } = await mpmm(a, b, options)
    console.log(JSON.stringify({ explanation, sum: c.data.reduce((sum, value) => sum + value, 0) }))
  `
  const node = [process.execPath, '--input-type=module', '--eval', program]
  const [command, ...rest] = before ? ['sh', '-c', `${before}; exec "$@"`, 'sh', ...node] : node
  const child = spawn(command!, rest, { timeout: PATIENCE, env: { ...process.env, CUDA_CACHE_DISABLE: '1' } })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (text) => {
    stdout += text
  })
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const status = await new Promise((resolve) => {
    child.on('close', resolve)
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** The sum by the definition. */
function expectedSum(): number {
  let sum = 0
  for (let i = 0; i < 65; i++) {
    for (let j = 0; j < 67; j++) {
      let most = -(2 ** 31)
      for (let k = 0; k < 70; k++) {
        const x = ((i * 70 + k) * 7919) % 1009
        const y = ((k * 67 + j) * 104729) % 1013
        most = Math.max(most, Math.abs(x - y))
      }
      sum += most
    }
  }
  return sum
}

describeUnless(withoutCuda(), 'cuda', () => {
  const inFolder = useFolder(afterEach)

  const cacheFolder = () => inFolder('cubins')
  const files = () => readdirSync(cacheFolder()).map((name) => join(cacheFolder(), name))
  const sum = expectedSum()

  const compiled = expect.stringContaining('compiled in')
  const read = expect.stringContaining('read from the cache')

  it('are read by the next process', async () => {
    expect(await run(inFolder())).toEqual({ explanation: compiled, sum })
    expect(statSync(cacheFolder()).mode & 0o777).toBe(0o700)
    expect(files()).toEqual([expect.stringMatching(/\.cubin$/)])
    expect(await run(inFolder())).toEqual({ explanation: read, sum })
  })

  it('are compiled again if a file is damaged', async () => {
    await run(inFolder())
    const [file] = files() as [string]
    const whole = readFileSync(file)
    const changed = Buffer.from(whole)
    changed[changed.length >> 1]! ^= 1
    for (const damaged of [changed, whole.subarray(0, -1), whole.subarray(0, 20), Buffer.alloc(0)]) {
      writeFileSync(file, damaged)
      expect(await run(inFolder())).toEqual({ explanation: compiled, sum })
      expect(readFileSync(file).length).toBe(whole.length)
    }
    truncateSync(file, 0)
    expect((await run(inFolder())).sum).toBe(sum)
  })

  it('may be compiled by several processes at once', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => run(inFolder())))
    expect(all.map((said) => said.sum)).toEqual(all.map(() => sum))
    expect(files()).toEqual([expect.stringMatching(/\.cubin$/)])
  })

  it('are cached nowhere without a folder, or without space', async () => {
    const file = inFolder('file')
    writeFileSync(file, '')
    for (const [place, bytes] of [
      ['', mebibyte],
      [file, mebibyte],
      [join(file, 'in it'), mebibyte],
      ['/proc/nothing', mebibyte],
      [inFolder(), 0],
      [inFolder(), 100],
    ] as const) {
      expect(await run(place, bytes)).toEqual({ explanation: compiled, sum })
    }
    expect(readdirSync(inFolder()).flatMap((name) => (name === 'cubins' ? files() : []))).toEqual([])
  })

  it('are cached nowhere on a full disk: no partial file stays', async () => {
    // The limit is in blocks of 512 or 1024 bytes, depending on the shell; the file is larger.
    expect(await run(inFolder(), mebibyte, 'ulimit -f 2')).toEqual({ explanation: compiled, sum })
    expect(files()).toEqual([])
    await run(inFolder())
    const [file] = files() as [string]
    const whole = readFileSync(file)
    writeFileSync(file, whole.subarray(0, whole.length >> 1))
    expect(await run(inFolder(), mebibyte, 'ulimit -f 2')).toEqual({ explanation: compiled, sum })
    expect(files()).toEqual([file])
    expect(await run(inFolder())).toEqual({ explanation: compiled, sum })
    expect(await run(inFolder())).toEqual({ explanation: read, sum })
  })

  it('are cached nowhere if a file or a link has the name of the folder', async () => {
    writeFileSync(cacheFolder(), 'not a folder')
    expect(await run(inFolder())).toEqual({ explanation: compiled, sum })
    expect(readFileSync(cacheFolder(), 'utf8')).toBe('not a folder')
    rmSync(cacheFolder())
    const other = inFolder('other')
    mkdirSync(other)
    symlinkSync(other, cacheFolder())
    expect(await run(inFolder())).toEqual({ explanation: compiled, sum })
    expect(readdirSync(other)).toEqual([])
  })

  // Root can write into any folder.
  itUnless(asRoot, 'are read from a folder that is read-only, and cached nowhere else', async () => {
    mkdirSync(cacheFolder(), { mode: 0o500 })
    expect(await run(inFolder())).toEqual({ explanation: compiled, sum })
    expect(files()).toEqual([])
    chmodSync(cacheFolder(), 0o700)
    await run(inFolder())
    chmodSync(cacheFolder(), 0o500)
    expect(await run(inFolder())).toEqual({ explanation: read, sum })
    chmodSync(cacheFolder(), 0o700)
  })

  it('are compiled again if the driver rejects an undamaged file, or if it has another kernel', async () => {
    await run(inFolder())
    const [file] = files() as [string]
    const whole = readFileSync(file)
    const end = whole.indexOf('\n')
    const [, , keyBytes, codeBytes] = whole.subarray(0, end).toString().split(' ').map(Number)
    const withCode = (key: Buffer, code: Buffer) => {
      let hash = 0xcbf29ce484222325n
      for (const byte of [...key, ...code])
        hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn
      const head = `mpmml cubin ${key.length} ${code.length} ${hash.toString(16).padStart(16, '0')}\n`
      return Buffer.concat([Buffer.from(head), key, code])
    }
    const key = whole.subarray(end + 1, end + 1 + keyBytes!)
    const code = whole.subarray(end + 1 + keyBytes!)
    expect(code).toHaveLength(codeBytes!)
    expect(withCode(key, code).equals(whole)).toBe(true)
    for (const wrong of [
      withCode(key, Buffer.alloc(4096, 'x')),
      withCode(Buffer.concat([key, Buffer.from('x')]), code),
    ]) {
      writeFileSync(file, wrong)
      expect(await run(inFolder())).toEqual({ explanation: compiled, sum })
      expect(await run(inFolder())).toEqual({ explanation: read, sum })
    }
  })

  it('are errors if the driver rejects them, and compiled on the next request', async () => {
    process.env.MPMML_CACHE = 'off'
    const a = matrix(3, 3, [1, 2, 3, 4, 5, 6, 7, 8, 9])
    try {
      for (const [nth, did] of [
        [1, 'compile'],
        [2, 'load'],
      ] as const) {
        const own = semiring({
          name: `refused ${nth}`,
          dtype: 'int32',
          zero: -(2 ** 31),
          plus: (x, y, { max }) => max(x, y),
          times: (x, y) => x.xor(y).and(1000 + nth),
          absorbs: false,
          check: false,
        })
        const device = await openDevice({ backend: 'cuda' })
        const there = await device.upload(a)
        for (const refused of [
          () => mpmm(a, a, { semiring: own, backend: 'cuda' }),
          () => mpmm(there, there, { semiring: own }),
          () => plan(a, a, { semiring: own, backend: 'cuda' }),
        ]) {
          addon.failDriver(nth)
          const error = await refused().catch((thrown: unknown) => thrown)
          addon.failDriver(0)
          expectError(
            error,
            'CUDA',
            new RegExp(`the NVIDIA driver refused to ${did} the kernel .*backend 'cpu'`),
          )
        }
        const { c } = await mpmm(a, a, { semiring: own, backend: 'cuda' })
        const { c: expected } = await mpmm(a, a, { semiring: own, backend: 'cpu' })
        expect(c.data).toEqual(expected.data)
        expect((await (await mpmm(there, there, { semiring: own })).c.download()).data).toEqual(expected.data)
        await device.close()
      }
    } finally {
      addon.failDriver(0)
      delete process.env.MPMML_CACHE
    }
  })

  it('are removed in favour of others, the oldest first', async () => {
    await run(inFolder())
    const [file] = files() as [string]
    const { size } = statSync(file)
    const other = join(cacheFolder(), `${'0'.repeat(32)}.cubin`)
    mkdirSync(join(cacheFolder(), 'not a file.cubin'))
    writeFileSync(other, Buffer.alloc(size))
    rmSync(file)
    await run(inFolder(), size + 10)
    expect(files().sort()).toEqual([file, join(cacheFolder(), 'not a file.cubin')].sort())
  })
})
