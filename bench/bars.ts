/** Draws bars in the terminal. */
import { greatest } from './min-max.js'

/** Length of the longest bar in characters. */
const LONGEST = 40

/** Block characters by filled eighths of a cell. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

export interface Bar {
  label: string
  value: number
  /** Text after the bar. */
  text: string
}

/** Returns horizontal bars that start at 0, one per line. */
export function barsText(bars: readonly Bar[]): string {
  const most = Math.max(greatest(bars.map(({ value }) => value)), 0)
  const width = greatest(bars.map(({ label }) => label.length))
  return bars
    .map(({ label, value, text }) => {
      const eighths = most > 0 ? Math.round((8 * LONGEST * Math.max(value, 0)) / most) : 0
      const bar = '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]
      return `${label.padEnd(width)}  ${bar.padEnd(LONGEST)}  ${text}`.trimEnd()
    })
    .join('\n')
}
