/**
 * Road networks in files: both directions, several files, decimals, large ids, and OSMnx files of
 * OpenStreetMap. Expected lengths are computed by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readGraph } from '../../lib/graph.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { fails, json, runMpmml, writeNumbers } from './support.js'

const path = useFolder()
const write = (name: string, text: string) => {
  writeFileSync(path(name), text)
  return path(name)
}
const weightsOf = async (names: string | string[], options = {}) => {
  const { nodes, from, to, weight } = await readGraph(names, options)
  return { nodes, edges: [...from].map((node, e) => [node, to[e], weight[e]]), type: weight.constructor.name }
}

describe('readGraph', () => {
  it('adds reversed edges with twoWay, loops once', async () => {
    const file = write('a.csv', 'from,to,weight\n0,1,5\n1,1,2\n1,2,0.5\n')
    const edges = [
      [0, 1, 5],
      [1, 1, 2],
      [1, 2, 0.5],
      [1, 0, 5],
      [2, 1, 0.5],
    ]
    expect(await weightsOf(file, { twoWay: true })).toEqual({ nodes: 3, edges, type: 'Float64Array' })
    const tokens = write('t.csv', 'from,to,weight,tokens\n0,1,5,1\n1,1,2,0\n')
    expect([...(await readGraph(tokens, { twoWay: true, tokens: true })).tokens!]).toEqual([1, 0, 1])
  })

  it('scales decimals to int32 exactly', async () => {
    const decimals = Array.from(
      { length: 2000 },
      (_, at) => `${Math.floor(at / 100)}.${`${at % 100}`.padStart(2, '0')}`,
    )
    const lines = decimals.map((text, at) => `${at},${at + 1},${text}`)
    const file = write('d.csv', `from,to,weight\n${lines.join('\n')}\n`)
    const { weight } = await readGraph(file, { scale: 100 })
    expect(weight).toEqual(Int32Array.from({ length: 2000 }, (_, at) => at))
    const large = write('l.csv', 'from,to,weight\n0,1,21474836.46\n1,2,-0.07\n')
    expect([...(await readGraph(large, { scale: 100 })).weight]).toEqual([2 ** 31 - 2, -7])
  })

  it('rejects weights that a scale would change', async () => {
    const of = (weight: string) => write('w.csv', `from,to,weight\n0,1,${weight}\n`)
    for (const weight of ['0.125', '1e-3', '21474836.47', '1e30', 'inf']) {
      const reading = readGraph(of(weight), { scale: 100 })
      await expect(reading).rejects.toMatchObject({ code: expect.stringMatching(/ERR_MPMML_(VALUE|FILE)/) })
    }
    await expect(readGraph(of('0.125'), { scale: 100 })).rejects.toThrow(
      coded('VALUE', /from 0 to 1 .* 0\.125/),
    )
    for (const scale of [0, 0.5, '100', Number.NaN])
      await expect(readGraph(of('1'), { scale } as never)).rejects.toThrow(coded('OPTION'))
  })

  it('joins files by names and by numbers', async () => {
    const [one, two] = [
      write('1.csv', 'from,to,cost\nA,B,1\n'),
      write('2.csv', 'from,to,cost\nC,B,2.5\nB,A,3\n'),
    ]
    const { keys, nodes, from, to, weight } = await readGraph([one, two], { keys: true })
    expect([nodes, keys, [...from], [...to], [...weight]]).toEqual([
      3,
      ['A', 'B', 'C'],
      [0, 2, 1],
      [1, 1, 0],
      [1, 2.5, 3],
    ])
    const numbered = [write('3.csv', '0,1,1\n'), write('4.csv', '5,1,2\n')]
    expect(await weightsOf(numbered)).toEqual({
      nodes: 6,
      edges: [
        [0, 1, 1],
        [5, 1, 2],
      ],
      type: 'Int32Array',
    })
    const graphml = write(
      '5.graphml',
      '<graphml><graph edgedefault="directed"><edge source="B" target="A"/></graph></graphml>',
    )
    await expect(readGraph([numbered[0]!, graphml])).rejects.toThrow(coded('FILE', /all files of a graph/))
    await expect(readGraph([])).rejects.toThrow(coded('SHAPE'))
  })
})

describe('mpmml paths', () => {
  it('reads two-way roads with decimals from several files', async () => {
    const [one, two] = [
      write('north.csv', 'from,to,minutes\nOslo,Voss,353.25\n'),
      write('south.csv', 'from,to,minutes\nBergen,Voss,105.5\n'),
    ]
    const flags = ['--two-way', '--scale', '100', '--from', 'Bergen', '--to', 'Oslo']
    const { pairs, dtype } = await json(['paths', one, two, ...flags])
    expect([dtype, pairs]).toEqual([
      'int32',
      [{ from: 'Bergen', to: 'Oslo', value: 45875, path: ['Bergen', 'Voss', 'Oslo'] }],
    ])
    expect((await json(['cycle-mean', one, '--names', '--two-way'])).mean.value).toBe(353.25)
  })

  it('reads ids beyond 2^31 as names', async () => {
    const file = write('ids.csv', 'from,to,length\n4294967301,12000000000,7\n12000000000,3,5\n')
    for (const more of [[], ['--names']]) {
      const found = await json(['paths', file, '--from', '4294967301', '--to', '3', ...more])
      expect(found.pairs[0]).toMatchObject({ value: 12, path: ['4294967301', '12000000000', '3'] })
      expect(found.graph.nodes).toBe(3)
    }
    const { stdout, stderr } = await runMpmml(['paths', file])
    expect(stderr).toMatch(/taken as names, because numbers are beyond 2\^31/)
    expect(stdout).toContain('12000000000')
  })

  it('rejects files without edges for a scale, and matrices', async () => {
    const file = write('c.csv', 'from,to,weight\n0,1,0.125\n')
    expect(await fails(['paths', file, '--scale', '100'])).toContain('0.125')
    expect(await fails(['paths', file, '--scale', 'many'])).toContain('scale')
    const matrix = write('m.npy', '')
    writeNumbers(matrix, [1, 1], Int32Array.of(0))
    expect(await fails(['paths', matrix, '--two-way', '--from', '0'])).toContain('--two-way')
  })

  it('finds paths in a network of OpenStreetMap from OSMnx', async () => {
    const file = new URL('fixtures/osmnx.graphml', import.meta.url).pathname
    expect(readFileSync(file, 'utf8')).toContain('attr.name="travel_time"')
    const requested = ['--from', '25192042', '--to', '11950417837']
    const byTime = await json(['paths', file, '--weight', 'travel_time', ...requested])
    expect(byTime.pairs[0]).toMatchObject({ path: ['25192042', '4294967296', '11950417837'] })
    expect(byTime.pairs[0].value).toBeCloseTo(13.4, 9)
    const byLength = await json(['paths', file, '--weight', 'length', ...requested])
    expect(byLength.pairs[0]).toMatchObject({ value: 150.5, path: ['25192042', '60', '11950417837'] })
    const exact = await json(['paths', file, '--weight', 'length', '--scale', '1000', ...requested])
    expect([exact.dtype, exact.pairs[0].value]).toEqual(['int32', 150_500])
  })
})
