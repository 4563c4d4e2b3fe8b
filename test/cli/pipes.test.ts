/** Standard input and output in place of files, printed results, colours, and the interpretation of CSV files. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { reflow, styled } from '../../bench/output.js'
import { createProgram } from '../../bench/program.js'
import { useFolder } from '../support/folder.js'
import { leastDifference } from '../support/user-semirings.js'
import { cli, fails, json, onTerminal, root, runMpmml, succeeds, writeNumbers } from './support.js'

const path = useFolder()

function file(name: string, content: string | Uint8Array): string {
  writeFileSync(path(name), content)
  return path(name)
}

/** Runs mpmml in this process, with the given standard input. */
const piped = (args: string[], input: string | Uint8Array) => runMpmml(args, { input })

/** Runs mpmml in a process of its own, with bytes on its standard input. */
function pipedApart(
  args: string[],
  input: string | Uint8Array,
  { cwd, env }: { cwd?: string; env?: Record<string, string> } = {},
) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
    input,
    cwd,
    env: { ...process.env, ...env },
  })
  return { status, stdout, stderr: stderr.toString() }
}

describe('standard input and output', () => {
  it('replace files, and have no other content', () => {
    const a = file('a.csv', '0,1\n2,.\n')
    const product = pipedApart(['multiply', '-', a, '--format', 'csv', '-o', '-'], '0,1\n2,.\n')
    expect([product.status, `${product.stdout}`, product.stderr]).toEqual([0, '3,1\n2,3\n', ''])
    const numpy = pipedApart(
      ['convert', '-', '-', '--format', 'csv', '--output-format', 'npy'],
      product.stdout,
    )
    expect([numpy.status, numpy.stderr]).toEqual([0, ''])
    const shown = pipedApart(['show', '-', '--format', 'npy', '--json', '--all'], numpy.stdout)
    expect(JSON.parse(`${shown.stdout}`)).toMatchObject({
      file: '-',
      matrices: [
        {
          dtype: 'int32',
          corner: [
            [3, 1],
            [2, 3],
          ],
        },
      ],
    })
  })

  it('may hold graphs', async () => {
    const args = ['paths', '-', '--format', 'gr', '-o', '-', '--output-format', 'csv']
    const { status, stdout } = await piped(args, 'p sp 2 1\na 1 2 7\n')
    expect([status, `${stdout}`]).toEqual([0, '0,7\ninf,0\n'])
  })

  it('may hold graphs of names, strands and results', async () => {
    const graph = '<graphml><graph edgedefault="directed"><edge source="a" target="b"/></graph></graphml>'
    const named = await piped(
      ['paths', '-', '--format', 'graphml', '--from', 'a', '--to', 'b', '--json'],
      graph,
    )
    expect(JSON.parse(`${named.stdout}`).pairs).toEqual([{ from: 'a', to: 'b', value: 1, path: ['a', 'b'] }])
    const mean = await piped(['cycle-mean', '-', '--format', 'graphml'], graph)
    expect([mean.status, mean.stderr]).toEqual([0, ''])
    const strands = '>one\nGGGAAACCC\n'
    const folded = await piped(['rna', '--nussinov', '-'], strands)
    expect([folded.status, `${folded.stdout}`]).toEqual([0, '>one\nGGGAAACCC\n(((...))) (9)\n'])
    const joined = await piped(['bpmax', '-', file('target.fasta', '>two\nGGG\n'), '--json'], '>one\nCCC\n')
    expect(JSON.parse(`${joined.stdout}`).interactions[0]).toMatchObject({
      query: 'one',
      target: 'two',
      score: 9,
    })
    const planned = await piped(
      ['plan', '-', file('b.csv', '1\n2\n'), '--format', 'csv', '--json'],
      '0,1\n2,.\n',
    )
    expect(JSON.parse(`${planned.stdout}`)).toMatchObject([{ a: [2, 2], b: [2, 1], backend: 'cpu' }])
    const a = writeNumbers(path('own-b.npy'), [1, 1], [4])
    const own = file('own.json', JSON.stringify(leastDifference))
    const byOwn = [
      'multiply',
      '-',
      a,
      '--semiring',
      own,
      '--format',
      'npy',
      '-o',
      '-',
      '--output-format',
      'npy',
    ]
    const product = pipedApart(byOwn, readFileSync(writeNumbers(path('own-a.npy'), [1, 1], [3])))
    expect([product.status, product.stderr]).toEqual([0, ''])
    expect(product.stdout.readInt32LE(product.stdout.length - 4)).toBe(1)
    const measured = readFileSync(join(root, 'test', 'cli', 'fixtures', 'h200.json'))
    const page = await piped(['report', '--from', '-', '-o', '-'], measured)
    expect([page.status, page.stderr, `${page.stdout}`.slice(0, 15)]).toEqual([0, '', '<!doctype html>'])
  })

  it('may hold drawings', async () => {
    const speeds = await piped(
      [
        'bench',
        '--backend',
        'cpu',
        '--values',
        'float32',
        '--sizes',
        '8',
        '--repetitions',
        '1',
        '--svg',
        '-',
      ],
      '',
    )
    expect([speeds.status, speeds.stderr]).toEqual([0, ''])
    expect(`${speeds.stdout}`).toMatch(/^(<\?xml[^>]*>\s*)?<svg [\s\S]*<\/svg>\s*$/)
  })

  it.each<[string[], string]>([
    [['convert', '-', '-', '--format', 'csv'], '0,1\n2,.\n'],
    [['multiply', '-', 'b.csv', '--format', 'csv'], '0,1\n2,.\n'],
    [['plan', '-', 'b.csv', '--format', 'csv'], '0,1\n2,.\n'],
    [['star', '-', '--format', 'csv'], '0,.\n.,0\n'],
    [['show', '-', '--format', 'csv'], '0,.\n.,0\n'],
    [['paths', '-', '--format', 'gr'], 'p sp 2 1\na 1 2 7\n'],
    [['cycle-mean', '-', '--format', 'gr'], 'p sp 2 1\na 1 2 7\n'],
    [['rna', '--nussinov', '-'], '>one\nGGG\n'],
    [['bpmax', '-', 't.fasta'], '>one\nGGG\n'],
  ])('are named in the progress of %j', (args, input) => {
    file('b.csv', '1\n2\n')
    file('t.fasta', '>two\nGGG\n')
    const { status, stderr } = pipedApart(args, input, { cwd: path('.'), env: onTerminal })
    expect(status).toBe(0)
    expect(stderr).toContain('reading standard input …')
    expect(stderr).not.toMatch(/(reading|writing) -/)
  })

  it('are named in errors, and leave no files', async () => {
    const { status, stdout, stderr } = await piped(['show', '-', '--format', 'csv'], '1,2\n3\n')
    expect([status, `${stdout}`]).toEqual([1, ''])
    expect(stderr).toMatch(/^mpmml: standard input, line 2: [^\n]+\n$/)
  })

  it('report a full temporary folder', () => {
    const env = { TMPDIR: path('no-folder') }
    const { status, stderr } = pipedApart(['show', '-', '--format', 'csv'], '1,2\n', { env })
    expect([status, stderr]).toEqual([
      1,
      `mpmml: standard input and output need a folder for temporary files, but ${path('no-folder')} takes none (ENOENT): set TMPDIR to another\n`,
    ])
  })

  it('are named in errors of graphs', async () => {
    const edges = '0,1,5\n1,0,-7\n'
    const graph = ['paths', '-', '--format', 'csv', '--edges']
    expect((await piped(graph, edges)).stderr).toMatch(/^mpmml: standard input: the cycle 0 → 1 → 0 /)
    expect((await piped([...graph, '--from', '9'], edges)).stderr).toBe(
      'mpmml: there is no node 9: standard input has the nodes 0 to 1\n',
    )
    const check = ['paths', file('edges.csv', edges), '--edges', '--check', '-', '--format', 'csv']
    expect((await piped(check, '0,1,2\n')).stderr).toMatch(/^mpmml: standard input: expected 2 × 2 /)
  })

  it('end normally if the reader closes the pipe', () => {
    const lines = Array.from({ length: 200_000 }, (_, row) => `${row},1\n`).join('')
    const from = file('long.csv', lines)
    const command = `"${process.execPath}" "${cli}" convert "${from}" - --output-format csv | head -1`
    const { stdout, stderr } = spawnSync('bash', ['-c', `set -o pipefail; ${command}; echo $?`], {
      encoding: 'utf8',
    })
    expect([stdout, stderr]).toEqual(['0,1\n0\n', ''])
  })

  it.each<[string, string[], string]>([
    ['two inputs', ['multiply', '-', '-', '--format', 'csv'], 'only one of the inputs'],
    ['two inputs of a plan', ['plan', '-', '-', '--format', 'csv'], 'only one of the inputs'],
    ['two strands', ['bpmax', '-', '-'], 'only one of the inputs'],
    ['a format that is read only', ['paths', '-', '--format', 'graphml', '-o', '-'], '--output-format csv'],
    ['an input of no format', ['show', '-'], '--format csv'],
    ['an output of no format', ['convert', 'a.npy', '-'], '--format csv'],
    ['a result and a record', ['star', 'a.npy', '-o', '-', '--format', 'csv', '--json'], 'leave out one'],
    [
      'an input of blocks on disk',
      ['multiply', '-', 'b.npy', '-o', 'c.npy', '--memory', '8MiB'],
      'name files',
    ],
    [
      'an output of blocks on disk',
      ['multiply', 'a.npy', 'b.npy', '-o', '-', '--memory', '8MiB'],
      'name files',
    ],
    [
      'a format of blocks on disk',
      ['multiply', '-', 'b.npy', '-o', 'c.npy', '--memory', '8MiB', '--format', 'npy'],
      '--format is not for matrices that are computed block by block',
    ],
  ])('are rejected as wrong usage as %s', async (_, args, expected) => {
    expect(await fails(args, 2)).toContain(expected)
  })
})

