/** Reads matrices in CSV and TSV: a row per line. */

import { show } from '../describe.js'
import { bytesOfStored, newArray } from '../elements.js'
import { FileError } from '../errors.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import { allocate, MAX_DIMENSION, type Matrix } from '../matrix.js'
import { addon } from '../native.js'
import { toUtf8 } from '../platform.js'
import type { ElementArray } from '../storage.js'
import type { DataType } from '../variant-names.js'
import { cellText, isQuoted, lookAhead, nextCell, stepsUntilUnfinished } from './cells.js'
import { type DenseRequest, ElementMaker, infiniteZero, typeFor } from './dense.js'
import { decideDialect } from './dialect.js'
import { isWord } from './headings.js'
import { assertWithinLimit, newMatrixData } from './memory.js'
import { Pieces } from './pieces.js'
import type { LineParser, TextReader } from './text.js'

const COMMENT = '#'.charCodeAt(0)

/** Words for the zero of any semiring. */
const zeros = [toUtf8('.'), toUtf8('ε')]

const cellsText = (count: number) => (count === 1 ? '1 cell' : `${count} cells`)

const newFloats = (length: number, name: string) =>
  allocate(length, name, addon.dataTypes.indexOf('float64'), newArray) as Float64Array

/**
 * @param name - name of the file in errors.
 * @param isTsv - whether the file is TSV, whose separators are tabs.
 */
export function csvParser(
  name: string,
  request: DenseRequest,
  isTsv: boolean,
): LineParser<Matrix<ElementArray>> {
  // The type of an element may follow from the numbers yet to come.
  const minBytes = bytesOfStored(request.dtype ?? 'int32')
  const infinity = infiniteZero(request.semiring)
  const zero = Number.isNaN(infinity) ? 0 : infinity
  const numbers = new Pieces((length) => newFloats(length, name))
  let count = 0
  let rows = 0
  let cols = 0
  let begun = false
  /** Whether all numbers are int32 integers, or the semiring's zero. */
  let integral = true

  const cell = (reader: TextReader, col: number): number => {
    const value = reader.decimal()
    if (!Number.isNaN(value)) {
      if (!(reader.integral && value >= MIN_INT32 && value <= MAX_INT32)) integral = false
      return value
    }
    for (const word of zeros) if (reader.skipIf(word)) return zero
    const quoted = isQuoted(reader)
    if (quoted || reader.bytes[reader.position] === reader.separator || reader.atLineEnd()) {
      const reason = quoted ? `is a text, ${show(reader.word())}` : 'is empty'
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

  function* row(reader: TextReader): Steps<void> {
    const start = count
    do {
      if (count % PER_SLICE === 0) {
        assertWithinLimit(count * minBytes, request.maxBytes, name)
        yield
      }
      numbers.add(cell(reader, count++ - start))
    } while (nextCell(reader))
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
    *lines(reader) {
      while (reader.nextContent(COMMENT)) {
        if (!begun) {
          if (!(yield* stepsUntilUnfinished(reader, decideDialect(reader, isTsv, false)))) return
          begun = true
          if (!reader.nextContent(COMMENT)) return
          if (isHeading(reader)) {
            reader.nextLine()
            continue
          }
        }
        yield* row(reader)
      }
    },
    *end(reader) {
      reader.assertClear()
      if (rows === 0)
        throw new FileError(`${name}: expected a row of numbers in each line, but it has no row`)
      const dtype = typeFor(request, integral ? 'integer' : 'real', name)
      const data = yield* joined(numbers, dtype, request, name, cols)
      return { data, shape: [rows, cols] }
    },
  }
}

/** Returns whether no cell of the line can be meant as a number. */
const isHeading = (reader: TextReader): boolean =>
  lookAhead(reader, () => {
    do {
      const quoted = isQuoted(reader)
      if (!isWord(cellText(reader), quoted)) return false
    } while (nextCell(reader))
    return true
  }) ?? false

/** Returns the collected numbers as elements of a type. */
function* joined(
  numbers: Pieces<Float64Array>,
  dtype: DataType,
  { semiring, maxBytes }: DenseRequest,
  name: string,
  cols: number,
): Steps<ElementArray> {
  const data = newMatrixData(numbers.count, name, dtype, maxBytes)
  const make = new ElementMaker(semiring, dtype)
  let at = 0
  for (const part of numbers.parts()) {
    for (const value of part) {
      data[at] = make.of(value) ?? make.refuse(name, value, [Math.floor(at / cols), at % cols])
      if (++at % PER_SLICE === 0) yield
    }
  }
  return data
}
