/**
 * Writes the tables of measured figures into the pages, between `<!-- table NAME -->` and `<!-- end -->`. The figures are those of
 * docs/measured.json, and of the laboratory's results of an H200 in test/cli/fixtures. `npm run pictures` runs it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { LadderPoints } from '../dist/bench/lab/describe-ladder.js'
import { claimsOf, otherClaimsOf, verdictCounts } from '../dist/bench/report/claims.js'
import { Data } from '../dist/bench/report/data.js'
import { readResults } from '../dist/lib/lab.js'
import { microbenchmarks } from '../native/variants/microbenchmarks.mjs'
import { sets } from './measured.mjs'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Formats the numbers of a row: numbers below 100 have a decimal if another one has. */
function cells(row) {
  const some = row.some((value) => Number.isInteger(10 * value) && !Number.isInteger(value))
  const shown = (value) => (some && value < 100 && Number.isInteger(value) ? value.toFixed(1) : `${value}`)
  return row.map((value) => (typeof value === 'number' ? shown(value) : (value ?? '')))
}

const markdown = ([head, ...rows]) =>
  [head, head.map(() => '---'), ...rows].map((row) =>
    `| ${row.join(' | ')} |`.replaceAll(/\| {2}(?=\|)/g, '| '),
  )

/** Returns the machine, date and command of a set. */
function source({ on, date, command }) {
  const how = command.startsWith('npx') ? `\`${command}\`` : command
  return `${on[0].toUpperCase()}${on.slice(1)}, ${date}: ${how}.`
}

/** Returns a table of some rows, `row` or `set.row`, and some columns of a set. */
function tableOf(name, { head = '', rows, columns, shown = (values) => values } = {}) {
  const set = sets[name]
  const requested = columns ?? set.columns
  const lines = (rows ?? Object.keys(set.rows)).map((path) => {
    const [from, row] = path.includes('.') ? path.split('.') : [name, path]
    const [label, ...values] = sets[from].rows[row]
    const those = requested.map((column) => values[sets[from].columns.indexOf(column)])
    return [label, ...shown(cells(those), those)]
  })
  return [...markdown([[head || set.unit, ...requested], ...lines]), '', source(set)]
}

/** Returns times on one GPU and on several, with the speed-up. */
const speedUps = (texts, [one, ...others]) => [
  texts[0],
  ...others.map((value, index) =>
    value == null || index > 1 ? texts[index + 1] : `${texts[index + 1]} (${(one / value).toFixed(2)} ×)`,
  ),
]

const agrees = { agrees: 'yes', differs: '**no**', elsewhere: 'not judged here', missing: 'not measured' }

const plain = (text) => text.replaceAll('\u00a0', ' ').replace(/\bmpmml_\w+/g, '`$&`')

/** Returns statements of the report with their measured values on an H200, and the reasons for differences. */
function statements(claims, head) {
  const rows = claims.map(({ statement, measured, verdict }) => [statement, plain(measured), agrees[verdict]])
  const reasons = claims
    .filter(({ verdict, why }) => verdict === 'differs' && why)
    .map(({ statement, why }) => `- *${statement}:* ${why}`)
  return [...markdown([[head, 'measured', 'agrees'], ...rows]), '', 'Why the others differ:', '', ...reasons]
}

/** Returns the statements of the thesis. */
function claims(results) {
  const ofThesis = claimsOf(new Data(results))
  const gpu = results.machine.gpu.name
  const counts = `Of the ${ofThesis.length} statements of the thesis one ${gpu} ${verdictCounts(ofThesis)}.`
  return [counts, '', ...statements(ofThesis, 'the thesis says')]
}

/** Returns the instruction mixes: the instructions of a step, and the best speed. */
function mixes(results) {
  const data = new Data(results)
  const rows = microbenchmarks
    .filter(({ summary }) => !summary.startsWith('Algorithm'))
    .flatMap(({ name, summary }) => {
      const best = data.best(name)?.result.gops.median
      return best
        ? [
            [
              `\`${name}\``,
              summary.replace(/__\w+/g, '`$&`'),
              tops(best, 1),
              `${((100 * best) / data.machinePeak).toFixed(0)} %`,
            ],
          ]
        : []
    })
  return markdown([['name', 'a step', 'TOPS', 'of one operation per clock and core'], ...rows])
}

const tops = (gops, digits = 2) => (gops / 1000).toFixed(digits)

