/** Matrices in CSV and TSV: a row per line. */

import { show } from '../describe.js'
import { bytesOfStored, newArray } from '../elements.js'
import { FileError } from '../errors.js'
import { toUtf8 } from '../host.js'
import { allocate, MAX_DIMENSION, type Matrix } from '../matrix.js'
import { addon } from '../native.js'
import type { ElementArray } from '../storage.js'
import type { DataType } from '../variant-names.js'
import { ElementMaker, infiniteZero, typeFor, type Wanted } from './dense.js'
import { LEAST_INT32, MOST_INT32 } from './entries.js'
import { newMatrixData, requireWithin } from './memory.js'
import { headings, separatorOf } from './separators.js'
import type { LineParser, TextReader } from './text.js'

const COMMENT = '#'.charCodeAt(0)
const QUOTATION = '"'.charCodeAt(0)

/** What stands for the semiring's zero, whatever that is. */
const zeros = [toUtf8('.'), toUtf8('ε')]

const cellsText = (count: number) => (count === 1 ? '1 cell' : `${count} cells`)

const newFloats = (length: number, name: string) =>
  allocate(length, name, addon.dataTypes.indexOf('float64'), newArray) as Float64Array

/** @param name - what errors call the file. */
export function csvParser(name: string, wanted: Wanted): LineParser<Matrix<ElementArray>> {
  // The type of an element may follow from the numbers yet to come.
  const leastBytes = bytesOfStored(wanted.dtype ?? 'int32')
  const infinity = infiniteZero(wanted.semiring)
  const zero = Number.isNaN(infinity) ? 0 : infinity
  let values = newFloats(1024, name)
  let count = 0
  let rows = 0
  let cols = 0
  let begun = false
  /** Whether all numbers are int32 integers, or the semiring's zero. */
  let integral = true

  const cell = (reader: TextReader, col: number): number => {
    const value = reader.decimal()
    if (!Number.isNaN(value)) {
      if (!(reader.integral && value >= LEAST_INT32 && value <= MOST_INT32)) integral = false
      return value
    }
    for (const word of zeros) if (reader.skipIf(word)) return zero
    const next = reader.bytes[reader.position]
    if (next === QUOTATION || next === reader.separator || reader.atLineEnd()) {
      const reason = next === QUOTATION ? `is a text, ${show(reader.word())}` : 'is empty'
      const names =
        rows === 0 && col === 0
          ? ', and leave out names of rows and columns (in pandas by index=False, header=False)'
          : ''
      reader.fail(`cell ${col + 1} ${reason}: write a number, or . for the semiring's zero${names}`)
    }
    const special = reader.floating(`cell ${col + 1}`)
    if (special !== zero) integral = false
    return special
  }

  const line = (reader: TextReader) => {
    const start = count
    for (;;) {
      if (count === values.length) {
        requireWithin(count * leastBytes, wanted.maxBytes, name)
        const larger = newFloats(2 * count, name)
        larger.set(values)
        values = larger
      }
      values[count] = cell(reader, count - start)
      count++
      if (reader.atLineEnd()) break
      if (reader.separator < 0) continue
      if (reader.bytes[reader.position] !== reader.separator) {
        reader.fail(
          `expected ${show(String.fromCharCode(reader.separator))} or the end of the line, but got ${show(reader.restOfLine())}`,
        )
      }
      reader.position++
    }
    if (rows++ === 0) cols = count
    if (count - start !== cols) {
      reader.fail(`this row has ${cellsText(count - start)}, but the first row has ${cols}`)
    }
    if (cols > MAX_DIMENSION || rows > MAX_DIMENSION) {
      reader.fail(`a matrix has at most ${MAX_DIMENSION} rows and columns`)
    }
    reader.endLine()
  }

  return {
    lines(reader) {
      while (reader.nextContent(COMMENT)) {
        if (begun) {
          line(reader)
          continue
        }
        begun = true
        reader.separator = separatorOf(reader)
        if (headings(reader)) reader.nextLine()
        else line(reader)
      }
    },
    end() {
      if (rows === 0)
        throw new FileError(`${name}: expected a row of numbers in each line, but it has no row`)
      const dtype = typeFor(wanted, integral ? 'integer' : 'real', name)
      const data =
        dtype === 'float64' && count === values.length && 8 * count <= wanted.maxBytes
          ? values
          : converted(values.subarray(0, count), dtype, wanted, name, cols)
      return { data, shape: [rows, cols] }
    },
  }
}

/** The numbers as elements of a type. */
function converted(
  values: Float64Array,
  dtype: DataType,
  { semiring, maxBytes }: Wanted,
  name: string,
  cols: number,
): ElementArray {
  const data = newMatrixData(values.length, name, dtype, maxBytes)
  if (dtype === 'float64') {
    data.set(values)
    return data
  }
  const make = new ElementMaker(semiring, dtype)
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!
    data[at] = make.of(value) ?? make.refuse(name, value, [Math.floor(at / cols), at % cols])
  }
  return data
}
