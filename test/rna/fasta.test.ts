/** FASTA, and drawings of interactions. */
import { writeFileSync } from 'node:fs'
import { DOMParser } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { bpmax, drawInteraction, parseFasta, readFasta } from '../../lib/rna.js'
import { useFolder } from '../cli/support.js'
import { expectError, thrown } from '../support/expect.js'

const path = useFolder()

describe('bytes of FASTA', () => {
  it('are read as their text is', () => {
    const text = '>é one\nGGGaaa\nTTT\n'
    expect(parseFasta(Buffer.from(text))).toEqual(parseFasta(text))
    expect(parseFasta(new TextEncoder().encode(`\uFEFF${text}`))).toEqual(parseFasta(text))
    expect(() => parseFasta(Uint8Array.of(62, 0xe9, 10, 71))).toThrow(
      expect.objectContaining({ code: 'ERR_MPMML_FILE' }),
    )
  })

  it.each([undefined, null, 5, {}, [71], Int32Array.of(71)])('are no %s', (wrong) => {
    expect(() => parseFasta(wrong as never)).toThrow(expect.objectContaining({ code: 'ERR_MPMML_DTYPE' }))
  })
})

describe('parseFasta', () => {
  it('takes several records, lower case, T, line breaks, comments and empty lines', () => {
    const text = '\uFEFF; a comment\r\n>one the first\r\nGGau\r\nTTc  \r\n\r\n>\nACGU\r>two\nU'
    expect(parseFasta(text)).toEqual([
      { name: 'one', description: 'the first', sequence: 'GGAUUUC' },
      { name: '', description: '', sequence: 'ACGU' },
      { name: 'two', description: '', sequence: 'U' },
    ])
  })

  it("takes Unicode's line separators in headers", () => {
    expect(parseFasta('>one a\u2028b\u2029c\nGG\n>\u2028two\nAA')).toEqual([
      { name: 'one', description: 'a\u2028b\u2029c', sequence: 'GG' },
      { name: 'two', description: '', sequence: 'AA' },
    ])
  })

  it('takes a sequence without a first line', () => {
    expect(parseFasta('; bare\n\ngattaca\n')).toEqual([{ name: '', description: '', sequence: 'GAUUACA' }])
  })

  it.each([
    ['', 'expected a FASTA record'],
    ['\n\n', 'expected a FASTA record'],
    [
      '>one\nACGN\n',
      "line 2, column 4: expected a base, A, C, G, U or T, in upper or lower case, but found 'N'",
    ],
    [
      '>one\nAC\nA-C',
      "line 3, column 2: expected a base, A, C, G, U or T, in upper or lower case, but found '-'",
    ],
    ['AC GU', 'line 1, column 3'],
    [
      'gat\ntaca',
      'line 2: several lines of bases may be one strand or several: write a line such as >name before each strand',
    ],
    ['ACGU\rACGU\r', 'line 2: several lines'],
    ['ACGU\n>two\nA\nC\n\n>\nACGU\nAC\n>three\n', "the record 'three' has no bases"],
    ['>one\n>two\nA', "line 1: the record 'one' has no bases"],
    ['>one\nA\n>two', "line 3: the record 'two' has no bases"],
  ])('refuses %j', (text, message) => {
    expectError(
      thrown(() => parseFasta(text, 'x.fasta')),
      'ERR_MPMML_FILE',
      /^x\.fasta: /,
      message,
    )
  })
})

describe('parseFasta of bytes', () => {
  it('decodes UTF-8 and UTF-16', () => {
    const expected = [{ name: 'é', description: '', sequence: 'GC' }]
    expect(parseFasta(Buffer.from('>é\nGC\n'))).toEqual(expected)
    expect(parseFasta(new Uint8Array(Buffer.from('\ufeff>é\nGC\n', 'utf16le')))).toEqual(expected)
  })

  it('refuses other encodings, and what is no text', () => {
    expectError(
      thrown(() => parseFasta(Buffer.from('>\xe9\nGC\n', 'latin1'), 'x')),
      'ERR_MPMML_FILE',
      'x, line 1: byte 1',
    )
    for (const given of [undefined, 5, ['>a'], new Int32Array(2)]) {
      expectError(
        thrown(() => parseFasta(given as never)),
        'ERR_MPMML_DTYPE',
        'Uint8Array',
      )
    }
  })
})

