/** Computes powers by repeated squaring, with progress over all products. */
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { type Progress, partOf } from './progress.js'

type Listener = ((progress: Progress) => void) | undefined

/** Reads an exponent. Throws ArgumentError (ERR_MPMML_OPTION) unless it is an integer from 0 to 2^53 − 1. */
export function readExponent(n: unknown): number {
  if (typeof n === 'number' && Number.isSafeInteger(n) && n >= 0) return n + 0
  throw new OptionError(`the exponent n must be an integer from 0 to 2^53 - 1, but it is ${show(n)}`)
}

/** Functions of matrices that powers need. */
export interface PowerSteps<Matrix> {
  /** Returns a new matrix, the product. */
  multiply(left: Matrix, right: Matrix, onProgress: Listener): Promise<Matrix>
  /** Releases a power that is no longer needed; never the base. */
  dispose(power: Matrix): void
  readonly onProgress: Listener
}

/**
 * Computes the power of a matrix for n ≥ 1 by squaring and, where a bit of n is 1, by multiplying with the base. For n = 1 it is the base
 * itself.
 */
export async function multiplyFactors<Matrix>(
  base: Matrix,
  n: number,
  { multiply, dispose, onProgress }: PowerSteps<Matrix>,
): Promise<Matrix> {
  const factors: ('itself' | 'base')[] = []
  for (let m = n; m > 1; m = Math.floor(m / 2)) {
    if (m % 2 === 1) factors.unshift('base')
    factors.unshift('itself')
  }
  let power = base
  for (const [done, factor] of factors.entries()) {
    const last = power
    try {
      power = await multiply(
        last,
        factor === 'itself' ? last : base,
        partOf(onProgress, done, factors.length),
      )
    } finally {
      if (last !== base) dispose(last)
    }
  }
  return power
}
