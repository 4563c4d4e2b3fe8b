/** Symbolic values for the functions of a semiring: each operation on them adds a step to an expression. */
import { show, showList, typeName } from '../describe.js'
import { OptionError } from '../errors.js'
import type { LaneType } from '../user-semiring.js'
import {
  Builder,
  type Expression,
  isLaneType,
  laneTypes,
  type Operand,
  printExpression,
} from './expression.js'
import { applicable, type Operation } from './rules.js'

/** Operand of operations: a value, or a number of the other operands' type. */
export type ValueOrNumber<T extends LaneType = LaneType> = Value<T> | number

/**
 * A value of an expression. It isn't a number: `x.add(y)` is written in place of `x + y`, `less(x, y)` in place of `x < y`,
 * `select(condition, x, y)` in place of `condition ? x : y`.
 *
 * Integers are computed modulo 2^32, floats by IEEE 754, rounded to nearest. Each operation is also a
 * function of the third argument of `plus` and `times`: see {@link Operations}.
 */
export interface Value<T extends LaneType = LaneType> {
  /** Type of the value. */
  readonly type: T
  /** this + y */
  add(y: ValueOrNumber<T>): Value<T>
  /** this − y */
  sub(y: ValueOrNumber<T>): Value<T>
  /** this · y */
  mul(y: ValueOrNumber<T>): Value<T>
  /** this · y + z, rounded once; for float32. */
  fma(y: ValueOrNumber<T>, z: ValueOrNumber<T>): Value<T>
  /** −this */
  neg(): Value<T>
  /** Absolute value, for int32 and float32. The absolute value of −2^31 is −2^31. */
  abs(): Value<T>
  /** Lesser of this and y: −0 is less than +0, and a NaN gives the other operand. */
  min(y: ValueOrNumber<T>): Value<T>
  /** Greater of this and y: −0 is less than +0, and a NaN gives the other operand. */
  max(y: ValueOrNumber<T>): Value<T>
  /** Bitwise AND; for integers. */
  and(y: ValueOrNumber<T>): Value<T>
  /** Bitwise OR; for integers. */
  or(y: ValueOrNumber<T>): Value<T>
  /** Bitwise XOR; for integers. */
  xor(y: ValueOrNumber<T>): Value<T>
  /** Bitwise complement; for integers. */
  not(): Value<T>
  /** Shifts left by y modulo 32 bits; for integers. */
  shiftLeft(y: ValueOrNumber<T>): Value<T>
  /** Shifts right by y modulo 32 bits, preserving the sign of int32; for integers. */
  shiftRight(y: ValueOrNumber<T>): Value<T>
  /** Number of 1 bits of an integer. */
  popcount(): Value<T>
  /** this = y; false if one is NaN. */
  equal(y: ValueOrNumber<T>): Condition
  /** this < y; false if one is NaN. */
  less(y: ValueOrNumber<T>): Condition
  /** this ≤ y; false if one is NaN. */
  lessEqual(y: ValueOrNumber<T>): Condition
  /** e to the power of this, with an error of at most 2 ulp; for float32. */
  exp(): Value<T>
  /** 2 to the power of this, with an error of at most 2 ulp; for float32. */
  exp2(): Value<T>
  /** Natural logarithm, with an error of at most 2 ulp; for float32. */
  log(): Value<T>
  /** log(1 + this), with an error of at most 2 ulp; for float32. */
  log1p(): Value<T>
  /** Square root, rounded to nearest; for float32. */
  sqrt(): Value<T>
  /**
   * Converts to int32. uint32 is taken modulo 2^32. float32 is rounded towards 0 and clamped to the range;
   * NaN gives 0.
   */
  toInt32(): Value<'int32'>
  /** Converts to uint32 by the rules of {@link Value.toInt32}. */
  toUint32(): Value<'uint32'>
  /** Converts to float32, rounded to nearest. */
  toFloat32(): Value<'float32'>
}

