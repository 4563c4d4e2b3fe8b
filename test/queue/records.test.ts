/** Validation of records from Redis, which any client of the queue can write, and serialization of errors. */
import { describe, expect, it } from 'vitest'
import {
  AbortedError,
  CycleError,
  errorClasses,
  type MpmmlError,
  OutOfMemoryError,
  OverflowError,
} from '../../lib/errors.js'
import { readPlan, workersOf } from '../../lib/queue/read.js'
import { errorOf, isFinal, reasonText } from '../../lib/queue/reasons.js'
import { isJobData, keysOf, readRecord } from '../../lib/queue/records.js'
import { coded } from '../support/coded.js'

describe('errors of blocks', () => {
  it('keep their class and message in the queue', () => {
    for (const error of [
      new OverflowError('C[0, 1] is\n  too large'),
      new OutOfMemoryError('no memory [for C]'),
      new CycleError('a cycle', { cycle: [0], weight: 1 }),
    ]) {
      const again = errorOf('C.0.1', reasonText(error))
      expect(again).toBeInstanceOf(error.constructor)
      expect(again.message).toBe(`block C.0.1 failed: ${error.message.replace('\n ', '')}`)
    }
  })

  it('become errors of the queue if they have no class, or a class for callers only', () => {
    const codes = (reason: string) => (errorOf('C.0.1', reason) as MpmmlError).code
    expect(codes(reasonText(new AbortedError('given up')))).toBe('ERR_MPMML_QUEUE')
    expect(codes(reasonText(new TypeError('x is not a function')))).toBe('ERR_MPMML_QUEUE')
    expect(codes('lost [ERR_MPMML_constructor]')).toBe('ERR_MPMML_QUEUE')
    expect(codes('lost [ERR_MPMML_UNKNOWN]')).toBe('ERR_MPMML_QUEUE')
    expect(errorOf('C.0.1', reasonText(new Error('two\nlines'))).message).toBe(
      'block C.0.1 failed: two lines',
    )
  })

  it('are final exactly if another attempt cannot succeed', () => {
    const errors = Object.values(errorClasses).map((Class) => {
      const AnyError = Class as unknown as new (message: string, more: object) => MpmmlError
      return new AnyError('x', { cycle: [0], weight: 1 })
    })
    const codes = errors.filter(isFinal).map(({ code }) => code.slice('ERR_MPMML_'.length))
    expect(codes.sort()).toEqual([
      ...['CHANGED', 'CYCLE', 'DTYPE', 'EXISTS', 'LIMIT', 'OPTION', 'OVERFLOW', 'PACKAGE', 'RESUME', 'ROOTS'],
      ...['SHAPE', 'VALUE', 'VARIANT'],
    ])
    expect(isFinal(Object.assign(new Error('forged'), { code: 'ERR_MPMML_OVERFLOW' }))).toBe(false)
  })
})

describe('records', () => {
  const keys = keysOf('q')

  it('are null unless their text is an object', () => {
    expect(readRecord('{"job":"C.0.1"}')).toEqual({ job: 'C.0.1' })
    for (const text of ['7', '"text"', 'true', 'null', '{', '']) expect(readRecord(text)).toBeNull()
  })

  it('are blocks only with a plan, a name and a stage', () => {
    expect(isJobData({ plan: 'p', name: 'C.0.1', stage: 0 })).toBe(true)
    for (const data of [
      null,
      undefined,
      7,
      {},
      { plan: 'p', name: 'C.0.1' },
      { plan: 1, name: 'C', stage: 0 },
    ])
      expect(isJobData(data)).toBe(false)
  })

  it('are plans only under their own id, with absolute paths', async () => {
    const plan = {
      id: 'abc',
      kind: 'multiply',
      stages: [4],
      a: { path: '/data/a.zarr' },
      b: { path: 's3://bucket/b.zarr' },
      output: { path: '/data/c.zarr' },
    }
    const read = (stored: unknown, id = 'abc') =>
      readPlan({ redis: { hget: async () => JSON.stringify(stored) } } as never, keys, id)
    expect(await read(plan)).toEqual(plan)
    expect(await read({ ...plan, kind: 'shortest-paths', b: undefined })).toMatchObject({ id: 'abc' })
    for (const forged of [
      { ...plan, id: 'abd' },
      { ...plan, kind: 'delete' },
      { ...plan, stages: 4 },
      { ...plan, b: undefined },
      { ...plan, output: { path: 'c.zarr' } },
      { ...plan, a: { path: 7 } },
      7,
      null,
    ])
      await expect(read(forged)).rejects.toEqual(coded('QUEUE', "isn't one"))
    const gone = readPlan({ redis: { hget: async () => null } } as never, keys, 'abc')
    await expect(gone).rejects.toEqual(coded('QUEUE', 'no longer in the queue'))
    await expect(read(plan, '../abc')).rejects.toEqual(coded('QUEUE', 'no longer in the queue'))
  })

  it('list live workers, and drop workers that are gone', async () => {
    const forgotten: string[] = []
    const redis = {
      smembers: async () => ['one', 'gone', 'forged'],
      mget: async () => ['{"id":"one","host":"h"}', null, '7'],
      srem: async (_: string, ...ids: string[]) => forgotten.push(...ids),
    }
    expect(await workersOf(redis as never, keys)).toEqual([{ id: 'one', host: 'h' }])
    expect(forgotten).toEqual(['gone'])
  })
})
