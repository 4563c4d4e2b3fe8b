/** Formats rooflines as charts and tables. */
import { tensorPeak } from '../../lib/lab.js'
import type { Drawing } from '../report/charts.js'
import { type Data, speed } from '../report/data.js'
import { html } from '../report/html.js'
import type { Section } from '../report/section.js'
import { htmlTables, type LadderTable } from './describe-ladder.js'
import * as m2090 from './m2090.js'
import { bindingText, groups, type Roofline, rooflines, roofNames } from './roofline.js'

const facets = ['global memory', 'shared memory or L1']

/** Returns the chart of a roofline. */
export function rooflineDrawing({ ceilings, operations, tensor, kernels }: Roofline): Drawing {
  const rounded = (gbps: number) =>
    gbps >= 10_000 ? `${(gbps / 1000).toFixed(1)} TB/s` : `${gbps.toFixed(0)} GB/s`
  const slope = (facet: string, name: string, gbps: number | undefined, dashed = false) =>
    gbps === undefined ? [] : [{ facet, label: `${name} ${rounded(gbps)}`, gbps, dashed }]
  const chart = {
    facets,
    slopes: [
      ...slope(facets[0]!, 'device memory', ceilings.deviceMemory),
      ...slope(facets[0]!, 'L2', ceilings.l2),
      ...slope(facets[0]!, 'uncoalesced', ceilings.strided, true),
      ...slope(facets[1]!, 'shared memory', ceilings.sharedMemory),
    ],
    levels: [
      ...operations.map(({ name, gops }) => ({ label: `${name} ${speed(gops)}`, gops })),
      ...(tensor === undefined ? [] : [{ label: `tensor cores ${speed(tensor)}`, gops: tensor }]),
    ],
    data: kernels.flatMap(({ group, label, intensity, gops }) => [
      { facet: facets[0]!, x: intensity.global, y: gops, series: group, label },
      { facet: facets[1]!, x: intensity.shared, y: gops, series: group, label },
    ]),
    series: groups.filter((group) => kernels.some((kernel) => kernel.group === group)),
  }
  return { kind: 'roofline', chart }
}

export const rooflineTitle = ({ semiring, dtype, size }: Roofline, gpu: string) =>
  `Roofline of ${gpu}: ${semiring} ${dtype}, ${size}³`

/**
 * Returns a table that compares the M2090 roofline of the tutorial with this GPU. The tutorial's model covers
 * tiles and ignores caches.
 */
function m2090Table({ ceilings, kernels }: Roofline): LadderTable {
  const here = { gflops: ceilings.operations, gbps: ceilings.deviceMemory }
  const row = (name: string, tile?: number) => {
    const kernel = kernels.find(({ group, label }) =>
      tile === undefined ? group === 'one thread per cell' : group === 'tiles' && label === String(tile),
    )
    return [
      name,
      String(m2090.intensity(tile)),
      speed(m2090.bound(tile)),
      speed(m2090.bound(tile, here)),
      kernel ? speed(kernel.gops) : '',
    ]
  }
  return {
    title: `Upper bounds on an M2090 (${m2090.gflops} GFLOPS, ${m2090.gbps} GB/s; A. Pöpl, 2016) and on this GPU, without caches`,
    rows: [
      ['kernel', 'operations per byte', 'M2090', 'this GPU', 'measured here'],
      row('one thread per cell'),
      ...m2090.tiles.map((tile) => row(`tiles of ${tile}`, tile)),
    ],
  }
}

/** Tables of `mpmml roofline` and of the report: the kernels, and the peak rates. */
export function rooflineTables(roofline: Roofline): LadderTable[] {
  const { ceilings, operations, tensor, strided, kernels, semiring, dtype, size } = roofline
  const counted = kernels.some(({ counters }) => counters !== undefined)
  // Bytes are divided by the steps of the product, for comparison with the computed operations per byte.
  const steps = 2 * size ** 3
  const measured = ({ counters }: (typeof kernels)[number]) =>
    counters
      ? [counters.deviceMemory, counters.l2, counters.sharedMemory].map((bytes) =>
          bytes > 0 ? String(Number((steps / bytes).toPrecision(3))) : '',
        )
      : ['', '', '']
  const gbps = (value: number | undefined) => (value === undefined ? '' : `${value.toFixed(0)} GB/s`)
  return [
    {
      title: `Ceilings, ${semiring} ${dtype}`,
      rows: [
        ['ceiling', 'measured'],
        ...operations.map(({ name, gops }) => [`instructions: ${name}`, speed(gops)]),
        ...(tensor === undefined
          ? []
          : [['tensor cores on bfloat16: not measured, from the highest clock', speed(tensor)]]),
        ['device memory: copy', gbps(ceilings.deviceMemory)],
        ['L2', gbps(ceilings.l2)],
        ['shared memory', gbps(ceilings.sharedMemory)],
        ...strided.map(({ stride, gbps: value }) => [
          `device memory: 32-bit words ${stride} apart, of which those that are asked for count`,
          gbps(value),
        ]),
      ],
    },
    m2090Table(roofline),
    {
      title: `Kernels on ${size} × ${size}: operations per byte, and what limits them`,
      rows: [
        [
          'kernel',
          'operations per byte of global memory',
          'of shared memory or L1',
          'measured',
          'lowest ceiling',
          'limited by',
          ...(counted ? ['counted: device memory', 'L2', 'shared memory'] : []),
        ],
        ...kernels.map((kernel) => [
          kernel.title,
          String(Number(kernel.intensity.global.toPrecision(3))),
          String(Number(kernel.intensity.shared.toPrecision(3))),
          speed(kernel.gops),
          kernel.roofs[0] ? `${speed(kernel.roofs[0].gops)} (${roofNames[kernel.roofs[0].name]})` : '',
          bindingText(kernel),
          ...(counted ? measured(kernel) : []),
        ]),
      ],
    },
  ]
}

export const rooflineSections = ({ results, machine }: Data): Section[] => [
  {
    title: 'Roofline',
    caption: html`Ceilings measured on this GPU, and each kernel by its computed operations per byte. Above: per byte that blocks read from global
        memory, as A. Pöpl’s tutorial “Dense Linear Algebra” (Technical University of Munich, 2016) counts them, so that caches
        can lift a kernel above the ceiling of device memory. Below: per byte between registers and shared memory, in wavefronts of 128
        bytes. The numbers at the marks are the sides of tiles.`,
    claims: ['roofline32'],
    body: rooflines(results.points, tensorPeak(machine)).flatMap((roofline) => [
      html`<h3>${roofline.semiring} ${roofline.dtype}, ${roofline.size} × ${roofline.size}</h3>
`,
      {
        drawing: rooflineDrawing(roofline),
        description: `${rooflineTitle(roofline, String(machine.gpu.name))}. The numbers are in the table below.`,
        numbers: html`${htmlTables(rooflineTables(roofline))}`,
      },
    ]),
    command: 'npx mpmml roofline',
  },
]
