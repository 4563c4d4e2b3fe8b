/** mpmml rna and mpmml bpmax. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'
import { fails, interrupted, json, succeeds } from './support.js'

const path = useFolder()

function write(name: string, content: string): string {
  writeFileSync(path(name), content)
  return path(name)
}

const hairpins = () => write('hairpins.fasta', '>one first\nggggaaaa\ncccc\n>two\nAUAU\n')
const tar = () => write('tar.fasta', '>TAR\nGAGCCUGGGAGCUC\n')
const gag = () => write('gag.fasta', '>gag\nCCTATCCCAGTAGG\n>poor\nAAAA\n')

describe('rna --nussinov', () => {
  it('prints each record with its structure and score', async () => {
    expect(await succeeds(['rna', '--nussinov', hairpins()])).toBe(
      '>one\nGGGGAAAACCCC\n((((....)))) (12)\n>two\nAUAU\n.... (0)\n',
    )
  })

  it('prints the pairs as JSON, from 0', async () => {
    const { records, backend } = await json([
      'rna',
      '--nussinov',
      hairpins(),
      '--min-loop',
      '4',
      '--weights',
      '4,2,0',
    ])
    expect(backend).toBe('cpu')
    expect(records[0]).toEqual({
      name: 'one',
      sequence: 'GGGGAAAACCCC',
      score: 16,
      pairs: [
        [0, 11],
        [1, 10],
        [2, 9],
        [3, 8],
      ],
      dotBracket: '((((....))))',
    })
  })

  it('requires its option, right weights and right letters', async () => {
    expect(await fails(['rna'], 2)).toContain('--nussinov')
    expect(await fails(['rna', '--nussinov', hairpins(), '--weights', '1,2'], 2)).toContain('GC, AU and GU')
    expect(await fails(['rna', '--nussinov', hairpins(), '--min-loop', '-1'], 2)).toContain('whole number')
    expect(await fails(['rna', '--nussinov', write('wrong.fasta', '>a\nGGX\n')])).toMatch(
      /line 2, column 3.*'X'/,
    )
    expect(await fails(['rna', '--nussinov', path('none.fasta')])).toContain('none.fasta')
  })
})

describe('bpmax', () => {
  it('prints the best interaction', async () => {
    const printed = await succeeds(['bpmax', tar(), gag(), '--min-loop', '4'])
    expect(printed).toMatch(/^query +TAR, 14 bases$/m)
    expect(printed).toMatch(/^target +gag, 14 bases$/m)
    expect(printed).toMatch(/^score +37; 22 if they don't interact$/m)
    expect(printed).toMatch(/^pairs +4 in the query, 4 in the target, 6 between them$/m)
    expect(printed).toContain('GAGCCUGGGAGCUC&CCUAUCCCAGUAGG\n(((([[[[[[))))&((((]]]]]]))))\n')
    expect(printed.match(/^query/gm)).toHaveLength(1)
  })

  it('shows more results of all records with --top', async () => {
    const printed = await succeeds(['bpmax', tar(), gag(), '--top', '5'])
    expect(printed.match(/^target +(\w+)/gm)).toEqual(['target  gag', 'target  poor'])
  })

  it('restricts structures to parts of the target with --window', async () => {
    const { interactions, steps } = await json(['bpmax', tar(), gag(), '--window', '6', '--top', '2'])
    expect(steps).toBeGreaterThan(0)
    expect(interactions).toHaveLength(2)
    expect(interactions.map((one: { target: string; length: number }) => [one.target, one.length])).toEqual([
      ['gag', 6],
      ['poor', 4],
    ])
    for (const { length, start, pairs } of interactions) {
      for (const [, j] of pairs.between) expect(j >= start && j < start + length).toBe(true)
    }
    // The printed text counts bases from 1, and JSON counts from 0.
    const [{ start }] = interactions
    expect(await succeeds(['bpmax', tar(), gag(), '--window', '6'])).toMatch(
      new RegExp(`^target +gag, 14 bases, bases ${start + 1}–${start + 6}$`, 'm'),
    )
  })

  it('requires two files and right options', async () => {
    expect(await fails(['bpmax', tar()], 2)).toMatch(/TARGET/i)
    expect(await fails(['bpmax', tar(), gag(), '--window', '0'], 2)).toContain('whole number')
    expect(await fails(['bpmax', tar(), write('empty.fasta', '')])).toContain('empty.fasta')
  })

  it('ends immediately at an interrupt', async () => {
    const long = write('long.fasta', `>long\n${'GCAU'.repeat(150)}\n`)
    const short = write('short.fasta', `>short\n${'GCAU'.repeat(10)}\n`)
    const outcome = await interrupted(['bpmax', short, long], /short with long/)
    expect(outcome).toEqual({ status: 130, stdout: '', said: 'mpmml: interrupted\n' })
  })
})