/** Returns the best result of each kind of experiment of the thesis. */
function laboratory({ points }) {
  const speeds = (isSelected) =>
    points
      .filter(({ result, parameters, ...point }) => result?.gops && isSelected({ ...point, ...parameters }))
      .map(({ result }) => result.gops)
  const best = (isSelected) => speeds(isSelected).sort((x, y) => y.median - x.median)[0]
  const ceiling = best(({ sweep }) => sweep === 'fused').median
  const row = (label, those) => [
    label,
    those.map(({ median, q1, q3 }) => `${tops(median)} ± ${tops((q3 - q1) / 2)}`).join(', '),
    those.map(({ median }) => `${((100 * median) / ceiling).toFixed(0)} %`).join(', '),
  ]
  const at = (sweep, m) => (point) => point.sweep === sweep && point.m === m
  const microbenches = ['reg-reg', 'shared-one', 'shared-both'].map((name) =>
    best(({ sweep }) => sweep === name),
  )
  const instances = [1, 5, 10, 20].map((count) =>
    best((point) => at('instances', 1024)(point) && point.batch === count),
  )
  return markdown([
    ['', 'TOPS', '% of peak'],
    row('the peak: fused additions and maxima on registers', [best(({ sweep }) => sweep === 'fused')]),
    row('reg-reg, shared-one and shared-both, the best of each', microbenches),
    speeds(at('space', 8192)).length > 0
      ? row('MPMML at 8192³, the best of all kernels', [best(at('space', 8192))])
      : row('MPMML at 8192³, case 00, the best block of threads', [best(at('blocks', 8192))]),
    row('blocks of 16 × 16 threads: case 00, 01, 10, 11', speeds(at('cases', 8192))),
    row('patterns block, block-cyclic, cyclic', speeds(at('patterns', 8192))),
    row(
      'patterns with A transposed',
      speeds((point) => at('transpose', 8192)(point) && point.Transpose === 1),
    ),
    row('1, 5, 10, 20 products of 1024³ in one launch', instances),
  ])
}

/** Returns the kernels of the ladder, from one thread per cell to asynchronous copies, on max-plus of int32 at 4000³. */
function ladder({ points }) {
  const ladder = new LadderPoints(points)
  const rungs = [
    ['one thread per cell, uncoalesced', 'ladder_maxplus_i32_naive_32x32_uncoalesced'],
    ['one thread per cell, coalesced', 'ladder_maxplus_i32_naive_32x32_coalesced'],
    ['tiles of 8 in shared memory', 'ladder_maxplus_i32_tiled_8x8_coalesced_guards'],
    ['tiles of 16', 'ladder_maxplus_i32_tiled_16x16_coalesced_guards'],
    ['tiles of 32', 'ladder_maxplus_i32_tiled_32x32_coalesced_guards'],
    ['tiles of 32, the next one prefetched', 'ladder_maxplus_i32_prefetch_32x32_coalesced_guards'],
    ['tiles in registers', 'mpmml_maxplus_i32_8x8_16x16_s16_case00_sub4x4'],
    ['asynchronous copies', 'pipelined_maxplus_i32_128x64x16_8x8_st2_sl1'],
  ]
  const rows = rungs.map(([what, name]) => [what, tops(ladder.times(name, 4000).gops, 1)])
  return markdown([['kernel', 'TOPS'], ...rows])
}

/** Returns every table by name. */
export async function tables() {
  const thesis = await readResults(`${root}test/cli/fixtures/h200.json`)
  const rungs = await readResults(`${root}test/cli/fixtures/h200-ladder.json`)
  return {
    products: tableOf('products', { head: 'TOPS' }),
    reordered: tableOf('reordered', { head: 'TOPS' }),
    other: tableOf('other'),
    boolean: tableOf('boolean', { rows: ['tensor', 'half', 'words'] }),
    divided: tableOf('divided'),
    calls: tableOf('calls', { head: 'milliseconds' }),
    peers: tableOf('peers', { head: 'TOPS at 8192³' }),
    programs: tableOf('programs'),
    semirings: tableOf('semirings', { head: '8192³' }),
    resident: tableOf('resident', { head: 'time, as a multiple of the kernels' }),
    tensor: tableOf('tensor', { rows: ['exponent', 'wide', 'bounded', 'products.int32'] }),
    warps: tableOf('warps'),
    rough: tableOf('tensor', { rows: ['bounded', 'rough64', 'rough16', 'bounded32'], columns: ['8192³'] }),
    witness: tableOf('witness'),
    levelCalls: tableOf('levelCalls', { head: 'milliseconds; the result goes into' }),
    ranked: tableOf('ranked'),
    kinds: tableOf('kinds', { head: '8192³' }),
    paths: tableOf('paths', { head: 'milliseconds' }),
    next: tableOf('next', { head: 'milliseconds' }),
    sparse: tableOf('sparse', { head: 'milliseconds for a source' }),
    sparseCalls: tableOf('sparseCalls', { head: 'milliseconds' }),
    gpus: tableOf('gpus', { head: 'milliseconds', shown: speedUps }),
    chosen: tableOf('chosen', { head: 'milliseconds', shown: speedUps }),
    closures: tableOf('closures', { head: 'milliseconds', shown: speedUps }),
    rna: tableOf('rna'),
    claims: claims(thesis),
    mixes: mixes(thesis),
    publications: statements(otherClaimsOf(new Data(rungs)), 'the publications say'),
    laboratory: laboratory(thesis),
    ladder: ladder(rungs),
  }
}

/** Returns a page with its present tables. */
export const filled = (page, all) =>
  page.replace(/^(<!-- table (\w+) -->\n).*?^(<!-- end -->)$/gms, (_, begin, name, end) => {
    if (!all[name]) throw new Error(`There is no table ${name} in docs/tables.mjs`)
    return `${begin}${all[name].join('\n')}\n${end}`
  })

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const all = await tables()
  for (const name of readdirSync(`${root}docs`).filter((name) => name.endsWith('.md'))) {
    const page = readFileSync(`${root}docs/${name}`, 'utf8')
    if (page.includes('<!-- table ')) writeFileSync(`${root}docs/${name}`, filled(page, all))
  }
}