describe('results without an output file', () => {
  it('are printed if they are small', async () => {
    const a = file('s.csv', '0,1\n2,.\n')
    const printed = await succeeds(['multiply', a, a])
    expect(printed).toMatch(/\(not written; -o names a file\)/)
    expect(printed).toMatch(/\n\n3 {2}1\n2 {2}3\n$/)
    expect((await json(['star', a, '--semiring', 'min-plus'])).c.values).toEqual([
      [0, 1],
      [2, 0],
    ])
    const graph = file('one.gr', 'p sp 2 1\na 1 2 7\n')
    expect(await succeeds(['paths', graph])).toMatch(/\n\n {3}1 {2}2\n1 {2}0 {2}7\n2 {2}\. {2}0\n$/)
    expect((await json(['paths', graph])).distances.values).toEqual([
      [0, 7],
      [null, 0],
    ])
  })

  it('are printed one after the other for a batch', async () => {
    const batch = writeNumbers(path('batch.npy'), [2, 1, 1], [1, 2])
    expect(await succeeds(['multiply', batch, batch])).toMatch(/\n\n2\n\n4\n$/)
    expect((await json(['multiply', batch, batch])).c.values).toEqual([[[2]], [[4]]])
  })

  it('are printed as a whole on request, and not if they are written', async () => {
    const size = 13
    const values = Array.from({ length: size * size }, (_, at) => at)
    const large = writeNumbers(path('large.npy'), [size, size], values)
    expect(await succeeds(['multiply', large, large])).not.toContain('\n\n')
    expect((await json(['multiply', large, large])).c.values).toBeUndefined()
    const [, rows] = (await succeeds(['multiply', large, large, '--all'])).split('\n\n')
    expect(rows!.trimEnd().split('\n')).toHaveLength(size)
    const written = await json(['multiply', large, large, '-o', path('written.npy')])
    expect(written.c.values).toBeUndefined()
  })
})

