/** The figures of microbenchmarks. */
import { type BarRow, bars, blockNames, lines, mhz, tileNames, times } from './charts.js'
import type { Data, MeasuredMicrobench } from './data.js'
import type { Html } from './html.js'

const instructions = ({ result }: MeasuredMicrobench) =>
  Object.entries(result.instructionsPerIteration)
    .map(([opcode, count]) => `${Number(count.toPrecision(4))} ${opcode}`)
    .join(' + ') || 'not looked at'
const share = (value: number) => (value > 0 ? `${value.toFixed(1)} %` : 'not known')
const microbenchColumns = [
  'instance',
  'steps/clock/SM',
  'of the pipes',
  'of one operation per clock and core',
  'machine code of an iteration',
  'clock',
]
const microbenchCells = (point: MeasuredMicrobench) => {
  const { parameters: p, result } = point
  return [
    `${times(p.x, p.y)}, block ${times(p.bsi, p.bsj)}${p.m === undefined ? '' : `, M = ${p.m}`}, ${p.max ?? 'intrinsic'}`,
    (result.lanesPerClock * result.lanes).toFixed(1),
    share(result.percentOfPipes),
    share(result.percentOfMachine),
    instructions(point),
    mhz(result.clockMHz),
  ]
}

/** The values of K that were measured, the largest first as in the thesis. */
const depthsOf = (points: MeasuredMicrobench[]): number[] =>
  [...new Set(points.flatMap(({ parameters: { k } }) => (k === undefined ? [] : [Number(k)])))].sort(
    (one, other) => other - one,
  )

export function summary(data: Data): Html | undefined {
  const row = (label: string, series: string, point: MeasuredMicrobench | undefined): BarRow[] =>
    point ? [{ label, series, gops: point.result.gops, more: microbenchCells(point) }] : []
  const shared = (name: string, series: string) =>
    depthsOf(data.microbenches(name)).flatMap((k) => row(`${name}, K = ${k}`, series, data.best(name, { k })))
  return bars(
    data,
    [
      ...row('reg-reg', 'registers', data.best('reg-reg')),
      ...shared('shared-one', 'one operand in shared memory'),
      ...shared('shared-both', 'both operands in shared memory'),
    ],
    microbenchColumns,
    'The best instance of each microbenchmark',
    data.machinePeak ? [{ y: data.machinePeak, label: 'one operation per clock and core' }] : [],
  )
}

/** A microbenchmark over thread blocks, a line for each X × Y and a panel for each K. */
export function overBlocks(data: Data, name: string, description: string): Html | undefined {
  const points = data
    .microbenches(name, { max: 'intrinsic' })
    .filter(({ parameters: p }) => p.gsi === undefined && (p.m === undefined || p.m === 32))
  const shared = points.some(({ parameters }) => parameters.k !== undefined)
  return lines({
    rows: points.map((point) => ({
      x: times(point.parameters.bsi, point.parameters.bsj),
      series: times(point.parameters.x, point.parameters.y),
      gops: point.result.gops,
      more: microbenchCells(point),
      ...(shared ? { facet: `K = ${point.parameters.k}` } : {}),
    })),
    xs: blockNames(points.map(({ parameters: p }) => [p.bsi, p.bsj])),
    xLabel: 'thread block, BS_i × BS_j',
    series: tileNames(points.map(({ parameters: p }) => [p.x, p.y])),
    seriesLabel: 'X×Y',
    more: microbenchColumns,
    description: `${description} on ${data.machine.gpu.name}`,
    ...(shared ? { facets: depthsOf(points).map((k) => `K = ${k}`) } : {}),
  })
}

export function overGrids(data: Data): Html | undefined {
  const points = data.microbenches('reg-reg').filter(({ parameters }) => parameters.gsi !== undefined)
  return lines({
    rows: points.map((point) => ({
      x: times(point.parameters.gsi, point.parameters.gsj),
      series: times(point.parameters.x, point.parameters.y),
      gops: point.result.gops,
      more: microbenchCells(point),
    })),
    xs: points.map(({ parameters }) => times(parameters.gsi, parameters.gsj)),
    xLabel: 'grid, GS_i × GS_j',
    series: tileNames(points.map(({ parameters: p }) => [p.x, p.y])),
    seriesLabel: 'X×Y',
    more: microbenchColumns,
    description: `Reg-reg with blocks of 16 × 16 over the number of blocks on ${data.machine.gpu.name}`,
  })
}

export function mixes(data: Data): Html | undefined {
  const names = [
    ...new Set(data.results.points.filter(({ kind }) => kind === 'microbench').map(({ name }) => name)),
  ].filter((name) => name !== 'reg-reg' && !name.startsWith('shared'))
  return bars(
    data,
    names.flatMap((name) => {
      const best = data.best(name)
      if (!best) return []
      const integers = best.result.lanes > 1 ? 'two 16-bit elements a word' : '32-bit elements'
      const series = name.endsWith('-f32') ? 'float32' : integers
      return [{ label: name, series, gops: best.result.gops, more: microbenchCells(best) }]
    }),
    microbenchColumns,
    'Instruction mixes of a step',
    data.machinePeak ? [{ y: data.machinePeak, label: 'one operation per clock and core' }] : [],
  )
}
