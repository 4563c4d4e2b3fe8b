/**
 * NVIDIA's assembler accepts the kernels of custom semirings. The test needs an addon with CUDA and `ptxas`, but no GPU.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expressionOperations, expressionTypes, nodeWords } from '../../lib/expression-table.js'
import type { Addon, NativeUserSemiring, UserDefinition } from '../../lib/native-interface.js'
import { describeUnless } from '../support/skip.js'

const file = fileURLToPath(new URL('../../build/Release/mpmml_cuda.node', import.meta.url))
const works = existsSync(file) && spawnSync('ptxas', ['--version']).status === 0

const typeOf = (name: (typeof expressionTypes)[number]) => expressionTypes.indexOf(name)
const operationOf = (name: string) => expressionOperations.findIndex((operation) => operation.name === name)
const predicate = typeOf('predicate')

/** Returns a generator of random integers below a bound. */
function dice(seed: number): (bound: number) => number {
  let state = seed * 7919 + 1
  return (bound) => {
    state = (Math.imul(state, 48271) >>> 0) % 2147483647
    return state % bound
  }
}

/**
 * Returns nodes with random operations of matching types. The results are the last nodes of the lanes' types.
 */
function randomExpression(lanes: number[], size: number, below: (bound: number) => number) {
  const words: number[] = []
  const ofType: number[][] = expressionTypes.map(() => [])
  const add = (operation: number, type: number, operands: number[], bits = 0) => {
    ofType[type]!.push(words.length / nodeWords)
    words.push(operation, type, ...operands, ...Array(3 - operands.length).fill(0), bits)
  }
  lanes.forEach((type, lane) => {
    add(operationOf('argument'), type, [0, lane])
    add(operationOf('argument'), type, [1, lane])
  })
  const edges = [0, 1, 31, -1, -(2 ** 31), 2 ** 31 - 1, 0x3f800000, 0x7fc00000, 0x7f800000]
  for (const type of [0, 1, 2]) add(operationOf('constant'), type, [], edges[below(edges.length)])
  const written = expressionOperations
    .map((operation, index) => ({ ...operation, index }))
    .filter(
      ({ takes, ...operation }) =>
        takes.length > 0 && !('becomes' in operation && operation.becomes === 'internal'),
    )
  while (words.length < size * nodeWords) {
    const { index, gives, takes } = written[below(written.length)]!
    const type = typeOf(gives[below(gives.length)]!)
    const alike = below(3)
    const lists = takes.map((kind) =>
      kind === 'same'
        ? ofType[type]!
        : kind === 'alike'
          ? ofType[alike]!
          : kind === 'predicate'
            ? ofType[predicate]!
            : ofType[below(3)]!,
    )
    if (lists.every((list) => list.length > 0)) {
      add(
        index,
        type,
        lists.map((list) => list[below(list.length)]!),
      )
    }
  }
  return { nodes: Int32Array.from(words), results: Int32Array.from(lanes, (type) => ofType[type]!.at(-1)!) }
}

function randomDefinition(seed: number): UserDefinition {
  const below = dice(seed)
  const lanes = Array.from({ length: 1 + (seed % 4) }, () => below(3))
  const size = 20 + below(seed % 5 === 0 ? 180 : 30)
  const [plus, times] = [randomExpression(lanes, size, below), randomExpression(lanes, size, below)]
  return {
    name: `random ${seed}`,
    lanes: Int32Array.from(lanes),
    zero: new Int32Array(lanes.length),
    plus: plus.nodes,
    plusResults: plus.results,
    times: times.nodes,
    timesResults: times.results,
    absorbs: false,
    idempotent: false,
    selective: false,
    logarithms: false,
  }
}

/** Returns a semiring with one lane, whose ⊕ and ⊗ are single operations. */
function simpleDefinition(type: number, plus: string, times: string): UserDefinition {
  const nodes = (operation: string) => {
    const argument = operationOf('argument')
    return Int32Array.from([
      argument,
      type,
      0,
      0,
      0,
      0,
      argument,
      type,
      1,
      0,
      0,
      0,
      operationOf(operation),
      type,
      0,
      1,
      0,
      0,
    ])
  }
  return {
    ...randomDefinition(0),
    lanes: Int32Array.of(type),
    zero: Int32Array.of(0),
    plus: nodes(plus),
    plusResults: Int32Array.of(2),
    times: nodes(times),
    timesResults: Int32Array.of(2),
  }
}

describeUnless(!works && 'no addon with CUDA, or no ptxas', 'text of kernels', () => {
  let addon: Addon
  let folder = ''
  beforeAll(() => {
    addon = createRequire(import.meta.url)(file) as Addon
    folder = mkdtempSync(join(tmpdir(), 'mpmml-ptx-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const textsOf = (definition: UserDefinition) =>
    addon.userKernelTexts(addon.userSemiring(definition) as NativeUserSemiring)

  const expectAssembled = (ptx: string, name: string) => {
    expect(ptx).not.toContain('// @')
    const [, target] = /^\.target (\w+)/m.exec(ptx)!
    const path = join(folder, `${name}.ptx`)
    writeFileSync(path, ptx)
    const { status, stderr } = spawnSync('ptxas', [`-arch=${target}`, path, '-o', join(folder, 'out')], {
      encoding: 'utf8',
    })
    expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: '' })
  }

  it('include those for slices of K only if ⊕ is certainly associative', () => {
    const names = (type: string, plus: string, times: string) =>
      textsOf(simpleDefinition(expressionTypes.indexOf(type as 'int32'), plus, times)).map(({ name }) => name)
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
      const texts = textsOf(simpleDefinition(typeOf(type), plus, times))
      expect(texts.length).toBeGreaterThan(5)
      for (const { name, ptx } of texts) expectAssembled(ptx, name)
    }
  })

  it.each(Array.from({ length: 24 }, (_, seed) => seed))('is assembled for random expressions %i', (seed) => {
    const texts = textsOf(randomDefinition(seed))
    expect(texts.length).toBeGreaterThan(1)
    for (const { name, ptx } of [texts[seed % texts.length]!, texts.at(-1)!]) expectAssembled(ptx, name)
  })
})
