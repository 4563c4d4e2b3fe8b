/** The registry of error codes and their classes. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CudaError, errorClasses, fromNative } from '../../lib/errors.js'
import * as library from '../../lib/index.js'

const publicClasses = [
  'AbortedError',
  'ArgumentError',
  'CycleError',
  'FileError',
  'LimitError',
  'MpmmlError',
  'OverflowError',
  'ResourceError',
]

describe('errors', () => {
  it.each(Object.entries(errorClasses))(
    'have a public class with its name for the code %s',
    (code, Class) => {
      const error = new Class('what happened', { cause: 'why' })
      expect(error).toBeInstanceOf(Error)
      expect(error).toBeInstanceOf(library.MpmmlError)
      expect(error).toMatchObject({ code, message: 'what happened', cause: 'why' })
      expect(publicClasses).toContain(error.name)
      expect(error).toBeInstanceOf(new Map<string, unknown>(Object.entries(library)).get(error.name))
      expect(error.stack).toMatch(new RegExp(`^${error.name}: what happened`))
    },
  )

  it('keep their names if a minifier renames their classes', () => {
    class t extends library.FileError {}
    expect(new t('what happened').name).toBe('FileError')
  })

  it('have eight public classes, the only exports of their module', () => {
    const exported = Object.keys(library).filter((name) => name.endsWith('Error'))
    expect(exported.sort()).toEqual(publicClasses)
    expect(library).not.toHaveProperty('errorClasses')
    expect(library).not.toHaveProperty('fromNative')
  })

  it('include every code that native code can throw', () => {
    const status = readFileSync(new URL('../../native/core/status.h', import.meta.url), 'utf8')
    const codes = [...status.matchAll(/return "([A-Z_]+)"/g)].map(([, name]) => `ERR_MPMML_${name}`)
    expect(codes.length).toBeGreaterThan(5)
    for (const code of codes) expect(errorClasses).toHaveProperty(code)
  })

  it('include the cycle in a CycleError', () => {
    const error = new library.CycleError('it gains', { cycle: [1, 2], weight: -3, batch: 4, cause: 'why' })
    expect(error).toMatchObject({ cycle: [1, 2], weight: -3, batch: 4, cause: 'why', message: 'it gains' })
    expect(new library.CycleError('it gains', { cycle: [0], weight: 1 }).batch).toBeUndefined()
  })

  it('convert native errors to their classes, and leave others unchanged', () => {
    const native = Object.assign(new Error('no'), { code: 'ERR_MPMML_CUDA' })
    expect(fromNative(native)).toBeInstanceOf(CudaError)
    for (const other of [
      new TypeError('x'),
      Object.assign(new Error('x'), { code: 'ENOENT' }),
      Object.assign(new Error('x'), { code: 'toString' }),
      'text',
      null,
    ]) {
      expect(fromNative(other)).toBe(other)
    }
  })
})
