/** Reads the option `structure`: the elements of the matrices that belong to a product. */
import { show, showChoices, showList, typeName } from '../describe.js'
import { OptionError } from '../errors.js'
import { requestAt } from '../fields.js'
import { assertNames, option } from '../options.js'

/**
 * Band of the elements of a matrix that belong to a product: −below ≤ j − i ≤ above. 'upper' is { band: [0,
 * Infinity] }, with the diagonal; 'strictly-upper', without it, is { band: [-1, Infinity] }; 'lower' and
 * 'strictly-lower' are their mirror images; 'general' has all elements. Both numbers are integers or
 * Infinity. A negative number moves the band away from the diagonal, and a band may be empty.
 */
export type MatrixStructure =
  | 'general'
  | 'upper'
  | 'lower'
  | 'strictly-upper'
  | 'strictly-lower'
  | { readonly band: readonly [below: number, above: number] }

/**
 * Structure of the matrices of a product; 'general' for omitted ones.
 *
 * @example
 * const triangle = matrix(2, 2, [1, 2, 99, 3]) // 99 doesn't matter
 * const { c } = await mpmm(triangle, triangle, { structure: { a: 'upper', b: 'upper' } })
 * console.log(c.data.join()) // 2,5,-2147483648,6
 */
export interface ProductStructure {
  /** Structure of a: elements outside count as the semiring's zero, and are never read. */
  readonly a?: MatrixStructure | undefined
  /** Structure of b: elements outside count as the semiring's zero, and are never read. */
  readonly b?: MatrixStructure | undefined
  /** Structure of c and the witness: elements outside are no results, and aren't written. */
  readonly c?: MatrixStructure | undefined
}

type Band = readonly [below: number, above: number]

const bands: Readonly<Record<Exclude<MatrixStructure, object>, Band>> = {
  general: [Infinity, Infinity],
  upper: [0, Infinity],
  lower: [Infinity, 0],
  'strictly-upper': [-1, Infinity],
  'strictly-lower': [Infinity, -1],
}

/** The option after it has been read. */
export interface ReadStructure {
  readonly a: Band
  readonly b: Band
  readonly c: Band
  /** Value in results and messages. */
  readonly shown: Readonly<Required<ProductStructure>>
}

const names: readonly (keyof ProductStructure)[] = ['a', 'b', 'c']

/** Reads the option, called `name` in messages. */
export function readStructure(value: unknown, name: string | object): ReadStructure {
  if (typeof value !== 'object' || value === null) {
    throw new OptionError(
      `option ${name} must be an object such as { a: 'upper', b: 'upper' }, but it is ${show(value)}`,
    )
  }
  assertNames(value, names, `option ${name}`)
  const { a, b, c } = value as Record<string, unknown>
  const left = readMatrix(a, `${name}.a`)
  const right = readMatrix(b, `${name}.b`)
  const result = readMatrix(c, `${name}.c`)
  return {
    a: left.band,
    b: right.band,
    c: result.band,
    shown: { a: left.shown, b: right.shown, c: result.shown },
  }
}

/** The option `structure`; null if omitted. */
export const structure = option(null, readStructure)

function readMatrix(value: unknown, name: string): { band: Band; shown: MatrixStructure } {
  if (value === undefined) return { band: bands.general, shown: 'general' }
  if (typeof value === 'string' && Object.hasOwn(bands, value)) {
    const shown = value as Exclude<MatrixStructure, object>
    return { band: bands[shown], shown }
  }
  if (typeof value !== 'object' || value === null) {
    throw new OptionError(
      `option ${name} must be ${showChoices(Object.keys(bands))}, or { band: [below, above] }, but it is ${show(value)}`,
    )
  }
  assertNames(value, ['band'], `option ${name}`)
  const { band } = value as { band: unknown }
  if (!Array.isArray(band)) {
    throw new OptionError(`option ${name}.band must be an array [below, above], but it is ${typeName(band)}`)
  }
  const [below, above, ...rest] = band as unknown[]
  if (!isReach(below) || !isReach(above) || rest.length > 0) {
    throw new OptionError(
      `option ${name}.band must be two numbers, each an integer or Infinity, but it is ${showList(band)}`,
    )
  }
  // The sum of −0 and 0 is 0.
  return { band: [below + 0, above + 0], shown: { band: [below + 0, above + 0] } }
}

const isReach = (value: unknown): value is number => value === Infinity || Number.isSafeInteger(value)

/** Fields of a request. */
export type StructureFields = Readonly<
  Record<'structured' | `${'a' | 'b' | 'c'}${'Below' | 'Above'}`, number>
>

/**
 * Writes the structure of a product into `request`, whose fields begin at `start`. Without a structure,
 * writes only 0 to the field `structured`.
 */
export function writeStructure(
  request: Float64Array,
  structure: ReadStructure | null,
  start: number,
  at: StructureFields = requestAt,
): void {
  request[start + at.structured] = structure ? 1 : 0
  if (!structure) return
  request[start + at.aBelow] = structure.a[0]
  request[start + at.aAbove] = structure.a[1]
  request[start + at.bBelow] = structure.b[0]
  request[start + at.bAbove] = structure.b[1]
  request[start + at.cBelow] = structure.c[0]
  request[start + at.cAbove] = structure.c[1]
}
