/** Ways to load the library. Uses the output of `npm run build:ts`. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { root } from '../../lib/native.js'
import { withoutBuild } from '../support/child.js'
import { PATIENCE } from '../support/patience.js'
import { describeUnless, itUnless } from '../support/skip.js'

const library = new URL('../../dist/lib/index.js', import.meta.url)

function run(body: string, type: 'module' | 'commonjs' = 'module') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`--input-type=${type}`, '--eval', body], {
    cwd: root,
    encoding: 'utf8',
    timeout: PATIENCE,
  })
  return { status, stdout: stdout.trim(), stderr }
}

describeUnless(withoutBuild, 'loading', () => {
  // require() rejects ES modules with top-level await, so the library must have none.
  itUnless(
    !process.features.require_module && `Node.js ${process.version} can't require ES modules`,
    'require() gives what import gives',
    () => {
      const { status, stdout, stderr } = run(
        `
        const required = require('mpmml')
        const { matrix, mpmm, mpmmSync } = required
        const lab = require('mpmml/lab')
        import('mpmml').then(async (imported) => {
          const same = Object.keys(imported).every((name) => imported[name] === required[name])
          const one = (value) => matrix(1, 1, [value])
          const { c } = await mpmm(one(2), one(3))
          console.log(same, Object.keys(lab).length > 0, c.data[0], mpmmSync(one(4), one(5)).c.data[0])
        })
        `,
        'commonjs',
      )
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'true true 5 9', stderr: '' })
    },
  )

  it('loads one package twice, by two names of its module', () => {
    const { status, stdout, stderr } = run(`
      const copies = [await import('${library.href}?first'), await import('${library.href}?second')]
      const products = copies.map(({ matrix, mpmm }, index) => mpmm(matrix(1, 1, [index]), matrix(1, 1, [9])))
      console.log((await Promise.all(products)).map(({ c }) => c.data[0]).join(), copies[0] === copies[1])
    `)
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '9,10 false', stderr: '' })
  })

  it('loads two copies of the package, each with its own addon, at once and in a worker thread', () => {
    const folder = mkdtempSync(join(tmpdir(), 'mpmml-copy-'))
    try {
      for (const part of ['package.json', 'dist/lib', 'build/Release']) {
        cpSync(join(root, part), join(folder, part), { recursive: true })
      }
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
      const copy = pathToFileURL(join(folder, 'dist', 'lib', 'index.js')).href
      const body = `
        const copies = [await import('${library.href}'), await import('${copy}')]
        const started = copies.flatMap(({ matrix, mpmm }, index) =>
          Array.from({ length: 8 }, (_, value) =>
            mpmm(matrix(200, 200), matrix(200, 200, new Int32Array(40000).fill(10 * index + value)))))
        console.log((await Promise.all(started)).map(({ c }) => c.data[39999]).join())
        const { ArgumentError } = copies[0]
        await copies[1].mpmm(0, 0).catch((error) => console.log(error.code, error instanceof ArgumentError))
      `
      const { status, stdout, stderr } = run(`
        import { Worker } from 'node:worker_threads'
        ${body}
        const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(body)})))
        await new Promise((resolve) => worker.once('exit', resolve))
      `)
      const once = '0,1,2,3,4,5,6,7,10,11,12,13,14,15,16,17\nERR_MPMML_DTYPE false'
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: `${once}\n${once}`, stderr: '' })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
