/** mpmml doctor --kernels, with simulated errors of kernels: a preloaded module changes the results of the addon. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { info, variants } from '../../lib/index.js'
import { requestFields } from '../../lib/native-interface.js'
import { useFolder } from '../support/folder.js'
import { fails, json, mpmml, succeeds } from './support.js'

const path = useFolder()

interface Found {
  variant: string
  backend: string
  status: string
  reason: string
}
interface Report {
  ok: boolean
  right: number
  failing: Found[]
  refused: Found[]
  [field: string]: unknown
}

const usesGpu = info().cuda.reason === ''
const checkable = variants().filter(
  ({ backend, family }) => family !== 'naive' && (backend === 'cpu' || (backend === 'cuda' && usesGpu)),
)

/** Filter for a few variants, which most tests check. */
const text = 'minplus_f32'
const checked = checkable.filter(({ name }) => name.includes(text))
/** Variant with a simulated failure; it runs on any processor. */
const { name } = checked.find(({ parameters }) => parameters.isa === 'portable')!

/** Expects that all variants but one were checked, and none of them was wrong. */
function expectOthersRight({ right, refused }: Report): void {
  expect(right + refused.length).toBe(checked.length - 1)
  expect(right).toBeGreaterThan(0)
}

/**
 * Environment in which a JavaScript statement runs in place of the products of a variant; `request`, `c` and `compute` are in scope.
 */
function pretending(variant: string, statement: string): Record<string, string> {
  const preload = path(`${variant}.mjs`)
  writeFileSync(
    preload,
    `const { dlopen } = process
process.dlopen = (module, ...rest) => {
  dlopen.call(process, module, ...rest)
  const { exports } = module
  if (!exports.variants) return
  const at = exports.variants.findIndex(({ name }) => name === '${variant}')
  for (const name of ['multiply', 'multiplySync']) {
    const original = exports[name]
    exports[name] = (a, b, c, c0, request, ...others) => {
      if (globalThis.broken) throw globalThis.broken
      const compute = () => original(a, b, c, c0, request, ...others)
      if (request[${requestFields.indexOf('variant')}] !== at) return compute()
      ${statement}
    }
  }
}
`,
  )
  return { NODE_OPTIONS: `--import=${preload}` }
}

async function report(variant: string, statement: string): Promise<{ said: Report; stderr: string }> {
  const env = pretending(variant, statement)
  const { status, stdout, stderr } = await mpmml(['doctor', '--kernels', text, '--json'], { env })
  expect(status).toBe(1)
  expect(stderr).toMatch(/^mpmml: [^\n]+\n$/)
  return { said: JSON.parse(stdout) as Report, stderr }
}

describe('doctor --kernels', () => {
  it('finds that every variant that runs here equals the naive product', async () => {
    const said = (await json(['doctor', '--kernels'])) as Report
    expect(said).toMatchObject({ ok: true, failing: [] })
    for (const { reason } of said.refused) expect(reason).toContain("can't run")
    expect(said.right + said.refused.length).toBe(checkable.length)
    expect(said.right).toBeGreaterThan(20)
    for (const field of ['mpmml', 'addon', 'node', 'cpu', 'driver', 'toolkit', 'architectures'])
      expect(said).toHaveProperty(field)
  })

  it('prints the machine and the count', async () => {
    const printed = await succeeds(['doctor', '--kernels', text])
    expect(printed).toMatch(/^CPU {2}/m)
    expect(printed).toMatch(/^right +\d+ variants equal the naive product$/m)
    expect(printed).toContain('Every variant that runs here is right.')
  })

  it('names a variant with a wrong element, and fails', async () => {
    const statement =
      'const done = compute(); const spoil = () => { c[c.length - 1] += 1 }; if (!done?.then) spoil(); return done?.then ? done.then((made) => (spoil(), made)) : done'
    const { said, stderr } = await report(name, statement)
    expect(said.ok).toBe(false)
    expect(said.failing).toMatchObject([
      { variant: name, backend: 'cpu', status: 'wrong', reason: expect.stringMatching(/has .* at C\[/) },
    ])
    expectOthersRight(said)
    expect(stderr).toContain(name)
  })

  it('continues after a variant that ends the process', async () => {
    const { said } = await report(name, "process.kill(process.pid, 'SIGKILL'); for (;;);")
    expect(said.failing).toMatchObject([
      { variant: name, status: 'failed', reason: expect.stringContaining('SIGKILL') },
    ])
    expectOthersRight(said)
  })

  it('continues in another process after an error of CUDA', async () => {
    const error = "Object.assign(new Error('illegal address'), { code: 'ERR_MPMML_CUDA' })"
    // After an error of CUDA a process can't compute products.
    const { said } = await report(name, `throw globalThis.broken = ${error}`)
    expect(said.failing).toMatchObject([
      {
        variant: name,
        status: 'failed',
        code: 'ERR_MPMML_CUDA',
        reason: expect.stringContaining('illegal address'),
      },
    ])
    expectOthersRight(said)
  })

  it('counts variants that reject every product, with the reason', async () => {
    const statement = "throw Object.assign(new Error('too large'), { code: 'ERR_MPMML_VARIANT' })"
    const said = (await json(['doctor', '--kernels', text], { env: pretending(name, statement) })) as Report
    expect(said.ok).toBe(true)
    expect(said.refused).toContainEqual(
      expect.objectContaining({ variant: name, status: 'refused', reason: 'too large' }),
    )
  })

  it('rejects a text that no name contains', async () => {
    expect(await fails(['doctor', '--kernels', 'minplus_f99'])).toContain("part of a variant's name")
  })
})
