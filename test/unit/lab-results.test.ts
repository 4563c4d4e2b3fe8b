/** Results files: written, read back, rejected with a reason, and as CSV. The numbers are synthetic. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { addPoint, jobKey } from '../../bench/lab/job.js'
import { finallyWrite, storePoint } from '../../bench/lab/runner.js'
import * as lab from '../../lib/lab.js'
import { useFolder } from '../support/folder.js'
import { bandwidthPoint, callPoint, kernelPoint, madeUpPoints } from '../support/made-up.js'

const inFolder = useFolder()
const path = (name: string) => inFolder(name)

const machine: lab.Machine = {
  gpu: { name: 'Synthetic, "GPU"', computeCapability: '9.0', maxClockMHz: 1000, memoryClockMHz: 500 },
  driver: '13.0',
  toolkit: '13.0.88',
  architectures: ['sm_90'],
  mpmml: '0.0.0',
  commit: null,
  compiler: 'none',
  node: '20',
  peak: null,
}
const measured = '2020-01-01T00:00:00.000Z'
const kernel = (m: number, median = 5) =>
  kernelPoint(
    'cases',
    'variant',
    { m, n: m, k: m, batch: 1, MEMSEL_A: 0 },
    { kernelMs: median, prepareMs: 2, gops: 100, quartile: 1 },
  )
const refused: lab.OccupancyPoint = {
  kind: 'occupancy',
  sweep: 'occupancy',
  name: 'reg-reg',
  parameters: { x: 4, y: 4 },
  measured,
  failure: 'too large,\nfor this',
}

function results(...points: lab.Point[]): lab.Results {
  const created = lab.newResults(machine)
  for (const point of points) addPoint(created, point)
  return created
}

describe('points', () => {
  it('replace points of the same measurement, in any order of parameters', () => {
    const again = kernel(8, 7)
    again.parameters = Object.fromEntries(Object.entries(again.parameters).reverse()) as never
    const created = results(kernel(8), kernel(16), again)
    expect(created.points).toHaveLength(2)
    expect(created.points[0]).toBe(again)
  })
  it('differ by kind, sweep, name and parameters', () => {
    const point = kernel(8)
    const others = [
      { ...point, kind: 'microbench' },
      { ...point, sweep: 'tiles' },
      { ...point, name: 'x' },
      { ...point, parameters: {} },
    ]
    expect(new Set([point, ...others].map(jobKey)).size).toBe(5)
  })
})

describe('a results file', () => {
  it.each([
    [results()],
    [results(kernel(8))],
    [results(kernel(8), refused, kernel(16))],
    [results(...madeUpPoints())],
  ])('is read back unchanged', async (created) => {
    await lab.writeResults(path('r.json'), created)
    expect(await lab.readResults(path('r.json'))).toEqual(created)
    const text = readFileSync(path('r.json'), 'utf8')
    expect(text.endsWith('}\n')).toBe(true)
    // The file has one line per point, so that line-based tools can compare files.
    expect(text.split('\n').filter((line) => line.includes('"kind"'))).toHaveLength(created.points.length)
  })

  const whole = JSON.stringify(results(kernel(8)))
  const bandwidth = JSON.stringify(results(bandwidthPoint('copy', 100)))
  const call = JSON.stringify(results(callPoint('cpu', { m: 1 })))
  it.each<[string, string, RegExp]>([
    ['no JSON', '{', /isn't JSON/],
    ['other JSON', '[1]', /no "format"/],
    ['a newer version', whole.replace('"version":1', '"version":2'), /version is 2/],
    ['no machine', whole.replace('"machine"', '"m"'), /names no machine/],
    ['a machine that names no toolkit', whole.replace('"toolkit"', '"t"'), /names no machine/],
    ['no points', whole.replace('"points"', '"p"'), /no points/],
    [
      'a kind of point that is unknown',
      whole.replace('"kind":"kernel"', '"kind":"x"'),
      /point 0 is of kind 'x'/,
    ],
    ['a point without a name', whole.replace('"name":"variant"', '"x":1'), /point 0 has no name/],
    ['a parameter that is a list', whole.replace('"m":8', '"m":[8]'), /point 0 has a parameter m/],
    ['a point without a result', whole.replace('"result"', '"r"'), /point 0 has neither result nor failure/],
    ['a result without times', whole.replace('"kernelMs"', '"ms"'), /point 0 has a result without kernelMs/],
    ['a bandwidth without one', bandwidth.replace('"gbps"', '"x"'), /point 0 has a result without gbps/],
    ['a call of no backend', call.replace('"backend"', '"x"'), /point 0 has a result that names no backend/],
    ['a call without its total', call.replace('"totalMs"', '"x"'), /point 0 has a result without totalMs/],
    [
      'counters that are text',
      whole.replace('"path"', '"counters":{"l2":"1"},"path"'),
      /point 0 has a result with counters/,
    ],
    ['a time that is no number', whole.replace('"median":5', '"median":"5"'), /without kernelMs/],
  ])('is rejected with %s', async (_, text, expected) => {
    writeFileSync(path('wrong.json'), text)
    const failure = await lab.readResults(path('wrong.json')).catch((error) => error)
    expect(failure.code).toBe('ERR_MPMML_FILE')
    expect(failure.message).toMatch(expected)
    expect(failure.message).toContain(path('wrong.json'))
  })

  it('is rejected if it is a folder or missing', async () => {
    await expect(lab.readResults(inFolder())).rejects.toMatchObject({ code: 'ERR_MPMML_FILE' })
    await expect(lab.readResults(path('none.json'))).rejects.toMatchObject({
      code: 'ERR_MPMML_FILE',
      message: expect.stringContaining('ENOENT'),
    })
  })
})

describe('results that could not be read again', () => {
  const point = kernel(8)
  it.each<[string, object, RegExp]>([
    ['a machine without properties', { machine: { ...machine, gpu: null } }, /names no machine/],
    ['a point without a result', { points: [{ ...point, result: undefined }] }, /point 0 has neither result/],
    ['a point of another kind', { points: [point, { ...point, kind: 'x' }] }, /point 1 is of kind 'x'/],
  ])('are rejected: %s', async (_, change, message) => {
    const wrong = { ...results(), ...change } as lab.Results
    const expected = { code: 'ERR_MPMML_DTYPE', message: expect.stringMatching(message) }
    await expect(lab.writeResults(path('never.json'), wrong)).rejects.toMatchObject(expected)
    expect(existsSync(path('never.json'))).toBe(false)
    expect(() => lab.resultsCsv(wrong)).toThrow(message)
  })
})

it('writes CSV with a line per point, quoted where necessary', () => {
  const csv = lab.resultsCsv(results(kernel(8), refused))
  const [head, first, ...rest] = csv.split('\r\n')
  const columns = head!.split(',')
  expect(columns.slice(0, 3)).toEqual(['sweep', 'kind', 'name'])
  for (const name of ['m', 'kernelMs', 'kernelMs_q1', 'kernelMs_q3', 'gpu', 'driver', 'toolkit', 'commit']) {
    expect(columns).toContain(name)
  }
  expect(first!.split(',')[columns.indexOf('kernelMs_q3')]).toBe('6')
  expect(first).toContain('"Synthetic, ""GPU"""')
  expect(rest.join('\r\n')).toContain('"too large,\nfor this"')
  expect(csv.endsWith('\r\n')).toBe(true)
})

describe('a file of two processes', () => {
  it('keeps the points of both', async () => {
    const file = path('two.json')
    const [one, other] = [lab.newResults(machine), lab.newResults(machine)]
    await storePoint(file, one, kernel(1))
    await storePoint(file, other, kernel(2))
    await storePoint(file, one, kernel(3))
    await storePoint(file, other, kernel(3, 7))
    const { points } = await lab.readResults(file)
    expect(points).toEqual([kernel(1), kernel(2), kernel(3, 7)])
  })

  it('is rejected if the other one is of another machine', async () => {
    const file = path('machines.json')
    await lab.writeResults(file, lab.newResults({ ...machine, driver: '12.0' }))
    await expect(storePoint(file, lab.newResults(machine), kernel(1))).rejects.toThrow(
      'name another file with -o',
    )
    expect((await lab.readResults(file)).points).toEqual([])
  })
})

describe('finallyWrite', () => {
  const failing = (message: string) => async () => {
    throw new Error(message)
  }

  it('writes after work that succeeds, and after work that fails', async () => {
    const events: string[] = []
    const write = async () => void events.push('written')
    await finallyWrite(async () => events.push('work'), write)
    await expect(finallyWrite(failing('work'), write)).rejects.toThrow('work')
    expect(events).toEqual(['work', 'written', 'written'])
  })

  it('rejects with the error of the work, or that of writing if the work succeeds', async () => {
    await expect(finallyWrite(failing('work'), failing('disk'))).rejects.toThrow('work')
    await expect(finallyWrite(async () => {}, failing('disk'))).rejects.toThrow('disk')
  })
})
