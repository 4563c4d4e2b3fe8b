/** The thesis' future work: products of triangles beside those of squares, and BPMax. */
import { bars, lines, ms } from './charts.js'
import { type Data, type MeasuredWork, sizeName } from './data.js'
import { type Html, html } from './html.js'

const seriesOf = { whole: 'squares', triangles: 'upper × upper, needed steps' } as Record<string, string>

const xOf = ({ parameters: { n, batch } }: MeasuredWork) =>
  Number(batch) > 1 ? `${batch} × ${sizeName(Number(n))}` : sizeName(Number(n))

export function triangular(data: Data): Html | undefined {
  const points = data.work('triangular')
  const wholeOf = (point: MeasuredWork) =>
    points.find((other) => other.name === 'whole' && xOf(other) === xOf(point))
  const rows = points.map((point) => {
    const whole = wholeOf(point)
    const share = whole && point.result.ms.median / whole.result.ms.median
    return {
      x: xOf(point),
      series: seriesOf[point.name]!,
      gops: point.result.gops,
      more: [
        ms(point.result.ms.median),
        point.name === 'whole' || share === undefined ? '' : share.toFixed(3),
        point.result.how,
      ],
    }
  })
  return lines({
    rows,
    xs: [...new Set(rows.map(({ x }) => x))],
    xLabel: 'size',
    series: Object.values(seriesOf),
    seriesLabel: 'product',
    more: ['ms', 'of the squares’ time', 'kernel'],
    ceiling: data.ceiling,
    description: 'Speed of triangular and square products over sizes',
  })
}

/** GFLOPS of the whole program on the best CPU of that study: IEEE TPDS 2024, doi 10.1109/TPDS.2024.3380443. */
const PUBLISHED = 312

export function interaction(data: Data): Html | undefined {
  const points = data.work('bpmax')
  const rows = points.map((point) => {
    const { n, m, strands } = point.parameters
    const isFolding = point.name === 'folding'
    return {
      label: isFolding ? `Nussinov, ${strands} × ${n} bases` : `BPMax, ${n} × ${m} bases`,
      series: isFolding ? 'Nussinov' : 'BPMax',
      gops: point.result.gops,
      more: [ms(point.result.ms.median), point.result.steps.toExponential(2)],
    }
  })
  const published = [{ y: PUBLISHED, label: 'best published, CPUs' }]
  return bars(data, rows, ['ms', 'steps'], 'Speed of BPMax and Nussinov, whole calls', published)
}

export const futureCaption = {
  triangular: html`The thesis leaves triangular matrices as future work. The product of two upper triangles needs a sixth of the
    steps of squares, and only these count in its speed. Kernel time on resident matrices of any int32 values, accumulated; the last
    size is the batch of BPMax’s tables.`,
  interaction: html`The thesis’ application, the interaction of two strands of RNA (BPMax), and the folding of one (Nussinov). Whole
    calls, with all transfers and the traceback; two operations per step of the recurrence. The line is the best published program for
    CPUs, ${PUBLISHED} GFLOPS (IEEE TPDS, 2024, doi 10.1109/TPDS.2024.3380443).`,
}