/** Result of a comparison. */
export interface Condition {
  /** Distinguishes conditions from values. */
  readonly type: 'predicate'
  /** Whether both are true. */
  and(other: Condition): Condition
  /** Whether one of them is true. */
  or(other: Condition): Condition
  /** Whether only one of them is true. */
  xor(other: Condition): Condition
  /** Whether this condition is false. */
  not(): Condition
  /** x if the condition is true, else y. */
  select<T extends LaneType>(x: ValueOrNumber<T>, y: ValueOrNumber<T>): Value<T>
}

/** An operation on one value. */
export type Unary = <T extends LaneType>(x: ValueOrNumber<T>) => Value<T>
/** An operation on two values of one type. */
export type Binary = <T extends LaneType>(x: ValueOrNumber<T>, y: ValueOrNumber<T>) => Value<T>
/** A comparison of two values of one type. */
export type Comparison = <T extends LaneType>(x: ValueOrNumber<T>, y: ValueOrNumber<T>) => Condition
/** An operation on a value of float32. */
export type OfFloat = (x: ValueOrNumber<'float32'>) => Value<'float32'>
/** An operation on the bits of two integers, or on two comparisons. */
export type Bitwise = {
  (x: Condition, y: Condition): Condition
  <T extends LaneType>(x: ValueOrNumber<T>, y: ValueOrNumber<T>): Value<T>
}

/** Functions of one kind. */
type Functions<Names extends string, Kind> = { readonly [Name in Names]: Kind }

/** Operations as functions, the third argument of `plus` and `times`. {@link Value} documents them. */
export interface Operations
  extends Functions<'add' | 'sub' | 'mul' | 'min' | 'max' | 'shiftLeft' | 'shiftRight', Binary>,
    Functions<'neg' | 'abs' | 'popcount', Unary>,
    Functions<'and' | 'or' | 'xor', Bitwise>,
    Functions<'equal' | 'less' | 'lessEqual', Comparison>,
    Functions<'exp' | 'exp2' | 'log' | 'log1p' | 'sqrt', OfFloat> {
  /** Returns a constant of a given type, for numbers whose type isn't implied. */
  constant<T extends LaneType>(value: number, type: T): Value<T>
  /** x · y + z, rounded once. */
  fma(x: ValueOrNumber<'float32'>, y: ValueOrNumber<'float32'>, z: ValueOrNumber<'float32'>): Value<'float32'>
  /** Complement, bitwise; for an integer or a condition. */
  not: {
    (x: Condition): Condition
    <T extends LaneType>(x: ValueOrNumber<T>): Value<T>
  }
  /** x if the condition is true, else y. */
  select<T extends LaneType>(condition: Condition, x: ValueOrNumber<T>, y: ValueOrNumber<T>): Value<T>
  /** Converts x to int32. */
  toInt32(x: Value): Value<'int32'>
  /** Converts x to uint32. */
  toUint32(x: Value): Value<'uint32'>
  /** Converts x to float32. */
  toFloat32(x: Value): Value<'float32'>
}

/** A {@link Value} or {@link Condition}. Its methods come from the table of operations. */
class Traced {
  readonly #builder: Builder
  readonly #step: number

  constructor(builder: Builder, step: number) {
    this.#builder = builder
    this.#step = step
  }

  get type(): string {
    return this.#builder.typeOf(this.#step)
  }

