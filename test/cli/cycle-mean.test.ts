/** mpmml cycle-mean. Expected numbers are computed by hand. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'
import { EPSILON, fails, json, succeeds, writeNumbers } from './support.js'

const path = useFolder()

function write(name: string, content: string): string {
  writeFileSync(path(name), content)
  return path(name)
}

/**
 * Returns a graph whose cycles 1 → 2 → 3 → 1, 2 → 3 → 2 and 4 → 4 have the means 10/3, 6/2 and 3. Node 5 is
 * on no cycle.
 */
const example = () =>
  write('example.gr', 'p sp 5 7\na 1 2 2\na 2 3 4\na 3 1 4\na 3 2 2\na 4 4 3\na 3 4 90\na 4 5 90\n')

describe('cycle-mean', () => {
  it('prints the fraction and the cycle, with the nodes of the file', async () => {
    const printed = await succeeds(['cycle-mean', example()])
    expect(printed).toMatch(/^graph +5 nodes, 7 edges .*example\.gr$/m)
    expect(printed).toMatch(/^maximum +10\/3 ≈ 3\.33333$/m)
    expect(printed).toMatch(/^cycle +1 → 2 → 3 → 1$/m)
  })

  it('prints the same numbers as JSON', async () => {
    expect(await json(['cycle-mean', example()])).toEqual({
      graph: { path: path('example.gr'), nodes: 5, edges: 7, firstNode: 1 },
      semiring: 'max-plus',
      dtype: 'int32',
      mean: { numerator: 10, denominator: 3, value: 10 / 3, cycle: [1, 2, 3] },
      components: null,
    })
  })

  it('finds the smallest mean with --semiring min-plus', async () => {
    const { mean } = await json(['cycle-mean', example(), '--semiring', 'min-plus'])
    expect(mean).toMatchObject({ numerator: 3, denominator: 1, value: 3 })
    expect([[2, 3], [4]]).toContainEqual(mean.cycle)
    expect(await succeeds(['cycle-mean', example(), '--semiring', 'min-plus'])).toMatch(/^minimum +3$/m)
  })

  it('shows each component that has a cycle with --components', async () => {
    const { components } = await json(['cycle-mean', example(), '--components'])
    expect(components).toEqual([
      { nodes: [1, 2, 3], mean: { numerator: 10, denominator: 3, value: 10 / 3, cycle: [1, 2, 3] } },
      { nodes: [4], mean: { numerator: 3, denominator: 1, value: 3, cycle: [4] } },
    ])
    const printed = await succeeds(['cycle-mean', example(), '--components'])
    expect(printed).toMatch(/^components +2 components with cycles$/m)
    expect(printed).toMatch(/^3 +10\/3 ≈ 3\.33333 +1 → 2 → 3 → 1$/m)
  })

  it('shows more components than a call has arguments', async () => {
    const nodes = 200_000
    const loops = Array.from({ length: nodes }, (_, at) => `a ${at + 1} ${at + 1} ${at % 7}\n`)
    const file = write('loops.gr', `p sp ${nodes} ${nodes}\n${loops.join('')}`)
    const lines = (await succeeds(['cycle-mean', file, '--components'])).trimEnd().split('\n')
    expect(lines.slice(-nodes - 1, -nodes + 1)).toEqual(['nodes  maximum  cycle', '1      0        1 → 1'])
    expect(lines.at(-1)).toBe(`1      ${(nodes - 1) % 7}        ${nodes} → ${nodes}`)
  })

  it('reads a matrix, which counts from 0', async () => {
    const file = writeNumbers(path('m.npy'), [2, 2], [EPSILON, 3, 4, 1])
    const { graph, mean } = await json(['cycle-mean', file])
    expect(graph).toMatchObject({ nodes: 2, edges: 3, firstNode: 0 })
    expect(mean).toEqual({ numerator: 7, denominator: 2, value: 3.5, cycle: [0, 1] })
    expect(await succeeds(['cycle-mean', file])).toMatch(/^maximum +7\/2 = 3\.5$/m)
  })

  it('accepts weights that are no integers', async () => {
    const { dtype, mean } = await json(['cycle-mean', write('f.csv', '0,1,0.5\n1,0,0.25\n')])
    expect(dtype).toBe('float64')
    expect(mean.value).toBe(0.375)
  })

  it('reads tokens of edges by the heading or with --edges', async () => {
    const lines = '0,1,3,0\n1,0,4,2\n1,1,3,1\n'
    const named = write('tokens.csv', `from,to,weight,tokens\n${lines}`)
    const { graph, mean } = await json(['cycle-mean', named])
    expect(graph).toMatchObject({ nodes: 2, edges: 3 })
    expect(mean).toEqual({ numerator: 7, denominator: 2, value: 3.5, cycle: [0, 1] })
    const plain = write('plain.csv', lines)
    expect(await json(['cycle-mean', plain, '--edges'])).toMatchObject({ mean })
    const dead = write('dead.csv', 'from,to,weight,tokens\n0,1,3,0\n1,0,4,0\n')
    expect(await fails(['cycle-mean', dead])).toMatch(
      /the cycle 0 → 1 → 0 has no token.*\[ERR_MPMML_CYCLE\]$/m,
    )
  })

  it('divides by tokens with named nodes', async () => {
    const file = write('rail.csv', 'from,to,minutes,tokens\nBA,AB,27,0\nAB,BA,27,3\nAB,AB,4,1\n')
    expect(await json(['cycle-mean', file, '--names'])).toMatchObject({
      mean: { numerator: 18, denominator: 1 },
    })
    const columns = write('columns.csv', 'id,source,target,weight\n0,0,1,7\n1,1,0,2\n')
    expect(await json(['cycle-mean', columns])).toMatchObject({ mean: { numerator: 9, denominator: 2 } })
  })

  it('reports that there is no cycle', async () => {
    const file = write('dag.csv', '0,1,5\n1,2,5\n')
    expect(await json(['cycle-mean', file, '--components'])).toMatchObject({ mean: null, components: [] })
    expect(await succeeds(['cycle-mean', file])).toMatch(/^maximum +there is no cycle$/m)
  })
})

describe('bad input', () => {
  it.each([[['--semiring', 'max-min']], [['--backend', 'cpu']]])(
    'is reported as wrong usage: %j',
    async (flags) => {
      expect(await fails(['cycle-mean', example(), ...flags], 2)).toContain('--help')
    },
  )
})

it('explains the numbers of nodes with --help', async () => {
  expect(await succeeds(['cycle-mean', '--help'])).toMatch(/count\s+from 1/)
})