it('are printed with all rows and columns by show --all', async () => {
  const wide = file('wide.csv', `${Array.from({ length: 9 }, (_, at) => at + 1 / 3).join()}\n`)
  expect(await succeeds(['show', wide])).toContain('…')
  const all = await succeeds(['show', wide, '--all'])
  expect(all).toContain('0.3333333333333333')
  expect(all).not.toContain('…\n')
  expect((await json(['show', wide, '--all'])).matrices[0].corner[0]).toHaveLength(9)
})

describe('a CSV file', () => {
  const square = '0,1,4\n1,2,5\n2,0,-1\n'
  const ran = async (args: string[]) => {
    const { status, stdout, stderr } = await runMpmml(args)
    expect(status).toBe(0)
    return { record: JSON.parse(stdout), stderr }
  }

  it('is read as edges if it could be both, with a note', async () => {
    const graph = file('square.csv', square)
    const guessed = await ran(['paths', graph, '--from', '0', '--json'])
    expect(guessed.stderr).toMatch(/^mpmml: \S+square\.csv is taken as a list of edges, [^\n]+ --matrix/)
    expect(guessed.record.graph.edges).toBe(3)
    expect((await json(['paths', graph, '--edges', '--from', '0'])).pairs).toEqual(guessed.record.pairs)
    const matrix = await json(['cycle-mean', graph, '--matrix'])
    expect(matrix).toMatchObject({ graph: { nodes: 3, edges: 9 }, mean: { value: 3 } })
  })

  it('is read as a matrix with more columns', async () => {
    const weights = file('weights.csv', '0,3,.,5\n1,2,5,4\n2,0,1,3\n7,7,7,0\n')
    const { record, stderr } = await ran(['paths', weights, '--json'])
    expect(stderr).toMatch(/is taken as a matrix of weights, because its lines have 4 numbers\n$/)
    expect(record.graph).toMatchObject({ nodes: 4, edges: 15 })
    expect(await json(['paths', weights, '--matrix'])).toMatchObject({ graph: { edges: 15 } })
  })

  it('is read with weights of 1 if it has none, with a note if that matters', async () => {
    const links = file('links.csv', 'from,to\n0,1\n1,2\n')
    expect((await ran(['paths', links, '--json'])).stderr).toMatch(/have no weights: each weighs 1\n$/)
    expect((await ran(['paths', links, '--semiring', 'or-and', '--json'])).stderr).toBe('')
  })

  it('is inspected if it has tabs or is compressed by gzip', async () => {
    const tabs = file('square.tsv', square.replaceAll(',', '\t'))
    expect((await ran(['paths', tabs, '--json'])).stderr).toContain('taken as a list of edges')
    const packed = file('square.csv.gz', gzipSync(square))
    expect((await ran(['paths', packed, '--json'])).stderr).toContain('taken as a list of edges')
  })

  it('is inspected if it is compressed by gzip under any name', async () => {
    const graph = ['paths', '-', '--format', 'csv', '--json']
    const plain = await piped(graph, square)
    const packed = await piped(graph, gzipSync(square))
    expect([packed.status, packed.stderr]).toEqual([0, plain.stderr])
    expect(JSON.parse(`${packed.stdout}`).distances).toEqual(JSON.parse(`${plain.stdout}`).distances)
    const matrix = '0,3,.,5\n1,2,5,4\n2,0,1,3\n7,7,7,0\n'
    expect((await piped(graph, gzipSync(matrix))).stderr).toContain('because its lines have 4 numbers')
    expect((await piped(['show', '-', '--format', 'csv'], gzipSync('0,1,5\na,2,7\n'))).stderr).toMatch(
      /^mpmml: standard input looks like a list of edges whose nodes have names, such as a: /,
    )
  })

  it('is not interpreted if it can’t be read', async () => {
    const cut = file('cut.csv.gz', gzipSync(square).subarray(0, 20))
    const message = await fails(['paths', cut])
    expect(message).toMatch(
      /^mpmml: \S+cut\.csv\.gz: the file can't be decompressed: it is truncated [^\n]+\n$/,
    )
    expect(await fails(['paths', file('plain.csv.gz', square)])).toContain('gzip compressed it, but')
    expect(await fails(['cycle-mean', path('missing.csv')])).toMatch(
      /^mpmml: \S+missing\.csv: expected a graph, but it can't be opened: [^\n]+\n$/,
    )
    const empty = await ran(['paths', file('empty.csv', ''), '--json'])
    expect([empty.stderr, empty.record.graph.nodes]).toEqual(['', 0])
  })

  it('is converted from edges to a graph in any format', async () => {
    const edges = file('edges.csv', 'from,to,weight\n0,1,4\n1,2,5\n0,1,7\n')
    expect(await json(['convert', edges, path('edges.gr'), '--edges'])).toMatchObject({
      shape: [3, 3],
      entries: 3,
    })
    expect(readFileSync(path('edges.gr'), 'utf8')).toBe('p sp 3 3\na 1 2 4\na 2 3 5\na 1 2 7\n')
    await succeeds(['convert', edges, path('dense.csv'), '--edges', '--semiring', 'min-plus'])
    expect(readFileSync(path('dense.csv'), 'utf8')).toBe('inf,4,inf\ninf,inf,5\ninf,inf,inf\n')
    await succeeds(['convert', edges, path('reached.csv'), '--edges', '--semiring', 'or-and'])
    expect(readFileSync(path('reached.csv'), 'utf8')).toBe('0,1,0\n0,0,1\n0,0,0\n')
    expect((await json(['show', edges, '--edges'])).matrices[0]).toMatchObject({ shape: [3, 3], entries: 3 })
    const guessed = await ran(['convert', file('also.csv', square), path('also.mtx'), '--json'])
    expect(guessed.stderr).toMatch(/is taken as a matrix of 3 columns; [^\n]+ --edges/)
    const long = file('long-list.csv', '0,1,5\n1,2,5\n2,3,5\n3,0,5\n')
    const taken = await ran(['convert', long, path('long.npy'), '--json'])
    expect(taken.record).toMatchObject({ shape: [4, 3] })
    expect(taken.stderr).toMatch(/is taken as a matrix of 3 columns; [^\n]+ --edges/)
    await succeeds(['convert', path('also.csv'), path('also.mtx'), '--matrix'])
  })

  it('is read as a matrix by commands that need one even if it may be edges, with a note', async () => {
    const long = file('long-edges.csv', '0,1,5\n1,2,7\n2,0,-20\n0,3,4\n')
    const hint =
      /^mpmml: \S+ is taken as a matrix of 3 columns; if it is a list of edges, say --edges \(or --matrix\)\n$/
    expect((await ran(['show', long, '--json'])).stderr).toMatch(hint)
    const column = file('column.csv', '1\n2\n3\n')
    for (const command of ['multiply', 'plan']) {
      expect((await ran([command, long, column, '--json'])).stderr).toMatch(hint)
      await succeeds([command, long, column, '--matrix'])
    }
    expect(await json(['show', long, '--matrix'])).toMatchObject({ matrices: [{ shape: [4, 3] }] })
    const product = await json(['multiply', long, long, '--edges'])
    expect(product.c.values).toEqual([
      [null, null, 12, null],
      [-13, null, null, null],
      [null, -15, null, -16],
      [null, null, null, null],
    ])
    expect((await json(['multiply', long, long, '--edges', '--dtype', 'float32'])).dtype).toBe('float32')
    expect((await json(['plan', long, long, '--edges']))[0]).toMatchObject({ a: [4, 4], b: [4, 4] })
    const fractions = file('fractions.csv', '0.5,1,5\n1,2,7\n2,0,1\n0,3,4\n')
    await succeeds(['multiply', fractions, column])
  })

  it('is read as edges by star if it can only be edges, with a note', async () => {
    const long = file('star.csv', 'from,to,weight\n0,1,5\n1,2,7\n2,0,-20\n0,3,4\n')
    const taken = await ran(['star', long, '--json'])
    expect(taken.stderr).toMatch(
      /^mpmml: \S+star\.csv is taken as a list of edges, FROM,TO,WEIGHT, because [^\n]+ --edges or --matrix says which\n$/,
    )
    expect(taken.record.c.values[0]).toEqual([0, 5, 12, 4])
    expect((await json(['star', long, '--edges'])).c).toEqual(taken.record.c)
    expect(await fails(['star', long, '--matrix'])).toContain('must be square')
    const square = file('small.csv', '0,1,4\n1,2,5\n2,0,1\n')
    const matrix = await ran(['star', square, '--json', '--semiring', 'min-plus'])
    expect(matrix.stderr).toMatch(/is taken as a matrix of 3 columns; if it is a list of edges/)
    expect(await json(['star', square, '--semiring', 'min-plus', '--matrix'])).toMatchObject({
      c: { values: matrix.record.c.values },
    })
    const links = file('star-links.csv', '0,1\n1,2\n0,2\n')
    expect((await ran(['star', links, '--json'])).stderr).toMatch(/have no weights: each weighs 1\n$/)
  })

  it('is rejected with `--matrix` for named nodes, with the suggestion of `--edges`', async () => {
    const named = file('named.csv', 'from,to,weight\nberlin,paris,5\nparis,rome,7\nrome,berlin,1\n')
    const later = file('later.csv', '1,2,5\n2,3,5\n3,4,5\n4,5,5\n5,1,5\n5,Rome,1\n')
    for (const [of, node] of [
      [named, 'berlin'],
      [later, 'Rome'],
    ] as const) {
      for (const command of [['paths'], ['paths', '--edges'], ['cycle-mean']]) {
        const said = await fails([...command, of])
        expect(said).toContain(
          `${of} looks like a list of edges whose nodes have names, such as ${node}: say --names`,
        )
      }
      for (const command of [
        ['star', of],
        ['show', of],
        ['convert', of, path('x.npy')],
        ['show', of, '--edges'],
      ]) {
        const { status, stdout, stderr } = await runMpmml(command)
        expect([status, stdout]).toEqual([1, ''])
        expect(stderr).toContain(`such as ${node}: number them from 0 and say --edges`)
      }
    }
    expect(await json(['paths', named, '--names', '--from', 'berlin', '--to', 'rome'])).toMatchObject({
      pairs: [{ value: 12 }],
    })
    const { mean, components } = await json(['cycle-mean', named, '--names', '--components'])
    expect([mean.numerator, mean.denominator, [...mean.cycle].sort()]).toEqual([
      13,
      3,
      ['berlin', 'paris', 'rome'],
    ])
    expect(components[0].nodes).toEqual(['berlin', 'paris', 'rome'])
    const typing = file('typing.csv', '0,1,5\n1,x\n')
    expect(await fails(['paths', typing])).toContain('such as x: say --names')
    expect(await fails(['show', file('cells.csv', '0,1,5,6\n1,x,5,6\n')])).toContain("but it is 'x'")
  })

  it('is rejected as edges if some have no weights', async () => {
    const some = file('some.csv', '0,1\n1,2,7\n')
    expect(await fails(['paths', some, '--edges', '--semiring', 'or-and'])).toContain(
      'line 2: this edge has a weight, but the first one has none',
    )
    expect(await fails(['paths', file('none.csv', '0,1,5\n1,2\n'), '--edges'])).toContain(
      'line 2: the weight is missing',
    )
    const links = file('bare.csv', '0,1\n1,2\n2,3\n')
    for (const command of [
      ['show', links],
      ['convert', links, path('bare.gr')],
    ]) {
      const { status, stderr } = await runMpmml([...command, '--edges'])
      expect([status, stderr]).toEqual([0, `mpmml: the edges of ${links} have no weights: each weighs 1\n`])
    }
  })

  it('has decimal commas if semicolons separate', async () => {
    const german = file('german.csv', 'a;b;1,5\nb;c;2,5\n')
    expect(await json(['paths', german, '--from', 'a', '--to', 'c'])).toMatchObject({ pairs: [{ value: 4 }] })
  })

  it('is a matrix if it begins with numbers of no nodes', async () => {
    const weights = file('weighted.csv', '0,1.5,3\n2,0,4\n1,1,0\n')
    const { record, stderr } = await ran(['paths', weights, '--json'])
    expect(stderr).toMatch(
      /is taken as a matrix of weights, because its lines begin with numbers that no nodes have\n$/,
    )
    expect(record.graph).toMatchObject({ nodes: 3, edges: 9 })
  })

  it('is rejected as edges with too many nodes for a matrix', async () => {
    const far = file('far.csv', '0,2000000000,1\n')
    expect(await fails(['convert', far, path('far.npy'), '--edges'])).toContain('ERR_MPMML_OUT_OF_MEMORY')
    await succeeds(['convert', far, path('far.mtx'), '--edges'])
  })
})

