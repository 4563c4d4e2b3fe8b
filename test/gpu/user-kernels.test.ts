/** Kernels of semirings that users write: the driver compiles them, and a folder keeps them for later processes. */

import { spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { withoutCuda } from '../support/machine.js'
import { PATIENCE } from '../support/patience.js'

const library = new URL('../../dist/lib/index.js', import.meta.url)
const semirings = new URL('../../dist/lib/semirings.js', import.meta.url)
const native = new URL('../../dist/lib/native.js', import.meta.url)
const reason = withoutCuda()
const mebibyte = 2 ** 20

interface Said {
  /** What is known of the kernel before it has been used. */
  explanation: string
  /** The sum of all results. */
  sum: number
}

/** A process that computes a product with `folder` for its kernels. */
async function run(folder: string, bytes = 64 * mebibyte): Promise<Said> {
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
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { timeout: PATIENCE })
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

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mpmml-kernels-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const kept = () => join(folder, 'cubins')
  const files = () => readdirSync(kept()).map((name) => join(kept(), name))
  const sum = expectedSum()

  const compiled = expect.stringContaining('compiled in')
  const read = expect.stringContaining('read from the cache')

  it('are read by the next process', async () => {
    expect(await run(folder)).toEqual({ explanation: compiled, sum })
    expect(statSync(kept()).mode & 0o777).toBe(0o700)
    expect(files()).toEqual([expect.stringMatching(/\.cubin$/)])
    expect(await run(folder)).toEqual({ explanation: read, sum })
  })

  it('are compiled again if a file is damaged', async () => {
    await run(folder)
    const [file] = files() as [string]
    const whole = readFileSync(file)
    const changed = Buffer.from(whole)
    changed[changed.length >> 1]! ^= 1
    for (const damaged of [changed, whole.subarray(0, -1), whole.subarray(0, 20), Buffer.alloc(0)]) {
      writeFileSync(file, damaged)
      expect(await run(folder)).toEqual({ explanation: compiled, sum })
      expect(readFileSync(file).length).toBe(whole.length)
    }
    truncateSync(file, 0)
    expect((await run(folder)).sum).toBe(sum)
  })

  it('come from several processes at once', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => run(folder)))
    expect(all.map((said) => said.sum)).toEqual(all.map(() => sum))
    expect(files()).toEqual([expect.stringMatching(/\.cubin$/)])
  })

  it('are kept nowhere if there is no folder, or no room', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    for (const [place, bytes] of [
      ['', mebibyte],
      [file, mebibyte],
      [join(file, 'in it'), mebibyte],
      ['/proc/nothing', mebibyte],
      [folder, 0],
      [folder, 100],
    ] as const) {
      expect(await run(place, bytes)).toEqual({ explanation: compiled, sum })
    }
    expect(readdirSync(folder).flatMap((name) => (name === 'cubins' ? files() : []))).toEqual([])
  })

  it('leave room for others: the oldest go first', async () => {
    await run(folder)
    const [file] = files() as [string]
    const { size } = statSync(file)
    const other = join(kept(), `${'0'.repeat(32)}.cubin`)
    mkdirSync(join(kept(), 'not a file.cubin'))
    writeFileSync(other, Buffer.alloc(size))
    rmSync(file)
    await run(folder, size + 10)
    expect(files().sort()).toEqual([file, join(kept(), 'not a file.cubin')].sort())
  })
})
