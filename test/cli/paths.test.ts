/** mpmml paths: graphs in files. Expected numbers are published, computed by hand, or by the loop below. */
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'
import { EPSILON, fails, json, readNumbers, runMpmml, succeeds, writeNumbers } from './support.js'

const path = useFolder()
const INFINITY = 2 ** 31 - 1

type Edge = [from: number, to: number, weight: number]

function write(name: string, content: string): string {
  writeFileSync(path(name), content)
  return path(name)
}

/** Writes a DIMACS file, whose nodes are numbered from 1. */
const dimacs = (name: string, nodes: number, edges: Edge[]) =>
  write(
    `${name}.gr`,
    `c made up\np sp ${nodes} ${edges.length}\n${edges.map((edge) => `a ${edge.join(' ')}\n`).join('')}`,
  )

const csv = (name: string, edges: Edge[]) =>
  write(`${name}.csv`, `from,to,weight\n${edges.map((edge) => `${edge.join(',')}\n`).join('')}`)

/** The undirected example of Wikipedia's page on Dijkstra's algorithm, whose answer is 20. */
const example: Edge[] = [
  [1, 2, 7],
  [1, 3, 9],
  [1, 6, 14],
  [2, 3, 10],
  [2, 4, 15],
  [3, 4, 11],
  [3, 6, 2],
  [4, 5, 6],
  [6, 5, 9],
]
const bothWays = example.flatMap(([from, to, weight]): Edge[] => [
  [from, to, weight],
  [to, from, weight],
])

/** Shortest distances of a graph without negative cycles, by relaxing every edge until nothing changes. */
function shortest(nodes: number, edges: Edge[], first = 0): number[] {
  return Array.from({ length: nodes }, (_, source) => {
    const distances = Array<number>(nodes).fill(Number.POSITIVE_INFINITY)
    distances[source] = 0
    for (let round = 0; round < nodes; round++) {
      for (const [from, to, weight] of edges) {
        distances[to - first] = Math.min(distances[to - first]!, distances[from - first]! + weight)
      }
    }
    return distances.map((distance) => (distance === Number.POSITIVE_INFINITY ? INFINITY : distance))
  }).flat()
}

const pairs = (record: { pairs: unknown[] }) => record.pairs

describe('one-to-one', () => {
  it('prints the path and its length, with the nodes of the file', async () => {
    const printed = await succeeds(['paths', dimacs('one', 6, bothWays), '--from', '1', '--to', '5'])
    expect(printed).toMatch(/^graph +6 nodes, 18 edges .*one\.gr$/m)
    expect(printed).toMatch(/^from +1$/m)
    expect(printed).toMatch(/^to +5$/m)
    expect(printed).toMatch(/^length +20$/m)
    expect(printed).toMatch(/^path +1 → 3 → 6 → 5$/m)
    expect(printed).toMatch(/^backend +(cpu|cuda), /m)
    expect(printed).not.toContain('verified')
  })

  it('prints a path of more nodes than a call has arguments', async () => {
    const nodes = 200_000
    const edges = Array.from({ length: nodes - 1 }, (_, at): Edge => [at + 1, at + 2, 1])
    const lines = (await succeeds(['paths', dimacs('long', nodes, edges), '--from', '1']))
      .trimEnd()
      .split('\n')
    expect(lines.slice(-nodes - 1, -nodes + 1)).toEqual(['from  to      length', '1     1       0'])
    expect(lines.at(-1)).toBe(`1     ${nodes}  ${nodes - 1}`)
  })

  it('prints the same path as JSON', async () => {
    const record = await json(['paths', dimacs('one', 6, bothWays), '--from', '1', '--to', '5'])
    expect(record).toMatchObject({
      graph: { nodes: 6, edges: 18, firstNode: 1 },
      semiring: 'min-plus',
      dtype: 'int32',
      overflow: 'throw',
      pairs: [{ from: 1, to: 5, value: 20, path: [1, 3, 6, 5] }],
      next: null,
      verified: null,
    })
    expect(record.backend).toMatch(/^(cpu|cuda)$/)
    expect(record.timing.totalMs).toBeGreaterThanOrEqual(0)
  })

  it('accepts equal start and end nodes, and nodes without a path', async () => {
    const file = csv('islands', [[0, 1, 4]])
    const [self, none] = [
      await json(['paths', file, '--from', '1', '--to', '1']),
      await json(['paths', file, '--from', '1', '--to', '0']),
    ]
    expect(pairs(self)).toEqual([{ from: 1, to: 1, value: 0, path: [1] }])
    expect(pairs(none)).toEqual([{ from: 1, to: 0, value: null, path: null }])
    expect(await succeeds(['paths', file, '--from', '1', '--to', '0'])).toMatch(/^length +no path$/m)
  })

  it('ignores a negative cycle that cannot be reached', async () => {
    const file = csv('elsewhere', [
      [0, 1, 4],
      [2, 3, -5],
      [3, 2, 1],
      [3, 1, 1],
    ])
    expect(pairs(await json(['paths', file, '--from', '0', '--to', '1']))).toEqual([
      { from: 0, to: 1, value: 4, path: [0, 1] },
    ])
    expect(await fails(['paths', file, '--from', '3', '--to', '1'])).toContain('[ERR_MPMML_CYCLE]')
  })
})

