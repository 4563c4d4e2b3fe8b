/** Concurrent calls of all kinds on the CPU, and tests of the check of their results. */
import { describe, expect, it } from 'vitest'
import { describeCall, drawCalls } from '../../bench/stress/calls.js'
import { judge } from '../../bench/stress/perform.js'
import { OverflowError, ShapeError } from '../../lib/errors.js'
import { variants } from '../../lib/index.js'
import { mixedSuite } from '../support/suite-mixed.js'

describe('cpu', () => mixedSuite('cpu', 300))

describe('the check', () => {
  const calls = drawCalls(400, 5, { largest: 20, large: 0 })
  const same = () => undefined

  it('derives the calls from their seed', () => {
    expect(drawCalls(400, 5, { largest: 20, large: 0 }).map(describeCall)).toEqual(calls.map(describeCall))
    expect(drawCalls(400, 6, { largest: 20, large: 0 }).map(describeCall)).not.toEqual(
      calls.map(describeCall),
    )
  })

  it('has calls of all kinds', () => {
    const products = calls.flatMap((call) => (call.mistake ? [] : [call.call]))
    for (const verb of ['mpmm', 'mpmmSync', 'mpmmGrouped']) {
      expect(products.some((call) => call.verb === verb)).toBe(true)
    }
    const drawn = products.flatMap((call) => call.products.map(({ semiring }) => semiring))
    expect(new Set(drawn)).toEqual(new Set(variants().map(({ semiring }) => semiring)))
    expect(products.some(({ abortTime }) => abortTime === 'before')).toBe(true)
    expect(products.some(({ abortTime }) => typeof abortTime === 'number')).toBe(true)
    expect(new Set(calls.map(({ mistake }) => mistake?.name)).size).toBeGreaterThan(20)
  })

  it('detects an error in place of a result, and another code', () => {
    const good = calls.find((call) => call.mistake === null && call.call.abortTime === null)!
    const bad = calls.find((call) => call.mistake?.code === 'ERR_MPMML_SHAPE')!
    expect(judge(good, { error: new ShapeError('no') }, same)).toContain('ERR_MPMML_SHAPE')
    expect(judge(good, { error: new TypeError('no') }, same)).toContain('without a code')
    expect(judge(bad, { error: new ShapeError('no') }, same)).toBeUndefined()
    expect(judge(bad, { error: new OverflowError('no') }, same)).toContain('instead of ERR_MPMML_SHAPE')
    expect(judge(bad, { results: [] }, same)).toContain('ERR_MPMML_SHAPE was to be expected')
  })

  it('detects a result of another shape or type', () => {
    const call = calls.find(
      (one) =>
        one.mistake === null &&
        one.call.abortTime === null &&
        one.call.products.length === 1 &&
        one.call.products[0]!.dtype === 'int32',
    )!
    const { shapes } = call.mistake === null ? call.call.products[0]! : expect.fail('it is a mistake')
    const result = (shape: readonly number[], data: Int32Array | Uint8Array) =>
      ({ results: [{ data, shape, strides: [1, 1], offset: 0 }] }) as never
    expect(judge(call, result(shapes.c, new Uint8Array(1)), same)).toContain('is of uint8')
    expect(judge(call, result([999, 999], new Int32Array(1)), same)).toContain('has the shape [999,999]')
    expect(judge(call, result(shapes.c, new Int32Array(1)), same)).toBeUndefined()
    expect(judge(call, result(shapes.c, new Int32Array(1)), () => 'it differs')).toContain('it differs')
  })
})
