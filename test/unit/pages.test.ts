/** Large matrices that the library makes lie in huge pages. Uses what `npm run build:ts` built. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const skipped = existsSync('/sys/kernel/mm/transparent_hugepage') ? '' : ' (skipped: this system has none)'
const module = (name: string) => JSON.stringify(new URL(`../../dist/lib/${name}.js`, import.meta.url).href)

/**
 * What is the case after `body`, which makes a matrix of 64 MiB as `made`: whether huge pages were asked for it, and the sum of its
 * elements. It runs in a process of its own, where no other memory comes and goes.
 */
function after(body: string): { huge: boolean; sum: number } {
  const program = `
    import { readFileSync } from 'node:fs'
    import { matrix, mpmm } from ${module('index')}
    import { readMatrix, writeMatrix } from ${module('files')}
    ${body}
    const areas = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
    const kibibytes = areas
      .filter((area) => /^VmFlags:.* hg\\b/m.test(area))
      .reduce((sum, area) => sum + Number(/^Size: +(\\d+)/m.exec(area)[1]), 0)
    // All but the parts of pages at both ends.
    const huge = kibibytes >= 65536 - 4096
    console.log(JSON.stringify({ huge, sum: made.data.reduce((sum, value) => sum + value, 0) }))`
  const args = ['--input-type=module', '--eval', program]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}

it.skipIf(skipped)(`what files hold${skipped}`, () => {
  const path = JSON.stringify(join(tmpdir(), `mpmml-pages-${process.pid}.npy`))
  const body = `
    import { rmSync } from 'node:fs'
    await writeMatrix(${path}, matrix(4096, 4096, new Int32Array(2 ** 24).fill(3)))
    const made = await readMatrix(${path})
    rmSync(${path})`
  expect(after(body)).toEqual({ huge: true, sum: 3 * 2 ** 24 })
})

it.skipIf(skipped)(`results of products${skipped}`, () => {
  const body = `
    const ones = new Int32Array(4096).fill(1)
    const { c: made } = await mpmm(matrix(4096, 1, ones), matrix(1, 4096, ones), { backend: 'cpu' })`
  expect(after(body)).toEqual({ huge: true, sum: 2 * 2 ** 24 })
})
