/** Measured figures of docs/measured.json, for the tables and the pictures of these pages. */
import { readFileSync } from 'node:fs'

/** A set of figures of one measurement. */
class Measured {
  constructor(name, { what, on, date, command, unit, columns, rows }) {
    this.name = name
    /** Subject of the measurement. */
    this.what = what
    /** The machine. */
    this.on = on
    /** @type {string} */
    this.date = date
    /** @type {string} */
    this.command = command
    this.unit = unit
    /** @type {string[]} */
    this.columns = columns
    /** @type {Record<string, (string | number | null)[]>} by names for programs; each begins with what the row is called. */
    this.rows = rows
  }

  label(row) {
    return this.rows[row][0]
  }

  at(row, column) {
    const figure = this.rows[row]?.[this.columns.indexOf(column) + 1]
    if (figure == null) throw new Error(`docs/measured.json has no figure ${this.name}, ${row}, ${column}`)
    return figure
  }
}

const file = JSON.parse(readFileSync(new URL('measured.json', import.meta.url), 'utf8'))

/** @type {Record<string, Measured>} the sets of figures by name. */
export const sets = Object.fromEntries(
  Object.entries(file.sets).map(([name, set]) => [name, new Measured(name, set)]),
)

/** @type {{ page: string, figure: string, what: string, on: string, date: string, command: string }[]} figures of one sentence. */
export const single = file.single
