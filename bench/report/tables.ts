/** The thesis' tables, with a column or rows for the GPU of the results. */
import { bytes, deviceRows } from '../output.js'
import { times } from './charts.js'
import type { Data } from './data.js'
import { type Html, html, tableOf } from './html.js'
import * as thesis from './thesis.js'

export function globalMemory({ machine }: Data): Html {
  const here = Number(machine.gpu.globalMemoryBytes)
  return tableOf(
    [
      ['GPU', 'Global memory'],
      ...thesis.globalMemory,
      [
        html`<strong>${machine.gpu.name}</strong>`,
        html`<strong>${Math.round(here / 2 ** 20)} MBytes</strong>`,
      ],
    ],
    'Table 1.1: global memory',
  )
}

export function specifications({ machine: { gpu, peak } }: Data): Html {
  const here = (name: string, key: string | null) => {
    if (name === 'CUDA cores/SM') return peak ? String(peak.cores) : 'not known'
    if (key === null) return 'not told by the CUDA runtime'
    const value = gpu[key]
    return value === undefined ? 'not told' : key.endsWith('MHz') ? `${value} MHz` : String(value)
  }
  const isOther = ([key]: [string, unknown]) =>
    key !== 'name' && !thesis.specifications.some((row) => row[2] === key)
  const others = deviceRows(Object.fromEntries(Object.entries(gpu).filter(isOther)))
  return tableOf(
    [
      ['', 'GTX 980', 'Titan X', 'GTX 1080 Ti', html`<strong>${gpu.name}</strong>`],
      ...thesis.specifications.map(([name, values, key]) => [name, ...values, here(name, key)]),
      ...others.map(([name, value]) => [name, '', '', '', value]),
    ],
    'Table 1.2: technical specifications',
  )
}

export function occupancy(data: Data): Html[] {
  const points = data.occupancies()
  const measured = points.filter(({ result }) => result !== undefined)
  if (measured.length === 0) return []
  const cells = (result: NonNullable<(typeof points)[number]['result']>) => [
    result.registersPerThread,
    result.localBytes,
    bytes(result.sharedBytesPerBlock),
    result.threadsPerBlock,
    result.activeThreads,
    result.activeWarps,
    result.activeBlocks,
    `${result.occupancyPercent.toFixed(0)} %`,
  ]
  const label = ({ name, parameters: p }: (typeof points)[number]) =>
    p.x === undefined ? name : `${name} ${times(p.x, p.y)}`
  const head = [
    'Kernel',
    'Registers/thread',
    'Spilled bytes/thread',
    'Shared memory/block',
    'Threads/block',
    'Active threads/SM',
    'Active warps/SM',
    'Active blocks/SM',
    'Occupancy',
  ]
  const shown = tableOf(
    [
      head,
      ...thesis.occupancy.map((row) => [
        `thesis, GTX 980: reg-reg ${times(row.x, row.y)}`,
        row.registers,
        '',
        '',
        1024,
        row.threads,
        row.warps,
        row.blocks,
        `${row.percent} %`,
      ]),
      ...points.map((point) => [
        label(point),
        ...(point.result ? cells(point.result) : [point.failure ?? '']),
      ]),
    ],
    `Table 2.1: occupancy on ${data.machine.gpu.name}`,
  )
  return [shown]
}
