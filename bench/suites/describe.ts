/** Formats the results of suites as tables. */
import { describeCircumstances } from '../environment.js'
import { type Columns, tableOf } from '../experiment.js'
import { bytes, duration, labelled, rate } from '../output.js'
import type { SuiteRecord, SuitesRecord } from './run.js'
import type { Figure, Unit } from './suite.js'

const columns: Columns<Figure> = [
  ['of', ({ of }) => of],
  ['measured', ({ what }) => what],
  ['figure', ({ value, unit }) => amount(value.median, unit)],
  ['±', spreadOf],
  ['an H200', expected],
  ['here', reached],
  ['', ({ note }) => note],
]

export function describeSuites(record: SuitesRecord): string {
  const head = labelled([
    ...describeCircumstances(record),
    ['figures', 'medians, ± half the distance between the quartiles'],
    ['an H200', 'what an NVIDIA H200 should reach, and whether the figure does'],
  ])
  return [head, ...record.suites.map(describeSuite)].join('\n\n')
}

function describeSuite({ name, shows, backend, figures, wrong }: SuiteRecord): string {
  return [
    `${name} on ${backend === 'cpu' ? 'the CPU' : 'the GPU'}: ${shows}`,
    tableOf(columns, figures),
    ...counted(wrong).map(([message, count]) => `wrong: ${message}${count > 1 ? ` (${count} times)` : ''}`),
  ].join('\n')
}

/** Returns the distinct messages with their counts. */
function counted(messages: readonly string[]): [message: string, count: number][] {
  const counts = new Map<string, number>()
  for (const message of messages) counts.set(message, (counts.get(message) ?? 0) + 1)
  return [...counts]
}

function expected({ must, moreIsBetter, unit }: Figure): string {
  return must === null ? '' : `${moreIsBetter ? '≥' : '≤'} ${amount(must, unit)}`
}

function reached({ value: { median }, must, moreIsBetter }: Figure): string {
  if (must === null) return ''
  return (moreIsBetter ? median >= must : median <= must) ? 'reached' : 'missed'
}

function spreadOf({ value: { median, q1, q3, count } }: Figure): string {
  if (count === 1 || median === 0) return ''
  return `${((50 * (q3 - q1)) / Math.abs(median)).toFixed(1)} %`
}

function amount(value: number, unit: Unit): string {
  if (unit === 'ms') return duration(value)
  if (unit === 'bytes') return value < 0 ? `-${bytes(-value)}` : bytes(value)
  if (unit === 'µs') return `${value >= 100 ? value.toFixed(0) : Number(value.toPrecision(3))} µs`
  if (unit === 'TOPS') return rate(1000 * value)
  if (unit === 'x') return `${value >= 100 ? value.toFixed(0) : Number(value.toPrecision(4))} ×`
  if (unit === '%') return `${value.toFixed(1)} %`
  return String(value)
}