  /** Returns the step of a value of this expression; undefined for other values. */
  static stepOf(value: unknown, builder: Builder): number | undefined {
    if (typeof value !== 'object' || value === null || !(#step in value)) return undefined
    if (value.#builder === builder) return value.#step
    throw new OptionError(
      `${builder.where} uses a value of another function or semiring: only what comes from its own arguments can be used`,
    )
  }

  static builderOf(value: unknown): Builder | undefined {
    return typeof value === 'object' && value !== null && #builder in value ? value.#builder : undefined
  }

  toString(): string {
    const builder = this.#builder
    const { text, named } = printExpression(builder.part(this.#step), builder.lanes.length)
    return [text, ...named].join(', ')
  }

  /** Throws with advice if the value is destructured as an array of lanes, as by `([x], [y]) =>`. */
  [Symbol.iterator](): never {
    throw new OptionError(
      `${this.#builder.where} takes lanes out of a value, but only elements whose dtype is an array have any: write (x, y) for ([x], [y])`,
    )
  }

  /** Throws with advice if an operator of JavaScript converts the value to a number or a string. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.toString()
    throw new OptionError(
      `${this.#builder.where} uses a value as a number, but it is a part of an expression: write x.add(y) for x + y, ` +
        'less(x, y) for x < y, select(condition, x, y) for condition ? x : y, and max(x, y) of the third argument for Math.max(x, y)',
    )
  }
}

function operandOf(value: unknown, builder: Builder, name: string): Operand {
  const step = Traced.stepOf(value, builder)
  if (step !== undefined) return { step }
  if (typeof value === 'number') return { number: value }
  const advice = Array.isArray(value) ? ': it works on one lane at a time' : ''
  throw new OptionError(
    `${builder.where}: ${name} takes values and numbers, but it got ${show(value)}${advice}`,
  )
}

const apply = (builder: Builder, operation: Operation, operands: readonly unknown[]): Traced =>
  new Traced(
    builder,
    builder.apply(
      operation,
      operands.map((operand) => operandOf(operand, builder, operation.name)),
    ),
  )

for (const operation of applicable) {
  Object.defineProperty(Traced.prototype, operation.name, {
    value(this: unknown, ...others: unknown[]) {
      const builder = Traced.builderOf(this)
      if (builder === undefined) {
        throw new OptionError(
          `${operation.name} was called without its value: write x.${operation.name}(…), or take ${operation.name} from the third argument`,
        )
      }
      return apply(builder, operation, [this, ...others])
    },
  })
}

/** The operations as functions of one expression. */
function operationsOf(builder: Builder): Operations {
  const functions = applicable.map((operation) => [
    operation.name,
    (...operands: unknown[]) => apply(builder, operation, operands),
  ])
  const constant = (value: unknown, type: unknown) => {
    if (!isLaneType(type)) {
      throw new OptionError(
        `${builder.where}: constant takes a number and its type, one of ${laneTypes.join(', ')}, but the type is ${show(type)}`,
      )
    }
    return new Traced(builder, builder.constant(value, type))
  }
  return Object.freeze(Object.fromEntries([...functions, ['constant', constant]]))
}

/**
 * Returns the expression that a function of x and y computes, by calling it once. `isList`: whether elements
 * are arrays of lanes. `where`: the name of the function in messages.
 *
 * @throws ArgumentError (ERR_MPMML_OPTION), LimitError (ERR_MPMML_LIMIT), and what the function throws.
 */
export function trace(
  work: (x: never, y: never, operations: Operations) => unknown,
  lanes: readonly LaneType[],
  isList: boolean,
  where: string,
): Expression {
  const builder = new Builder(lanes, where)
  const elementOf = (side: 0 | 1) => {
    const values = lanes.map((_, lane) => new Traced(builder, builder.argument(side, lane)))
    return (isList ? values : values[0]) as never
  }
  const result = work(elementOf(0), elementOf(1), operationsOf(builder))
  const given = isList ? readLanes(result, lanes.length, where) : [result]
  return builder.finish(
    given.map((value, lane) => {
      const step = Traced.stepOf(value, builder)
      if (step !== undefined) return step
      const inLane = isList ? ` in lane ${lane}` : ''
      if (typeof value === 'number')
        return builder.constant(value, lanes[lane]!, `what ${where} gives${inLane}`)
      throw new OptionError(
        `${where} must give a value${inLane}, but it gives ${show(value)}${adviceFor(value, isList)}`,
      )
    }),
  )
}

function readLanes(result: unknown, count: number, where: string): unknown[] {
  if (Array.isArray(result) && result.length === count) return Array.from(result)
  const came = Array.isArray(result) ? showList(result) : typeName(result)
  throw new OptionError(
    `${where} must give an array of ${count} values, one for each lane, but it gives ${came}${adviceFor(result, true)}`,
  )
}

function adviceFor(value: unknown, isList: boolean): string {
  if (value === undefined) return ': it needs a return, or an arrow without braces'
  if (value instanceof Promise)
    return ": it can't be async, since it is called once, and not when products are computed"
  if (Array.isArray(value) && !isList)
    return ': arrays are for elements of several lanes, whose dtype is an array'
  return ''
}
