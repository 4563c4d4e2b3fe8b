/** Random calls on the CPU, and tests of the check that the fuzzer applies to their results. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { root } from '../../lib/native.js'
import { fuzzSuite } from '../support/suite-fuzz.js'

describe('cpu', () => fuzzSuite('cpu'))

/** Loads a tool of the fuzzer. The tools are untyped JavaScript, which runs uncompiled. */
const tool = (name: string) => import(pathToFileURL(join(root, 'native', 'tools', 'fuzz', name)).href)

describe('the check', async () => {
  const { algebras } = await tool('algebra.mjs')
  const { Tally, wrongIn, wrongRefusal } = await tool('check.mjs')
  const { Random } = await tool('random.mjs')
  const algebra = algebras.find((one: { semiring: string; dtype: string }) => one.semiring === 'max-plus')

  const matrix = (rows: number, cols: number, data: number[]) => ({
    data: Int32Array.from(data),
    batch: 1,
    batched: false,
    rows,
    cols,
  })
  const problem = (more: object = {}) => ({
    algebra,
    ...{ m: 2, k: 2, n: 2, batch: 1, batched: false },
    a: matrix(2, 2, [1, 6, 2, 8]),
    b: matrix(2, 2, [2, 5, 3, 1]),
    ...{ c0: null, initial: null, overflow: undefined, structure: undefined },
    ...more,
  })
  const wrong = (
    data: number[],
    { witness, ...more }: { witness?: number[]; [name: string]: unknown } = {},
  ) => {
    const result = (elements: number[]) => ({
      data: Int32Array.from(elements),
      shape: [2, 2],
      strides: [2, 1],
      offset: 0,
    })
    const given = { c: result(data), ...(witness ? { witness: result(witness) } : {}) }
    return wrongIn(problem(more), given, new Random(1), new Tally(), 1e6)
  }
  const zero = -(2 ** 31)

  it('accepts right results', () => {
    expect(wrong([9, 7, 11, 9])).toBeUndefined()
    expect(wrong([9, 7, 11, 9], { witness: [1, 1, 1, 1] })).toBeUndefined()
    expect(wrong([9, 7, zero, 9], { structure: { c: 'upper' } })).toBeUndefined()
    expect(wrong([9, 20, 11, 9], { c0: matrix(2, 2, [0, 20, 0, 9]), witness: [1, -1, 1, 1] })).toBeUndefined()
  })

  it('detects a wrong element, a wrong witness, an element outside of the results, and a sum that overflows', () => {
    expect(wrong([9, 7, 11, 8])).toContain('C[1, 1] is 8 and should be 9')
    expect(wrong([9, 7, 11, 9], { witness: [1, 0, 1, 1] })).toContain('the witness of C[0, 1] is 0')
    expect(wrong([9, 7, 11, 9], { structure: { c: 'upper' } })).toContain('C[1, 0] is no result, but is 11')
    expect(wrong([9, 7, 2 ** 31 - 1, 9], { a: matrix(2, 2, [1, 6, 2, 2 ** 31 - 1]) })).toContain(
      'should be 2147483650',
    )
  })

  it('detects an error that names another element, and an error without a reason', () => {
    const far = problem({ a: matrix(2, 2, [1, 6, 2, 2 ** 31 - 1]) })
    const refused = (code: string, message: string) =>
      wrongRefusal(far, { code, message }, new Random(1), 1e6)
    const named = (place: string, sum: number) =>
      refused('ERR_MPMML_OVERFLOW', `C[${place}] is decided by the sum ${sum}, outside the finite range`)
    expect(named('1, 0', 2 ** 31 + 2)).toBeUndefined()
    expect(named('1, 0', 2 ** 31 + 1)).toContain('names C[0, 1, 0]')
    expect(named('1, 1', 2 ** 31)).toContain('but C[0, 1, 0] overflows too')
    expect(refused('ERR_MPMML_CUDA', 'a kernel failed')).toContain('a kernel failed')
  })
})
