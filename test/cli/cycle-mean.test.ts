/** mpmml cycle-mean. Expected numbers are computed by hand, or from all simple cycles. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Random } from '../support/generators.js'
import {
  type Cycle,
  equal,
  less,
  meanOf,
  type PlainGraph,
  reachability,
  simpleCycles,
  tokensOf,
} from '../support/graph-oracle.js'
import { addEdge, randomGraph } from '../support/graphs.js'
import { EPSILON, fails, json, succeeds, useFolder, writeNumbers } from './support.js'

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

  describe('cycle-mean of random edges with tokens', () => {
    const random = new Random(77)
    it.each(Array.from({ length: 8 }, (_, index) => index))(
      'agrees with all simple cycles: graph %i',
      async (index) => {
        const weight = () => random.integer(-9, 9)
        const graph: PlainGraph = { ...randomGraph(random, 6, 12, weight), nodes: 9 }
        // Random graphs have parallel edges, loops and separate components.
        addEdge(graph, graph.from[0]!, graph.to[0]!, weight)
        for (const [from, to] of [
          [2, 2],
          [6, 7],
          [7, 6],
          [8, 8],
        ] as const)
          addEdge(graph, from, to, weight)
        const tokens = graph.from.map(() => random.integer(0, 3))
        graph.tokens = tokens
        const file = path(`random${index}.csv`)
        const writeGraph = () => {
          const line = (from: number, e: number) => `${from},${graph.to[e]},${graph.weight[e]},${tokens[e]}\n`
          writeFileSync(file, graph.from.map(line).join(''))
        }
        writeGraph()
        const cycles = simpleCycles(graph)
        const without = (cycle: Cycle) => cycle.every((e) => tokensOf(graph, e) === 0)
        if (cycles.some(without)) {
          expect(await fails(['cycle-mean', file, '--edges'])).toContain('[ERR_MPMML_CYCLE]')
          for (const cycle of cycles) if (without(cycle)) tokens[cycle[0]!] = 1
          writeGraph()
        }
        const reach = reachability(graph)
        for (const semiring of ['max-plus', 'min-plus']) {
          const args = ['cycle-mean', file, '--edges', '--components', '--semiring', semiring]
          const { mean, components } = await json(args)
          const best = (of: Cycle[]) =>
            of
              .map((cycle) => meanOf(graph, cycle))
              .reduce((a, b) => ((semiring === 'max-plus' ? less(a, b) : less(b, a)) ? b : a))
          const expectBest = (found: typeof mean, of: Cycle[]) =>
            expect(equal([BigInt(found.numerator), BigInt(found.denominator)], best(of))).toBe(true)
          expectBest(mean, cycles)
          for (const { nodes, mean } of components) {
            expectBest(
              mean,
              cycles.filter((cycle) => nodes.includes(graph.from[cycle[0]!])),
            )
          }
          const onCycles = Array.from({ length: 9 }, (_, node) => node).filter((node) => reach[node]![node])
          const shown = components.flatMap(({ nodes }: { nodes: number[] }) => nodes)
          expect(shown.sort((a: number, b: number) => a - b)).toEqual(onCycles)
        }
      },
    )
  })

  it('reports that there is no cycle', async () => {
    const file = write('dag.csv', '0,1,5\n1,2,5\n')
    expect(await json(['cycle-mean', file, '--components'])).toMatchObject({ mean: null, components: [] })
    expect(await succeeds(['cycle-mean', file])).toMatch(/^maximum +there is no cycle$/m)
  })
})

describe('bad input', () => {
  it('is reported for a file with wrong counts', async () => {
    expect(await fails(['cycle-mean', write('lies.gr', 'p sp 2 2\na 1 2 1\n')])).toMatch(
      /2 arcs.*\[ERR_MPMML_FILE\]$/m,
    )
  })

  it('is reported for a matrix that is not square', async () => {
    const file = writeNumbers(path('wide.npy'), [1, 2], [1, 2])
    expect(await fails(['cycle-mean', file])).toContain('one square matrix')
  })

  it.each([[['--semiring', 'max-min']], [['--backend', 'cpu']], [['b.gr']]])(
    'is reported as wrong usage: %j',
    async (flags) => {
      expect(await fails(['cycle-mean', example(), ...flags], 2)).toContain('--help')
    },
  )
})

it('explains the numbers of nodes with --help', async () => {
  expect(await succeeds(['cycle-mean', '--help'])).toMatch(/count\s+from 1/)
})
