/**
 * Functions of mpmml/algebra on edge lists whose nodes have names, compared with those lists with numbers.
 */
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  componentCycleMeans,
  criticalGraph,
  cycleTimes,
  earliestStarts,
  eigenvectors,
  maximumCycleMean,
  minimumCycleMean,
  periodicRegime,
  plus,
  power,
  reverseEdges,
  star,
  trajectory,
  weightMatrix,
} from '../../lib/algebra.js'
import { matrix } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'
import { randomGraph } from '../support/graphs.js'

/** Names that could be confused with properties of objects, with prototypes or with numbers. */
const names = ['__proto__', 'constructor', '', '0', 1, null, 'é', 'a b'] as const
type Name = (typeof names)[number]

/** Three forms of one graph: with numbers, with names, and with numbers and keys. */
function graphs(index: number) {
  const random = new Random(index + 20)
  const count = random.integer(1, names.length)
  const numbered = {
    ...randomGraph(random, count, 2 * count, () => random.integer(-9, 9)),
    tokens: undefined as number[] | undefined,
  }
  if (index % 2 === 0) numbered.tokens = numbered.weight.map(() => random.integer(1, 3))
  const keys: readonly Name[] = names.slice(0, count)
  const named = {
    ...numbered,
    nodes: keys,
    from: numbered.from.map((node) => keys[node]!),
    to: numbered.to.map((node) => keys[node]!),
  }
  return { numbered, named, keyed: { ...numbered, keys }, keys, count }
}

