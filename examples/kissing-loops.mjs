/**
 * A kissing complex: two strands of RNA fold into hairpins, and their loops pair with each other. BPMax finds the pairs within
 * both strands and between them.
 *
 *   node examples/kissing-loops.mjs                      a hairpin of TAR and one of gag, both of HIV-1
 *   node examples/kissing-loops.mjs --pair oxys          OxyS and a part of the fhlA messenger, of E. coli
 *
 * Where the sequences are from:
 * - TAR: nucleotides +26 to +39 of the RNA of HIV-1, the upper stem and the loop CUGGGA. gag: the hairpin
 *   CCUA(UCCCAG)UAGG, whose loop pairs with the loop of TAR. K.-Y. Chang, I. Tinoco, Characterization of a
 *   "kissing" hairpin complex derived from the human immunodeficiency virus genome, PNAS 91 (1994) 8705.
 * - OxyS and fhlA: figure 7 of L. Argaman, S. Altuvia, fhlA repression by OxyS RNA: kissing complex formation at two sites results in
 *   a stable antisense-target RNA complex, J. Mol. Biol. 300 (2000) 1101, doi:10.1006/jmbi.2000.3942.
 */
import { parseArgs } from 'node:util'
import { bpmax } from 'mpmml/rna'

const known = {
  tar: [
    ['TAR', 'GAGCCUGGGAGCUC'],
    ['gag', 'CCUAUCCCAGUAGG'],
  ],
  oxys: [
    [
      'OxyS',
      'GAAACGGAGCGGCACCUCUUUUAACCCUUGAAGUCACUGCCCGUUUCGAGAGUUUCUCAACUCGAAUAACUAAAGCCAACGUGAACUUUUGCGGAUCUCCAGGAUCCGC',
    ],
    [
      'fhlA',
      'AGUUAGUCAAUGACCUUUUGCACCGCUUUGCGGUGCUUUCCUGGAACAACAAAAUGUCAUAUACACCGAUGAGUGAUCUCGGACAACAAGGGUUGUUCGACAUCACUCGGACA',
    ],
  ],
}

const { values } = parseArgs({ options: { pair: { type: 'string', default: 'tar' } } })
const pair = known[values.pair]
if (!pair) throw new Error(`there is no pair ${values.pair}: choose ${Object.keys(known).join(' or ')}`)
const [[name1, strand1], [name2, strand2]] = pair

// Loops whose bases pair with another strand are wide, so bases within four positions of each other don't
// pair.
const found = await bpmax(strand1, strand2, { minLoop: 4 })
const { within1, within2, between } = found.pairs
console.log(`${name1} & ${name2}`)
console.log(`${strand1}&${strand2}`)
console.log(found.dotBracket)
console.log(`score ${found.score}, ${found.alone} if they don't interact`)
console.log(
  `${within1.length} pairs in ${name1}, ${within2.length} in ${name2}, ${between.length} between them`,
)
