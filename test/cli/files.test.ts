/** mpmml convert and show, and products of files of all formats. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readNpz, writeNpz } from '../../lib/files.js'
import { matrix } from '../../lib/index.js'
import { useFolder } from '../support/folder.js'
import { format, int32, int64, npzOf } from '../support/scipy.js'
import { EPSILON, fails, json, readNumbers, succeeds, writeNumbers } from './support.js'

const path = useFolder()

function file(name: string, content: string | Uint8Array): string {
  writeFileSync(path(name), content)
  return path(name)
}

const text = (name: string) => readFileSync(path(name), 'utf8')

const sparse = '%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 7\n2 2 -9\n'

describe('an empty name', () => {
  it('is rejected by its own message', async () => {
    const input = writeNumbers(path('one.npy'), [1, 1], [5])
    for (const args of [
      ['show', ''],
      ['multiply', input, input, '-o', ''],
      ['cycle-mean', ''],
    ])
      expect(await fails(args)).toMatch(
        /^mpmml: the name of a (graph )?file must not be empty: give its path/,
      )
  })
})

describe('convert', () => {
  it('converts through all formats and back', async () => {
    const first = writeNumbers(path('first.npy'), [2, 2], [EPSILON, 7, -9, 3])
    const chain = ['1.mtx', '2.csv', '3.tsv.gz', '4.npz', '5.gr', '6.mtx.gz', '7.npy']
    let from = first
    for (const name of chain) {
      await succeeds(['convert', from, path(name)])
      from = path(name)
    }
    expect(readNumbers(path('7.npy'))).toEqual({ shape: [2, 2], values: [EPSILON, 7, -9, 3] })
    expect(text('2.csv')).toBe('-inf,7\n-9,3\n')
    expect(text('5.gr')).toBe('p sp 2 3\na 1 2 7\na 2 1 -9\na 2 2 3\n')
  })

  it('prints a summary', async () => {
    const [from, to] = [file('a.mtx', sparse), path('a.gr')]
    expect(await json(['convert', from, to])).toEqual({
      from,
      to,
      shape: [2, 2],
      dtype: 'int32',
      entries: 2,
    })
    expect(await json(['convert', from, path('a.csv'), '--semiring', 'min-plus'])).toMatchObject({
      dtype: 'int32',
      entries: null,
    })
    expect(text('a.csv')).toBe('inf,7\ninf,-9\n')
  })

  it('keeps sparse matrices sparse if dense ones would exceed any memory', async () => {
    const from = file(
      'huge.mtx',
      '%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 1\n7 1999999999 0.5\n',
    )
    await succeeds(['convert', from, path('huge.mtx.gz')])
    expect(await json(['show', path('huge.mtx.gz')])).toMatchObject({
      matrices: [{ shape: [2e9, 2e9], entries: 1, min: 0.5 }],
    })
    expect(await fails(['convert', from, path('huge.npy')])).toContain('ERR_MPMML_OUT_OF_MEMORY')
    expect(existsSync(path('huge.npy'))).toBe(false)
  })

  it('keeps sparse matrices of SciPy sparse too', async () => {
    const parts = { format: format('csr'), shape: int64(2, 2), indptr: int32(0, 1, 2), indices: int32(1, 1) }
    const from = file('scipy.npz', await npzOf({ ...parts, data: int32(7, -9) }))
    expect(await json(['convert', from, path('scipy.mtx')])).toMatchObject({ shape: [2, 2], entries: 2 })
    expect(text('scipy.mtx')).toBe(sparse)
    expect(await json(['show', from])).toMatchObject({ matrices: [{ entries: 2, min: -9 }] })
    await succeeds(['convert', from, path('scipy.csv')])
    expect(text('scipy.csv')).toBe('-inf,7\n-inf,-9\n')
  })

  it('takes an array of an archive, and converts types exactly', async () => {
    await succeeds(['convert', file('n.csv', '1,2\n'), path('n.npz:numbers')])
    await succeeds(['convert', path('n.npz:numbers'), path('n2.csv'), '--dtype', 'float64'])
    expect(text('n2.csv')).toBe('1.0,2.0\n')
    expect(await fails(['convert', path('n.npz:others'), path('n3.csv')])).toContain(
      "there is no array 'others': it has 'numbers'",
    )
    expect(await fails(['convert', file('f.csv', '0.5\n'), path('n3.csv'), '--dtype', 'int32'])).toContain(
      'int32 holds only integers',
    )
  })

  it('rejects its input as output, and leaves no file after a failure', async () => {
    const from = file('same.csv', '1\n')
    expect(await fails(['convert', from, from])).toContain('the same file')
    expect(await fails(['convert', file('half.csv', '0.5\n'), path('half.gr')])).toContain('int32 integers')
    const unknown = await fails(['convert', from, path('x.xls')])
    expect(unknown).toContain("x.xls: the name must end with '.npy'")
    // The option --format is for standard input and output only.
    expect(unknown).not.toContain('--format')
    const left = readdirSync(dirname(from)).filter((name) => /tmp$|^half\.gr|^x\./.test(name))
    expect(left).toEqual([])
  })
})

describe('an output', () => {
  it('is rejected before anything is read if its extension is not of a matrix', async () => {
    const none = path('no such file.npy')
    for (const command of [
      ['multiply', none, none, '-o'],
      ['star', none, '-o'],
      ['paths', none, '--next'],
    ]) {
      expect(await fails([...command, path('x.xls')])).toContain("x.xls: the name must end with '.npy'")
    }
  })

  it('is not replaced if it is an archive with other arrays', async () => {
    const archive = path('several.npz')
    await writeNpz(archive, { a: matrix(1, 1, [1]), b: matrix(1, 1, [2]) })
    const before = readFileSync(archive)
    const said = await fails(['convert', file('one.csv', '7\n'), `${archive}:a`])
    expect(said).toContain("holds 'b' too: name another output")
    expect(await fails(['multiply', `${archive}:a`, `${archive}:b`, '-o', `${archive}:c`])).toContain(
      'is the same file as the input',
    )
    expect(readFileSync(archive)).toEqual(before)
    await writeNpz(archive, { a: matrix(1, 1, [1]) })
    await succeeds(['convert', path('one.csv'), `${archive}:a`])
    expect((await readNpz(archive)).a!.data).toEqual(Int32Array.of(7))
  })
})

describe('show', () => {
  it('prints a sparse matrix as products read it: duplicate entries are combined, and the zero is not an element', async () => {
    const entries = '3 3 5\n1 2 5\n1 2 3\n2 3 -400\n2 3 -inf\n3 1 -inf\n'
    const name = file('joined.mtx', `%%MatrixMarket matrix coordinate real general\n${entries}`)
    const shown = async (...args: string[]) => (await json(['show', name, ...args])).matrices[0]
    const dot = null
    expect(await shown()).toMatchObject({
      entries: 5,
      zeros: 7,
      infinite: 0,
      min: -400,
      max: 5,
      corner: [
        [dot, 5, dot],
        [dot, dot, -400],
        [dot, dot, dot],
      ],
    })
    expect(await shown('--semiring', 'min-plus')).toMatchObject({
      zeros: 6,
      infinite: 2,
      min: 3,
      max: 3,
      corner: [
        [dot, 3, dot],
        [dot, dot, '-Infinity'],
        ['-Infinity', dot, dot],
      ],
    })
    expect((await shown('--semiring', 'plus-times')).corner[0]).toEqual([dot, 8, dot])
  })

  it('prints a dense matrix', async () => {
    const values = Array.from({ length: 12 * 10 }, (_, at) => (at % 11 === 0 ? at : EPSILON))
    const shown = await succeeds(['show', writeNumbers(path('s.npy'), [12, 10], values)])
    expect(shown).toMatch(/^file +.*s\.npy, 552 bytes$/m)
    expect(shown).toMatch(/^shape +12 × 10$/m)
    expect(shown).toMatch(/^type +int32$/m)
    expect(shown).toMatch(/^range +0 … 110$/m)
    expect(shown).toMatch(/^zeros +109, 90\.8 %, are the zero of max-plus$/m)
    expect(shown).toMatch(/^0 +\. +\. +\. +\. +\. +…\n\. +11 +\./m)
    // Each element takes two characters. The diagonal is filled.
    expect(shown).toContain('┌────────────────────┐\n│██                  │\n│  ██                │\n│    ██')
    expect(await succeeds(['show', path('s.npy'), '--no-picture'])).not.toContain('█')
  })

  it('prints a batch in Fortran order, with all of its elements', async () => {
    const name = writeNumbers(path('fortran.npy'), [2, 2, 2], [1, 2, 3, 4, 5, 6, EPSILON, 8], {
      fortran: true,
    })
    const { matrices } = await json(['show', name])
    expect(matrices).toMatchObject([
      {
        shape: [2, 2, 2],
        min: 1,
        max: 8,
        zeros: 1,
        infinite: 0,
        corner: [
          [1, 5],
          [3, null],
        ],
      },
    ])
  })

  it('prints a large matrix as shades', async () => {
    const values = Array.from({ length: 100 * 100 }, (_, at) => (at % 100 < 50 ? 1 : EPSILON))
    const shown = await succeeds(['show', writeNumbers(path('l.npy'), [100, 100], values)])
    const lines = shown.split('\n').filter((line) => line.startsWith('│'))
    expect(lines.length).toBe(24)
    expect(new Set(lines)).toEqual(new Set([`│${'█'.repeat(24)}${' '.repeat(24)}│`]))
  })

  it('prints all arrays of an archive, infinities and NaN', async () => {
    await succeeds(['convert', file('z.csv', '1.5,nan\ninf,-inf\n'), path('z.npz:z')])
    const { matrices } = await json(['show', path('z.npz')])
    expect(matrices).toEqual([
      {
        array: 'z',
        shape: [2, 2],
        dtype: 'float64',
        entries: null,
        semiring: 'max-plus',
        min: 1.5,
        max: 1.5,
        zeros: 1,
        shareOfZeros: 0.25,
        nan: 1,
        infinite: 1,
        corner: [
          [1.5, 'NaN'],
          ['Infinity', null],
        ],
      },
    ])
  })

  it('prints an empty matrix, and rejects values that are not matrices', async () => {
    expect(await succeeds(['show', writeNumbers(path('e.npy'), [0, 3], [])])).toContain('0 × 3')
    for (const [shape, corner] of [
      [[0, 3, 3], []],
      [[2, 0, 3], []],
      [
        [2, 2, 0],
        [[], []],
      ],
    ] as const) {
      const name = writeNumbers(path('e.npy'), [...shape], [])
      const head = await succeeds(['show', name])
      expect(head).toMatch(/^range +no finite element\nzeros +none of max-plus\n$/m)
      expect((await json(['show', name])).matrices).toMatchObject([{ shape, corner, min: null, zeros: 0 }])
    }
    expect(await fails(['show', path('none.csv')])).toContain('ENOENT')
    expect(await fails(['show', file('b.mtx', 'hello\n')])).toContain('%%MatrixMarket')
  })
})

describe('multiply', () => {
  it('accepts files of all formats', async () => {
    const a = file('ma.mtx', sparse)
    const b = file('mb.csv.gz', gzipSync('1,.\n2,3\n'))
    await succeeds(['multiply', a, b, '-o', path('mc.tsv'), '--accumulate', file('m0.csv', '.,.\n.,0\n')])
    expect(text('mc.tsv')).toBe('9\t10\n-7\t0\n')
  })

  it('reads whole numbers as floats next to floats, and as the requested type', async () => {
    const [whole, fraction] = [file('w.csv', '1,-inf\n2,3\n'), file('h.csv', '0.5,-inf\n1,2\n')]
    expect((await json(['multiply', whole, fraction])).dtype).toBe('float64')
    expect((await json(['multiply', whole, whole, '--dtype', 'float32'])).dtype).toBe('float32')
    expect((await json(['multiply', whole, whole])).dtype).toBe('int32')
  })

  it('reads arrays of an archive by name, and writes one', async () => {
    await succeeds(['convert', file('p.csv', '1,2\n3,4\n'), path('p.npz:p')])
    await succeeds(['multiply', path('p.npz:p'), path('p.npz'), '-o', path('q.npz:product')])
    await succeeds(['convert', path('q.npz:product'), path('q.csv')])
    expect(text('q.csv')).toBe('5,6\n7,8\n')
  })
})

describe('graphs', () => {
  it('are read from compressed files and archives', async () => {
    const gr = file('g.gr.gz', gzipSync('p sp 3 2\na 1 2 5\na 2 3 4\n'))
    const { pairs } = await json(['paths', gr, '--from', '1', '--to', '3'])
    expect(pairs[0]).toMatchObject({ value: 9, path: [1, 2, 3] })
    await succeeds(['convert', gr, path('g.npz:g'), '--semiring', 'min-plus'])
    const again = await json(['paths', path('g.npz:g'), '--from', '0', '--to', '2'])
    expect(again.pairs[0]).toMatchObject({ value: 9, path: [0, 1, 2] })
    await succeeds(['paths', gr, '-o', path('gd.csv')])
    expect(text('gd.csv')).toBe('0,5,9\ninf,0,4\ninf,inf,0\n')
    expect((await json(['paths', gr, '--check', path('gd.csv')])).verified.distances).toBe(9)
  })
})
