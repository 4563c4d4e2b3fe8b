/** Tool for two strands of RNA: base pairs within each strand and between both. */
import { bpmax, parseFasta } from 'mpmml/rna'
import { InputError, reading } from './csv.js'
import { html, shown } from './dom.js'
import type { Tool } from './tool.js'

/** Limit of bases per strand. The time is cubic in both lengths. */
const MAX_BASES = 120

function strand(text: string, name: string, field: string): string {
  if (text.trim() === '') throw new InputError(`Enter ${name}: letters A, C, G and U.`, field)
  const records = reading(() => parseFasta(text, { name }), field)
  if (records.length > 1) {
    throw new InputError(`In ${name}: expected one strand, but found ${records.length}. Leave one.`, field)
  }
  const { sequence } = records[0]!
  if (sequence.length > MAX_BASES) {
    throw new InputError(
      `These are ${sequence.length} bases, and this page takes ${MAX_BASES}: the library takes more.`,
      field,
    )
  }
  return sequence
}

export const rna: Tool = {
  id: 'rna',
  title: 'RNA',
  about:
    'Two strands of RNA: the pairs of bases, within each and between both, that are worth the most together (BPMax).',
  fields: [
    { name: 'first', label: 'First strand, 5′ to 3′', hint: 'Letters A, C, G, U or T, or FASTA.', rows: 3 },
    { name: 'second', label: 'Second strand, 5′ to 3′', rows: 3 },
  ],
  example: { first: 'GGGAAACUCGAUCCAUUGGC', second: 'GCCAAUGGUUCGAGAAACCC' },
  program: `import { bpmax } from 'mpmml/rna'

const { score, dotBracket } = await bpmax('GGGAAACUCGAUCCAUUGGC', 'GCCAAUGGUUCGAGAAACCC')
console.log(score, dotBracket) // 47 ([[..([[[[[)[[[[[[[)&(]]]]]]](]]]]])..]])`,
  async answer({ first, second }, signal) {
    const [one, two] = [
      strand(first!, 'the first strand', 'first'),
      strand(second!, 'the second strand', 'second'),
    ]
    const found = await bpmax(one, two, { signal })
    const { within1, within2, between } = found.pairs
    return () => [
      html(
        'p',
        { class: 'answer' },
        'The pairs are worth ',
        html('strong', {}, shown(found.score)),
        `, ${shown(found.score - found.alone)} of it because the strands interact.`,
      ),
      html(
        'p',
        {},
        `${within1.length} pairs in the first strand, ${within2.length} in the second, ${between.length} between them.`,
      ),
      html('pre', { class: 'wide', tabindex: 0, 'aria-label': 'In dots and brackets' }, found.dotBracket),
    ]
  },
}
