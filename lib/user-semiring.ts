/**
 * Types of custom semirings that the whole library uses. The implementation, lib/semirings, is loaded only by
 * programs with a custom semiring.
 */

/** The type of a lane. */
export type LaneType = 'int32' | 'uint32' | 'float32'

/** Type of an element: one type for a number, or a list with the type of each of 1 to 4 lanes. */
export type Lanes = LaneType | readonly LaneType[]

/** The array of a lane. */
export type LaneArray<T extends LaneType = LaneType> = T extends 'int32'
  ? Int32Array
  : T extends 'uint32'
    ? Uint32Array
    : Float32Array

/** An element of a semiring: a number, or one for each lane. */
export type ElementOf<L extends Lanes> = L extends readonly LaneType[]
  ? { readonly [Lane in keyof L]: number }
  : number

/** An expression in JSON: its steps, and for each lane the index of the step with the result. */
export interface ExpressionJson {
  /** Steps: the name of an operation, and its operands, which are indices of earlier steps. */
  readonly steps: readonly (readonly [operation: string, ...operands: (number | string)[]])[]
  /** Index of the result's step, per lane. */
  readonly results: readonly number[]
}

/** A semiring in JSON: see {@link UserSemiring.toJSON}. NaN, infinities and −0 are strings. */
export interface SemiringJson {
  /** The version of this form. */
  readonly semiring: 1
  /** Name in messages. */
  readonly name: string
  /** Type of an element, or an array with the types of its lanes. */
  readonly dtype: Lanes
  /** The neutral element of ⊕. */
  readonly zero: number | string | readonly (number | string)[]
  /** The neutral element of ⊗, if there is one. */
  readonly one?: number | string | readonly (number | string)[]
  /** x ⊕ y */
  readonly plus: ExpressionJson
  /** x ⊗ y */
  readonly times: ExpressionJson
  /** Whether zero ⊗ x and x ⊗ zero are zero. */
  readonly absorbs: boolean
  /** Whether x ⊕ x is x. */
  readonly idempotent: boolean
  /** Whether x ⊕ y is x or y. */
  readonly selective: boolean
  /** Whether elements are natural logarithms of numbers that are added and multiplied; false if omitted. */
  readonly logarithms?: boolean
  /** Bounds of the elements that laws are checked with; omitted: the whole range; false: no check. */
  readonly check?:
    | false
    | {
        /** Least element. */
        readonly min: number | string | readonly (number | string)[]
        /** Greatest element. */
        readonly max: number | string | readonly (number | string)[]
      }
}

/**
 * An immutable semiring from `semiring()` of mpmml/semirings, for the option `semiring` of products.
 */
export interface UserSemiring<L extends Lanes = Lanes> {
  /** Name in messages. */
  readonly name: string
  /** Type of an element, or an array with the types of its lanes. */
  readonly dtype: L
  /** The neutral element of ⊕. */
  readonly zero: ElementOf<L>
  /** The neutral element of ⊗; undefined if it has none. */
  readonly one: ElementOf<L> | undefined
  /** Whether zero ⊗ x and x ⊗ zero are zero. */
  readonly absorbs: boolean
  /** Whether x ⊕ x is x. */
  readonly idempotent: boolean
  /** Whether x ⊕ y is x or y. */
  readonly selective: boolean
  /** Whether elements are natural logarithms of numbers that are added and multiplied. */
  readonly logarithms: boolean
  /** The form for files, queues and other processes, which `semiring.from()` reads. */
  toJSON(): SemiringJson
  /** Returns a readable description of ⊕, ⊗ and the neutral elements, in a few lines. */
  toString(): string
}

/** Part of an algebra that this file needs; lib/product defines the whole interface. */
interface UserAlgebraName {
  readonly name: string
}

/** Part of lib/semirings for functions that take both kinds of semirings. */
export interface UserWork {
  /** Returns the algebra of a {@link UserSemiring}; null for any other value. */
  algebraOf(value: unknown): UserAlgebraName | null
  power(a: unknown, n: unknown, options: unknown): Promise<unknown>
  star(a: unknown, options: unknown): Promise<unknown>
}

let loaded: UserWork | null = null

/** Registers lib/semirings, which programs with a custom semiring load. */
export function provideUserWork(work: UserWork): void {
  loaded = work
}

/** Returns the algebra of a custom semiring; null for any other value. */
export const userAlgebraOf = (value: unknown): UserAlgebraName | null => loaded?.algebraOf(value) ?? null

/** Returns the work for options with a custom semiring; null for other options. */
export function userWorkOf(options: unknown): UserWork | null {
  if (loaded === null || typeof options !== 'object' || options === null) return null
  return userAlgebraOf((options as { semiring?: unknown }).semiring) && loaded
}
