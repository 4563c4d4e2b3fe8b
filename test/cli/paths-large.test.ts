/** mpmml paths: distances that are written in blocks of rows, methods, and reduced distances. */
import { existsSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { readZarr } from '../support/arrays.js'
import { useFolder } from '../support/folder.js'
import { fails, json, readNumbers, succeeds, writeNumbers } from './support.js'

const path = useFolder()
const NONE = 2 ** 31 - 1

afterEach(() => {
  vi.restoreAllMocks()
})

function write(name: string, content: string): string {
  writeFileSync(path(name), content)
  return path(name)
}

// A leads to B in 30 minutes, to C in 58 and to D in 3 hours more.
const roads = () => write('roads.csv', 'from,to,seconds\nA,B,1800\nB,C,1700\nC,A,200\nA,D,9000\n')

/** Distances between A, B, C and D, by rows. */
const distances = [
  [0, 1800, 3500, 9000],
  [1900, 0, 1700, 10900],
  [200, 2000, 0, 9200],
  [NONE, NONE, NONE, 0],
]

describe('distances that are written in blocks of rows', () => {
  it('are written from some nodes to some, with a limit, into a Zarr array', async () => {
    const out = path('distances.zarr')
    const args = ['paths', roads(), '--from', 'A', '--to', 'B,C,D', '--limit', '3600', '-o', out]
    const printed = await succeeds(args)
    expect(printed).toMatch(/^result +1 × 3 .*distances\.zarr$/m)
    expect(printed).toMatch(/^method +search$/m)
    expect(printed).toMatch(/^blocks +1, up to 1 × 3$/m)
    expect([...(await readZarr(out)).data]).toEqual([1800, 3500, NONE])
    expect(await fails(args)).toMatch(/exists already.*--overwrite.*\[ERR_MPMML_EXISTS\]$/m)
    const record = await json([...args, '--overwrite', '--codec', 'gzip', '--chunks', '1x2'])
    expect(record).toMatchObject({ path: out, shape: [1, 3], dtype: 'int32', blocks: 1, resumed: 0 })
  })

  it('are written into a .npy file, for a file that counts from 1', async () => {
    const file = write('roads.gr', 'p sp 4 4\na 1 2 1800\na 2 3 1700\na 3 1 200\na 1 4 9000\n')
    const out = path('gr.npy')
    await succeeds(['paths', file, '--from', '3,1', '-o', out, '--memory', '50MB', '--method', 'dissection'])
    expect(readNumbers(out)).toEqual({ shape: [2, 4], values: [distances[2], distances[0]].flat() })
    const cycle = write('cycle.gr', 'p sp 2 2\na 1 2 1\na 2 1 -5\n')
    expect(await fails(['paths', cycle, '-o', path('never.zarr')])).toMatch(
      /cycle\.gr: the cycle (1 → 2 → 1|2 → 1 → 2)/,
    )
  })

  it("are written if they don't fit in memory", async () => {
    const nodes = 3000
    const lines = Array.from({ length: nodes }, (_, i) => `${i},${(i + 1) % nodes},1\n`)
    const file = write('ring.csv', `from,to,weight\n${lines.join('')}`)
    vi.spyOn(process, 'availableMemory').mockReturnValue(30_000_000)
    const out = path('ring.npy')
    const printed = await succeeds(['paths', file, '-o', out])
    expect(printed).toMatch(/^blocks +\d+, up to \d+ × 3000$/m)
    expect(await fails(['paths', file, '-o', path('ring2.npy'), '--verify'])).toContain(
      '[ERR_MPMML_OUT_OF_MEMORY]',
    )
    vi.restoreAllMocks()
    const { shape, values } = readNumbers(out)
    expect(shape).toEqual([nodes, nodes])
    expect(values[1234 * nodes + 17]).toBe(17 - 1234 + nodes)
  })

  it('are never all in memory', async () => {
    const out = ['-o', path('refused.zarr')]
    for (const more of [['--verify'], ['--next', path('n.npy')], ['--reduce', 'mean'], ['--all']]) {
      expect(await fails(['paths', roads(), ...out, ...more], 2)).toContain(`${more[0]} is not for`)
    }
    expect(await fails(['paths', roads(), '--memory', '1GB'], 2)).toContain('need an output')
    expect(await fails(['paths', roads(), '--names', ...out, '--method', 'closure'])).toContain('--method')
    const matrix = write('matrix.csv', '0,1,2\n3,0,4\n5,6,0\n')
    expect(await fails(['paths', matrix, '--matrix', ...out])).toContain('mpmml convert')
    const onDisk = writeNumbers(path('w.npy'), [2, 2], [0, 1, 1, 0])
    expect(await fails(['paths', onDisk, ...out, '--method', 'search'], 2)).toContain('--method is not for')
    expect(existsSync(path('refused.zarr'))).toBe(false)
  })
})

it.each(['auto', 'search', 'dissection', 'closure'])(
  'finds the same distances with --method %s',
  async (method) => {
    const out = path(`${method}.npy`)
    const record = await json(['paths', roads(), '--names', '--method', method, '-o', out])
    if (method !== 'auto') expect(record.method).toBe(method)
    expect(readNumbers(out).values).toEqual(distances.flat())
  },
)

describe('--reduce', () => {
  it('computes eccentricity and mean', async () => {
    const [worst, mean] = [
      await json(['paths', roads(), '--names', '--reduce', 'eccentricity']),
      await json([
        'paths',
        roads(),
        '--from',
        'D,A',
        '--to',
        'B,C',
        '--reduce',
        'mean',
        '--method',
        'closure',
      ]),
    ]
    expect(worst.nodes).toEqual([
      { node: 'A', value: 9000, reached: 3 },
      { node: 'B', value: 10900, reached: 3 },
      { node: 'C', value: 9200, reached: 3 },
      { node: 'D', value: null, reached: 0 },
    ])
    expect(mean).toMatchObject({ reduce: 'mean', method: 'closure', output: null })
    expect(mean.nodes).toEqual([
      { node: 'D', value: null, reached: 0 },
      { node: 'A', value: 2650, reached: 2 },
    ])
    const printed = await succeeds(['paths', roads(), '--names', '--reduce', 'eccentricity'])
    expect(printed).toMatch(/^node +eccentricity +reached\nA +9000 +3$/m)
    expect(printed).toMatch(/^D +no path +0$/m)
  })

  it('finds the nearest nodes, printed or into files', async () => {
    const args = ['paths', roads(), '--names', '--reduce', 'nearest=2']
    const { nodes } = await json([...args, '--limit', '1900'])
    expect(nodes).toEqual([
      { from: 'A', nearest: [{ to: 'B', value: 1800 }] },
      {
        from: 'B',
        nearest: [
          { to: 'C', value: 1700 },
          { to: 'A', value: 1900 },
        ],
      },
      { from: 'C', nearest: [{ to: 'A', value: 200 }] },
      { from: 'D', nearest: [] },
    ])
    expect(await succeeds(args)).toMatch(/^from +to +length\nA +B +1800\nA +C +3500\nB +C/m)
    const [values, near] = [path('near.csv'), path('nodes.npy')]
    const record = await json([...args, '-o', values, '--next', near])
    expect(record).toMatchObject({
      output: { path: values, shape: [4, 2] },
      next: { path: near },
      nodes: null,
    })
    expect(readNumbers(near)).toEqual({ shape: [4, 2], values: [1, 2, 2, 0, 0, 1, -1, -1] })
  })

  it('reads a file that counts from 1', async () => {
    const file = write('near.gr', 'p sp 3 3\na 1 2 5\na 2 3 1\na 3 1 1\n')
    const { nodes } = await json(['paths', file, '--from', '2', '--reduce', 'nearest=1'])
    expect(nodes).toEqual([{ from: 2, nearest: [{ to: 3, value: 1 }] }])
  })

  it("rejects options that don't apply", async () => {
    for (const text of ['median', 'nearest', 'nearest=0']) {
      expect(await fails(['paths', roads(), '--names', '--reduce', text], 2)).toContain("'nearest=5'")
    }
    for (const more of [['--verify'], ['--next', path('n.npy')], ['--overflow', 'wrap']]) {
      expect(await fails(['paths', roads(), '--names', '--reduce', 'mean', ...more], 2)).toContain(
        `leave out ${more[0]}`,
      )
    }
    expect(await fails(['paths', roads(), '--names', '--reduce', 'mean', '--semiring', 'or-and'])).toContain(
      'or-and',
    )
  })
})
