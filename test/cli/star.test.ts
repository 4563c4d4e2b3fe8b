/** mpmml star: A* and A+ of files. Expected numbers are published or computed by hand. */
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'
import { EPSILON, fails, json, readNumbers, succeeds, writeNumbers } from './support.js'

const path = useFolder()

/** Edges 0 → 1 and 1 → 2 have the weights 3 and 4. The loop at node 1 has weight −1. */
const example = () =>
  writeNumbers(path('a.npy'), [3, 3], [EPSILON, 3, EPSILON, EPSILON, -1, 4, EPSILON, EPSILON, EPSILON])

describe('star', () => {
  it('writes A*', async () => {
    const printed = await succeeds(['star', example(), '-o', path('s.npy')])
    expect(readNumbers(path('s.npy'))).toEqual({
      shape: [3, 3],
      values: [0, 3, 7, EPSILON, 0, 4, EPSILON, EPSILON, 0],
    })
    expect(printed).toMatch(/^A +3 × 3 .*a\.npy$/m)
    expect(printed).toMatch(/^A\* +3 × 3 .*s\.npy$/m)
    expect(printed).toMatch(/^values +9: 0 … 7; 3 are −∞, held as -2147483648$/m)
    expect(printed).toMatch(/^semiring +max-plus on int32, overflow: throw$/m)
    expect(printed).toMatch(/^backend +(cpu|cuda), /m)
  })

  it('writes A+ with --plus', async () => {
    const record = await json(['star', example(), '-o', path('p.npy'), '--plus'])
    expect(record).toMatchObject({ operation: 'plus', c: { shape: [3, 3], min: -1, max: 7, zeros: 5 } })
    expect(readNumbers(path('p.npy')).values).toEqual([
      EPSILON,
      3,
      7,
      EPSILON,
      -1,
      4,
      EPSILON,
      EPSILON,
      EPSILON,
    ])
  })

  it('computes the stars of a batch', async () => {
    const values = [EPSILON, 1, EPSILON, EPSILON, EPSILON, EPSILON, 2, EPSILON]
    const file = writeNumbers(path('batch.npy'), [2, 2, 2], values)
    await succeeds(['star', file, '-o', path('bs.npy')])
    expect(readNumbers(path('bs.npy'))).toEqual({
      shape: [2, 2, 2],
      values: [0, 1, EPSILON, 0, 0, EPSILON, 2, 0],
    })
  })

  it.each<[string, number[], number[]]>([
    ['min-plus', [9, 1, 1, 9], [0, 1, 1, 0]],
    ['max-min', [5, 7, 2, 1], [2 ** 31 - 1, 7, 2, 2 ** 31 - 1]],
    ['min-max', [5, 7, 2, 1], [EPSILON, 7, 2, EPSILON]],
  ])('computes over %s', async (semiring, values, expected) => {
    const file = writeNumbers(path('k.npy'), [2, 2], values)
    const record = await json(['star', file, '-o', path('ks.npy'), '--semiring', semiring])
    expect(record.semiring).toBe(semiring)
    expect(readNumbers(path('ks.npy')).values).toEqual(expected)
  })

  it('is only described without -o', async () => {
    expect(await succeeds(['star', example(), '--backend', 'cpu'])).toMatch(/^A\* .*not written/m)
  })
})

describe('bad input of star', () => {
  it('is reported with the improving cycle', async () => {
    const file = writeNumbers(path('gain.npy'), [2, 2], [EPSILON, 3, -2, EPSILON])
    const message = await fails(['star', file, '-o', path('never.npy')])
    expect(message).toMatch(/gain\.npy: the cycle (0 → 1 → 0|1 → 0 → 1) has the weight 1/)
    expect(message).toMatch(/\[ERR_MPMML_CYCLE\]$/m)
    expect(existsSync(path('never.npy'))).toBe(false)
  })

  it('is reported with the number of the matrix in a batch', async () => {
    const file = writeNumbers(path('gains.npy'), [2, 1, 1], [-1, 1])
    expect(await fails(['star', file])).toMatch(/matrix 1: the cycle 0 → 0 has the weight 1/)
  })

  it('is reported for sums beyond int32, unless a policy is given', async () => {
    const large = 2 ** 31 - 2
    const file = writeNumbers(
      path('large.npy'),
      [3, 3],
      [EPSILON, large, EPSILON, EPSILON, EPSILON, large, EPSILON, EPSILON, EPSILON],
    )
    expect(await fails(['star', file])).toMatch(/\[ERR_MPMML_OVERFLOW\]$/m)
    await succeeds(['star', file, '--overflow', 'saturate', '-o', path('ls.npy')])
    expect(readNumbers(path('ls.npy')).values[2]).toBe(2 ** 31 - 1)
  })

  it('is reported for an output that is the input', async () => {
    const file = example()
    expect(await fails(['star', file, '-o', file])).toContain('the same file as the input')
  })

  it.each([[['--semiring', 'plus-times']], [['b.npy']]])('is reported as wrong usage: %j', async (flags) => {
    expect(await fails(['star', example(), ...flags], 2)).toContain('--help')
  })
})
