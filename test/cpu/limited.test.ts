/** Allocations beyond a container's memory are errors that don't end the process. */
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root, runProgram } from '../cli/support.js'
import { describeUnless } from '../support/skip.js'

/**
 * Memory control group in which the test may create another, such as /sys/fs/cgroup/memory of version 1. Only
 * root can do that.
 */
const parent = process.env.MPMML_TEST_CGROUP
const LIMIT = 160 * 2 ** 20

describeUnless(!parent && 'MPMML_TEST_CGROUP names no control group', 'in 160 MiB', () => {
  const group = join(parent ?? '', `mpmml-${process.pid}`)
  beforeAll(() => {
    mkdirSync(group)
    for (const name of ['memory.limit_in_bytes', 'memory.max']) {
      try {
        writeFileSync(join(group, name), `${LIMIT}`)
        return
      } catch {}
    }
    throw new Error(`${group} has no limit of memory`)
  })
  afterAll(() => rmdirSync(group))

  const sizes = [500, 2000, 3000, 3500, 4000, 4500, 5000, 6000, 9000]
  // Operations that write an operand themselves.
  const few = sizes.filter((n) => n < 5000)
  const programs: [string, readonly number[], string][] = [
    ['mpmm', sizes, 'const a = matrix(n, n); await mpmm(a, a, { backend: "cpu" })'],
    [
      'mpmm of written operands',
      few,
      'const a = matrix(n, n); a.data.fill(3); await mpmm(a, a, { backend: "cpu" })',
    ],
    [
      'shortestPaths',
      sizes,
      'await shortestPaths({ nodes: n, from: [0], to: [1], weight: [1] }, { backend: "cpu" })',
    ],
    [
      'shortestPaths with paths',
      sizes,
      'await shortestPaths({ nodes: n, from: [0], to: [1], weight: [1] }, { backend: "cpu", paths: true })',
    ],
    ['star', few, 'await star(matrix(n, n, new Int32Array(n * n).fill(-1)), { backend: "cpu" })'],
  ]
  it.each(programs.flatMap(([name, sizes, program]) => sizes.map((n) => [name, n, program] as const)))(
    '%s of %i succeeds, or is rejected',
    async (_, n, program) => {
      const script = `
        import { writeFileSync } from 'node:fs'
        writeFileSync(${JSON.stringify(join(group, 'cgroup.procs'))}, String(process.pid))
        const { matrix, mpmm } = await import(${JSON.stringify(join(root, 'dist/lib/index.js'))})
        const { shortestPaths } = await import(${JSON.stringify(join(root, 'dist/lib/graph.js'))})
        const { star } = await import(${JSON.stringify(join(root, 'dist/lib/algebra.js'))})
        const n = ${n}
        try {
          ${program}
          console.log('done')
        } catch (error) {
          console.log(error.code)
        }`
      const outcome = await runProgram(process.execPath, ['--input-type=module', '-e', script])
      expect(outcome).toMatchObject({ status: 0, signal: null })
      const small = n <= 500
      expect(outcome.stdout).toMatch(
        small ? /^done$/m : n >= 9000 ? /^ERR_MPMML_OUT_OF_MEMORY$/m : /^(done|ERR_MPMML_OUT_OF_MEMORY)$/m,
      )
    },
  )
})
