/**
 * Builds expressions of custom semirings step by step, and converts them for native code, JSON and printing.
 */
import { show, showChoices, typeName } from '../describe.js'
import { LimitError, OptionError } from '../errors.js'
import { type ExpressionType, maxNodes, nodeWords } from '../expression-table.js'
import { assertNames } from '../options.js'
import type { ExpressionJson, LaneType } from '../user-semiring.js'
import { bitsOf, numberFromJson, numberOf, numberToJson, readNumber, showNumber } from './constants.js'
import { ARGUMENT, applicable, CONSTANT, type Operation, operations, typeIndex, typingOf } from './rules.js'

/** A step of an expression. The operands of the step `argument` are 0 for x or 1 for y, and the lane. */
interface Step {
  readonly operation: Operation
  readonly type: ExpressionType
  readonly operands: readonly number[]
  /** Bits of a constant. */
  readonly bits: number
}

/** An expression: operands precede the steps that use them. */
export interface Expression {
  readonly steps: readonly Step[]
  /** Index of the result's step for each lane. */
  readonly results: readonly number[]
}

/** Builder of an expression, which merges equal steps. `where` begins messages. */
export class Builder {
  readonly #steps: Step[] = []
  readonly #known = new Map<string, number>()

  constructor(
    readonly lanes: readonly LaneType[],
    readonly where: string,
  ) {}

  typeOf(index: number): ExpressionType {
    return this.#steps[index]!.type
  }

  argument(operand: 0 | 1, lane: number): number {
    return this.#add({ operation: ARGUMENT, type: this.lanes[lane]!, operands: [operand, lane], bits: 0 })
  }

  constant(value: unknown, type: LaneType, what = `${this.where}: a constant`): number {
    const bits = bitsOf(readNumber(value, type, what), type)
    return this.#add({ operation: CONSTANT, type, operands: [], bits })
  }

  /** Returns the index of the step of an operation, which is added if it is new. */
  apply(operation: Operation, operands: readonly Operand[]): number {
    const { name, takes } = operation
    if (operands.length !== takes.length) {
      throw new OptionError(
        `${this.where}: ${name} takes ${takes.length} ${takes.length === 1 ? 'operand' : 'operands'}, but it got ${operands.length}`,
      )
    }
    const given = operands.map((operand) => ('step' in operand ? this.typeOf(operand.step) : null))
    const typing = typingOf(operation, given, this.where)
    const steps = operands.map((operand, at) =>
      'step' in operand
        ? operand.step
        : this.constant(operand.number, typing.takes[at] as LaneType, `${this.where}: a number in ${name}`),
    )
    return this.#add({ operation, type: typing.gives, operands: steps, bits: 0 })
  }

  /** Returns the expression with these steps as the results of the lanes, without unused steps. */
  finish(results: readonly number[]): Expression {
    results.forEach((index, lane) => {
      const [type, expected] = [this.typeOf(index), this.lanes[lane]!]
      if (type === expected) return
      const inLane = this.lanes.length > 1 ? ` in lane ${lane}` : ''
      const advice =
        type === 'predicate'
          ? 'select(condition, 1, 0) makes a number of it'
          : `to${expected[0]!.toUpperCase()}${expected.slice(1)}() converts it`
      throw new OptionError(
        `${this.where} must give ${expected}${inLane}, but it gives ${type === 'predicate' ? 'a comparison' : type}: ${advice}`,
      )
    })
    return this.part(...results)
  }

