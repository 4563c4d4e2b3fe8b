/** What lib and the native addon agree on, and how the one finds the other. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { matrix, mpmm, mpmmSync, plan } from '../../lib/index.js'
import { addon, indexIn, packageRoot, root } from '../../lib/native.js'
import { expectError, thrown } from '../support/expect.js'

describe('the package around a module', () => {
  it('is found from any folder in it', () => {
    for (const path of ['index.js', join('dist', 'lib', 'native.js'), join('lib', 'native.ts')]) {
      expect(packageRoot(pathToFileURL(join(root, path)).href)).toBe(root)
    }
  })

  it('that a bundler left behind is an error that says what to do', () => {
    const folder = mkdtempSync(join(tmpdir(), 'mpmml-bundle-'))
    try {
      for (const url of [pathToFileURL(join(folder, 'bundle.js')).href, 'data:text/javascript,', undefined]) {
        expectError(
          thrown(() => packageRoot(url)),
          'ERR_MPMML_ADDON',
          'Mark mpmml as external',
        )
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('names of enumerators', () => {
  it('come from native code', () => {
    expect(addon.overflowPolicies).toEqual(['throw', 'saturate', 'wrap'])
    expect([...addon.backendChoices].sort()).toEqual(['auto', 'cpu', 'cuda'])
    expect([...addon.backends].sort()).toEqual(['cpu', 'cuda'])
  })

  it('that native code doesn’t have are an error', () => {
    expectError(
      thrown(() => indexIn(addon.paths, 'sideways')),
      'ERR_MPMML_ADDON',
      'sideways',
      'npm rebuild mpmml',
    )
  })
})

// The first CUDA call of a process takes hundreds of milliseconds, which products leave to worker threads.
it('products ask nothing of the machine on JavaScript’s thread', async () => {
  const asked = [vi.spyOn(addon, 'describe'), vi.spyOn(addon, 'explain')]
  const one = matrix(1, 1, [1])
  expect((await mpmm(one, one)).device).not.toBe('')
  expect((await mpmm(one, one, { backend: 'cpu' })).device).not.toBe('')
  await plan(one, one)
  expect(mpmmSync(one, one).device).not.toBe('')
  for (const call of asked) {
    expect(call).not.toHaveBeenCalled()
    call.mockRestore()
  }
})

describe('requests that lib would not send', () => {
  it('are refused, and touch no memory', () => {
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
    // A result without memory is only for plans and devices.
    expect(() => addon.multiplySync(data, data, null, null, fields, report, null)).toThrow(
      'malformed request',
    )
  })

  it('refuse groups whose matrices are not there', async () => {
    const place = (name: string) => addon.requestFields.indexOf(name as never)
    const group = (places: Record<string, number>, arrays: Int32Array[] = []) => {
      const fields = new Float64Array(addon.requestFields.length)
      fields.fill(1, 0, 4)
      fields[place('variant')] = -1
      for (const [name, value] of Object.entries(places)) fields[place(name)] = value
      const report = new Float64Array(addon.reportFields.length)
      return addon.multiplyGroup(arrays, fields, report, new Int32Array(1), null)
    }
    const data = new Int32Array(1)
    for (const a of [0, 1, 7, 0.5, Number.NaN, 2 ** 40, -2, -(2 ** 40)]) {
      expect(() => group({ aMemory: a, bMemory: -1, cMemory: -1 }, [data])).toThrow('malformed request')
    }
    expect(() => group({ aMemory: -1, bMemory: -1 }, [data])).toThrow('malformed request')
    expect(await group({ aMemory: -1, bMemory: -1, cMemory: -2 }, [data, new Int32Array(1)])).toBeUndefined()
  })
})