describe('some-to-all', () => {
  it('prints a table of the lengths', async () => {
    const printed = await succeeds(['paths', dimacs('some', 6, example), '--from', '2'])
    const [, table] = printed.split('\n\n')
    expect(table!.trimEnd().split('\n')).toEqual([
      'from  to  length',
      '2     1   no path',
      '2     2   0',
      '2     3   10',
      '2     4   15',
      '2     5   21',
      '2     6   12',
    ])
  })

  it('prints paths from several nodes to several nodes', async () => {
    const record = await json(['paths', dimacs('some', 6, example), '--from', '1,2', '--to', '5,4'])
    expect(pairs(record)).toEqual([
      { from: 1, to: 5, value: 20, path: [1, 3, 6, 5] },
      { from: 1, to: 4, value: 20, path: [1, 3, 4] },
      { from: 2, to: 5, value: 21, path: expect.arrayContaining([2, 5]) },
      { from: 2, to: 4, value: 15, path: [2, 4] },
    ])
  })

  it('prints paths from all nodes to one', async () => {
    const record = await json(['paths', dimacs('some', 6, example), '--to', '4'])
    expect(record.pairs.map(({ value }: { value: number }) => value)).toEqual([20, 15, 11, 0, null, null])
  })

  it('writes the lengths to a file with -o', async () => {
    const out = path('some.npy')
    const args = ['paths', dimacs('some', 6, example), '--from', '1,2', '-o', out]
    const record = await json(args)
    expect(record.pairs).toBeNull()
    expect(record.distances).toMatchObject({ path: out, shape: [2, 6], min: 0, max: 21, zeros: 1 })
    expect(readNumbers(out)).toEqual({ shape: [2, 6], values: shortest(6, example, 1).slice(0, 12) })
  })
})

