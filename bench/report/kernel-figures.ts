/** The figures of kernels over sizes. */

import { least } from '../extremes.js'
import { lines, mhz, ms, times } from './charts.js'
import { type Data, type MeasuredKernel, percent, sizeName, speed } from './data.js'
import type { Html } from './html.js'

const kernelColumns = ['ms', 'clock', 'variant']
const kernelCells = ({ name, result }: MeasuredKernel) => [
  ms(result.kernelMs.median),
  mhz(result.clockMHz),
  name,
]

export function bySize(
  data: Data,
  sweep: string,
  seriesOf: (point: MeasuredKernel) => string,
  series: string[],
  seriesLabel: string,
  description: string,
  extra: { columns: string[]; cells: (point: MeasuredKernel) => string[] } = { columns: [], cells: () => [] },
): Html | undefined {
  const points = data.kernels(sweep)
  return lines({
    rows: points.map((point) => ({
      x: sizeName(Number(point.parameters.m)),
      series: seriesOf(point),
      gops: point.result.gops,
      more: [...extra.cells(point), ...kernelCells(point)],
    })),
    xs: data.sizes(sweep).map(sizeName),
    xLabel: 'size of the square matrices',
    series,
    seriesLabel,
    more: [...extra.columns, ...kernelColumns],
    ceiling: data.ceiling,
    description: `${description} on ${data.machine.gpu.name}`,
  })
}

/** In the thesis' order; keys such as '10' of an object would come first. */
export const cases = [
  ['00', '00: A and B through shared memory'],
  ['01', '01: A through shared memory'],
  ['10', '10: B through shared memory'],
  ['11', '11: neither'],
] as const
export const caseOf = ({ parameters: p }: MeasuredKernel) =>
  cases.find(([name]) => name === `${p.MEMSEL_A}${p.MEMSEL_B}`)![1]

export const patternOf = ({ parameters: { Sub_X, X } }: MeasuredKernel) =>
  Sub_X === X ? 'block' : Sub_X === 1 ? 'cyclic' : 'block-cyclic'
export const patternNames = ['block', 'block-cyclic', 'cyclic']

export function instancesFigure(data: Data): Html | undefined {
  const points = data.kernels('instances')
  const small = least(points.map(({ parameters }) => Number(parameters.m)))
  const many = points.filter(({ parameters }) => Number(parameters.m) === small)
  const large = points
    .filter(({ parameters }) => Number(parameters.m) > small)
    .sort((x, y) => Number(x.parameters.m) - Number(y.parameters.m))
  const row = (series: string, x: string) => (point: MeasuredKernel) => ({
    x,
    series,
    gops: point.result.gops,
    more: kernelCells(point),
  })
  const manyName = `Ninst products of ${sizeName(small)}`
  const xs = many.map(({ parameters }) => String(parameters.batch))
  return lines({
    rows: [
      ...many.map((point) => row(manyName, String(point.parameters.batch))(point)),
      // One large product is a level to compare with, at the end of the axis.
      ...large.map((point) => row(`one of ${sizeName(Number(point.parameters.m))}`, xs.at(-1) ?? '1')(point)),
    ],
    xs,
    xLabel: 'number of products, Ninst',
    series: [manyName, ...large.map(({ parameters }) => `one of ${sizeName(Number(parameters.m))}`)],
    seriesLabel: 'products',
    more: kernelColumns,
    ceiling: data.ceiling,
    description: `Several products in one launch on ${data.machine.gpu.name}`,
  })
}

/** Which thread blocks aren't there, and why. */
export function failureNote(data: Data, sweep: string): string {
  const reasons = data
    .failures(sweep)
    .map(({ parameters: p, failure }) => ` ${times(p.BS_i, p.BS_j)} is missing: ${failure}.`)
  return [...new Set(reasons)].join('')
}

/** What the best kernel of the family reaches, in a line. */
export function headline(data: Data): string | undefined {
  const best = ['cases', 'patterns', 'tiles', 'blocks']
    .flatMap((sweep) => data.kernels(sweep))
    .sort((x, y) => y.result.gops.median - x.result.gops.median)[0]
  if (!best) return undefined
  const { ceiling } = data
  const gops = best.result.gops.median
  return (
    `${speed(gops)} at ${sizeName(Number(best.parameters.m))}` +
    (ceiling ? `, ${percent(gops / ceiling)} of the measured ceiling (${speed(ceiling)})` : '')
  )
}
