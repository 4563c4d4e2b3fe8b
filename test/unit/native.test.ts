/** The interface between lib and the native addon, and how lib finds the addon. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { matrix, mpmm, mpmmSync, plan } from '../../lib/index.js'
import {
  addon,
  indexIn,
  type NativeDevice,
  type NativeMemory,
  packageAround,
  root,
} from '../../lib/native.js'
import { constants, functions } from '../../native/variants/addon.mjs'
import { lists, tables } from '../../native/variants/addon-lists.mjs'
import { expectThrown } from '../support/expect.js'
import { Random } from '../support/generators.js'

describe('the package around a module', () => {
  it('is found from any folder in it', () => {
    for (const path of ['index.js', join('dist', 'lib', 'native.js'), join('lib', 'native.ts')]) {
      expect(packageAround(pathToFileURL(join(root, path)).href)?.folder).toBe(root)
    }
  })

  it('is not found if a bundler left it behind', () => {
    const elsewhere = pathToFileURL(join(tmpdir(), 'bundle.js')).href
    for (const url of [elsewhere, 'data:text/javascript,', undefined]) {
      expect(packageAround(url)).toBeUndefined()
    }
  })
})

it('exports from the addon exactly the functions of native/variants/addon.mjs', () => {
  const fields = Object.keys(tables).map((table) => `${table[0]!.toLowerCase()}${table.slice(1)}Fields`)
  const said = [functions, constants, lists].flatMap((part) => Object.keys(part))
  // describeGpu is a function of lib, which describes WebGPU's GPU.
  expect(Object.keys(addon).sort()).toEqual([...said, ...fields, 'describeGpu'].sort())
})

describe('names of enumerators', () => {
  it('come from native code, but for WebGPU', () => {
    expect(addon.overflowPolicies).toEqual(['throw', 'saturate', 'wrap'])
    expect([...addon.backendChoices].sort()).toEqual(['auto', 'cpu', 'cuda', 'webgpu'])
    expect([...addon.backends].sort()).toEqual(['cpu', 'cuda', 'webgpu'])
  })

  it('throw an error if native code doesn’t have them', () => {
    expectThrown(() => indexIn(addon.paths, 'sideways'), 'ADDON', 'sideways', 'npm run build')
  })
})

// The first CUDA call of a process takes hundreds of milliseconds, which products leave to worker threads.
it('makes no CUDA call for products on JavaScript’s thread', async () => {
  const calls = [vi.spyOn(addon, 'describe'), vi.spyOn(addon, 'explain')]
  const one = matrix(1, 1, [1])
  expect((await mpmm(one, one)).device).not.toBe('')
  expect((await mpmm(one, one, { backend: 'cpu' })).device).not.toBe('')
  await plan(one, one)
  expect(mpmmSync(one, one).device).not.toBe('')
  for (const call of calls) {
    expect(call).not.toHaveBeenCalled()
    call.mockRestore()
  }
})

describe('requests that lib would not send', () => {
  it('are rejected, and touch no memory', () => {
    const wrong = [
      [undefined],
      [{ threads: -1, instructionSet: '', wrong: '' }],
      [{ threads: 1.5e9, instructionSet: '', wrong: '' }],
    ]
    for (const values of wrong) {
      expect(() => (addon.configureCpu as (...values: unknown[]) => void)(...values)).toThrow(
        'malformed request',
      )
    }
    const ceiling = addon.cpuCeiling as (request: unknown) => unknown
    const request = { steps: 'int32', threads: 1, samples: 1, milliseconds: 1 }
    for (const change of [
      { threads: 0 },
      { threads: undefined },
      { samples: '1' },
      { milliseconds: Number.NaN },
    ]) {
      expect(() => ceiling({ ...request, ...change })).toThrow('malformed request')
    }
    const fields = new Float64Array(addon.requestFields.length)
    const report = new Float64Array(addon.reportFields.length)
    const data = new Int32Array(1)
    // Only plans and calls on devices may have no memory for the result.
    expect(() => addon.multiplySync(data, data, null, null, fields, report, null)).toThrow(
      'malformed request',
    )
  })

  it('reject groups whose matrices are missing', async () => {
    const group = (places: Record<string, number>, arrays: Int32Array[] = []) => {
      const request = new Float64Array(addon.requestFields.length)
      request[addon.requestFields.indexOf('variant')] = -1
      const member = new Float64Array(addon.memberFields.length)
      for (const [name, value] of Object.entries({ batch: 1, m: 1, n: 1, k: 1, ...places })) {
        member[addon.memberFields.indexOf(name as never)] = value
      }
      const report = new Float64Array(addon.reportFields.length)
      return addon.multiplyGroup(arrays, request, member, report, new Int32Array(1), null)
    }
    const data = new Int32Array(1)
    // Fields that a worker thread reads are rejected asynchronously.
    const refused = (places: Record<string, number>) =>
      expect(async () => group(places, [data])).rejects.toThrow('malformed request')
    for (const a of [0, 1, 7, 0.5, Number.NaN, 2 ** 40, -2, -(2 ** 40)]) {
      await refused({ aMemory: a, bMemory: -1, cMemory: -1 })
    }
    await refused({ aMemory: -1, bMemory: -1 })
    await refused({ aMemory: -1, bMemory: -1, cMemory: -1, aOffset: 1 })
    await refused({ aMemory: -1, bMemory: -1, cMemory: -1, witnessOffset: Number.NaN, k: -1 })
    expect(await group({ aMemory: -1, bMemory: -1, cMemory: -2 }, [data, new Int32Array(1)])).toBeUndefined()
  })
})

describe('requests about devices that lib would not send', () => {
  const CPU = addon.backendChoices.indexOf('cpu')
  const cancel = new Int32Array(1)
  const [INT32, FLOAT32] = [addon.dataTypes.indexOf('int32'), addon.dataTypes.indexOf('float32')]
  const MIN_PLUS = addon.semirings.findIndex(({ name }) => name === 'min-plus')
  const ROWS = 6
  const COLS = 8
  type Values = Record<string, number>
  const written = (names: readonly string[], values: Values) => {
    const fields = new Float64Array(names.length)
    for (const [name, value] of Object.entries(values)) {
      expect(names).toContain(name)
      fields[names.indexOf(name)] = value
    }
    return fields
  }
  const layout = (matrix: string, cols: number) => ({
    [`${matrix}Offset`]: 0,
    [`${matrix}RowStride`]: cols,
    [`${matrix}ColStride`]: 1,
    [`${matrix}BatchStride`]: 0,
  })
  const copyValues: Values = {
    ...{ batch: 1, rows: ROWS, cols: COLS, dtype: INT32, value: 4 },
    ...layout('array', COLS),
    ...layout('memory', COLS),
  }
  const copy = (values: Values = {}) => written(addon.copyFields, { ...copyValues, ...values })
  /** C = A ⊗ B with A of 6 × 8, B of 8 × 6; a combination has only C and B, both of 6 × 8. */
  const productValues: Values = {
    ...{ batch: 1, m: ROWS, n: ROWS, k: COLS, dtype: INT32, variant: -1, semiring: 0, keepsC: 1 },
    ...layout('a', COLS),
    ...layout('b', ROWS),
    ...layout('c', ROWS),
  }
  const product = (values: Values = {}) => written(addon.requestFields, { ...productValues, ...values })
  const combination = { n: COLS, ...layout('b', COLS), ...layout('c', COLS) }
  const reports = () => new Float64Array(addon.reportFields.length)
  const data = () => new Int32Array(ROWS * COLS).fill(3)
  /** Closure of a part of the memory. In min-plus these elements have no improving cycle. */
  const closureValues: Values = {
    ...{ batch: 1, n: ROWS, dtype: INT32, variant: -1, semiring: MIN_PLUS },
    ...layout('a', COLS),
    ...layout('c', ROWS),
  }
  const closure = (values: Values = {}) => written(addon.requestFields, { ...closureValues, ...values })
  const release = (created: NativeMemory | NativeMemory[] | undefined) => {
    for (const memory of created === undefined ? [] : [created].flat()) addon.release(memory)
  }

  let device: NativeDevice
  let other: NativeDevice
  let memory: NativeMemory
  beforeAll(async () => {
    device = await addon.openDevice(CPU, 0, 0)
    other = await addon.openDevice(CPU, 0, 0)
    memory = await addon.upload(device, data(), copy(), cancel)
  })
  afterAll(() => Promise.all([addon.closeDevice(device), addon.closeDevice(other)]))

  const refused = (call: () => unknown) => expect(call).toThrow('malformed request')
  const untyped = addon as unknown as Record<string, (...values: unknown[]) => unknown>

  it('are rejected if they open one', () => {
    for (const values of [
      [],
      [-1, 0, 0],
      [addon.backendChoices.length, 0, 0],
      ['cpu', 0, 0],
      [CPU, -1, 0],
      [CPU, 65536, 0],
      [CPU, 0, -1],
      [CPU, 0, Number.NaN],
      [CPU, 0, Number.POSITIVE_INFINITY],
      [CPU, undefined, 0],
    ]) {
      refused(() => untyped.openDevice!(...values))
    }
  })

  it('are rejected if their arguments have wrong types', () => {
    const [array, request] = [data(), copy()]
    for (const wrong of [undefined, null, 0, {}, array, request, () => {}, 'device']) {
      for (const name of ['describeDevice', 'memoryUse', 'closeDevice', 'release'])
        refused(() => untyped[name]!(wrong))
      refused(() => untyped.upload!(wrong, array, request, cancel))
      refused(() => untyped.fill!(wrong, request))
      refused(() => untyped.download!(wrong, memory, array, request, cancel))
      refused(() => untyped.download!(device, wrong, array, request, cancel))
      refused(() => untyped.combine!(device, wrong, memory, product(combination)))
      refused(() => untyped.copyMatrix!(device, wrong, memory, request))
      refused(() => untyped.copyMatrix!(device, memory, wrong, request))
      refused(() =>
        untyped.closeMatrix!(wrong, memory, null, false, true, true, closure(), reports(), cancel),
      )
      refused(() =>
        untyped.closeMatrix!(device, wrong, null, false, true, true, closure(), reports(), cancel),
      )
      refused(() => untyped.combine!(device, memory, wrong, product(combination)))
      if (wrong !== array) {
        refused(() => untyped.upload!(device, wrong, request, cancel))
        refused(() => untyped.upload!(device, array, request, wrong))
        refused(() => untyped.cancelWork!(wrong))
        refused(() => untyped.multiply!(wrong, memory, null, null, product(), reports(), cancel, device))
      }
      if (wrong !== request) {
        refused(() => untyped.fill!(device, wrong))
        refused(() => untyped.multiply!(memory, memory, null, null, wrong, reports(), cancel, device))
      }
      if (wrong !== undefined && wrong !== null) {
        refused(() =>
          untyped.closeMatrix!(device, memory, wrong, false, true, true, closure(), reports(), cancel),
        )
        refused(() => untyped.multiply!(memory, memory, null, null, product(), reports(), cancel, wrong))
        refused(() => untyped.multiply!(memory, memory, wrong, null, product(), reports(), cancel, device))
        refused(() => untyped.multiplySync!(memory, memory, wrong, null, product(), reports(), device))
      }
    }
    // Functions of devices reject a memory, and functions of memories reject a device.
    refused(() => untyped.memoryUse!(memory))
    refused(() => untyped.release!(device))
    refused(() => untyped.download!(device, device, array, request, cancel))
    refused(() => untyped.fill!(memory, request))
    for (const nth of [-1, Number.NaN, '1', undefined]) refused(() => untyped.failAllocation!(nth))
    refused(() => untyped.failAllocation!(1, 0))
    for (const milliseconds of [-1, Number.NaN, '1', undefined, 1e9])
      refused(() => untyped.delayWork!(milliseconds))
    for (const short of [new Float64Array(3), new Float32Array(addon.requestFields.length)]) {
      refused(() => untyped.multiply!(memory, memory, null, null, short, reports(), cancel, device))
      refused(() => untyped.multiply!(memory, memory, null, null, product(), short, cancel, device))
      refused(() => untyped.upload!(device, array, short, cancel))
      refused(() => untyped.closeMatrix!(device, memory, null, false, true, true, short, reports(), cancel))
      refused(() => untyped.closeMatrix!(device, memory, null, false, true, true, closure(), short, cancel))
      refused(() => untyped.copyMatrix!(device, memory, memory, short))
    }
    // Successors require contiguous rows and a semiring whose ⊕ selects an operand.
    refused(() => addon.closeMatrix(device, memory, null, true, true, true, closure(), reports(), cancel))
    const plusTimes = addon.semirings.findIndex(({ name }) => name === 'plus-times')
    const sums = closure({ semiring: plusTimes, dtype: FLOAT32 })
    refused(() => addon.closeMatrix(device, memory, null, false, true, true, sums, reports(), cancel))
  })

  it('are rejected if their memories are of another device, released, or of another type', async () => {
    refused(() => addon.download(other, memory, data(), copy(), cancel))
    refused(() => addon.multiply(memory, memory, null, null, product(), reports(), cancel, other))
    refused(() => addon.combine(other, memory, memory, product(combination)))
    refused(() => addon.multiply(memory, memory, memory, null, product(), reports(), cancel, null))
    refused(() => addon.download(device, memory, new Float32Array(48) as never, copy(), cancel))
    refused(() => addon.download(device, memory, new Int16Array(48) as never, copy(), cancel))
    refused(() => addon.download(device, memory, data(), copy({ dtype: FLOAT32 }), cancel))
    const narrow = await addon.upload(device, new Int16Array(ROWS * COLS), copy(), cancel)
    refused(() => addon.download(device, narrow, data(), copy(), cancel))
    refused(() => addon.multiply(memory, memory, narrow, null, product(), reports(), cancel, device))
    refused(() => addon.multiply(memory, memory, null, narrow, product(), reports(), cancel, device))
    refused(() => addon.combine(device, narrow, memory, product(combination)))
    refused(() => addon.copyMatrix(device, narrow, memory, copy()))
    refused(() => addon.copyMatrix(other, memory, memory, copy()))
    refused(() => addon.closeMatrix(device, memory, narrow, false, true, true, closure(), reports(), cancel))
    refused(() => addon.closeMatrix(other, memory, null, false, true, true, closure(), reports(), cancel))
    refused(() =>
      addon.closeMatrix(
        device,
        memory,
        null,
        false,
        true,
        true,
        closure({ dtype: FLOAT32 }),
        reports(),
        cancel,
      ),
    )
    addon.release(narrow)
    addon.release(narrow)
    const gone = { code: 'ERR_MPMML_DISPOSED' }
    const code = (call: () => unknown) => expect(call).toThrow(expect.objectContaining(gone))
    code(() => addon.download(device, narrow, new Int16Array(48), copy(), cancel))
    code(() => addon.multiply(narrow, memory, null, null, product(), reports(), cancel, device))
    const closed = await addon.openDevice(CPU, 0, 0)
    const lost = await addon.fill(closed, copy())
    const closing = addon.closeDevice(closed)
    for (const after of [closing, undefined]) {
      code(() => addon.closeDevice(closed))
      code(() => addon.memoryUse(closed))
      code(() => addon.fill(closed, copy()))
      code(() => addon.download(closed, lost, data(), copy(), cancel))
      await after
    }
    addon.release(lost)
  })

  const wild = [
    -1,
    0.5,
    1,
    7,
    49,
    2 ** 31,
    2 ** 53,
    2 ** 63,
    1e300,
    -(2 ** 63),
    Number.NaN,
    Infinity,
    -Infinity,
  ]

  it('are rejected or harmless with any field out of its range', async () => {
    const calls: [readonly string[], (request: Float64Array) => unknown, Values][] = [
      [addon.copyFields, (request) => addon.upload(device, data(), request, cancel), copyValues],
      [addon.copyFields, (request) => addon.download(device, memory, data(), request, cancel), copyValues],
      [addon.copyFields, (request) => addon.fill(device, request), copyValues],
      [
        addon.requestFields,
        (request) => addon.combine(device, memory, memory, request),
        { ...productValues, ...combination },
      ],
      [
        addon.requestFields,
        (request) => addon.multiply(memory, data(), null, memory, request, reports(), cancel, device),
        { ...productValues, ...layout('c0', 0) },
      ],
      [
        addon.requestFields,
        (request) => addon.multiplySync(memory, memory, null, null, request, reports(), device),
        productValues,
      ],
      [
        addon.requestFields,
        (request) => addon.closeMatrix(device, memory, null, false, true, true, request, reports(), cancel),
        closureValues,
      ],
      [
        addon.requestFields,
        (request) =>
          addon.closeMatrix(device, memory, memory, false, true, false, request, reports(), cancel),
        closureValues,
      ],
      [addon.copyFields, (request) => addon.copyMatrix(device, memory, memory, request), copyValues],
    ]
    const { used } = addon.memoryUse(device)
    for (const [names, call, values] of calls) {
      release((await call(written(names, values))) as NativeMemory)
      for (const name of names) {
        // A size of 2^31 would only take time and memory, because other sizes are small.
        const sizes = ['batch', 'rows', 'cols', 'm', 'n', 'k'].includes(name)
        for (const value of wild) {
          if (sizes && value === 2 ** 31) continue
          let created: unknown
          try {
            created = await call(written(names, { ...values, [name]: value }))
          } catch (error) {
            const { code, message } = error as Error & { code?: string }
            if (code === undefined) expect(message, `${name}: ${value}`).toMatch('malformed request')
            else expect(code).toMatch(/^ERR_MPMML_/)
            continue
          }
          // Every value of asksWitness except 0 also allocates memory for witnesses.
          for (const memory of [created].flat()) if (memory) addon.release(memory as NativeMemory)
        }
      }
    }
    expect(addon.memoryUse(device).used).toBe(used)
  })

  it('touch no memory outside with layouts that exceed a matrix', async () => {
    const source = new Random(1)
    const GUARD = 40
    const SENTINEL = -123456789
    const space = () => new Int32Array(GUARD + ROWS * COLS + GUARD).fill(SENTINEL)
    const inside = (array: Int32Array) => array.subarray(GUARD, GUARD + ROWS * COLS)
    const expectGuards = (array: Int32Array) => {
      const guards = [...array.subarray(0, GUARD), ...array.subarray(GUARD + ROWS * COLS)]
      expect(new Set(guards)).toEqual(new Set([SENTINEL]))
    }
    const random = (matrix: string) => ({
      [`${matrix}Offset`]: source.integer(0, 20),
      [`${matrix}RowStride`]: source.integer(0, 12),
      [`${matrix}ColStride`]: source.integer(0, 4),
      [`${matrix}BatchStride`]: source.integer(0, 30),
    })
    let done = 0
    let wrong = 0
    for (let round = 0; round < 2000; round++) {
      const sizes = { batch: source.integer(0, 2), rows: source.integer(0, 4), cols: source.integer(0, 5) }
      const parts = { batch: sizes.batch, m: sizes.rows, n: sizes.cols, k: source.integer(0, 5) }
      const array = space()
      // The memory has other values than the array, so that reads outside of the operands are detected.
      const there = await addon.upload(device, data(), copy(), cancel)
      const calls = [
        () =>
          addon.download(
            device,
            there,
            inside(array),
            copy({ ...sizes, ...random('array'), ...random('memory') }),
            cancel,
          ),
        () => addon.upload(device, inside(array), copy({ ...sizes, ...random('array') }), cancel),
        () => addon.combine(device, there, memory, product({ ...parts, ...random('b'), ...random('c') })),
        () =>
          addon.copyMatrix(
            device,
            memory,
            there,
            copy({ ...sizes, ...random('array'), ...random('memory') }),
          ),
        () => {
          const request = closure({ batch: sizes.batch, n: sizes.cols, ...random('a'), ...random('c') })
          const into = source.chance(0.5) ? there : null
          return addon.closeMatrix(device, memory, into, false, true, true, request, reports(), cancel)
        },
        () =>
          addon.multiply(
            memory,
            data(),
            there,
            source.chance(0.5) ? memory : null,
            product({
              ...parts,
              ...random('a'),
              ...random('b'),
              ...random('c'),
              ...random('c0'),
              overflow: 1,
            }),
            reports(),
            cancel,
            device,
          ),
        () =>
          addon.multiply(
            data(),
            data(),
            inside(array),
            null,
            product({ ...parts, ...random('a'), ...random('b'), ...random('c'), backend: CPU }),
            reports(),
            cancel,
            null,
          ),
        () =>
          addon.multiply(
            data(),
            data(),
            data(),
            null,
            product({
              ...parts,
              ...random('a'),
              ...random('b'),
              ...random('c'),
              ...random('witness'),
              asksWitness: 1,
              overflow: 1,
              backend: CPU,
            }),
            reports(),
            cancel,
            null,
            [inside(array)],
          ),
      ]
      try {
        release((await calls[round % calls.length]!()) as NativeMemory)
        done++
      } catch (error) {
        expect((error as Error).message).toMatch('malformed request')
        wrong++
      }
      expectGuards(array)
      addon.release(there)
    }
    expect(done).toBeGreaterThan(300)
    expect(wrong).toBeGreaterThan(200)
  })
})
