/**
 * NVIDIA's assembler accepts the kernels of custom semirings. The test needs an addon with CUDA and `ptxas`, but no GPU.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import type { Addon, NativeUserSemiring } from '../../lib/native-interface.js'
import { operations } from '../../native/variants/expressions.mjs'
import { useFolder } from '../support/folder.js'
import { Random } from '../support/generators.js'
import { describeUnless } from '../support/skip.js'
import {
  anyDefinition,
  type Definition,
  expression,
  fieldsOf,
  type LaneType,
} from '../support/user-expressions.js'

const file = fileURLToPath(new URL('../../build/Release/mpmml_cuda.node', import.meta.url))
const works = existsSync(file) && spawnSync('ptxas', ['--version']).status === 0

/** Operations that users may write. */
const writable = operations.filter(
  ({ name, becomes }) => becomes !== 'internal' && name !== 'argument' && name !== 'constant',
)

/** Semiring with one lane, whose ⊕ and ⊗ are single operations. */
const simple = (type: LaneType, plus: string, times: string): Definition => ({
  name: `${plus} and ${times}`,
  lanes: [type],
  zero: [0],
  plus: expression([type], (to) => to.op(plus, to.x(), to.y())),
  times: expression([type], (to) => to.op(times, to.x(), to.y())),
  absorbs: false,
})

describeUnless(!works && 'no addon with CUDA, or no ptxas', 'text of kernels', () => {
  let addon: Addon
  const inFolder = useFolder()
  beforeAll(() => {
    addon = createRequire(import.meta.url)(file) as Addon
  })

  const textsOf = (definition: Definition) =>
    addon.userKernelTexts(addon.userSemiring(fieldsOf(definition)) as NativeUserSemiring)

  const expectAssembled = (ptx: string, name: string) => {
    expect(ptx).not.toContain('// @')
    const [, target] = /^\.target (\w+)/m.exec(ptx)!
    const path = inFolder(`${name}.ptx`)
    writeFileSync(path, ptx)
    const { status, stderr } = spawnSync('ptxas', [`-arch=${target}`, path, '-o', inFolder('out')], {
      encoding: 'utf8',
    })
    expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: '' })
  }

  it('include those for slices of K only if ⊕ is certainly associative', () => {
    const names = (type: LaneType, plus: string, times: string) =>
      textsOf(simple(type, plus, times)).map(({ name }) => name)
    const isSliced = (name: string) => name.endsWith('sliced')
    expect(names('int32', 'max', 'add').some(isSliced)).toBe(true)
    expect(names('float32', 'min', 'add').some(isSliced)).toBe(true)
    expect(names('uint32', 'add', 'mul').some(isSliced)).toBe(true)
    expect(names('float32', 'add', 'mul').some(isSliced)).toBe(false)
    expect(names('int32', 'sub', 'mul').some(isSliced)).toBe(false)
  })

  it('are all accepted by the assembler', () => {
    for (const [type, plus, times] of [
      ['int32', 'max', 'add'],
      ['float32', 'add', 'mul'],
    ] as const) {
      const texts = textsOf(simple(type, plus, times))
      expect(texts.length).toBeGreaterThan(5)
      for (const { name, ptx } of texts) expectAssembled(ptx, name)
    }
  })

  it.each(Array.from({ length: 24 }, (_, seed) => seed))('is assembled for random expressions %i', (seed) => {
    const texts = textsOf(anyDefinition(new Random(seed), seed % 5 === 0 ? [20, 120] : [20, 50], writable))
    expect(texts.length).toBeGreaterThan(1)
    for (const { name, ptx } of [texts[seed % texts.length]!, texts.at(-1)!]) expectAssembled(ptx, name)
  })
})
