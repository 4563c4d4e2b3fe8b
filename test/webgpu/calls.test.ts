/** Calls that name WebGPU: rejections, reports, and behaviour without a GPU or without the package. */
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { shortestPaths } from '../../lib/graph.js'
import {
  explainBackend,
  info,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  openDevice,
  plan,
} from '../../lib/index.js'
import { root } from '../../lib/native.js'
import { nussinov } from '../../lib/rna.js'
import { semiring } from '../../lib/semirings.js'
import { readOutput } from '../support/child.js'
import { errorOf, expectError, expectThrown } from '../support/expect.js'
import { useFolder } from '../support/folder.js'
import { describeUnless } from '../support/skip.js'
import { withoutWebGpu } from '../support/webgpu.js'

// `auto` and the reasons would name CUDA on a host that has it.
vi.hoisted(() => {
  process.env.MPMML_ADDON = 'cpu'
})

const reason = await withoutWebGpu()

const a = matrix(2, 3, Int32Array.of(1, 6, 2, 8, 3, 4))
const b = matrix(3, 2, Int32Array.of(2, 5, 3, 3, 1, 6))
const webgpu = { backend: 'webgpu' } as const

describe('the backend webgpu by name', () => {
  const floats = matrix(1, 1, Float64Array.of(1))
  const own = semiring({
    ...{ name: 'max of min', dtype: 'int32', zero: -(2 ** 31), one: 2 ** 31 - 1 },
    plus: (x, y) => x.max(y),
    times: (x, y) => x.min(y),
  })

  it.each([
    [
      'a semiring of one’s own',
      () => mpmm(a, b, { ...webgpu, semiring: own as never }),
      'OPTION',
      'semiring',
    ],
    ['structure', () => mpmm(a, b, { ...webgpu, structure: { a: 'upper' } }), 'OPTION', 'structure'],
    ['float64', () => mpmm(floats, floats, webgpu), 'DTYPE', 'float64'],
    [
      'plus-times',
      () =>
        mpmm(matrix(1, 1, Float32Array.of(1)), matrix(1, 1, Float32Array.of(1)), {
          ...webgpu,
          semiring: 'plus-times',
        }),
      'OPTION',
      'plus-times',
    ],
    ['several devices', () => mpmm(a, b, { ...webgpu, devices: [0, 1] }), 'OPTION', 'devices'],
    [
      'a variant of WebGPU on another backend',
      () => mpmm(a, b, { backend: 'cpu', variant: 'wgsl_maxplus_i32_64x64' }),
      'VARIANT',
      "'cpu'",
    ],
    ['RNA', () => nussinov('GGGAAACCC', webgpu), 'OPTION', 'webgpu'],
  ])('rejects %s', async (_, call, code, text) => {
    expectError(await errorOf(call()), code, text)
  })

  it('is rejected by mpmmSync, which blocks', () => {
    expectThrown(() => mpmmSync(a, b, webgpu), 'OPTION', 'await mpmm')
  })
})