describe('nodes with names', () => {
  it.each(Array.from({ length: 60 }, (_, index) => index))('are in all results: graph %i', async (index) => {
    const { numbered, named, keyed, keys, count } = graphs(index)
    const nameOf = (node: number) => keys[node]!
    const x0 = Array<number>(count).fill(0)
    for (const list of [named, keyed]) {
      for (const find of [maximumCycleMean, minimumCycleMean]) {
        const expected = await find(numbered)
        expect(await find(list)).toEqual(expected && { ...expected, cycle: expected.cycle.map(nameOf) })
      }
      const critical = await criticalGraph(numbered)
      expect(await criticalGraph(list)).toEqual(
        critical && {
          ...critical,
          mean: { ...critical.mean, cycle: critical.mean.cycle.map(nameOf) },
          nodes: [...critical.nodes].map(nameOf),
          components: critical.components.map((nodes) => [...nodes].map(nameOf)),
        },
      )
      const vectors = await eigenvectors(numbered)
      expect(await eigenvectors(list)).toEqual(
        vectors && {
          eigenvalue: { ...vectors.eigenvalue, cycle: vectors.eigenvalue.cycle.map(nameOf) },
          vectors: vectors.vectors.map((vector) => ({ ...vector, node: nameOf(vector.node) })),
          keys: [...keys],
        },
      )
      const means = await componentCycleMeans(numbered)
      expect(await componentCycleMeans(list)).toEqual({
        component: means.component,
        means: means.means.map((mean) => mean && { ...mean, cycle: mean.cycle.map(nameOf) }),
        keys: [...keys],
      })
      expect(await cycleTimes(list)).toEqual({ ...(await cycleTimes(numbered)), keys: [...keys] })
      const regime = await periodicRegime(numbered, x0)
      expect(await periodicRegime(list, x0)).toEqual({ ...regime, keys: [...keys] })
      const states = await trajectory(numbered, x0, { steps: 5 })
      expect(states).not.toHaveProperty('keys')
      expect(await trajectory(list, x0, { steps: 5 })).toEqual({ ...states, keys: [...keys] })
      expect(await maximumCycleMean(reverseEdges(reverseEdges(list)))).toEqual(await maximumCycleMean(list))
    }
  })

  it.each([star, plus])('are accepted by $name, and are in its error', async (close) => {
    const list = { nodes: ['a', 'b', 'c'], from: ['a', 'b', 'c'], to: ['b', 'c', 'b'], weight: [5, 1, -1] }
    const { c, keys } = await close(list)
    expect(keys).toEqual(list.nodes)
    expect(await close(weightMatrix(list))).not.toHaveProperty('keys')
    expect([...c.data]).toEqual([...(await close(weightMatrix(list))).c.data])
    await expect(close({ ...list, weight: [5, 1, 1] })).rejects.toMatchObject({
      code: 'ERR_MPMML_CYCLE',
      cycle: [1, 2],
      keys: ['b', 'c'],
      message: expect.stringMatching(/b → c → b/),
    })
  })

  it('are accepted by power, like numbers', async () => {
    const list = { nodes: ['a', 'b'], from: ['a', 'b'], to: ['b', 'a'], weight: [2, -3] }
    for (const n of [0, 1, 2, 5]) {
      const expected = await power(weightMatrix(list), n)
      expect(await power(list, n)).toMatchObject({ c: expected.c, keys: list.nodes })
      expect((await power({ nodes: 2, from: [0, 1], to: [1, 0], weight: [2, -3] }, n)).c).toEqual(expected.c)
    }
    const floats = await power({ ...list, weight: Float64Array.of(0.5, 0.25) }, 2, { semiring: 'min-plus' })
    expectTypeOf(floats.c.data).toExtend<Float64Array>()
    expect([...floats.c.data]).toEqual([0.75, Infinity, Infinity, 0.75])
    await expect(power({ ...list, tokens: [1, 1] } as never, 2)).rejects.toEqual(coded('VALUE', /tokens/))
    await expect(power({ ...list, to: ['b', 'x'] }, 2)).rejects.toEqual(coded('VALUE', /to\[1\] is "?'?x/))
  })

  it('are in messages of states that overflow', async () => {
    const list = { nodes: ['Arnhem', 'Breda'], from: ['Breda'], to: ['Arnhem'], weight: [2 ** 31 - 1] }
    await expect(trajectory(list, [1, 0], { steps: 1 })).rejects.toEqual(coded('OVERFLOW', /element Breda/))
    const cycle = {
      ...list,
      from: ['Arnhem', 'Breda'],
      to: ['Breda', 'Arnhem'],
      weight: [1, 1],
      tokens: [0, 0],
    }
    await expect(maximumCycleMean(cycle)).rejects.toMatchObject({ keys: ['Arnhem', 'Breda'] })
  })

  it.each([1, 2])('are in messages about x0: weights in array type %i', async (kind) => {
    const own = kind === 1 ? [20, 30] : Float64Array.of(20, 30)
    const list = {
      nodes: ['Arnhem', 'Breda'],
      from: ['Arnhem', 'Breda'],
      to: ['Breda', 'Arnhem'],
      weight: own,
    }
    const keyed = { nodes: 2, keys: list.nodes, from: [0, 1], to: [1, 0], weight: own }
    const wrong = (value: unknown) => [0, value] as number[]
    for (const each of [list, keyed, { ...list, tokens: [0, 1] }]) {
      for (const find of [
        (x0: number[]) => trajectory(each as never, x0, { steps: 1 }),
        (x0: number[]) => periodicRegime(each as never, x0),
      ]) {
        await expect(find(wrong('7'))).rejects.toEqual(coded('DTYPE', /x0\[1\] of Breda/))
        await expect(find(wrong(Number.NaN))).rejects.toEqual(
          coded(kind === 1 ? 'DTYPE' : 'VALUE', /x0\[1\] of Breda/),
        )
        await expect(find([0])).rejects.toEqual(coded('SHAPE', /x0 must have 2 elements/))
      }
      await expect(
        earliestStarts({ ...each, tokens: undefined } as never, { release: wrong('7') }),
      ).rejects.toEqual(coded('DTYPE', /release\[1\] of Breda/))
      await expect(
        earliestStarts({ ...each, tokens: undefined } as never, { durations: wrong(-7) }),
      ).rejects.toEqual(coded('VALUE', /durations\[1\] of Breda/))
    }
    const rows = { data: Float64Array.of(1, 2, 3, Number.NaN), shape: [2, 2] }
    const late = { ...list, weight: Float64Array.of(1, 1), tokens: [1, 2] }
    await expect(trajectory(late, rows, { steps: 1 })).rejects.toEqual(coded('VALUE', /x0\[1, 1\] of Breda/))
    const column = { data: Float64Array.of(1, Number.NaN), shape: [2, 1] }
    await expect(trajectory(late, column, { steps: 1 })).rejects.toEqual(coded('VALUE', /x0\[1\] of Breda/))
    const infinite = { data: Float64Array.of(1, 2, 3, Infinity), shape: [2, 2] }
    await expect(periodicRegime(late, infinite)).rejects.toEqual(coded('VALUE', /x0\[1, 1\] of Breda/))
    await expect(periodicRegime({ ...late, tokens: undefined }, [1, Infinity])).rejects.toEqual(
      coded('VALUE', /x0\[1\] of Breda/),
    )
    await expect(trajectory(matrix(2, 2, [1, 2, 3, 4]), wrong('7'), { steps: 1 })).rejects.toEqual(
      coded('DTYPE', /x0\[1\] must/),
    )
  })

  it('are in the types of results', async () => {
    const list = { nodes: ['a'], from: ['a'], to: ['a'], weight: [2] }
    expectTypeOf((await maximumCycleMean(list))!.cycle).toEqualTypeOf<string[]>()
    expectTypeOf((await criticalGraph(list))!.nodes).toEqualTypeOf<string[]>()
    expectTypeOf((await trajectory(list, [0], { steps: 1 })).keys!).toEqualTypeOf<ArrayLike<string>>()
    expectTypeOf((await trajectory(list, [0], { steps: 1 })).data).toExtend<Int32Array>()
    const floats = { nodes: 1, keys: ['a'], from: [0], to: [0], weight: Float64Array.of(2), tokens: [2] }
    expectTypeOf((await trajectory(floats, [0], { steps: 1 })).keys!).toEqualTypeOf<ArrayLike<string>>()
    expectTypeOf((await trajectory(floats, [0], { steps: 1 })).data).toExtend<Float64Array>()
    const numbered = { nodes: 1, from: [0], to: [0], weight: [2] }
    expectTypeOf((await maximumCycleMean(numbered))!.cycle).toEqualTypeOf<number[]>()
    expectTypeOf((await criticalGraph(numbered))!.nodes).toEqualTypeOf<number[]>()
  })
})
