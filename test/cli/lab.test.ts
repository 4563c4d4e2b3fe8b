/** mpmml microbench, occupancy and sweep. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { reportJobs } from '../../bench/lab/experiments.js'
import { kernelSweeps } from '../../bench/lab/kernel-sweeps.js'
import { microbenchJobs } from '../../bench/lab/microbench-sweeps.js'
import { variants } from '../../lib/index.js'
import {
  microbenches,
  microbenchKernels,
  microbenchNames,
  readResults,
  refusedVariants,
} from '../../lib/lab.js'
import { useFolder } from '../support/folder.js'
import { withCuda, withoutCuda, withoutLaboratory } from '../support/machine.js'
import { describeUnless, itUnless, named } from '../support/skip.js'
import { fails, json, mpmml, root, runProgram, succeeds } from './support.js'

const path = useFolder()
const noGpu = withoutCuda()
const noLab = withoutLaboratory()

describeUnless(withCuda(), 'without a GPU', () => {
  it.each([
    'microbench reg-reg',
    'microbench shared-both --sweep',
    'microbench fused --json',
    'occupancy reg-reg',
    'occupancy reg-reg --x 4 --y 4',
    'sweep cases',
    'sweep instances --json',
  ])('%s reports it in one line', async (command) => {
    const line = await fails(command.split(' '))
    expect(line).toContain('needs a GPU')
    expect(line).toContain(noGpu)
  })

  it.each(['microbench reg-rag', 'microbench reg-rag --sweep'])(
    'rejects the name in %s on every machine',
    async (command) => {
      const line = await fails(command.split(' '), 2)
      expect(line).toContain('reg-rag')
      expect(line).toContain('reg-reg')
      expect(line).not.toContain('GPU')
    },
  )
  it('creates no file', async () => {
    await fails(['sweep', 'cases', '-o', path('never.json'), '--csv-output', path('never.csv')])
    expect(readdirSync(path('.'))).toEqual([])
  })
})

it("exports the laboratory to the package's users as mpmml/lab", async () => {
  const program =
    "import { spread, microbenches } from 'mpmml/lab'; console.log(spread([1, 2, 3]).median, typeof microbenches)"
  const args = ['--input-type=module', '--eval', program]
  expect(await runProgram(process.execPath, args, { cwd: root })).toMatchObject({
    status: 0,
    stdout: '2 function\n',
  })
})

it('rejects two outputs that are one file before any measurement', async () => {
  for (const [command, first, second] of [
    ['sweep cases', '-o', '--csv-output'],
    ['roofline', '-o', '--results'],
    ['report', '-o', '--results'],
  ] as const) {
    const folder = dirname(path('x'))
    const names = [first, path('both'), second, `${folder}/./both`]
    expect(await fails([...command.split(' '), ...names])).toContain('are the same file: name two')
  }
  // The default name of the results is the name of the page with .json.
  expect(await fails(['report', '-o', path('page.json')])).toContain('are the same file: name two')
  expect(readdirSync(path('.'))).toEqual([])
})

describe('wrong usage', () => {
  it.each<[string, string]>([
    ['sweep nonsense', 'cases, patterns, transpose'],
    ['sweep', 'name'],
    ['sweep cases --sizes 0', '--sizes'],
    ['sweep cases --sizes 10,x', '--sizes'],
    ['sweep cases --json --csv', '--csv'],
    ['microbench reg-reg --max both', 'ternary, intrinsic'],
    ['microbench reg-reg --bsi 1025', '1024'],
    ['microbench reg-reg --sweep --x 8', '--sweep'],
    ['occupancy', 'kernel'],
    ['occupancy --registers 32 --threads 256', '--gpu'],
    ['occupancy --registers 32 --gpu sm_61', '--threads'],
    ['occupancy --registers 0 --threads 256 --gpu sm_61', '--registers'],
    ['occupancy --registers 32 --threads 256 --gpu sm_1', 'sm_61'],
    ['occupancy reg-reg --registers 32 --threads 256 --gpu sm_61', 'reg-reg'],
    ['occupancy --registers 32 --threads 256 --gpu sm_61 --x 4', '--x'],
    ['occupancy reg-reg --threads 256', '--registers'],
  ])('is reported for %s', async (command, expected) => {
    expect(await fails(command.split(' '), 2)).toContain(expected)
  })
})

describe('microbench --help', () => {
  it('lists the compiled kernels, without a GPU', async () => {
    const help = await succeeds(['microbench', '--help'])
    expect(help).toMatch(
      /^ {2}reg-reg +Algorithm 1.*\n +X×Y 8x8 4x4 4x6 4x8 8x4 8x16 16x8; max intrinsic ternary$/m,
    )
    expect(help).toMatch(/^ {2}shared-both +Algorithm 3.*\n.*; K 10 5 1; max intrinsic ternary$/m)
    expect(help).toMatch(/^ {2}fused +__viaddmax_s32.*\n +X×Y 8x8 8x4$/m)
    for (const name of microbenchNames) expect(help).toMatch(new RegExp(`^  ${name} `, 'm'))
  })

  itUnless(noLab, 'lists what the laboratory has', () => {
    const built = microbenches().map(({ name, summary, instances }) => {
      const each = <Value>(value: (one: (typeof instances)[number]) => Value) => [
        ...new Set(instances.map(value)),
      ]
      const tiles = each(({ x, y }) => `${x}x${y}`)
      return [name, { summary, tiles, depths: each(({ k }) => k), maxima: each(({ max }) => max) }]
    })
    expect(Object.fromEntries(built)).toEqual(microbenchKernels)
  })
})

describe('occupancy --registers', () => {
  it("prints the thesis' Table 2.1 without a GPU", async () => {
    const printed = await succeeds('occupancy --registers 32,40 --threads 1024 --gpu sm_52'.split(' '))
    expect(printed).toMatch(/^registers per thread +32 +40$/m)
    expect(printed).toMatch(/^active warps +64 per multiprocessor +32 per multiprocessor$/m)
    expect(printed).toMatch(/^active blocks +2 per multiprocessor +1 per multiprocessor$/m)
    expect(printed).toMatch(/^occupancy +100\.0 % +50\.0 %$/m)
  })

  it('prints one JSON object for one number of registers, and an array for several', async () => {
    const args = (registers: string) =>
      `occupancy --registers ${registers} --threads 256 --shared 0 --gpu sm_61 --json`.split(' ')
    const one = {
      gpu: 'sm_61',
      registersPerThread: 32,
      activeBlocks: 8,
      activeWarps: 64,
      occupancyPercent: 100,
    }
    expect(await json(args('32'))).toMatchObject(one)
    expect(await json(args('32,65'))).toMatchObject([one, { registersPerThread: 65, activeBlocks: 3 }])
  })
})

describe('sweeps', () => {
  const names = new Set<string>(variants().map(({ name }) => name))
  const refused = new Set(refusedVariants().map(({ name }) => name))

  it.skipIf(noLab !== undefined).each(Object.entries(kernelSweeps))(
    named('%s names variants that exist, or says why not', noLab),
    (_, { jobs }) => {
      const list = jobs([1024, 2048])
      expect(list.length).toBeGreaterThan(3)
      for (const job of list) {
        expect(names.has(job.name) ? undefined : job.refused !== undefined && refused.has(job.name)).not.toBe(
          false,
        )
        // The parameters of each job include those of the variant.
        if (!names.has(job.name)) continue
        const { parameters } = variants().find(({ name }) => name === job.name)!
        expect(job.parameters).toMatchObject(parameters)
      }
    },
  )
  itUnless(noLab, 'cover what the table has: every tile, block, case and pattern', () => {
    const table = [...variants(), ...refusedVariants()].filter(
      (row) => row.family === 'mpmml' && row.semiring === 'max-plus' && row.dtype === 'int32',
    )
    const distinct = (rows: { parameters: Record<string, unknown> }[], ...names: string[]) =>
      new Set(rows.map(({ parameters }) => names.map((name) => parameters[name]).join()))
    const over = (sweep: keyof typeof kernelSweeps, ...names: string[]) => {
      expect(distinct(kernelSweeps[sweep].jobs([64]), ...names), sweep).toEqual(distinct(table, ...names))
    }
    expect(new Set(kernelSweeps.space.jobs([64]).map(({ name }) => name))).toEqual(
      new Set(table.filter(({ parameters }) => parameters.accumulator === 'int32').map(({ name }) => name)),
    )
    over('tiles', 'X', 'Y')
    over('blocks', 'BS_i', 'BS_j')
    over('cases', 'MEMSEL_A', 'MEMSEL_B')
    over('transpose', 'Transpose')
    const eight = table.filter(({ parameters: { X, Y } }) => X === 8 && Y === 8)
    const patterns = kernelSweeps.patterns.jobs([64])
    expect(distinct(patterns, 'Sub_X', 'Sub_Y')).toEqual(distinct(eight, 'Sub_X', 'Sub_Y'))
  })
  itUnless(noLab, 'instances go from 1 to 20', () => {
    const batches = kernelSweeps.instances
      .jobs([1024, 8192])
      .map(({ parameters }) => [parameters.m, parameters.batch])
    expect(batches).toEqual([...Array.from({ length: 20 }, (_, index) => [1024, index + 1]), [8192, 1]])
  })
  itUnless(noLab, 'cover tiles, blocks, K and both forms of the maximum', () => {
    const values = (name: string, parameter: string) =>
      new Set(microbenchJobs(name).map(({ parameters }) => parameters[parameter]))
    expect(values('shared-both', 'k')).toEqual(new Set([10, 5, 1]))
    expect(values('reg-reg', 'max')).toEqual(new Set(['ternary', 'intrinsic']))
    expect(values('reg-reg', 'gsi').size).toBeGreaterThan(5)
    expect(values('shared-one', 'm')).toEqual(new Set([31, 32, 33]))
  })
  itUnless(noLab, 'the report wants all of them', () => {
    const sweeps = new Set(reportJobs().map(({ sweep }) => sweep))
    for (const name of [
      ...Object.keys(kernelSweeps),
      'reg-reg',
      'shared-one',
      'shared-both',
      'fused',
      'occupancy',
    ]) {
      expect(sweeps).toContain(name)
    }
  })
})

describeUnless(noGpu ?? noLab, 'with a GPU', () => {
  it('runs a microbenchmark', async () => {
    const args = [
      'microbench',
      'reg-reg',
      '--x',
      '8',
      '--y',
      '8',
      '--bsi',
      '16',
      '--bsj',
      '16',
      '--n',
      '2000',
    ]
    const point = await json(args)
    expect(point.result.operationsPerIteration).toBe(2 * (64 + 8 + 8))
    expect(point.machine.gpu.name).toMatch(/\w/)
    const printed = await succeeds(args)
    expect(printed).toMatch(/^operations +160 per thread and iteration/m)
    expect(printed).toMatch(/^machine code +\S/m)
    expect(await fails(['microbench', 'reg-reg', '--x', '3'])).toContain('compiled')
  })

  it('computes the occupancy of a variant and of a microbenchmark', async () => {
    const small = await json(['occupancy', 'reg-reg', '--x', '4', '--y', '4', '--bsi', '32', '--bsj', '32'])
    expect(small).toMatchObject({ threadsPerBlock: 1024, x: 4 })
    const { name } = variants().find(({ family }) => family === 'mpmml')!
    expect(await succeeds(['occupancy', name])).toMatch(/^occupancy +[\d.]+ %$/m)
  })

  it('keeps a sweep in a file, adds to it and resumes it', async () => {
    const file = path('sweep.json')
    await succeeds(['sweep', 'cases', '--sizes', '256', '--repetitions', '1', '-o', file])
    const first = await readResults(file)
    expect(first.points).toHaveLength(4)
    expect(first.points.every(({ result }) => result !== undefined)).toBe(true)
    await succeeds(['sweep', 'patterns', '--sizes', '256', '--repetitions', '1', '-o', file])
    expect((await readResults(file)).points).toHaveLength(7)
    await succeeds([
      'sweep',
      'cases',
      '--sizes',
      '256,512',
      '--repetitions',
      '1',
      '--resume',
      '-o',
      file,
      '--csv-output',
      path('sweep.csv'),
    ])
    const last = await readResults(file)
    expect(last.points).toHaveLength(11)
    expect(last.points.slice(0, 4)).toEqual(first.points)
    expect(readFileSync(path('sweep.csv'), 'utf8').trimEnd().split('\r\n')).toHaveLength(12)
  })

  it('keeps results of another GPU, and other files, unchanged', async () => {
    const file = path('other.json')
    const other = await json(['sweep', 'cases', '--sizes', '64', '--repetitions', '1'])
    other.machine.gpu.name = 'Another GPU'
    writeFileSync(file, JSON.stringify(other))
    expect(await fails(['sweep', 'cases', '--sizes', '64', '-o', file])).toContain('Another GPU')
    writeFileSync(file, 'mine')
    expect(await fails(['sweep', 'cases', '--sizes', '64', '-o', file])).toContain('[ERR_MPMML_FILE]')
    expect(readFileSync(file, 'utf8')).toBe('mine')
  })

  it('keeps the results at an interrupt', async () => {
    const file = path('interrupted.json')
    const { status, stderr } = await mpmml(['sweep', 'patterns', '-o', file], {
      started: (child) => {
        const waiting = setInterval(() => {
          if (!readdirSync(path('.')).includes('interrupted.json')) return
          clearInterval(waiting)
          child.kill('SIGINT')
        }, 20)
      },
    })
    expect(stderr).toBe('mpmml: interrupted\n')
    expect(status).toBe(130)
    const { points } = await readResults(file)
    expect(points.length).toBeGreaterThan(0)
    expect(points.length).toBeLessThan(15)
  })
})