describeUnless(reason, 'webgpu', () => {
  it('reports the backend, device, variant and times', async () => {
    // K. Stanczyk, Max-Plus Algebra Toolbox for MATLAB, user guide, example 2.12c.
    const { c, backend, device, devices, variant, timing } = await mpmm(a, b, webgpu)
    expect(c.data).toEqual(Int32Array.of(9, 9, 10, 13))
    expect({ backend, devices }).toEqual({ backend: 'webgpu', devices: [] })
    expect(variant).toMatch(/^wgsl_maxplus_i32_/)
    expect(timing.totalMs).toBeGreaterThan(0)
    expect(info().webgpu).toMatchObject({ looked: true, name: device, reason: '' })
    expect(explainBackend().reason).toContain(`WebGPU has found ${device}`)
    expect((await plan(a, b, webgpu)).backend).toBe('webgpu')
  })

  it('computes by a variant’s name, and computes groups', async () => {
    const { backend, variant } = await mpmm(a, b, { variant: 'wgsl_maxplus_i32_64x64' })
    expect([backend, variant]).toEqual(['webgpu', 'wgsl_maxplus_i32_64x64'])
    const results = await mpmmGrouped(
      [
        { a, b },
        { a: b, b: a },
      ],
      webgpu,
    )
    expect(results.map(({ c }) => c.data.join())).toEqual(['9,9,10,13', '13,8,9,11,9,7,14,9,10'])
  })

  it('stores matrices on its device, which computes their products', async () => {
    const device = await openDevice(webgpu)
    expect([device.backend, device.index, device.devices]).toEqual(['webgpu', 0, []])
    const there = await device.upload(a)
    expect(device.memory().used).toBeGreaterThanOrEqual(24)
    const { c } = await mpmm(there, b)
    expect((await c.download()).data).toEqual(Int32Array.of(9, 9, 10, 13))
    expectError(await errorOf(mpmm(there, b, { backend: 'cpu' })), 'OPTION', 'the GPU of WebGPU')
    expectThrown(() => mpmmSync(there as never, b as never), 'OPTION', 'await mpmm')
    await device.close()
  })

  it('computes on its device in the order of the calls', async () => {
    const device = await openDevice(webgpu)
    const step = await device.upload(matrix(2, 2, [0, 1, 1, 0]))
    const places = [await device.upload(matrix(2, 2, [0, 1, 1, 0])), await device.full([2, 2], 0)]
    const running = []
    for (let i = 0; i < 8; i++) {
      running.push(mpmm(places[i % 2]!, step, { ...webgpu, out: places[(i + 1) % 2]! }))
    }
    const { data } = await places[0]!.download()
    await Promise.all(running)
    expect(data).toEqual(Int32Array.of(8, 9, 9, 8))
    await device.close()
  })

  it('requires all pairs of a graph, and rejects searches', async () => {
    const graph = { nodes: 3, from: [0, 1], to: [1, 2], weight: [4, 5] }
    const { distances, backend } = await shortestPaths(graph, webgpu)
    expect([distances.data[2], backend]).toEqual([9, 'webgpu'])
    expectError(
      await errorOf(shortestPaths(graph, { ...webgpu, method: 'search' })),
      'OPTION',
      "backend 'webgpu'",
    )
  })
})

describe('a package without webgpu', () => {
  const inFolder = useFolder()
  beforeAll(() => {
    for (const file of [
      'package.json',
      'dist/lib/index.js',
      'dist/lib/parts',
      'dist/lib/webgpu-thread.js',
      'dist/lib/addons.cjs',
    ])
      cpSync(join(root, file), inFolder(file), { recursive: true })
    mkdirSync(inFolder('build'))
    symlinkSync(join(root, 'build', 'Release'), inFolder('build', 'Release'))
    mkdirSync(inFolder('node_modules'))
    for (const name of ['bindings', 'file-uri-to-path'])
      symlinkSync(join(root, 'node_modules', name), inFolder('node_modules', name))
  })

  const run = (program: string, env = {}) => {
    const library = JSON.stringify(inFolder('dist', 'lib', 'index.js'))
    const text = `import { explainBackend, matrix, mpmm } from ${library}\nconst a = matrix(1, 1, [1])\n${program}`
    return readOutput(text, { env })
  }

  it('rejects the named backend with the command that installs it, and computes on the CPU by default', () => {
    const program = `
await mpmm(a, a, { backend: 'webgpu' }).catch(({ code, message }) => console.log(code, message))
console.log((await mpmm(a, a)).backend)`
    // Driver path for Vulkan, so that the missing package is the first failure.
    const [refused, automatic] = run(program, { VK_DRIVER_FILES: '/nowhere.json' }).split('\n')
    expect(refused).toMatch(/^ERR_MPMML_NO_WEBGPU WebGPU can't be used: .*npm install webgpu/)
    expect(automatic).toBe('cpu')
  })

  it('is not searched for before the backend is requested', () => {
    expect(run('await mpmm(a, a)\nconsole.log(explainBackend().reason)')).toMatch(
      /WebGPU hasn't been looked for yet$/,
    )
  })
})