describe('readFasta', () => {
  it('reads a file, and names it if something is wrong', async () => {
    writeFileSync(path('a.fasta'), '>a\nGC\n')
    expect(await readFasta(path('a.fasta'))).toEqual([{ name: 'a', description: '', sequence: 'GC' }])
    writeFileSync(path('b.fasta'), '>a\nGX\n')
    expectError(
      await readFasta(path('b.fasta')).catch((error) => error),
      'ERR_MPMML_FILE',
      'b.fasta: line 2, column 2',
    )
    expectError(await readFasta(path('none.fasta')).catch((error) => error), 'ERR_MPMML_FILE', 'none.fasta')
  })
})

describe('drawInteraction', () => {
  const [strand1, strand2] = ['GAGCCUGGGAGCUC', 'CCUAUCCCAGUAGG']

  it('draws more pairs than a call takes arguments', () => {
    const pairs = 150_000
    const within1 = Array.from({ length: pairs }, (_, i): [number, number] => [2 * i, 2 * i + 1])
    const found = { start: 0, length: 0, pairs: { within1, within2: [], between: [] } }
    const svg = drawInteraction('GC'.repeat(pairs), '', found)
    expect(svg.match(/<path /g)).toHaveLength(pairs)
    expect(svg).not.toMatch(/NaN|undefined|Infinity/)
  })

  const parse = (svg: string) => {
    expect(svg).not.toMatch(/NaN|undefined/)
    return new DOMParser().parseFromString(svg, 'image/svg+xml')
  }
  const number = (element: Element, name: string) => Number(element.getAttribute(name))

  it.each([true, false])(
    'draws bases, arcs and lines where they belong, antiparallel: %s',
    async (antiparallel) => {
      const found = await bpmax(strand1, strand2, { minLoop: 4, antiparallel })
      const svg = drawInteraction(strand1, strand2, found, { name1: 'a<b', name2: 'c&d', antiparallel })
      const picture = parse(svg)
      const letters = [...picture.querySelectorAll('text[text-anchor=middle]')]
      const shown2 = antiparallel ? [...strand2].reverse().join('') : strand2
      expect(letters.map(({ textContent }) => textContent).join('')).toBe(strand1 + shown2)
      expect(picture.querySelectorAll('path')).toHaveLength(
        found.pairs.within1.length + found.pairs.within2.length,
      )
      const lines = [...picture.querySelectorAll('line')]
      expect(lines).toHaveLength(found.pairs.between.length)
      const x = letters.map((letter) => number(letter, 'x'))
      const places = found.pairs.between.map(([i, j]) => [x[i], x[14 + (antiparallel ? 13 - j : j)]])
      expect(lines.map((line) => [number(line, 'x1'), number(line, 'x2')])).toEqual(places)
      for (const [x1, x2] of places) expect(x1).toBe(x2)
      expect(svg).toContain('a&lt;b')
      expect(svg).toContain('c&amp;d')
    },
  )

  it('draws a window alone', async () => {
    const found = await bpmax(strand1, strand2, { window: 6 })
    const letters = [
      ...parse(drawInteraction(strand1, strand2, found)).querySelectorAll('text[text-anchor=middle]'),
    ]
    const shown = strand2.slice(found.start, found.start + 6)
    expect(letters.map(({ textContent }) => textContent).join('')).toBe(
      strand1 + [...shown].reverse().join(''),
    )
  })

  it('draws more bases and pairs than a call has arguments', () => {
    const n = 200_000
    const within1 = Array.from({ length: n / 2 }, (_, at): [number, number] => [at, n - 1 - at])
    const pairs = { within1, within2: [], between: [] }
    const svg = drawInteraction('G'.repeat(n), 'C', { start: 0, length: 1, pairs })
    const last = /<text x="(\d+)"[^>]*>3′</.exec(svg)![1]!
    const widest = /<path d="M \d+ \d+ Q \S+ \S+ (\d+) /.exec(svg)![1]!
    // Behind the last base, which the first pair ends at.
    expect(Number(last)).toBe(Number(widest) + 22)
  })

  it('refuses pairs of other strands', async () => {
    const found = await bpmax(strand1, strand2)
    expectError(
      thrown(() => drawInteraction('GAGC', strand2, found)),
      'ERR_MPMML_SHAPE',
    )
    expectError(
      thrown(() => drawInteraction('NNN', strand2, found)),
      'ERR_MPMML_VALUE',
    )
  })
})
