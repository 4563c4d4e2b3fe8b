/**
 * The example of longest chains, run by the command in its first comment. Uses the output of `npm run
 * build:ts`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root, runProgram } from '../cli/support.js'
import { withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'

const program = join(root, 'examples', 'precedence-graph.mjs')

async function lines(args: string[]): Promise<string[]> {
  const { status, stdout, stderr } = await runProgram(process.execPath, [program, ...args])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.trimEnd().split('\n')
}

const numbersOf = (line: string) => line.trim().split(/ +/).map(Number)

/**
 * Returns the earliest starts by the Bellman–Ford algorithm. An edge means that `to` starts at least `value`
 * after `from`.
 */
function earliest(count: number, edges: [from: number, to: number, value: number][]): number[] {
  const starts = Array<number>(count).fill(0)
  for (let round = 0; round < count; round++) {
    for (const [from, to, value] of edges) starts[to] = Math.max(starts[to]!, starts[from]! + value)
  }
  return starts
}

describeUnless(withoutBuild, 'longest chains', () => {
  it.each(['auto', 'cpu'])("equal those of the textbook's project: --backend %s", async (backend) => {
    // Copied by hand from Sedgewick and Wayne, Algorithms, 4th edition, section 4.4.
    const durations = [41, 51, 50, 36, 38, 45, 21, 32, 32, 29]
    const edges = [
      [0, 1],
      [0, 7],
      [0, 9],
      [1, 2],
      [6, 3],
      [6, 8],
      [7, 3],
      [7, 8],
      [8, 2],
      [9, 4],
      [9, 6],
    ].map(([from, to]) => [from!, to!, durations[from!]!] as [number, number, number])
    const starts = earliest(10, edges)
    const later = earliest(10, [...edges, [2, 4, -12], [2, 7, -70]])
    const [where, head, ...rows] = await lines(backend === 'auto' ? [] : ['--backend', backend])
    expect(where).toMatch(backend === 'cpu' ? /^on .+ \(cpu\)$/ : /^on .+ \((cpu|cuda)\)$/)
    expect(head).toBe('job  takes  starts  with deadlines')
    expect(rows.slice(0, 10).map(numbersOf)).toEqual(
      durations.map((duration, job) => [job, duration, starts[job], later[job]]),
    )
    // The book states these starts: its schedule, and the schedules with the first two deadlines.
    expect(starts).toEqual([0, 41, 123, 91, 70, 0, 70, 41, 91, 41])
    expect([later[4], later[7]]).toEqual([111, 53])
    expect(rows.slice(10)).toEqual(['The project takes 173. Its critical chain: 0 → 9 → 6 → 8 → 2'])
  })

  it('equal those of the oracle in larger projects', async () => {
    const [, head, ...rows] = await lines(['--jobs', '1,2,40,257'])
    expect(head).toBe('  jobs  products  whole ms  kernels ms  project takes')
    const expected = [1, 2, 40, 257].map((n) => {
      const durations = Array.from({ length: n }, (_, i) => 1 + ((37 * i) % 100))
      const edges = durations.flatMap((duration, i) =>
        [3, 7, 31].map((step) => [i, i + step, duration] as [number, number, number]),
      )
      const starts = earliest(
        n,
        edges.filter(([, to]) => to < n),
      )
      return [n, Math.ceil(Math.log2(n)), Math.max(...starts.map((start, job) => start + durations[job]!))]
    })
    const found = rows.map(numbersOf)
    expect(found.map(([n, products, , , takes]) => [n, products, takes])).toEqual(expected)
    for (const [, , whole, kernels] of found) {
      expect(whole).toBeGreaterThanOrEqual(0)
      expect(kernels).toBeGreaterThanOrEqual(0)
    }
  })

  it('rejects unsupported input', async () => {
    const { status, stderr } = await runProgram(process.execPath, [program, '--jobs', 'many'])
    expect(status).not.toBe(0)
    expect(stderr).toContain('ERR_MPMML_SHAPE')
  })

  it('lists its options', () => {
    const [comment] = readFileSync(program, 'utf8').split('*/')
    for (const option of ['--jobs', '--backend']) expect(comment).toContain(option)
  })
})
