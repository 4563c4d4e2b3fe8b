/** Operands of a small range, and the check of products of them. */
import type { VariantName } from '../../../lib/index.js'
import { expectError } from '../expect.js'
import { useDevice } from '../homes.js'
import { tensorCores } from '../machine.js'
import { type Algebra, algebraOf, by, type Case, type Elements, elements, nameOf } from '../products/case.js'
import { expectRight } from '../products/law.js'
import { compute, type ExecutionTarget, type ResultTarget } from '../products/targets.js'
import { exponentVariants } from '../table.js'

export type Path = 'exponent' | 'exponent-wide' | 'exponent-bounded'
const accumulators: Record<Path, string> = {
  exponent: 'exponent',
  'exponent-wide': 'exponentwide',
  'exponent-bounded': 'exponentbounded',
}
export const paths = Object.keys(accumulators) as Path[]
export const byLines: Path[] = ['exponent', 'exponent-wide']
export const wide: Path[] = ['exponent-wide']
export const bounded: Path[] = ['exponent-bounded']

export const sums = (['max-plus', 'min-plus'] as const).map((semiring) => algebraOf(semiring))
export const floats = (['max-plus', 'min-plus'] as const).map((semiring) => algebraOf(semiring, 'float32'))
export const named = (list: Algebra[]) => list.map((one) => [nameOf(one), one] as const)

/** Function that gives the element at index k of a line (row of A or column of B). NaN stands for the semiring's zero. */
export type Element = (line: number, k: number) => number

/** Operand with generated elements; its lines are the rows of A or the columns of B. */
export function operand(
  side: 'A' | 'B',
  { zero, dtype }: Algebra,
  element: Element,
  rows: number,
  cols: number,
  batch?: number,
): Elements {
  const data = new (dtype === 'float32' ? Float32Array : Int32Array)((batch ?? 1) * rows * cols)
  for (let at = 0; at < data.length; at++) {
    const [row, col] = [Math.floor(at / cols), at % cols]
    const line = side === 'A' ? row : Math.floor(row / rows) * cols + col
    const value = side === 'A' ? element(line, col) : element(line, row % rows)
    data[at] = Number.isNaN(value) ? zero : value
  }
  return elements(data, rows, cols, batch)
}

export const caseOf = (
  algebra: Algebra,
  a: Elements,
  b: Elements,
  what: string,
  more: Partial<Case> = {},
): Case => ({
  algebra,
  a,
  b,
  what: `${nameOf(algebra)}, ${what}`,
  ...more,
})

/** Check of products on a backend, whose device the tests of a suite share. */
export type LevelsCheck = ReturnType<typeof levelsCheck>

export function levelsCheck(backend: 'cuda' | 'cpu') {
  const open = useDevice({ backend })
  const computes = backend === 'cuda' && tensorCores()
  const inArrays: ExecutionTarget = {
    name: 'arrays',
    options: { backend },
    expectation: { backend, timed: true },
    sync: true,
  }
  const onDevice: ExecutionTarget = {
    name: 'a device',
    options: {},
    device: open,
    expectation: { backend, timed: true },
  }
  const narrow: ExecutionTarget = { ...inArrays, name: 'int16', narrow: true }
  // The CPU has no special arithmetic for a small range.
  const targets = backend === 'cpu' ? [inArrays] : [inArrays, onDevice]

  const variantsOf = ({ semiring, dtype }: Algebra, of = paths): [Path, VariantName][] =>
    (computes ? of : []).flatMap((path) =>
      exponentVariants(semiring, accumulators[path], dtype).map((name): [Path, VariantName] => [path, name]),
    )

  /**
   * Checks the planner's choice, and the variants of all fitting arithmetics. The other variants must reject
   * the case.
   */
  async function check(
    one: Case,
    fitting: Path[],
    where: ExecutionTarget[] = targets,
    destinations: ResultTarget[] = ['new'],
    looked = paths,
  ) {
    for (const target of where) {
      for (const destination of destinations) {
        expectRight(
          one,
          await compute(target, one, destination),
          target.expectation,
          `${target.name}, by itself, ${destination}`,
        )
        for (const [path, name] of variantsOf(one.algebra, looked)) {
          const outcome = await compute(target, by(name, one, { path }), destination)
          if (fitting.includes(path)) {
            expectRight(
              by(name, one, { path }),
              outcome,
              target.expectation,
              `${target.name}, ${name}, ${destination}`,
            )
          } else {
            expectError(outcome.error, 'VARIANT', `variant ${name} can't run this product`)
          }
        }
      }
    }
  }

  return { backend, open, computes, inArrays, onDevice, narrow, targets, variantsOf, check }
}
