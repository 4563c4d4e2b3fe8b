/**
 * Prints a chart of measured figures: node docs/images/charts.mjs NAME > docs/images/NAME.svg
 *
 * They are drawn as `mpmml report`, `roofline` and `bench --svg` draw them: the thesis' figures and the rooflines from the
 * results of an H200 in test/cli/fixtures, the others from docs/measured.json.
 */
import { fileURLToPath } from 'node:url'
import { sections } from '../../dist/bench/lab/experiments.js'
import { Data } from '../../dist/bench/report/data.js'
import { svgFile } from '../../dist/bench/report/plot.js'
import { readResults } from '../../dist/lib/lab.js'
import { sets } from '../measured.mjs'

const results = (name) =>
  readResults(fileURLToPath(new URL(`../../test/cli/fixtures/${name}.json`, import.meta.url)))

/** The first chart of a section of the report. */
async function ofReport(file, title) {
  const data = new Data(await results(file))
  const section = sections(data).find((one) => [one.title, ...(one.exhibits ?? [])].includes(title))
  const { drawing, description } = section.body.find((part) => part.drawing)
  const exhibit = section.title === title ? '' : `${title}: `
  const shown = description.split('. ')[0]
  const gpu = data.machine.gpu.name
  return svgFile(drawing, `${exhibit}${shown}${shown.includes(gpu) ? '' : ` on ${gpu}`}`)
}

/** A line for each row of a set. */
function levels() {
  const { columns, rows } = sets.levels
  const data = Object.values(rows).flatMap(([series, ...values]) =>
    values.map((y, index) => ({ x: columns[index], series, y, q1: y, q3: y })),
  )
  const series = Object.values(rows).map(([label]) => label)
  const chart = { data, xs: columns, xLabel: 'size of the product', yLabel: 'TOPS of the kernel', series }
  const title = 'Max-plus products of int32 on an NVIDIA H200, by the values of both operands'
  return svgFile({ kind: 'line', chart: { ...chart, references: [] } }, title)
}

/** How many times as fast several GPUs are as one. */
function speedUp() {
  const xs = ['1 GPU', '2 GPUs', '4 GPUs']
  const shown = [
    ['gpus', 'resident', '32768³, resident'],
    ['gpus', 'pinned', '32768³, host to host'],
    ['closures', 'n32768', 'all paths of 32768 nodes'],
    ['closures', 'n8192', 'all paths of 8192 nodes'],
    ['gpus', 'resident8', '8192³, resident'],
    ['gpus', 'pinned8', '8192³, host to host'],
  ]
  const data = shown.flatMap(([set, row, series]) =>
    xs.map((x) => {
      const y = sets[set].at(row, xs[0]) / sets[set].at(row, x)
      return { x, series, y, q1: y, q3: y }
    }),
  )
  const series = shown.map(([, , name]) => name)
  const chart = { data, xs, xLabel: 'NVIDIA H200s of one host', yLabel: 'times as fast', series }
  return svgFile(
    { kind: 'line', chart: { ...chart, references: [] } },
    'How many times as fast several GPUs are as one, plain kernels',
  )
}

const charts = {
  'figure-2.1': () => ofReport('h200', 'Figure 2.1'),
  'figure-4.1': () => ofReport('h200', 'Figure 4.1'),
  'figure-4.2': () => ofReport('h200', 'Figure 4.2'),
  'figure-4.5': () => ofReport('h200', 'Figure 4.5'),
  'figure-4.6': () => ofReport('h200', 'Figure 4.6'),
  roofline: () => ofReport('h200-ladder', 'Roofline'),
  levels,
  'speed-up': speedUp,
}

process.stdout.write(await charts[process.argv[2]]())
