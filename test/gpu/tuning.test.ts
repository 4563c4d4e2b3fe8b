/**
 * Measured choices of the planner. Each test has a separate cache folder, and therefore a separate process.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { info, variants } from '../../lib/index.js'
import type { TuningFile } from '../../lib/tuning.js'
import { fails, json, mpmml } from '../cli/support.js'
import { useFolder } from '../support/folder.js'
import { withCuda, withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const reason = withoutCuda()
const inFolder = useFolder()

const cacheOf = (name: string) => {
  const env = { XDG_CACHE_HOME: inFolder(name) }
  return { env, file: join(env.XDG_CACHE_HOME, 'mpmml', 'tuning.json') }
}

const plan = async (shape: string, values: string, semiring: string, env: Record<string, string>) =>
  (
    await json(['plan', '--backend', 'cuda', '--shapes', shape, '--values', values, '--semiring', semiring], {
      env,
    })
  )[0]

describeUnless(reason, 'tuning', () => {
  const gpu = String(info().cuda.devices[0]?.name)
  const candidates = variants().filter(
    ({ backend, automatic, semiring, dtype, parameters }) =>
      backend === 'cuda' &&
      automatic &&
      semiring === 'max-plus' &&
      dtype === 'int32' &&
      parameters.accumulator === 'int32',
  )

  it.each(candidates.map(({ name }) => name))('follows a choice: %s', async (variant) => {
    const { env, file } = cacheOf(variant)
    mkdirSync(dirname(file), { recursive: true })
    const choices = [{ m: 300, n: 300, k: 300, batch: 1, path: 'direct', variant, gops: 1 }]
    const content = {
      format: 1,
      gpus: { [gpu]: { measured: '', driver: '', toolkit: '', mpmml: '', choices } },
    }
    writeFileSync(file, JSON.stringify(content))
    const near = '310x290x270'
    expect((await plan(near, 'int32', 'max-plus', env)).variant).toBe(variant)
    expect((await plan(near, 'int32-eps', 'max-plus', env)).variant).toBe(variant)
    expect((await plan(near, 'int32', 'min-plus', env)).variant).toBe(variant.replace('maxplus', 'minplus'))
    // The choice doesn't affect the plans of other values and sizes.
    const without = cacheOf('none').env
    for (const [shape, values] of [
      [near, '16bit'],
      ['2000x290x270', 'int32'],
    ] as const) {
      expect(await plan(shape, values, 'max-plus', env)).toEqual(
        await plan(shape, values, 'max-plus', without),
      )
    }
  })

  it('ignores an invalid file with a warning', async () => {
    const { env, file } = cacheOf('broken')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, '{')
    const { status, stderr } = await mpmml(['plan', '--backend', 'cuda', '--shapes', '9x9x9'], { env })
    expect(status).toBe(0)
    expect(stderr).toContain(`${file} is ignored: `)
  })

  it('stores the fastest of the measured variants, and keeps other choices', async () => {
    const { env, file } = cacheOf('tuned')
    const tune = (size: string) => json(['tune', '--sizes', size, '--repetitions', '3'], { env })
    const { path, shapes } = await tune('256')
    expect(path).toBe(file)
    expect(shapes.map(({ choice }: { choice: { path: string } }) => choice.path)).toEqual(['half', 'direct'])
    for (const { choice, times } of shapes) {
      expect(times.length).toBeGreaterThan(1)
      expect(choice.variant).toBe(times[0].variant)
      expect(times[0].ms).toBe(Math.min(...times.map(({ ms }: { ms: number }) => ms)))
      const planned = await plan('256x256x256', choice.path === 'half' ? '16bit' : 'int32', 'max-plus', env)
      expect(planned.variant).toBe(choice.variant)
    }
    await tune('512')
    // A batch of equal sizes is another product: the choice for the single product stays.
    await json(['tune', '--shapes', '3x256x256x256', '--repetitions', '3'], { env })
    const stored: TuningFile = JSON.parse(readFileSync(file, 'utf8'))
    expect(stored.gpus[gpu]!.choices.map(({ batch, m, path }) => [batch, m, path])).toEqual([
      [1, 256, 'half'],
      [1, 256, 'direct'],
      [1, 512, 'half'],
      [1, 512, 'direct'],
      [3, 256, 'half'],
      [3, 256, 'direct'],
    ])
  })
})

describeUnless(withCuda(), 'tuning without a GPU', () => {
  it('reports why there is nothing to tune', async () => {
    expect(await fails(['tune'])).toContain('this needs a GPU, and none can be used')
  })
})
