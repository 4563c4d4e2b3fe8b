/** Prints the output of commands: results on stdout, the state of long work on stderr. */
import { greatest } from './min-max.js'

/**
 * Handles errors of stdout. A closed pipe (`mpmml variants | head`) isn't a failure, and a full disk doesn't
 * crash the process.
 */
export function watchOutput(): void {
  // Failures of single writes are reported by print(); without a listener they would end the process with a stack.
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
}

/** Prints `text` and a line break on stdout; resolves once the system has accepted it. */
export const print = (text: string): Promise<void> => write(`${text}\n`)

/** Prints `text` unchanged. */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      const { code } = (error ?? {}) as NodeJS.ErrnoException
      if (!error || code === 'EPIPE') resolve()
      else reject(new Error(`the result can't be written to stdout: ${error.message}`))
    })
  })
}

export function printJson(value: unknown): Promise<void> {
  let text: string
  try {
    text = JSON.stringify(value, null, 2)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Error(`the result is too long for one JSON value: ${error.message}`, { cause: error })
  }
  return print(text)
}

const styles = { dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const

/** Returns the text in a colour, if the stream is a terminal with colours and NO_COLOR isn't set. */
export function styled(stream: NodeJS.WriteStream, style: keyof typeof styles, text: string): string {
  if (!stream.isTTY || !stream.hasColors?.()) return text
  const [on, off] = styles[style]
  return `\x1b[${on}m${text}\x1b[${off}m`
}

/** Formats labels and values in aligned columns. Rows without a value are omitted. */
export function labelled(rows: [label: string, value: string | undefined][]): string {
  const shown = rows.filter(([, value]) => value !== undefined && value !== '')
  const width = widest(shown.map(([label]) => label))
  return shown
    .map(([label, value]) => `${styled(process.stdout, 'dim', label.padEnd(width))}  ${value}`)
    .join('\n')
}

const widest = (texts: readonly string[]) => greatest(texts.map(({ length }) => length))

/** Formats a table with aligned columns. The first row is the header. */
export function table(rows: string[][], align: 'left' | 'right' = 'left'): string {
  const widths = rows[0]!.map((_, column) => widest(rows.map((row) => row[column]!)))
  const padded = (cell: string, column: number) => {
    if (align === 'right') return cell.padStart(widths[column]!)
    // The last cell isn't padded, because it may be a path of many nodes.
    return column === widths.length - 1 ? cell : cell.padEnd(widths[column]!)
  }
  return rows.map((row) => row.map(padded).join('  ').trimEnd()).join('\n')
}

/** Length up to which a line break counts as intended. */
const SHORT_LINE = 100

/** Wraps paragraphs at `columns` characters. Breaks after short lines and indented lines are kept. */
export function reflow(text: string, columns: number): string {
  const joined = text.replaceAll(new RegExp(`^(\\S.{${SHORT_LINE - 1},})\\n(?=\\S)`, 'gm'), '$1 ')
  return joined
    .split('\n')
    .map((line) => wrapped(line, Math.max(40, columns)))
    .join('\n')
}

function wrapped(line: string, columns: number): string {
  const lines: string[] = []
  let rest = line
  while (rest.length > columns && !rest.startsWith(' ')) {
    const end = rest.lastIndexOf(' ', columns)
    if (end <= 0) break
    lines.push(rest.slice(0, end))
    rest = rest.slice(end + 1)
  }
  return [...lines, rest].join('\n')
}

/** Shows `status` while `work` runs, if stderr is a terminal. */
export async function withStatus<T>(status: string, work: () => Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work()
  process.stderr.write(`${status} …`)
  try {
    return await work()
  } finally {
    process.stderr.write('\r\x1b[K')
  }
}

/**
 * Returns `text` on one line without control characters, because file names and headers may contain any
 * characters.
 */
export function oneLine(text: string): string {
  return text
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

/** Returns a duration as text, such as "12.3 ms" or "1.23 s". */
export function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${significant(milliseconds)} ms` : `${significant(milliseconds / 1000)} s`
}

/** Returns a speed as text, such as "12.3 GOPS" or "1.23 TOPS". */
export function rate(gops: number): string {
  return gops < 1000 ? `${significant(gops)} GOPS` : `${significant(gops / 1000)} TOPS`
}

/** Returns a size as text, such as "16 KiB". */
export function bytes(count: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = count > 0 ? Math.min(units.length - 1, Math.floor(Math.log2(count) / 10)) : 0
  return `${significant(count / 1024 ** power)} ${units[power]}`
}

/** Formats a number with three significant digits and without an exponent. */
function significant(value: number): string {
  return value >= 100 ? value.toFixed(0) : threeDigits.format(value)
}

const threeDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, useGrouping: false })

/** Formats a time of a plan with at most 9 significant digits. */
export const exact = (value: number) => `${Number(value.toPrecision(9))}`

/** Returns a shape as text, such as "192 × 256". */
export function shapeText(shape: readonly number[]): string {
  return shape.join(' × ')
}

/** Returns the name of a product's shape, such as "1024³", "20 × 1024³" or "8192×64×8192" (M × K × N). */
export function shapeName({ batch, m, n, k }: { batch: number; m: number; n: number; k: number }): string {
  const one = m === n && n === k ? `${m}³` : `${m}×${k}×${n}`
  return batch === 1 ? one : `${batch} × ${one}`
}

/** Returns the rows that describe a GPU. "maxClockMHz" becomes "max clock" with a value in MHz. */
export function deviceRows(
  device: Readonly<Record<string, string | number>>,
): [label: string, value: string][] {
  return Object.entries(device).map(([key, value]) => {
    const [, name, unit] = /^(.*?)(Bytes|MHz|Bits)?$/.exec(key)!
    const label = name!.replace(
      /[A-Z]+/g,
      (capitals) => ` ${capitals.length > 1 ? capitals : capitals.toLowerCase()}`,
    )
    if (unit === 'Bytes') return [label, bytes(Number(value))]
    if (unit === 'MHz') return [label, `${value} MHz`]
    if (unit === 'Bits') return [label, `${value} bits`]
    return [label, String(value)]
  })
}
