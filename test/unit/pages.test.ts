/** Large matrices that the library allocates are in huge pages. Uses the output of `npm run build:ts`. */
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { inDist, readOutput } from '../support/child.js'
import { itUnless } from '../support/skip.js'

const skipped = existsSync('/sys/kernel/mm/transparent_hugepage') ? undefined : 'this system has none'

/**
 * Returns whether huge pages were requested for a matrix of 64 MiB that `body` creates as `made`, and the sum of its elements. The
 * program runs in a process of its own, without other allocations.
 */
function after(body: string): { huge: boolean; sum: number } {
  const program = `
    import { readFileSync } from 'node:fs'
    import { matrix, mpmm } from ${inDist('lib/index.js')}
    import { readMatrix, writeMatrix } from ${inDist('lib/files.js')}
    ${body}
    const areas = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
    const kibibytes = areas
      .filter((area) => /^VmFlags:.* hg\\b/m.test(area))
      .reduce((sum, area) => sum + Number(/^Size: +(\\d+)/m.exec(area)[1]), 0)
    // The huge pages cover the matrix except for partial pages at both ends.
    const huge = kibibytes >= 65536 - 4096
    console.log(JSON.stringify({ huge, sum: made.data.reduce((sum, value) => sum + value, 0) }))`
  return JSON.parse(readOutput(program))
}

itUnless(skipped, 'reads files into huge pages', () => {
  const path = JSON.stringify(join(tmpdir(), `mpmml-pages-${process.pid}.npy`))
  const body = `
    import { rmSync } from 'node:fs'
    await writeMatrix(${path}, matrix(4096, 4096, new Int32Array(2 ** 24).fill(3)))
    const made = await readMatrix(${path})
    rmSync(${path})`
  expect(after(body)).toEqual({ huge: true, sum: 3 * 2 ** 24 })
})

itUnless(skipped, 'allocates results of products in huge pages', () => {
  const body = `
    const ones = new Int32Array(4096).fill(1)
    const { c: made } = await mpmm(matrix(4096, 1, ones), matrix(1, 4096, ones), { backend: 'cpu' })`
  expect(after(body)).toEqual({ huge: true, sum: 2 * 2 ** 24 })
})
