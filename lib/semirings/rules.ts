/** Typing rules of operations. */
import { showChoices } from '../describe.js'
import { OptionError } from '../errors.js'
import {
  type ExpressionOperation,
  type ExpressionType,
  expressionOperations,
  expressionTypes,
} from '../expression-table.js'

/** An operation and its index in the table. */
export interface Operation extends ExpressionOperation {
  readonly index: number
}

/** The operations by their names. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  expressionOperations.map((operation: ExpressionOperation, index) => [
    operation.name,
    { ...operation, index },
  ]),
)

export const ARGUMENT = operations.get('argument')!
export const CONSTANT = operations.get('constant')!

/**
 * Operations that users write or call: all except arguments, constants and operations that only native code
 * generates.
 */
export const applicable: readonly Operation[] = [...operations.values()].filter(
  (operation) => operation !== ARGUMENT && operation !== CONSTANT && operation.becomes !== 'internal',
)

export const typeIndex = (type: ExpressionType): number => expressionTypes.indexOf(type)

/** The types of an operation's result and operands. */
interface Typing {
  readonly gives: ExpressionType
  readonly takes: readonly ExpressionType[]
}

const conversions = 'convert one with toInt32, toUint32 or toFloat32'

/**
 * Returns the types of an operation for the types of its operands. Null stands for a number, which gets the
 * type of the other operands. `where` begins messages.
 *
 * @throws ArgumentError (ERR_MPMML_OPTION).
 */
export function typingOf(
  { name, gives, takes }: Operation,
  given: readonly (ExpressionType | null)[],
  where: string,
): Typing {
  const fail = (message: string): never => {
    throw new OptionError(`${where}: ${name} ${message}`)
  }
  const common = (kind: 'same' | 'alike'): ExpressionType | null => {
    const types = [...new Set(given.filter((type, at) => type !== null && takes[at] === kind))]
    if (types.length > 1) {
      fail(`takes values of one type, but they are of ${types.join(' and ')}: ${conversions}`)
    }
    return types[0] ?? null
  }
  const needsType = () =>
    fail(
      "has only numbers, so that nothing says their type: write constant(1, 'int32') or the like for one of them",
    )
  const only = gives.length === 1 ? gives[0]! : null
  const same = common('same')
  const result = takes.includes('same') ? (same ?? only ?? needsType()) : only!
  if (!gives.includes(result)) {
    const advice =
      result === 'predicate'
        ? 'select() makes a number of a comparison'
        : 'toInt32, toUint32 and toFloat32 convert'
    fail(`gives ${showChoices(gives)}, but its operands are of ${result}: ${advice}`)
  }
  const alike = takes.includes('alike') ? (common('alike') ?? needsType()) : null
  if (alike === 'predicate') {
    fail('compares numbers, but it got a comparison: and, or, xor and not join those')
  }
  const operandOf = (kind: (typeof takes)[number], type: ExpressionType | null): ExpressionType => {
    if (kind === 'same') return result
    if (kind === 'alike') return alike!
    if (type === null && kind === 'number') needsType()
    if ((type === 'predicate') === (kind === 'predicate')) return type!
    return kind === 'number'
      ? fail('takes a number, but it got a comparison: select() makes a number of one')
      : fail(
          `takes a comparison such as less(x, y) first, but it got a ${type === null ? 'number' : `value of ${type}`}`,
        )
  }
  return { gives: result, takes: takes.map((kind, at) => operandOf(kind, given[at] ?? null)) }
}
