/** mpmml multiply --semiring FILE: products over semirings in files. Numbers are computed by hand. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { counting, hamming } from '../../lib/semirings.js'
import { useFolder } from '../support/folder.js'
import { leastDifference } from '../support/user-semirings.js'
import { fails, json, readNumbers, runMpmml, succeeds, writeNumbers } from './support.js'

const path = useFolder()

/** Writes two operands and the file of a semiring, and returns their paths. */
function files(own: unknown = leastDifference): [a: string, b: string, own: string] {
  writeNumbers(path('a.npy'), [1, 2], [1, 10])
  writeNumbers(path('b.npy'), [2, 2], [5, 30, 12, 8])
  writeFileSync(path('own.json'), typeof own === 'string' ? own : JSON.stringify(own))
  return [path('a.npy'), path('b.npy'), path('own.json')]
}

describe('multiply over a semiring in a file', () => {
  it('writes the product', async () => {
    const [a, b, own] = files()
    const printed = await succeeds(['multiply', a, b, '--semiring', own, '-o', path('c.npy')])
    expect(readNumbers(path('c.npy'))).toEqual({ shape: [1, 2], values: [2, 2] })
    expect(printed).toMatch(/^semiring +least absolute difference on int32$/m)
  })

  it('accumulates, and prints JSON', async () => {
    const [a, b, own] = files()
    writeNumbers(path('c0.npy'), [1, 2], [1, 100])
    const flags = ['--semiring', own, '--accumulate', path('c0.npy'), '-o', path('c.npy'), '--json']
    const record = await json(['multiply', a, b, ...flags])
    expect(record).toMatchObject({ semiring: leastDifference.name, dtype: 'int32', c: { shape: [1, 2] } })
    expect(readNumbers(path('c.npy')).values).toEqual([1, 2])
  })

  it('rejects unsupported options', async () => {
    const output = ['-o', path('c.npy')]
    for (const [own, flags, message] of [
      [leastDifference, [], /name it with -o/],
      [leastDifference, [...output, '--overflow', 'wrap'], /--overflow is for the semirings of the library/],
      [leastDifference, ['-o', path('c.csv')], /c\.csv must be a \.npy or \.npz file/],
      [hamming, output, /elements of uint32/],
      [counting('max-plus'), output, /elements of 2 lanes/],
      ['{', output, /isn't JSON/],
      [{ ...leastDifference.toJSON(), plus: [] }, output, /steps must be an array/],
    ] as const) {
      const [a, b, file] = files(own)
      const { status, stderr } = await runMpmml(['multiply', a, b, '--semiring', file, ...flags])
      expect(status).not.toBe(0)
      expect(stderr).toMatch(message)
      expect(stderr).not.toMatch(/\n\s+at /)
    }
  })

  it('names the file that is missing or wrong', async () => {
    const [a, b, own] = files('{')
    const failing = (file: string) => fails(['multiply', a, b, '--semiring', file, '-o', path('c.npy')])
    expect(await failing(own)).toMatch(/own\.json: the semiring in JSON isn't JSON.*\[ERR_MPMML_FILE\]$/m)
    const none = path('none.json')
    expect(await failing(none)).toMatch(/none\.json: expected a semiring, but .*\[ERR_MPMML_FILE\]$/m)
  })

  it('lists the choices for unknown names', async () => {
    const [a, b] = files()
    const { stderr } = await runMpmml(['multiply', a, b, '--semiring', 'none', '-o', path('c.npy')])
    expect(stderr).toMatch(/Allowed choices are max-plus, .*, or a file with the end \.json/)
  })
})