describe('a terminal', () => {
  const stream = (isTTY: boolean, colours: boolean) =>
    ({ isTTY, hasColors: () => colours }) as unknown as NodeJS.WriteStream

  it('shows colours if it supports them', () => {
    expect(styled(stream(true, true), 'red', 'text')).toBe('\x1b[31mtext\x1b[39m')
    expect(styled(stream(true, false), 'red', 'text')).toBe('text')
    expect(styled(stream(false, true), 'red', 'text')).toBe('text')
  })

  it('shows help that fits it', () => {
    const text = `\n${'word '.repeat(24)}end\nof the paragraph.\n\n  ${'indented '.repeat(9)}\nshort line\nanother`
    for (const columns of [40, 80, 200]) {
      const lines = reflow(text, columns).split('\n')
      expect(lines).toContain('short line')
      expect(lines).toContain(`  ${'indented '.repeat(9)}`)
      for (const line of lines) if (!line.startsWith(' ')) expect(line.length).toBeLessThanOrEqual(columns)
    }
    expect(reflow(text, 200)).toContain('word end of the paragraph.')
  })

  it.each([40, 60, 80, 120])('shows help of commands and options that fits %i columns', async (columns) => {
    for (const name of ['', 'paths', 'multiply']) {
      const program = await createProgram([name], new AbortController().signal)
      const command = program.commands.find((each) => each.name() === name) ?? program
      const lines = command
        .configureOutput({ getOutHelpWidth: () => columns })
        .helpInformation()
        .split('\n')
      expect(lines.length).toBeGreaterThan(30)
      // A long name may exceed the width of a line.
      for (const line of lines)
        if (!/^ {2}[-\w]+(, --\w+)?( [<[].*)?$/.test(line))
          expect(line.length, line).toBeLessThanOrEqual(columns)
    }
  })
})

it('prints the version with -V', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(await succeeds(['-V'])).toBe(`${version}\n`)
})