describe('all pairs', () => {
  const edges: Edge[] = [
    [0, 1, 3],
    [1, 2, -2],
    [2, 0, -1],
    [2, 3, 0],
    [3, 3, 0],
    [0, 3, 9],
    [0, 3, 2],
    [4, 0, -7],
  ]

  it('are read from CSV, with parallel edges, a self-loop and a cycle of weight 0', async () => {
    const [d, n] = [path('d.npy'), path('n.npy')]
    const file = csv('all', edges)
    const printed = await succeeds(['paths', file, '-o', d, '--next', n, '--verify'])
    expect(printed).toMatch(/^distances +5 × 5 .*d\.npy$/m)
    expect(printed).toMatch(/^next +5 × 5 .*n\.npy$/m)
    expect(printed).toMatch(/^values +25: -7 … 3; 7 are \+∞, held as 2147483647$/m)
    expect(printed).toMatch(/^verified +.*25/m)
    const expected = shortest(5, edges)
    expect(readNumbers(d)).toEqual({ shape: [5, 5], values: expected })
    const next = readNumbers(n).values
    for (let i = 0; i < 5; i++) {
      for (let j = 0; j < 5; j++) {
        let length = 0
        let at = i
        for (let steps = 0; at !== j && steps < 5; steps++) {
          const to = next[5 * at + j]!
          if (to < 0) break
          length += Math.min(...edges.filter((edge) => edge[0] === at && edge[1] === to).map(([, , w]) => w))
          at = to
        }
        const distance = expected[5 * i + j]!
        if (distance === INFINITY || i === j) expect(next[5 * i + j]).toBe(-1)
        else expect([at, length]).toEqual([j, distance])
      }
    }
  })

  it('are read from Matrix Market, whose nodes count from 1', async () => {
    const lines = edges.map(([from, to, weight]) => `${from + 1} ${to + 1} ${weight}\n`)
    const file = write(
      'all.mtx',
      `%%MatrixMarket matrix coordinate integer general\n5 5 ${edges.length}\n${lines.join('')}`,
    )
    const out = path('mtx.npy')
    await succeeds(['paths', file, '-o', out])
    expect(readNumbers(out).values).toEqual(shortest(5, edges))
    expect(pairs(await json(['paths', file, '--from', '5', '--to', '4']))).toEqual([
      { from: 5, to: 4, value: shortest(5, edges)[23], path: expect.arrayContaining([5, 1, 4]) },
    ])
  })

  it('are read from a .npy matrix, in C or Fortran order', async () => {
    const values = [INFINITY, 5, 1, INFINITY, INFINITY, INFINITY, INFINITY, 2, INFINITY]
    const expected = [0, 3, 1, INFINITY, 0, INFINITY, INFINITY, 2, 0]
    const out = path('npy-d.npy')
    const record = await json(['paths', writeNumbers(path('w.npy'), [3, 3], values), '-o', out])
    expect(record.graph).toMatchObject({ nodes: 3, edges: 3, firstNode: 0 })
    expect(readNumbers(out).values).toEqual(expected)
    const columns = [0, 3, 6, 1, 4, 7, 2, 5, 8].map((at) => values[at]!)
    await succeeds(['paths', writeNumbers(path('f.npy'), [3, 3], columns, { fortran: true }), '-o', out])
    expect(readNumbers(out).values).toEqual(expected)
  })

  it('are only summarized without -o', async () => {
    const printed = await succeeds(['paths', csv('all', edges), '--backend', 'cpu'])
    expect(printed).toMatch(/^distances +5 × 5 +\(not written; -o names a file\)$/m)
    expect(printed).toMatch(/^backend +cpu, .*: as --backend asks$/m)
  })

  it('exist for a graph without nodes', async () => {
    const record = await json(['paths', dimacs('nothing', 0, [])])
    expect(record).toMatchObject({ graph: { nodes: 0, edges: 0 }, distances: { shape: [0, 0], min: null } })
  })
})

describe('--semiring', () => {
  // The weights serve as widths, as lengths of an acyclic graph, and as probabilities in per cent.
  const edges: Edge[] = [
    [0, 1, 50],
    [0, 2, 90],
    [2, 1, 80],
    [1, 3, 70],
    [2, 3, 30],
  ]

  it.each<[string, number, number[]]>([
    ['min-plus', 120, [0, 1, 3]],
    ['max-plus', 240, [0, 2, 1, 3]],
    ['max-min', 70, [0, 2, 1, 3]],
  ])('computes %s', async (semiring, value, nodes) => {
    const args = [
      'paths',
      csv('kinds', edges),
      '--from',
      '0',
      '--to',
      '3',
      '--semiring',
      semiring,
      '--verify',
    ]
    expect(pairs(await json(args))).toEqual([{ from: 0, to: 3, value, path: nodes }])
  })

  it('computes max-times on the numbers of an edge list, as float64', async () => {
    const shares = edges.map(([from, to, weight]): Edge => [from, to, weight / 128])
    const args = ['paths', csv('shares', shares), '--from', '0', '--to', '3', '--semiring', 'max-times']
    const record = await json(args)
    expect(record).toMatchObject({ dtype: 'float64', overflow: null })
    // All products of these probabilities are exact in binary.
    expect(pairs(record)).toEqual([
      { from: 0, to: 3, value: (90 / 128) * (80 / 128) * (70 / 128), path: [0, 2, 1, 3] },
    ])
    const whole = csv('whole', [[0, 1, 1]])
    expect(
      pairs(await json(['paths', whole, '--from', '0', '--to', '1', '--semiring', 'max-times'])),
    ).toEqual([{ from: 0, to: 1, value: 1, path: [0, 1] }])
  })

  it('computes or-and, in which every edge exists for all weights', async () => {
    const out = path('reached.npy')
    const file = csv('reach', [
      [0, 1, -3],
      [1, 2, 0],
      [3, 0, 7],
    ])
    const record = await json(['paths', file, '--semiring', 'or-and', '-o', out])
    expect(record).toMatchObject({ dtype: 'uint8', distances: { zeros: 6 } })
    const bytes = readFileSync(out)
    expect([...bytes.subarray(-16)]).toEqual([1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1])
  })

  it('prints an infinite width as a string in JSON', async () => {
    const file = csv('wide', [[0, 1, 0.5]])
    const args = ['paths', file, '--from', '0', '--to', '0', '--semiring', 'max-min']
    expect(pairs(await json(args))).toEqual([{ from: 0, to: 0, value: 'Infinity', path: [0] }])
    expect(await succeeds(args)).toMatch(/^width +∞$/m)
  })
})

