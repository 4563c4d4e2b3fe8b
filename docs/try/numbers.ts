/** Generates matrices, reads them from text, and converts them to operands of a product. */
import { type ElementArray, type Matrix, matrix, type Semiring, zeroOf } from 'mpmml'
import { InputError, numberOf, readCells } from './csv.js'
import { shown } from './dom.js'
import { forEachIndex, PER_STEP, type Steps } from './slices.js'

export const types = {
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
}
export type Type = keyof typeof types

export interface Numbers {
  readonly rows: number
  readonly cols: number
  /** Elements; NaN represents the semiring's zero. */
  readonly values: Float64Array | ElementArray
}

/** Generates integers from −1000 to 1000, equal for equal seeds. */
export function* random(rows: number, cols: number, seed: number): Steps<Numbers> {
  const values = new Float64Array(rows * cols)
  let state = seed
  yield* forEachIndex(values.length, (index) => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    values[index] = ((state >>> 8) % 2001) - 1000
  })
  return { rows, cols, values }
}

/** Returns the elements in row-major order, because a file may be column-major. */
export function* inRows({ data, shape, strides, offset = 0 }: Matrix<ElementArray>): Steps<Numbers> {
  const [rows, cols] = shape as readonly [number, number]
  const [down, right] = (strides ?? [cols, 1]) as readonly [number, number]
  if (down === cols && right === 1) return { rows, cols, values: data.subarray(offset, offset + rows * cols) }
  const values = data.slice(0, rows * cols)
  yield* forEachIndex(values.length, (at) => {
    values[at] = data[offset + Math.floor(at / cols) * down + (at % cols) * right]!
  })
  return { rows, cols, values }
}

/** Reads a matrix with a line for each row. `wrong` converts messages to errors. */
export function* readNumbers(
  text: string,
  name: string,
  wrong: (message: string) => InputError,
): Steps<Numbers> {
  const lines = yield* readCells(text)
  const cols = lines[0]?.cells.length ?? 0
  if (cols === 0) throw wrong(`Enter matrix ${name}: a line for each row.`)
  const values = new Float64Array(lines.length * cols)
  for (const [row, { line, cells }] of lines.entries()) {
    if (cells.length !== cols) {
      throw wrong(`Line ${line}: expected ${cols} numbers, as in the first row, but found ${cells.length}.`)
    }
    for (const [col, cell] of cells.entries()) {
      const value = numberOf(cell)
      if (Number.isNaN(value) && !/^([.ε]|)$/.test(cell)) {
        throw wrong(`Line ${line}: expected a number, or . for the semiring’s zero, but found “${cell}”.`)
      }
      values[row * cols + col] = value
    }
    if (row % Math.ceil(PER_STEP / cols / 16) === 0) yield
  }
  return { rows: lines.length, cols, values }
}

export const hasType = (semiring: Semiring, type: Type): boolean => {
  try {
    zeroOf(semiring, type)
    return true
  } catch {
    return false
  }
}

const holds = (type: Type, value: number) =>
  type === 'int32' ? (value | 0) === value : type === 'uint8' ? value === 0 || value === 1 : true

/**
 * Replaces the int32 zero by NaN if int32 can represent all other values. Files store the zero as an int32,
 * while people write an infinity.
 */
export function* withZeros(numbers: Numbers, semiring: Semiring): Steps<Numbers> {
  if (!hasType(semiring, 'int32')) return numbers
  const [zero, infinity] = [zeroOf(semiring, 'int32'), zeroOf(semiring, 'float64')]
  const values = new Float64Array(numbers.values.length)
  const areHeld = yield* forEachIndex(values.length, (index) => {
    const value = numbers.values[index]!
    const isZero = Number.isNaN(value) || value === zero || value === infinity
    values[index] = isZero ? Number.NaN : value
    return isZero || holds('int32', value)
  })
  return areHeld ? { ...numbers, values } : numbers
}

/** Returns the first value that a type can't represent; undefined if it represents all values. */
function* notHeld({ values }: Numbers, type: Type): Steps<number | undefined> {
  if (type === 'float32' || type === 'float64') return undefined
  let wrong: number | undefined
  yield* forEachIndex(values.length, (index) => {
    const value = values[index]!
    if (Number.isNaN(value) || holds(type, value)) return true
    wrong = value
    return false
  })
  return wrong
}

/**
 * Returns the type of both operands: the requested type, or the first type that represents all values
 * exactly.
 */
export function* typeOf(semiring: Semiring, requested: string, ...operands: Numbers[]): Steps<Type> {
  const known = (Object.keys(types) as Type[]).filter((type) => hasType(semiring, type))
  if (requested !== 'automatic') {
    const found = known.find((type) => type === requested)
    if (!found)
      throw new InputError(`${semiring} has elements of ${known.join(', ')}, not of ${requested}.`, 'type')
    return found
  }
  const order = (['int32', 'float64', 'uint8'] as const).filter((type) => known.includes(type))
  for (const type of order) {
    let fits = true
    for (const one of operands) fits &&= (yield* notHeld(one, type)) === undefined
    if (fits) return type
  }
  return order[0]!
}

export function* operandOf(numbers: Numbers, name: string, semiring: Semiring, type: Type) {
  const { rows, cols, values } = numbers
  const wrong = yield* notHeld(numbers, type)
  if (wrong !== undefined)
    throw new InputError(
      `It has ${shown(wrong)}, which ${type === 'uint8' ? 'is no truth value, 0 or 1' : `isn’t an ${type}`}.`,
      name.toLowerCase(),
    )
  const zero = zeroOf(semiring, type)
  const elements: ElementArray = new types[type](values.length)
  yield* forEachIndex(values.length, (index) => {
    const value = values[index]!
    elements[index] = Number.isNaN(value) ? zero : value
  })
  return matrix(rows, cols, elements)
}
