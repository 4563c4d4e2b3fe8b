/**
 * Computations of the page (docs/try): results, and the length of each slice of work. Its display in a browser is tested in
 * test/browser.
 */
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'

/** The page imports the library by its name. */
const missing = !existsSync(new URL('../../dist/lib/index.js', import.meta.url))
const page = missing
  ? undefined
  : {
      ...(await import('../../docs/try/numbers.js')),
      ...(await import('../../docs/try/slices.js')),
      ...(await import('../../docs/try/csv.js')),
    }

describeUnless(withoutBuild, 'the page', () => {
  const {
    random,
    withZeros,
    typeOf,
    operandOf,
    inRows,
    readNumbers,
    readCells,
    forEachIndex,
    inSlices,
    PER_STEP,
  } = page!

  /** Runs the work; returns its result and the number of its steps. */
  function counted<Result>(work: Generator<void, Result, void>): { result: Result; steps: number } {
    for (let steps = 1; ; steps++) {
      const { done, value } = work.next()
      if (done) return { result: value, steps }
    }
  }
  const result = <Result>(work: Generator<void, Result, void>) => counted(work).result
  const n = 2048
  const least = (n * n) / PER_STEP

  it('computes large matrices in short slices', () => {
    const created = counted(random(n, n, 1))
    const zeros = counted(withZeros(created.result, 'max-plus'))
    const type = counted(typeOf('max-plus', 'automatic', zeros.result))
    const operand = counted(operandOf(zeros.result, 'A', 'max-plus', 'int32'))
    expect(type.result).toBe('int32')
    for (const { steps } of [created, zeros, type, operand]) expect(steps).toBeGreaterThanOrEqual(least)
    const { data } = operand.result
    let state = 1
    const wrong = data.findIndex((value) => {
      state = (state * 1664525 + 1013904223) % 2 ** 32
      return value !== (Math.floor(state / 256) % 2001) - 1000
    })
    expect(wrong).toBe(-1)
  })

  it('reads a large file in short slices', () => {
    const data = Int32Array.from({ length: 300 * 400 }, (_, at) => at)
    const { result, steps } = counted(inRows({ data, shape: [300, 400], strides: [1, 300] }))
    expect(steps).toBeGreaterThanOrEqual(data.length / PER_STEP)
    expect([result.values[0], result.values[1], result.values[400], result.values.at(-1)]).toEqual([
      0, 300, 1, 119_999,
    ])
  })

  it('parses a long text in short slices', () => {
    const rows = 600
    const text = Array.from({ length: rows }, (_, row) =>
      Array.from({ length: 200 }, (_, col) => row - col).join(','),
    ).join('\n')
    const wrong = (message: string) => new Error(message) as never
    const { result, steps } = counted(readNumbers(text, 'A', wrong))
    expect(steps).toBeGreaterThanOrEqual(text.length / (2 * PER_STEP))
    expect([result.rows, result.cols, result.values[0], result.values.at(-1)]).toEqual([
      rows,
      200,
      0,
      rows - 200,
    ])
  })

  it('reads cells as the library does', () => {
    const cells = (text: string) => result(readCells(text)).map(({ line, cells }) => [line, ...cells])
    expect(cells('sep=;\n"a ""b""";1,5\r\r\n# note\n"c\nd"; 2')).toEqual([
      [2, 'a "b"', '1,5'],
      [5, 'c\nd', '2'],
    ])
    expect(cells('New York, NY;5\nParis;7')).toEqual([
      [1, 'New York, NY', '5'],
      [2, 'Paris', '7'],
    ])
    expect(() => cells('a,"b')).toThrow('none ends it')
  })

  it('takes zeros, infinities and points for the zero of int32', () => {
    const read = (text: string) => result(readNumbers(text, 'A', (message) => new Error(message) as never))
    const numbers = result(withZeros(read('1 . -inf\n-2147483648 2 ε'), 'max-plus'))
    expect([...numbers.values]).toEqual([1, Number.NaN, Number.NaN, Number.NaN, 2, Number.NaN])
    expect(result(typeOf('max-plus', 'automatic', numbers))).toBe('int32')
    const fraction = read('0.5 .')
    expect(result(typeOf('max-plus', 'automatic', fraction, numbers))).toBe('float64')
    expect([...result(operandOf(fraction, 'A', 'max-plus', 'float64')).data]).toEqual([
      0.5,
      Number.NEGATIVE_INFINITY,
    ])
    expect(() => result(operandOf(fraction, 'A', 'max-plus', 'int32'))).toThrow('0.5')
  })

  it('stops at the first index that is rejected, and when a signal is aborted', async () => {
    const seen: number[] = []
    expect(result(forEachIndex(9, (index) => seen.push(index) < 3))).toBe(false)
    expect(seen).toEqual([0, 1, 2])
    const controller = new AbortController()
    const endless = (function* () {
      for (let steps = 0; steps < 1e6; steps++) {
        if (steps === 3) controller.abort(new Error('over'))
        yield
      }
    })()
    await expect(inSlices(endless, controller.signal)).rejects.toThrow('over')
  })

  it('computes the example of each tool, and a path along thousands of edges', async () => {
    const tools = [
      ...[
        (await import('../../docs/try/project.js')).project,
        (await import('../../docs/try/paths.js')).paths,
      ],
      ...[
        (await import('../../docs/try/timetable.js')).timetable,
        (await import('../../docs/try/rna.js')).rna,
      ],
      (await import('../../docs/try/product.js')).product,
    ]
    const { signal } = new AbortController()
    for (const { answer, example } of tools) expect(await answer(example, signal)).toBeTypeOf('function')
    const edges = Array.from({ length: 20_000 }, (_, node) => `n${node},n${node + 1},1`).join('\n')
    const chain = { edges, from: 'n0', to: 'n20000', kind: 'shortest', ways: 'one way' }
    expect(await tools[1]!.answer(chain, signal)).toBeTypeOf('function')
  })

  it('reads cells literally', () => {
    expect(result(readCells('a;"b;c"\n# no\n\nd;e'))).toEqual([
      { line: 1, cells: ['a', 'b;c'] },
      { line: 4, cells: ['d', 'e'] },
    ])
  })
})