  /** Returns the expression of these steps and the steps that they depend on. */
  part(...results: readonly number[]): Expression {
    const isNeeded = new Array<boolean>(this.#steps.length).fill(false)
    for (const index of results) isNeeded[index] = true
    for (let index = this.#steps.length - 1; index >= 0; index--) {
      const { operation, operands } = this.#steps[index]!
      if (isNeeded[index] && operation !== ARGUMENT) for (const operand of operands) isNeeded[operand] = true
    }
    const positions: number[] = []
    let count = 0
    for (const needed of isNeeded) positions.push(needed ? count++ : -1)
    const steps = this.#steps
      .filter((_, index) => isNeeded[index])
      .map((step) =>
        step.operation === ARGUMENT
          ? step
          : { ...step, operands: step.operands.map((operand) => positions[operand]!) },
      )
    return { steps, results: results.map((index) => positions[index]!) }
  }

  #add(step: Step): number {
    const key = `${step.operation.index} ${step.type} ${step.operands.join()} ${step.bits}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#steps.length === maxNodes) {
      throw new LimitError(
        `${this.where} has more than ${maxNodes} steps, the most that an expression may have: write it with fewer operations`,
      )
    }
    this.#known.set(key, this.#steps.length)
    return this.#steps.push(step) - 1
  }
}

/** An operand: a step by its index, or a number whose type follows from the other operands. */
export type Operand = { readonly step: number } | { readonly number: unknown }

/** Returns an expression as words for native code. */
export function wordsOf({ steps, results }: Expression): { nodes: Int32Array; results: Int32Array } {
  const nodes = new Int32Array(steps.length * nodeWords)
  steps.forEach(({ operation, type, operands, bits }, index) => {
    nodes.set([operation.index, typeIndex(type), ...operands], index * nodeWords)
    nodes[(index + 1) * nodeWords - 1] = bits
  })
  return { nodes, results: Int32Array.from(results) }
}

const sides = ['x', 'y'] as const

/** Returns an expression in its JSON form. */
export function expressionToJson({ steps, results }: Expression): ExpressionJson {
  return {
    steps: steps.map(({ operation, type, operands, bits }): ExpressionJson['steps'][number] => {
      if (operation === ARGUMENT) return [sides[operands[0]!]!, operands[1]!]
      if (operation !== CONSTANT) return [operation.name, ...operands]
      return ['constant', type, numberToJson(numberOf(bits, type as LaneType))]
    }),
    results,
  }
}

/**
 * Reads an expression from untrusted JSON.
 *
 * @throws ArgumentError (ERR_MPMML_OPTION), LimitError (ERR_MPMML_LIMIT).
 */
export function expressionFromJson(value: unknown, lanes: readonly LaneType[], where: string): Expression {
  assertNames(value, ['steps', 'results'], where)
  const { steps, results } = value as Record<string, unknown>
  if (!Array.isArray(steps))
    throw new OptionError(`${where}.steps must be an array, but it is ${typeName(steps)}`)
  if (steps.length > maxNodes) {
    throw new LimitError(`${where} has ${steps.length} steps, but an expression may have ${maxNodes} at most`)
  }
  const builder = new Builder(lanes, where)
  // Equal steps are merged, so the indices in a file can differ from the builder's.
  const positions: number[] = []
  for (const [index, step] of steps.entries()) {
    positions.push(readStep(builder, step, positions, `${where}.steps[${index}]`))
  }
  if (!Array.isArray(results) || results.length !== lanes.length) {
    throw new OptionError(
      `${where}.results must be an array of ${lanes.length} ${lanes.length === 1 ? 'index' : 'indices'} of steps, one for each lane, but it is ${Array.isArray(results) ? `one of ${results.length}` : typeName(results)}`,
    )
  }
  return builder.finish(
    Array.from(results as unknown[], (result, lane) =>
      readPlace(result, positions, `${where}.results[${lane}]`),
    ),
  )
}

function readStep(builder: Builder, value: unknown, positions: readonly number[], where: string): number {
  if (!Array.isArray(value) || value.length < 1 || value.length > 4) {
    throw new OptionError(
      `${where} must be an array such as ['add', 0, 1], but it is ${Array.isArray(value) ? `one of ${value.length}` : typeName(value)}`,
    )
  }
  const [name, ...operands] = value as unknown[]
  if (name === 'x' || name === 'y') {
    const [lane, ...rest] = operands
    const { lanes } = builder
    if (
      !(
        Number.isInteger(lane) &&
        (lane as number) >= 0 &&
        (lane as number) < lanes.length &&
        rest.length === 0
      )
    ) {
      throw new OptionError(`${where} must be ['${name}', lane] with a lane from 0 to ${lanes.length - 1}`)
    }
    return builder.argument(name === 'x' ? 0 : 1, lane as number)
  }
  if (name === 'constant') {
    const [type, number, ...rest] = operands
    if (!isLaneType(type) || rest.length > 0) {
      throw new OptionError(
        `${where} must be ['constant', type, number] with a type of ${showChoices(laneTypes)}`,
      )
    }
    return builder.constant(numberFromJson(number), type, where)
  }
  const operation = typeof name === 'string' ? operations.get(name) : undefined
  if (operation === undefined || !applicable.includes(operation)) {
    throw new OptionError(
      `${where} must begin with 'x', 'y', 'constant' or the name of an operation (${applicable.map(({ name }) => name).join(', ')}), but it begins with ${show(name)}`,
    )
  }
  const steps = operands.map((operand) => ({ step: readPlace(operand, positions, `an operand of ${where}`) }))
  return builder.apply(operation, steps)
}

function readPlace(value: unknown, positions: readonly number[], where: string): number {
  const position = typeof value === 'number' ? positions[value] : undefined
  if (position !== undefined) return position
  const requirement = `${where} must be the index of an earlier step`
  throw new OptionError(
    positions.length === 0
      ? `${requirement}, but it is ${show(value)} and there is none`
      : `${requirement}, an integer from 0 to ${positions.length - 1}, but it is ${show(value)}`,
  )
}

export const laneTypes: readonly LaneType[] = ['int32', 'uint32', 'float32']

export const isLaneType = (value: unknown): value is LaneType => laneTypes.includes(value as LaneType)

/** Operators of operations that aren't printed as functions. */
const infix = new Map([
  ['add', '+'],
  ['sub', '−'],
  ['mul', '·'],
  ['and', '&'],
  ['or', '|'],
  ['xor', '^'],
  ['shiftLeft', '<<'],
  ['shiftRight', '>>'],
  ['equal', '='],
  ['less', '<'],
  ['lessEqual', '≤'],
])
const prefix = new Map([
  ['neg', '−'],
  ['not', '~'],
])

/**
 * Prints an expression in mathematical notation; a subexpression that is used twice gets a name. Lanes are
 * x0, x1, …; the only lane is x.
 */
export function printExpression(
  { steps, results }: Expression,
  lanes: number,
): { text: string; named: string[] } {
  const uses = new Array<number>(steps.length).fill(0)
  for (const { operation, operands } of steps) {
    if (operation !== ARGUMENT) for (const operand of operands) uses[operand]!++
  }
  for (const result of results) uses[result]!++
  const texts: string[] = []
  const isCompound: boolean[] = []
  const named: string[] = []
  const inside = (index: number) => (isCompound[index] ? `(${texts[index]})` : texts[index]!)
  steps.forEach(({ operation: { name }, operands, type, bits }, index) => {
    const [first, second, third] = operands as [number, number, number]
    isCompound[index] = false
    if (name === 'argument') texts[index] = `${sides[first]}${lanes > 1 ? second : ''}`
    else if (name === 'constant')
      texts[index] = showNumber(numberOf(bits, type as LaneType), type as LaneType)
    else {
      isCompound[index] = infix.has(name) || name === 'select'
      texts[index] = infix.has(name)
        ? `${inside(first)} ${infix.get(name)} ${inside(second)}`
        : prefix.has(name)
          ? `${prefix.get(name)}${inside(first)}`
          : name === 'select'
            ? `${inside(first)} ? ${inside(second)} : ${inside(third)}`
            : `${name}(${operands.map((operand) => texts[operand]).join(', ')})`
      if (uses[index]! > 1) {
        const own = `t${named.length + 1}`
        named.push(`${own} = ${texts[index]}`)
        texts[index] = own
        isCompound[index] = false
      }
    }
  })
  const shown = results.map((index) => texts[index]!)
  return { text: lanes > 1 ? `[${shown.join(', ')}]` : shown[0]!, named }
}
