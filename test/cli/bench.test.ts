/** mpmml bench. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'
import { withCuda, withoutCuda } from '../support/machine.js'
import { itUnless } from '../support/skip.js'
import { withoutWebGpu } from '../support/webgpu.js'
import { fails, interrupted, json, runMpmml, succeeds } from './support.js'

const path = useFolder()
const webgpuReason = await withoutWebGpu()

const shapes = ['--shapes', '40x30x50,2x16x16x16', '--repetitions', '3']

const figureFields = ['aim', 'moreIsBetter', 'must', 'note', 'of', 'unit', 'value', 'what']

describe('bench', () => {
  it('times products on the CPU, with one thread and with all', async () => {
    const record = await json(['bench', '--backend', 'cpu', ...shapes], { env: { MPMML_NUM_THREADS: '2' } })
    expect(record.trials.map(({ threads }: { threads: number }) => threads)).toEqual([1, 2])
    for (const { rows, failures, ceiling } of record.trials) {
      expect(failures).toEqual([])
      expect(ceiling.name).toContain(record.cpu.simd)
      for (const name of ['gops', 'halfGops', 'byteGops', 'naiveLoopGops'])
        expect(ceiling[name].median, name).toBeGreaterThan(0)
      expect(rows).toHaveLength(14)
      for (const row of rows) {
        expect(row).toMatchObject({
          backend: 'cpu',
          variant: expect.stringMatching(/_maxplus_i32_/),
          verified: 'naive_maxplus_i32_acc64',
        })
        const { gops, halfGops, byteGops } = ceiling
        const most = { half: halfGops, byte: byteGops }[row.path.split('-')[0] as string] ?? gops
        expect(row.percentOfCeiling).toBeCloseTo((100 * row.gops.median) / most.median, 6)
        for (const name of ['kernelMs', 'callMs', 'gops']) {
          const { median, q1, q3, count } = row[name]
          expect(q1).toBeLessThanOrEqual(median)
          expect(median).toBeLessThanOrEqual(q3)
          expect(count).toBe(3)
        }
        expect(row.callMs.median).toBeGreaterThanOrEqual(row.kernelMs.q1)
      }
      const [first, batch] = [rows[0], rows[7]]
      expect(first).toMatchObject({ batch: 1, m: 40, k: 30, n: 50, values: 'int32' })
      expect(batch).toMatchObject({ batch: 2, m: 16, k: 16, n: 16 })
      const of = (values: string) => rows.find((row: { values: string }) => row.values === values)
      expect(of('int32').path).toBe('direct')
      expect(of('transposed').path).toBe('direct')
      expect(of('full').path).toBe('wide')
      // These values allow 16-bit sums, but small products don't always gain from them.
      expect(['direct', 'half']).toContain(of('16bit').path)
    }
  })

  it('shows a table, and draws the speeds in the terminal and in a file', async () => {
    const file = path('speeds.svg')
    const one = ['bench', '--backend', 'cpu', '--values', 'int32,16bit', ...shapes, '--svg', file]
    const env = { MPMML_NUM_THREADS: '1' }
    const printed = await succeeds([...one, '--plot'], { env })
    const bars = [...printed.matchAll(/^(\S.*?) {2,}([█▏▎▍▌▋▊▉]*) +([\d.]+) ([GT]OPS)$/gm)]
    expect(bars.map(([, label]) => label)).toEqual([
      '40×30×50 int32',
      '40×30×50 16bit',
      '2 × 16³ int32',
      '2 × 16³ 16bit',
      'ceiling',
    ])
    const speeds = bars.map(([, , , speed]) => Number(speed))
    const longest = bars[speeds.indexOf(Math.max(...speeds))]!
    expect(longest[2]).toBe('█'.repeat(40))
    const svg = readFileSync(file, 'utf8')
    expect(svg).toMatch(/^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/)
    for (const text of ['Speed of max-plus on int32', '40×30×50 · int32', 'ceiling', 'CPU, 1 thread'])
      expect(svg).toContain(text)
    expect(svg).not.toMatch(/var\(|NaN|undefined/)
    expect(printed).toMatch(
      /^CPU, 1 thread; ceiling .* in 16 bits .* only registers, a plain loop on one core/m,
    )
    expect(printed).not.toContain('threads')
    expect(printed).toMatch(/^40×30×50 +int32 .* packed_maxplus_i32_/m)
    expect(printed).toMatch(/^2 × 16³ +int32 .* packed_maxplus_i32_/m)
  })

  itUnless(webgpuReason, 'names the GPU of WebGPU in its header', async () => {
    const args = ['bench', '--backend', 'webgpu', '--sizes', '16', '--values', 'int32', '--repetitions', '1']
    // Dawn may print warnings on stderr.
    const { status, stdout } = await runMpmml(args, { env: { MPMML_WEBGPU_FALLBACK: '1' } })
    expect(status).toBe(0)
    const [, name] = /^WebGPU +(\S.*)$/m.exec(stdout)!
    expect(stdout).toContain(`\n${name}; no ceiling\n`)
  })

  it.each([
    ['max-plus', 'float32', 'naive_maxplus_f32_direct', ['float32', 'float32-eps']],
    ['plus-times', 'float64', 'naive_plustimes_f64_direct', ['float64']],
  ])('measures %s on %s next to its own peak', async (semiring, dtype, verified, values) => {
    const flags = [
      '--backend',
      'cpu',
      '--dtype',
      dtype,
      '--semiring',
      semiring,
      '--sizes',
      '64',
      '--repetitions',
      '3',
    ]
    const record = await json(['bench', ...flags], { env: { MPMML_NUM_THREADS: '1' } })
    expect(record).toMatchObject({ dtype, semiring })
    const { ceiling, rows } = record.trials[0]
    expect(ceiling.name).toContain(dtype)
    expect(rows.map((row: { values: string }) => row.values)).toEqual(values)
    for (const row of rows) {
      expect(row).toMatchObject({ path: 'direct', verified })
      expect(row.percentOfCeiling).toBeCloseTo((100 * row.gops.median) / ceiling.gops.median, 6)
    }
  })

  it.each([
    ['min-max', [], 'int32', ['int32', 'int16', 'transposed']],
    ['min-max', ['--dtype', 'float64'], 'float64', ['float64']],
    ['max-times', [], 'float32', ['float32']],
    ['or-and', [], 'uint8', ['uint8']],
  ])('measures %s %j, next to the peak of its steps', async (semiring, flags, dtype, values) => {
    const args = ['--backend', 'cpu', '--semiring', semiring, ...flags, '--shapes', '70x90x50,2x16x40x16']
    const record = await json(['bench', ...args, '--repetitions', '1'], { env: { MPMML_NUM_THREADS: '1' } })
    expect(record).toMatchObject({ dtype, semiring })
    const { ceiling, rows, failures } = record.trials[0]
    expect(failures).toEqual([])
    expect(ceiling).toMatchObject({
      name: expect.stringContaining(dtype),
      halfGops: null,
      naiveLoopGops: null,
    })
    expect(rows.map((row: { values: string }) => row.values)).toEqual([...values, ...values])
    for (const row of rows) {
      expect(row.path).toBe('direct')
      expect(row.verified).toMatch(new RegExp(`^naive_${semiring.replace('-', '')}_`))
      expect(row.percentOfCeiling).toBeCloseTo((100 * row.gops.median) / ceiling.gops.median, 6)
    }
  })

  it('times one element type at a time, and only existing ones', async () => {
    expect(await fails(['bench', '--values', 'int32,float32'])).toContain('one type at a time')
    expect(await fails(['bench', '--semiring', 'plus-times', '--dtype', 'int32'])).toContain('no int32')
    expect(await fails(['bench', '--semiring', 'or-and', '--dtype', 'int32'])).toContain('--dtype uint8')
    expect(await fails(['bench', '--semiring', 'max-times', '--values', 'int32'])).toContain('no int32')
  })

  it('measures the backends of this machine, and shows the peak', async () => {
    // bench measures a single peak for float32.
    const args = ['bench', '--sizes', '64', '--values', 'float32', '--repetitions', '1']
    const env = { MPMML_NUM_THREADS: '1' }
    const { trials, gpu } = await json(args, { env })
    const printed = await succeeds(args, { env })
    expect(printed).toContain(trials[0].ceiling.name)
    expect(printed).not.toContain('█')
    const reason = withoutCuda()
    expect(trials[0].backend).toBe(reason === undefined ? 'cuda' : 'cpu')
    expect(gpu === null).toBe(reason !== undefined)
    expect(trials[0].ceiling.gops.median).toBeGreaterThan(0)
  })

  itUnless(withCuda(), 'reports in one line that there is no GPU', async () => {
    expect(await fails(['bench', '--backend', 'cuda'])).toMatch(/needs a GPU.* \[ERR_MPMML_NO_CUDA\]$/m)
  })

  itUnless(withoutCuda(), 'compares auto with the backends by its own calls', async () => {
    const { rows } = await json(['bench', '--choice', '--sizes', '32,256'])
    expect(rows.map(({ m }: { m: number }) => m)).toEqual([32, 256])
    for (const { callMs, ratio } of rows) {
      expect(ratio).toBeCloseTo(callMs.auto.median / Math.min(callMs.cuda.median, callMs.cpu.median), 9)
    }
  })

  it('runs all suites with --suite all, each with figures and their limits', async () => {
    const { suites, gpu } = await json(['bench', '--suite', 'all', '--backend', 'cpu', '--quick'])
    expect(gpu).toBeNull()
    expect(suites.map(({ name }: { name: string }) => name)).toEqual([
      'resident',
      'grouped',
      'small',
      'monotone',
      'levels',
      'structure',
      'graph',
      'sparse',
      'rna',
      'semirings',
      'delay',
      'promises',
      'cold',
      'abort',
      'mixed',
      'memory',
      'queue',
      'devices',
      'peers',
    ])
    for (const { backend, figures, wrong } of suites) {
      expect(backend).toBe('cpu')
      expect(wrong).toEqual([])
      for (const figure of figures) {
        expect(Object.keys(figure).sort()).toEqual(figureFields)
        const { q1, median, q3, count } = figure.value
        expect(q1).toBeLessThanOrEqual(median)
        expect(median).toBeLessThanOrEqual(q3)
        expect(count).toBeGreaterThan(0)
      }
    }
    const named = (name: string) => suites.find((suite: { name: string }) => suite.name === name)
    const [resident, promises, graph] = ['resident', 'promises', 'graph'].map(named)
    for (const { figures, shows } of [resident, promises]) {
      expect(shows).toMatch(/products/)
      expect(figures.length).toBeGreaterThan(3)
    }
    expect(resident.figures[0]).toMatchObject({
      of: 'ten of 64³, any int32',
      what: 'whole time / sum of the kernels',
      unit: 'x',
      // Limits apply to GPUs only, so a product on the CPU has none.
      must: null,
    })
    expect(promises.figures[0]).toMatchObject({ of: '16³', unit: 'µs', must: 15, aim: 8 })
    const shown = graph.figures.map(({ of, what }: { of: string; what: string }) => `${of}: ${what}`)
    expect(shown).toEqual([
      '100 nodes, resident: all distances',
      '100 nodes, resident: with the next nodes',
      '200 nodes, resident: the product of the matrix with itself',
      '200 nodes, resident: all distances',
      '200 nodes, resident: all distances, n³ steps',
      "200 nodes, resident: the same against the product's speed",
      '100 nodes, arrays: all distances',
      '20 graphs of 16 nodes, resident: all distances',
      '100 nodes, arrays, CPU: all distances',
      "100 nodes, arrays, CPU: SciPy's floyd_warshall",
      ...(shown.length === 13 ? ['100 nodes, arrays, CPU: its time / the time here'] : []),
      '64³, any int32, one core: speed with witness / without',
      '1000 nodes, 10000 edges, one core: maximum cycle mean',
    ])
    // Small sizes have no limits.
    for (const { must, aim } of graph.figures) expect([must, aim]).toEqual([null, null])
  })

  it('shows a table for each suite named by --suite, in the order of all', async () => {
    const printed = await succeeds(['bench', '--suite', 'promises,resident', '--backend', 'cpu', '--quick'])
    const names = [...printed.matchAll(/^(\w+) on the CPU: /gm)].map(([, name]) => name)
    expect(names).toEqual(['resident', 'promises'])
    expect(printed).toMatch(/^16³ +await mpmm, backend 'cpu' .* ≤ 15 µs +(reached|missed)/m)
    expect(printed).not.toMatch(/^wrong/m)
  })

  it('times the requested values', async () => {
    const args = ['bench', '--backend', 'cpu', '--sizes', '40', '--values', 'levels,bounded']
    const { trials } = await json(args, { env: { MPMML_NUM_THREADS: '1' } })
    const [{ rows }] = trials
    expect(rows.map((row: { values: string }) => row.values)).toEqual(['levels', 'bounded'])
  })

  it('draws the results of --suite levels with --svg', async () => {
    const picture = path('levels.svg')
    const suite = ['bench', '--suite', 'levels', '--backend', 'cpu', '--quick', '--repetitions', '1']
    await succeeds([...suite, '--svg', picture])
    const svg = readFileSync(picture, 'utf8')
    for (const text of ['16 levels', 'bounded differences', 'any int32', '128³']) expect(svg).toContain(text)
    const other = ['bench', '--suite', 'small', '--backend', 'cpu', '--svg', picture]
    expect(await fails(other, 2)).toContain('--suite levels')
  })

  itUnless(withCuda(), 'rejects --suite on a missing GPU', async () => {
    const message = await fails(['bench', '--suite', 'small', '--backend', 'cuda', '--quick'])
    expect(message).toMatch(/ \[ERR_MPMML_NO_CUDA\]$/m)
  })

  it.each([
    ['--suite', 'fast'],
    ['--suite', ''],
    ['--sizes', '64'],
    ['--values', 'int32'],
  ])('reports wrong usage for --suite all with %s %s', async (option, value) => {
    expect(await fails(['bench', '--suite', 'all', option, value], 2)).toContain(option)
  })

  it.each([
    ['--sizes', '0'],
    ['--sizes', '4,x'],
    ['--shapes', '4x5'],
    ['--shapes', '4x0x5'],
    ['--values', 'int64'],
    ['--repetitions', '0'],
  ])('reports wrong usage for %s %s', async (option, value) => {
    expect(await fails(['bench', option, value], 2)).toContain(option)
  })

  it('ends at an interrupt, and so does the measuring process', async () => {
    const { status, said } = await interrupted(['bench', '--backend', 'cpu', '--sizes', '4096'], /left: \w/)
    expect({ status, said }).toEqual({ status: 130, said: 'mpmml: interrupted\n' })
  })

  it('ends at an interrupt with --suite', async () => {
    const outcome = await interrupted(['bench', '--backend', 'cpu', '--suite', 'all'], /left: \w/)
    expect(outcome).toEqual({ status: 130, stdout: '', said: 'mpmml: interrupted\n' })
  })
})
