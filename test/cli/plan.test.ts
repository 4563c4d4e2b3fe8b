/** mpmml plan, and the parts of tune that need no GPU. */
import { describe, expect, it } from 'vitest'
import { info, variants } from '../../lib/index.js'
import { useFolder } from '../support/folder.js'
import { fails, json, succeeds, writeNumbers } from './support.js'

const file = useFolder()

describe('plan', () => {
  it('prints the kernel of a product of files, and why it is exact', async () => {
    const a = writeNumbers(file('a.npy'), [2, 3], [1, 6, 2, 8, 3, 4])
    const b = writeNumbers(file('b.npy'), [3, 2], [2 ** 31 - 1, 5, 3, 3, 1, 6])
    const [planned] = await json(['plan', a, b, '--backend', 'cpu', '--overflow', 'saturate'])
    const variant = variants().find(({ name }) => name === planned.variant)!
    expect(variant.semiring).toBe('max-plus')
    expect(planned).toEqual({
      a: [2, 3],
      b: [3, 2],
      backend: 'cpu',
      variant: variant.name,
      parameters: variant.parameters,
      path: 'wide',
    })
    expect(await succeeds(['plan', a, b, '--backend', 'cpu'])).toMatch(
      /^product +2 × 3 by 3 × 2\nbackend +cpu\n/,
    )
  })

  it('estimates the time of products on several GPUs and hosts', async () => {
    const shapes = ['plan', '--gpus', '6', '--shapes', '32768x32768x32768,4096x2000x300']
    const [large, small] = await json(shapes)
    expect(large.host.map(({ gpus }: { gpus: number }) => gpus)).toEqual([1, 2, 4, 6])
    expect(large.hosts).toEqual([])
    for (const { host } of [large, small]) {
      for (const { kernelS, residentS, hostS } of host) {
        expect(residentS).toBeGreaterThanOrEqual(kernelS)
        expect(hostS).toBeGreaterThan(kernelS)
      }
    }
    expect(large.host[3].kernelS * 6).toBeCloseTo(large.host[0].kernelS)
    expect(small.host[3].limit).not.toBe('kernels')
    const printed = await succeeds([...shapes, '--hosts', '3'])
    expect(printed).toMatch(/^32768³, int32, estimated/)
    expect(printed).toMatch(/^ *3 .* (kernels|storage|network)$/m)
  })

  it('estimates by a bandwidth of the storage with a fraction, without exponents', async () => {
    const shape = ['plan', '--shapes', '65536x65536x65536', '--gpus', '8', '--hosts', '1']
    const seconds = async (storage: string) =>
      (await json([...shape, '--storage', storage]))[0].hosts[0].jobsS
    // A and B are read once for each of the blocks of 65536, and C is written.
    expect((await seconds('0.5')) - (await seconds('1'))).toBeCloseTo((3 * 4 * 65536 ** 2) / 1e9, 3)
    expect(await succeeds(['plan', '--shapes', '10x10x10', '--gpus', '1'])).toMatch(/^1 +0\.0000000556 ms/m)
  })

  it.each<[string, string]>([
    ['--gpus 8 a.npy b.npy', '--shapes'],
    ['--gpus 8 --shapes 9x9x9 a.npy b.npy', 'name two files, or shapes with --shapes'],
    ['--hosts 8 --shapes 9x9x9', '--gpus'],
    ['--gpus 8 --shapes 9x9x9 --storage 1', '--hosts'],
    ['a.npy b.npy --values int32', '--shapes'],
  ])('rejects %s', async (words, expected) => {
    expect(await fails(['plan', ...words.split(' ')], 2)).toContain(expected)
  })

  it('prints the kernels of random matrices', async () => {
    const shapes = ['--shapes', '300x200x100,3x40x50x60', '--backend', 'cpu']
    const records = await json(['plan', ...shapes, '--values', '16bit-eps', '--semiring', 'min-plus'])
    expect(records.map(({ a, b }: { a: number[]; b: number[] }) => [a, b])).toEqual([
      [
        [300, 200],
        [200, 100],
      ],
      [
        [3, 40, 50],
        [3, 50, 60],
      ],
    ])
    expect(records[0].path).toBe('half-translated')
    expect(records[0].variant).toContain(`minplus_i32_${info().cpu.simd}`)
  })

  it('prints the kernels of other semirings, for files and random matrices', async () => {
    const a = writeNumbers(file('a.npy'), [2, 3], [0, 1, 0, 0, 0, 1], { descr: '|b1' })
    const b = writeNumbers(file('b.npy'), [3, 2], [0, 1, 0, 0, 0, 1], { descr: '<i8' })
    for (const args of [
      [a, b],
      ['--shapes', '2x3x2'],
    ]) {
      const flags = [...args, '--semiring', 'or-and', '--backend', 'cpu']
      const [planned] = await json(['plan', ...flags])
      expect(planned).toMatchObject({ path: 'direct', variant: expect.stringContaining('_orand_u8_') })
      expect(await succeeds(['plan', ...flags])).toMatch(/^path +direct$/m)
    }
    const [planned] = await json(['plan', '--shapes', '40x50x60', '--semiring', 'max-times'])
    expect(planned.variant).toContain('_maxtimes_f32_')
  })

  it.each([[['plan']], [['plan', 'a.npy']], [['plan', 'a.npy', 'b.npy', '--shapes', '2x2x2']]])(
    'is wrong usage: %s',
    async (args) => {
      expect(await fails(args, 2)).toContain('name two files, or shapes with --shapes')
    },
  )
})
