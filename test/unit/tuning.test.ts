/** Files with measured choices of kernels. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type MpmmOptions, matrix, plan } from '../../lib/index.js'
import { kindsToTune } from '../../lib/lab/tune-webgpu.js'
import { addon, root } from '../../lib/native.js'
import { readTuning } from '../../lib/tuning.js'
import { useFolder } from '../support/folder.js'

const { allRows } = (await import(new URL('../../native/variants/rows.mjs', import.meta.url).href)) as {
  allRows: () => { name: string; automatic: boolean; family: { backend: string } }[]
}

const inFolder = useFolder()

const written = (content: string) => {
  const path = inFolder('tuning.json')
  writeFileSync(path, content)
  return path
}

const choice = { m: 1, n: 2, k: 3, batch: 1, path: 'half', variant: 'x', gops: 1 }
const file = (change: object) =>
  JSON.stringify({ format: 1, gpus: { GPU: { choices: [{ ...choice, ...change }] } } })

describe('a file of measured choices', () => {
  it('names in the package only arithmetics and variants that a planner may choose', () => {
    const shipped = readTuning(join(root, 'native', 'variants', 'tuning.json'))!
    const takeable = new Set(
      allRows()
        .filter(({ automatic, family }) => automatic && family.backend === 'cuda')
        .map(({ name }) => name),
    )
    const choices = Object.values(shipped.gpus).flatMap((gpu) => gpu.choices)
    expect(choices.length).toBeGreaterThan(0)
    for (const { variant, path } of choices) {
      expect(takeable).toContain(variant)
      expect(addon.paths).toContain(path)
    }
  })

  it('is empty if it is missing', () => {
    expect(readTuning(inFolder('missing.json'))).toBeNull()
  })

  it('is read', () => {
    expect(readTuning(written(file({})))?.gpus.GPU?.choices).toEqual([choice])
  })

  it.each([
    ['no JSON', '{', /JSON/],
    ['null', 'null', /format 1/],
    ['another format', '{ "format": 2, "gpus": {} }', /format 1/],
    ['no GPUs', '{ "format": 1, "gpus": null }', /format 1/],
    ['no choices', '{ "format": 1, "gpus": { "GPU": {} } }', /GPU are malformed/],
    ['no choice', '{ "format": 1, "gpus": { "GPU": { "choices": [null] } } }', /GPU are malformed/],
    ['a size of 0', file({ m: 0 }), /GPU are malformed/],
    ['a size that is no number', file({ k: '3' }), /GPU are malformed/],
    ['a variant that is no name', file({ variant: 7 }), /GPU are malformed/],
  ])('is rejected with the reason: %s', (_, content, reason) => {
    expect(() => readTuning(written(content))).toThrow(reason)
  })
})

it('times products by WebGPU only of kinds that it computes', async () => {
  const kinds = new Map(kindsToTune().map((kind) => [`${kind.semiring} ${kind.dtype} ${kind.witness}`, kind]))
  expect(kinds.size).toBeGreaterThan(15)
  const arrays = { int32: Int32Array, float32: Float32Array, uint8: Uint8Array }
  const refused: string[] = []
  for (const [name, { semiring, dtype, witness }] of kinds) {
    const a = matrix(2, 2, new arrays[dtype as keyof typeof arrays](4))
    // Without a GPU the search for one fails, after the kind has been checked.
    await plan(a, a, { semiring, witness, backend: 'webgpu' } as MpmmOptions).catch((error) => {
      if (error.code !== 'ERR_MPMML_NO_WEBGPU') refused.push(`${name}: ${error.message}`)
    })
  }
  expect(refused).toEqual([])
})
