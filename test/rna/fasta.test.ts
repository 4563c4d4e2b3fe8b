/** Parsing of FASTA text, bytes and files. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseFasta, readFasta } from '../../lib/rna.js'
import { expectError, expectRejected, expectThrown } from '../support/expect.js'
import { useFolder } from '../support/folder.js'

const path = useFolder()

describe('bytes of FASTA', () => {
  it('give the same records as their text', () => {
    const text = '>é one\nGGGaaa\nTTT\n'
    expect(parseFasta(Buffer.from(text))).toEqual(parseFasta(text))
    expect(parseFasta(new TextEncoder().encode(`\uFEFF${text}`))).toEqual(parseFasta(text))
    expect(() => parseFasta(Uint8Array.of(62, 0xe9, 10, 71))).toThrow(
      expect.objectContaining({ code: 'ERR_MPMML_FILE' }),
    )
  })

  it.each([undefined, null, 5, {}, [71], Int32Array.of(71)])('are rejected as %s', (wrong) => {
    expect(() => parseFasta(wrong as never)).toThrow(expect.objectContaining({ code: 'ERR_MPMML_DTYPE' }))
  })
})

describe('parseFasta', () => {
  it('accepts several records, lower case, T, line breaks, comments and empty lines', () => {
    const text = '\uFEFF; a comment\r\n>one the first\r\nGGau\r\nTTc  \r\n\r\n>\nACGU\r>two\nU'
    expect(parseFasta(text)).toEqual([
      { name: 'one', description: 'the first', sequence: 'GGAUUUC' },
      { name: '', description: '', sequence: 'ACGU' },
      { name: 'two', description: '', sequence: 'U' },
    ])
  })

  it("accepts Unicode's line separators in headers", () => {
    expect(parseFasta('>one a\u2028b\u2029c\nGG\n>\u2028two\nAA')).toEqual([
      { name: 'one', description: 'a\u2028b\u2029c', sequence: 'GG' },
      { name: 'two', description: '', sequence: 'AA' },
    ])
  })

  it('accepts a sequence without a header', () => {
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
  ])('rejects %j', (text, message) => {
    expectThrown(() => parseFasta(text, { name: 'x.fasta' }), 'FILE', /^x\.fasta: /, message)
  })
})

describe('parseFasta of bytes', () => {
  it('decodes UTF-8 and UTF-16', () => {
    const expected = [{ name: 'é', description: '', sequence: 'GC' }]
    expect(parseFasta(Buffer.from('>é\nGC\n'))).toEqual(expected)
    expect(parseFasta(new Uint8Array(Buffer.from('\ufeff>é\nGC\n', 'utf16le')))).toEqual(expected)
  })

  it('rejects other encodings and binary content', () => {
    expectThrown(
      () => parseFasta(Buffer.from('>\xe9\nGC\n', 'latin1'), { name: 'x' }),
      'FILE',
      'x, line 1: byte 1',
    )
    for (const given of [undefined, 5, ['>a'], new Int32Array(2)]) {
      expectThrown(() => parseFasta(given as never), 'DTYPE', 'Uint8Array')
    }
  })
})

describe('readFasta', () => {
  it('reads a file, and names the file in errors', async () => {
    writeFileSync(path('a.fasta'), '>a\nGC\n')
    expect(await readFasta(path('a.fasta'))).toEqual([{ name: 'a', description: '', sequence: 'GC' }])
    writeFileSync(path('b.fasta'), '>a\nGX\n')
    await expectRejected(readFasta(path('b.fasta')), 'FILE', 'b.fasta: line 2, column 2')
    await expectRejected(readFasta(path('none.fasta')), 'FILE', 'none.fasta')
  })

  it('stops when its signal is aborted, and rejects with the value that its listener throws', async () => {
    writeFileSync(path('long.fasta'), `>a\n${'GCAU\n'.repeat(4_000_000)}`)
    const controller = new AbortController()
    const reading = readFasta(path('long.fasta'), { signal: controller.signal }).catch((error) => error)
    setImmediate(() => controller.abort())
    expectError(await reading, 'ABORTED')
    await expectRejected(readFasta(path('a.fasta'), { signal: AbortSignal.abort() }), 'ABORTED')
    await expectRejected(readFasta(path('a.fasta'), { signal: 5 as never }), 'OPTION')
  })
})
