/** Lines of cells: CSV with commas, semicolons, tabs or spaces. */

import { PER_STEP, type Steps } from './slices.js'

/** What was entered can't be computed with. `field` says where it stands; it is the first one by default. */
export class InputError extends Error {
  constructor(
    message: string,
    readonly field?: string,
  ) {
    super(message)
  }
}

/** What `read` gives of a field; what the library says against it is what the user has to know. */
export function reading<Result>(read: () => Result, field?: string): Result {
  try {
    return read()
  } catch (error) {
    const { message } = error as Error
    throw new InputError(
      `${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, '.'),
      field,
    )
  }
}

export async function textIn(file: File): Promise<string> {
  const text = await file.text()
  if (text.includes('\0')) throw new InputError(`${file.name} is no text: save it as .csv.`)
  return text
}

export interface Line {
  readonly line: number
  readonly cells: string[]
}

/** The cells of each line that isn't empty or a comment; a cell in quotation marks may hold separators. */
export function* readCells(text: string): Steps<Line[]> {
  const lines = text
    .split(/\r\n|\n|\r/)
    .map((content, index) => ({ line: index + 1, content: content.trim() }))
  const full = lines.filter(({ content }) => content !== '' && !content.startsWith('#'))
  const separator = separatorOf(full.map(({ content }) => content))
  const read: Line[] = []
  let characters = 0
  for (const { line, content } of full) {
    read.push({ line, cells: split(content, separator) })
    characters += content.length
    if (characters < PER_STEP) continue
    characters = 0
    yield
  }
  return read
}

/** The cells of a text that is short. */
export function cellsOf(text: string): Line[] {
  const steps = readCells(text)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** What all lines have; otherwise what some have. */
function separatorOf(lines: readonly string[]): RegExp {
  const marks = ['\t', ',', ';']
  const all = marks.find((mark) => lines.every((line) => line.includes(mark)))
  const mark = all ?? marks.find((mark) => lines.some((line) => line.includes(mark)))
  return mark ? new RegExp(mark, 'y') : /\s+/y
}

function split(line: string, separator: RegExp): string[] {
  const cells: string[] = []
  let cell = ''
  let quoted = false
  for (let at = 0; at < line.length; ) {
    separator.lastIndex = at
    const found = quoted ? null : separator.exec(line)
    if (found) {
      cells.push(cell.trim())
      cell = ''
      at += found[0].length
      continue
    }
    if (line[at] === '"' && line[at + 1] === '"' && quoted) cell += line[at++]
    else if (line[at] === '"') quoted = !quoted
    else cell += line[at]
    at++
  }
  return [...cells, cell.trim()]
}

/** The number that a cell is; NaN if it is none. What stands for nothing is `none`. */
export function numberOf(cell: string, none = Number.NaN): number {
  if (/^([.ε]|)$/.test(cell)) return none
  if (/^[+]?(inf|infinity|∞)$/i.test(cell)) return Number.POSITIVE_INFINITY
  if (/^[-−](inf|infinity|∞)$/i.test(cell)) return Number.NEGATIVE_INFINITY
  return Number(cell.replace('−', '-'))
}
