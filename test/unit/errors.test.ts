/** The registry of errors. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorClasses, fromNative } from '../../lib/errors.js'
import * as library from '../../lib/index.js'

describe('errors', () => {
  it.each(Object.entries(errorClasses))('%s', (code, ErrorClass) => {
    const error = new ErrorClass('what happened', { cause: 'why' })
    expect(error).toBeInstanceOf(Error)
    expect(error).toBeInstanceOf(library.MpmmlError)
    expect(error).toMatchObject({ code, name: ErrorClass.name, message: 'what happened', cause: 'why' })
    expect(library).toHaveProperty(ErrorClass.name, ErrorClass)
  })

  it('are public, and nothing else of their module is', () => {
    const classes = Object.values(errorClasses).map(({ name }) => name)
    expect(
      Object.keys(library)
        .filter((name) => name.endsWith('Error'))
        .sort(),
    ).toEqual([...classes, 'MpmmlError'].sort())
    expect(library).not.toHaveProperty('errorClasses')
    expect(library).not.toHaveProperty('fromNative')
  })

  it('has every code that native code can throw', () => {
    const status = readFileSync(new URL('../../native/core/status.h', import.meta.url), 'utf8')
    const codes = [...status.matchAll(/return "([A-Z_]+)"/g)].map(([, name]) => `ERR_MPMML_${name}`)
    expect(codes.length).toBeGreaterThan(5)
    for (const code of codes) expect(errorClasses).toHaveProperty(code)
  })

  it('a CycleError has its cycle', () => {
    const error = new library.CycleError('it gains', { cycle: [1, 2], weight: -3, batch: 4, cause: 'why' })
    expect(error).toMatchObject({ cycle: [1, 2], weight: -3, batch: 4, cause: 'why', message: 'it gains' })
    expect(new library.CycleError('it gains', { cycle: [0], weight: 1 }).batch).toBeUndefined()
  })

  it('makes native errors instances of their classes, and leaves others alone', () => {
    const native = Object.assign(new Error('no'), { code: 'ERR_MPMML_CUDA' })
    expect(fromNative(native)).toBeInstanceOf(library.CudaError)
    for (const other of [
      new TypeError('x'),
      Object.assign(new Error('x'), { code: 'ENOENT' }),
      'text',
      null,
    ]) {
      expect(fromNative(other)).toBe(other)
    }
  })
})