describe('--overflow', () => {
  const file = () =>
    csv('large', [
      [0, 1, 2_000_000_000],
      [1, 2, 2_000_000_000],
    ])

  it('throws unless another policy is given', async () => {
    expect(await fails(['paths', file()])).toMatch(/\[ERR_MPMML_OVERFLOW\]$/m)
    const args = ['paths', file(), '--from', '0', '--to', '2', '--overflow']
    const [saturated] = pairs(await json([...args, 'saturate']))
    expect(saturated).toMatchObject({ value: INFINITY - 1, path: [0, 1, 2] })
  })
})

describe('an improving cycle', () => {
  it('is an error with its nodes as in the file, and its weight', async () => {
    const edges: Edge[] = [
      [1, 2, 5],
      [2, 3, -7],
      [3, 2, 1],
      [3, 4, 1],
    ]
    const message = await fails(['paths', dimacs('cycle', 4, edges), '-o', path('never.npy')])
    expect(message).toMatch(/cycle\.gr: the cycle (2 → 3 → 2|3 → 2 → 3) has the weight -6/)
    expect(message).toMatch(/\[ERR_MPMML_CYCLE\]$/m)
    expect(existsSync(path('never.npy'))).toBe(false)
    expect(readdirSync(path('.')).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })
})

describe('--check', () => {
  const check = (d: number[], n?: number[], size = 6) => {
    const files = [writeNumbers(path('check-d.npy'), [size, size], d)]
    if (n) files.push('--next', writeNumbers(path('check-n.npy'), [size, size], n))
    return ['paths', dimacs('check', 6, bothWays), '--check', ...files]
  }
  const distances = shortest(6, bothWays, 1)
  const nextNodes = async () => {
    await succeeds(['paths', dimacs('check', 6, bothWays), '--next', path('right-n.npy')])
    return readNumbers(path('right-n.npy')).values
  }

  it('accepts right distances and paths', async () => {
    expect(await json(check(distances))).toMatchObject({
      checked: { distances: path('check-d.npy'), next: null },
    })
    expect(await succeeds(check(distances, await nextNodes()))).toMatch(/^verified +/m)
  })

  it('finds one distance that is wrong, by one, in either direction', async () => {
    for (const [at, change] of [
      [4, 1],
      [4, -1],
      [0, 1],
      [35, -1],
    ] as const) {
      const wrong = [...distances]
      wrong[at]! += change
      expect(await fails(check(wrong, await nextNodes())), `${at} by ${change}`).toMatch(
        /^mpmml: verification failed \(counting nodes from 0\): /,
      )
      expect(await fails(check(wrong)), `${at} by ${change}, without paths`).toMatch(
        /^mpmml: verification failed/,
      )
    }
  })

  it('finds a next node that leads nowhere, in a cycle, or outside', async () => {
    const next = await nextNodes()
    for (const [at, node] of [
      [4, -1],
      [4, 1],
      [4, 6],
      [4, 0],
      [0, 3],
    ] as const) {
      const wrong = [...next]
      wrong[at] = node
      expect(await fails(check(distances, wrong)), `${at} is ${node}`).toMatch(/^mpmml: verification failed/)
    }
  })

  it('finds files of another shape', async () => {
    expect(await fails(check(Array(25).fill(0), undefined, 5))).toMatch(
      /expected 6 × 6 .*5 × 5.*\[ERR_MPMML_FILE\]/,
    )
  })

  it.each([
    ['--from', '1'],
    ['--to', '1'],
    ['-o', 'x.npy'],
    ['--verify', undefined],
  ])('reports wrong usage with %s', async (option, value) => {
    const args = [...check(distances), option, ...(value ? [value] : [])]
    expect(await fails(args, 2)).toContain('--check')
  })
})

describe('bad input', () => {
  it.each<[string, string, string, RegExp]>([
    ['a .gr with fewer arcs than it says', 'a.gr', 'p sp 2 2\na 1 2 3\n', /2 arcs.*only/],
    ['another kind of file', 'a.txt', '0 1 2\n', /\.gr.*\.mtx.*\.csv.*\.npy/],
  ])('is rejected: %s', async (_, name, content, expected) => {
    const message = await fails(['paths', write(name, content)])
    expect(message).toMatch(expected)
    expect(message).toMatch(/\[ERR_MPMML_FILE\]$/m)
  })

  it('is rejected if a matrix is not square, or a batch', async () => {
    expect(await fails(['paths', writeNumbers(path('r.npy'), [2, 3], [1, 2, 3, 4, 5, 6])])).toMatch(
      /one square matrix of weights, but this is 2 × 3 \[ERR_MPMML_FILE\]$/m,
    )
    expect(await fails(['paths', writeNumbers(path('b.npy'), [1, 2, 2], [1, 2, 3, 4])])).toContain(
      '1 × 2 × 2',
    )
  })

  it('is rejected for nodes that the graph does not have', async () => {
    const file = dimacs('six', 6, example)
    expect(await fails(['paths', file, '--from', '7'])).toContain('there is no node 7')
    expect(await fails(['paths', file, '--from', '0', '--to', '1'])).toContain('has the nodes 1 to 6')
    expect(await fails(['paths', dimacs('empty', 0, []), '--from', '1'])).toContain('has no nodes')
  })

  it('is rejected for an output that is the graph, or in no folder', async () => {
    const file = writeNumbers(path('same.npy'), [1, 1], [0])
    expect(await fails(['paths', file, '-o', file])).toContain('the same file as the input')
    expect(await fails(['paths', file, '--next', path('no/folder/n.npy')])).toContain('[ERR_MPMML_FILE]')
    expect(readNumbers(file).values).toEqual([0])
  })

  it('is rejected for two outputs that are one file, under any names', async () => {
    const file = dimacs('six', 6, example)
    const out = path('both.npy')
    symlinkSync(dirname(out), path('also'))
    for (const other of [`${dirname(out)}/./both.npy`, path('also/both.npy')]) {
      const args = ['paths', file, '-o', out, '--next', other]
      expect(await fails(args)).toContain('are the same file: name two')
      expect(existsSync(out)).toBe(false)
      writeNumbers(out, [1, 1], [7])
      expect(await fails(args)).toContain('are the same file: name two')
      expect(readNumbers(out).values).toEqual([7])
      rmSync(out)
    }
    symlinkSync('link target.npy', path('link.npy'))
    writeNumbers(path('link target.npy'), [1, 1], [7])
    const linked = ['-o', path('link target.npy'), '--next', path('link.npy')]
    expect(await fails(['paths', file, ...linked])).toContain('are the same file')
    const arrays = ['-o', path('two.npz:d'), '--next', path('two.npz:n')]
    expect(await fails(['paths', file, ...arrays])).toContain('are the same file')
  })

  it('is rejected for more pairs, or longer paths, than are printed', async () => {
    const many = dimacs('many', 2 ** 22 + 1, [])
    expect(await fails(['paths', many, '--from', '1'])).toMatch(
      /the result has 4194305 pairs, more than the 4194304 that are printed: name a file with -o/,
    )
    // The output would be 3000 paths of 1500 nodes on average.
    const chain = dimacs(
      'chain',
      3000,
      Array.from({ length: 2999 }, (_, at): Edge => [at + 1, at + 2, 1]),
    )
    expect(await fails(['paths', chain, '--to', '3000'])).toContain('the paths have too many nodes')
    await succeeds(['paths', chain, '--to', '3000', '-o', path('to.npy')])
  })

  it.each([
    [['--from', 'A']],
    [['--from', '-1']],
    [['--from', '1,,2']],
    [['--to', '1.5']],
    [['--semiring', 'min-max']],
    [['--semiring', 'plus-times']],
    [['--from', '1', '--next', 'n.npy']],
    [['-o', 'same.npy', '--next', 'same.npy']],
  ])('is rejected as wrong usage: %j', async (flags) => {
    expect(await fails(['paths', dimacs('six', 6, example), ...flags], 2)).toContain('--help')
  })
})

it('explains the numbers of nodes with --help', async () => {
  const help = await succeeds(['paths', '--help'])
  expect(help.replace(/\s+/g, ' ')).toContain('.gr and .mtx count from 1, .csv, .npy and .npz from 0')
})

it('reports that zeros of a matrix are edges, if most of its elements are', async () => {
  const file = writeNumbers(path('adjacency.npy'), [4, 4], [0, 5, 0, 0, 5, 0, 1, 0, 0, 1, 0, 2, 0, 0, 2, 0])
  const { status, stderr } = await runMpmml(['paths', file, '--json'])
  expect([status, stderr]).toEqual([
    0,
    `mpmml: 10 of the 16 elements of ${file} are 0, which are edges of weight 0: if 0 means no edge, write inf in its place\n`,
  ])
  expect((await runMpmml(['paths', file, '--semiring', 'max-times', '--json'])).stderr).not.toContain(
    'edges of weight 0',
  )
  const few = writeNumbers(path('few.npy'), [3, 3], [0, 5, 1, 5, 0, 1, 1, 1, 0])
  expect((await runMpmml(['paths', few, '--json'])).stderr).toBe('')
})

it('treats EPSILON as a missing edge in longest paths', async () => {
  const file = writeNumbers(path('dag.npy'), [2, 2], [EPSILON, 5, EPSILON, EPSILON])
  const out = path('dag-d.npy')
  await succeeds(['paths', file, '--semiring', 'max-plus', '-o', out])
  expect(readNumbers(out).values).toEqual([0, 5, EPSILON, 0])
})

describe('nodes with names', () => {
  const roads = 'from,to,minutes\nA,B,7\nB,C,9\nA,C,20\nB,A,7\n'

  it('are read and printed as in the file', async () => {
    const file = write('roads.csv', roads)
    const printed = await succeeds(['paths', file, '--from', 'A', '--to', 'C', '--verify'])
    expect(printed).toMatch(/^from +A$/m)
    expect(printed).toMatch(/^length +16$/m)
    expect(printed).toMatch(/^path +A → B → C$/m)
    expect(printed).toMatch(/^verified /m)
    const record = await json(['paths', file, '--from', 'A', '--names', '--limit', '10'])
    expect(pairs(record)).toEqual([
      { from: 'A', to: 'A', value: 0 },
      { from: 'A', to: 'B', value: 7 },
      { from: 'A', to: 'C', value: null },
    ])
    const all = await succeeds(['paths', file, '--names'])
    expect(all).toMatch(/^ +A +B +C$/m)
    expect(all).toMatch(/^B +7 +0 +9$/m)
    expect((await json(['paths', file, '--names'])).distances.names).toEqual(['A', 'B', 'C'])
    const out = path('named.npy')
    await succeeds(['paths', file, '--names', '-o', out])
    expect((await readNumbers(out)).values.slice(0, 3)).toEqual([0, 7, 16])
  })

  it('may be in GraphML, and may be numbers that are names', async () => {
    const graphml = write(
      'roads.graphml',
      '<graphml><graph edgedefault="undirected"><node id="n1"/><node id="7"/><edge source="n1" target="7"/></graph></graphml>',
    )
    expect(pairs(await json(['paths', graphml, '--from', '7', '--to', 'n1']))).toEqual([
      { from: '7', to: 'n1', value: 1, path: ['7', 'n1'] },
    ])
    expect(await fails(['paths', graphml, '--from', '1', '--to', '7'])).toContain('there is no node 1')
    const numbers = write(
      'numbers.graphml',
      '<graphml><graph edgedefault="directed"><node id="2"/><node id="1"/><node id="007"/><edge source="1" target="2" minutes="5"/><edge source="2" target="007" minutes="7"/></graph></graphml>',
    )
    const requested = ['--from', '1', '--to', '2,007']
    expect(pairs(await json(['paths', numbers, ...requested, '--weight', 'minutes']))).toEqual([
      { from: '1', to: '2', value: 5, path: ['1', '2'] },
      { from: '1', to: '007', value: 12, path: ['1', '2', '007'] },
    ])
    expect(pairs(await json(['paths', numbers, ...requested, '--no-weight']))).toMatchObject([
      { value: 1 },
      { value: 2 },
    ])
    expect(await fails(['paths', numbers, ...requested])).toContain(
      "they have numbers in 'minutes': name the weight by option --weight",
    )
    const roads = dimacs('weightless', 2, [[1, 2, 3]])
    expect(await fails(['paths', roads, '--weight', 'minutes'])).toContain('option --weight is for files')
    const mean = await json(['cycle-mean', numbers, '--weight', 'minutes'])
    expect(mean).toMatchObject({ graph: { nodes: 3, edges: 2 }, mean: null })
  })

  it('are ids if their numbers would be far more nodes than edges', async () => {
    const file = write('osm.csv', '178877282,178877283,5\n178877283,178877300,7\n')
    const { status, stdout, stderr } = await runMpmml([
      'paths',
      file,
      '--from',
      '178877282',
      '--to',
      '178877300',
      '--json',
    ])
    expect([status, stderr]).toEqual([
      0,
      `mpmml: the nodes of ${file} are taken as names, because numbers up to 178877300 would be as many nodes\n`,
    ])
    expect(JSON.parse(stdout)).toMatchObject({
      graph: { nodes: 3 },
      pairs: [{ value: 12, path: ['178877282', '178877283', '178877300'] }],
    })
    const larger = write('larger.csv', '5423871221,5423871222,5\n')
    expect((await runMpmml(['paths', larger])).stderr).toBe(
      `mpmml: the nodes of ${larger} are taken as names, because numbers are beyond 2^31\n`,
    )
    expect(await fails(['paths', write('minus.csv', '-7,1,5\n')])).toContain(
      'or read them as names by --names',
    )
  })

  it('are read from the columns that the headings source and target name', async () => {
    const file = write('ids.csv', 'id,target,source,km\n7,B,A,4\n8,C,B,5\n')
    expect(await json(['paths', file, '--from', 'A', '--to', 'C'])).toMatchObject({ pairs: [{ value: 9 }] })
    const numbers = write('id-numbers.csv', 'id,source,target,weight\n1,0,1,7\n2,1,2,2\n3,0,2,50\n')
    expect(await json(['paths', numbers, '--from', '0', '--to', '2'])).toMatchObject({
      pairs: [{ value: 9 }],
    })
    const links = write('id-links.csv', 'id,source,target\n1,0,1\n2,1,2\n')
    expect((await runMpmml(['paths', links, '--json'])).stderr).toMatch(/have no weights: each weighs 1\n$/)
    const tabs = write('zones.tsv', 'Zone 1\tZone 2\t4\nZone 2\tZone 3\t5\n')
    expect(await json(['paths', tabs, '--from', 'Zone 1', '--to', 'Zone 3'])).toMatchObject({
      pairs: [{ value: 9 }],
    })
  })

  it('are used in errors', async () => {
    const file = write('roads.csv', roads)
    expect(await fails(['paths', file, '--from', 'X'])).toContain('there is no node X')
    expect(await fails(['paths', file, '--from', 'a'])).toMatch(/there is no node a: .*did you mean A\?/)
    const towns = write('towns.csv', 'Amsterdam,Utrecht,7\nUtrecht,Arnhem,2\n')
    expect(await fails(['paths', towns, '--to', 'Amstredam'])).toContain('did you mean Amsterdam?')
    expect(await fails(['paths', towns, '--to', 'Berlin'])).not.toContain('did you mean')
    const round = write('round.csv', 'A,B,-7\nB,A,2\n')
    expect(await fails(['paths', round, '--names'])).toContain('the cycle A → B → A has the weight -5')
    const numbers = dimacs('numbers', 2, [[1, 2, 3]])
    expect(await fails(['paths', numbers, '--from', 'A'], 2)).toContain('must be a whole number')
    expect(await fails(['paths', numbers, '--names'])).toContain('option keys is for files that name nodes')
    expect(await fails(['paths', file, '--names', '--matrix'], 2)).toContain('--matrix')
    expect(await fails(['paths', file, '--limit', 'x'], 2)).toContain('must be a number')
  })
})
