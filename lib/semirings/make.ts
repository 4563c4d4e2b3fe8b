/** Public function that creates semirings. */
import type { Lanes, LaneType, UserSemiring } from '../user-semiring.js'
import { checkQuickly } from './laws.js'
import { read, type SemiringDefinition, write } from './semiring.js'

/**
 * Creates a custom semiring, for the option `semiring` of products. ⊕ and ⊗ are functions that are called
 * once; their operations are recorded as a small expression, which both backends compute with equal bits. No
 * compiler is needed.
 *
 * An expression has at most 256 steps, an element at most 4 lanes. Equal subexpressions count once.
 *
 * @throws ArgumentError (ERR_MPMML_OPTION) for a definition that is wrong, or a law that is broken (see {@link checkSemiring}); LimitError
 *   (ERR_MPMML_LIMIT) for more than 256 steps; and what the functions throw.
 * @example
 * const closest = semiring({
 *   name: 'least absolute difference', dtype: 'int32',
 *   zero: 2 ** 31 - 1, plus: (x, y) => x.min(y), times: (x, y, { abs }) => abs(x.sub(y)), absorbs: false,
 * })
 * const { c } = await mpmm(matrix(1, 2, [1, 10]), matrix(2, 1, [5, 12]), { semiring: closest })
 * console.log(c.data.join()) // 2
 */
export function semiring<const L extends LaneType | readonly LaneType[]>(
  definition: SemiringDefinition<L>,
): UserSemiring<L> {
  const created = write(definition)
  checkQuickly(created)
  return created
}

/**
 * Creates a semiring from JSON: the result of {@link UserSemiring.toJSON}, or its string. All of it is
 * validated, so that it may be untrusted input: expressions have no loops, no access to memory, and a bounded
 * size.
 *
 * @throws What {@link semiring} throws.
 * @example
 * const text = JSON.stringify(hamming)
 * console.log(semiring.from(text).name) // Hamming distance
 */
semiring.from = (json: unknown): UserSemiring<Lanes> => {
  const created = read(json)
  checkQuickly(created)
  return created
}
