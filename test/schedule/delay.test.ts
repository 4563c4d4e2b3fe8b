/** Delays in timetables, compared with a simulation of every departure. */
import { describe, expect, it } from 'vitest'
import { parseGraph } from '../../lib/graph.js'
import { ArgumentError, CycleError, EPSILON } from '../../lib/index.js'
import { delay, recoveryTimes, type Timetable } from '../../lib/schedule.js'
import { Random } from '../support/generators.js'

interface Connection {
  from: number
  to: number
  weight: number
  tokens: number
}

const ROUNDS = 12

/**
 * Returns the delay of each departure in each round. No train leaves early, and trains of earlier rounds are
 * on time.
 */
function simulated(
  nodes: number,
  connections: Connection[],
  period: number,
  at: number,
  by: number,
): number[][] {
  const planned = new Array<number>(nodes).fill(0)
  for (let round = 0; round <= nodes; round++)
    for (const { from, to, weight, tokens } of connections)
      planned[from] = Math.max(planned[from]!, planned[to]! + weight - period * tokens)
  const times: number[][] = []
  const timeOf = (node: number, round: number) =>
    round < 0 ? planned[node]! + period * round : times[round]![node]!
  for (let round = 0; round < ROUNDS; round++) {
    times.push(planned.map((time, node) => time + period * round + (round === 0 && node === at ? by : 0)))
    for (let pass = 0; pass <= nodes; pass++)
      for (const { from, to, weight, tokens } of connections)
        times[round]![from] = Math.max(timeOf(from, round), timeOf(to, round - tokens) + weight)
  }
  return times.map((row, round) => row.map((time, node) => time - planned[node]! - period * round))
}

const listOf = (nodes: number, connections: Connection[]) => ({
  nodes,
  keys: Array.from({ length: nodes }, (_, node) => `D${node}`),
  from: connections.map(({ from }) => from),
  to: connections.map(({ to }) => to),
  weight: connections.map(({ weight }) => weight),
  tokens: connections.map(({ tokens }) => tokens),
})

function randomLine(random: Random): { nodes: number; connections: Connection[] } {
  const nodes = random.integer(1, 6)
  const connections = Array.from({ length: random.integer(1, 12) }, (): Connection => {
    const [from, to] = [random.integer(0, nodes - 1), random.integer(0, nodes - 1)]
    // Connections without tokens lead only to smaller numbers, so every circuit has a token.
    const tokens = from > to ? random.integer(0, 2) : random.integer(1, 3)
    return { from, to, weight: random.integer(0, 20), tokens }
  })
  return { nodes, connections }
}

const total = (connections: Connection[], what: 'weight' | 'tokens') =>
  connections.reduce((sum, each) => sum + each[what], 0)

/** Returns all circuits that visit each departure at most once. */
function circuits(nodes: number, connections: Connection[]): Connection[][] {
  const found: Connection[][] = []
  const follow = (first: number, path: Connection[]) => {
    const last = path.at(-1)?.to ?? first
    for (const each of connections.filter(({ from }) => from === last)) {
      if (each.to === first) found.push([...path, each])
      else if (each.to > first && path.every(({ from }) => from !== each.to)) follow(first, [...path, each])
    }
  }
  for (let first = 0; first < nodes; first++) follow(first, [])
  return found
}

describe('delay', () => {
  it('equals a simulation of random lines with several trains', async () => {
    const random = new Random(5)
    let spread = 0
    for (let run = 0; run < 60; run++) {
      const { nodes, connections } = randomLine(random)
      const at = random.integer(0, nodes - 1)
      const options = { at: `D${at}`, by: random.integer(1, 40), rounds: ROUNDS }
      const list = listOf(nodes, connections)
      const { leastPeriod } = await delay(list, { ...options, period: 1000 })
      const period = Math.ceil(leastPeriod ?? 0) + random.integer(1, 5)
      const { late, goneBy } = await delay(list, { ...options, period })
      const expected = simulated(nodes, connections, period, at, options.by)
      const found = expected.map((row) => row.map(() => 0))
      for (const each of late) found[each.round]![Number(`${each.departure}`.slice(1))] = each.delay
      expect(found).toEqual(expected)
      for (const { round, departure, because, delay } of late.slice(1)) {
        expect(because, `${round} ${departure} ${delay}`).not.toBeNull()
        spread++
      }
      if (goneBy !== null && goneBy < ROUNDS) expect(expected[goneBy]!.every((each) => each === 0)).toBe(true)
    }
    expect(spread).toBeGreaterThan(50)
  })

  const rail =
    'from,to,minutes,tokens\nBA,AB,27,0\nAB,BA,27,3\nCB,BC,20,0\nBC,CB,21,2\nAB,AB,4,1\nBA,BA,4,1\nBC,BC,4,1\nCB,CB,4,1\nBC,AB,26,1\nBA,CB,20,1\n'
  const timetable = () => parseGraph(rail, { format: 'csv', keys: true, tokens: true }) as Timetable

  it.each([
    ['int32', Int32Array.of(2, EPSILON, 5, 3, 3)],
    ['float64', Float64Array.of(2, -Infinity, 5, 3, 3)],
  ])('leaves out edges of weight ε in %s', async (_, weight) => {
    const list = { nodes: 2, from: [0, 1, 0, 1, 1], to: [0, 0, 1, 0, 1], weight, tokens: [1, 0, 1, 1, 1] }
    const plain = { nodes: 2, from: [0, 0, 1, 1], to: [0, 1, 0, 1], weight: [2, 5, 3, 3] }
    const options = { period: 5, at: 0, by: 4 }
    expect(await delay(list, options)).toEqual(await delay(plain, options))
  })

  it('returns the names of stations', async () => {
    const found = await delay(timetable(), { period: 24, at: 'AB', by: 10 })
    // The critical circuit takes 41 minutes and has 2 trains, so the least period is 20.5.
    expect(found).toMatchObject({ leastPeriod: 20.5, margin: 3.5 })
    expect([...found.criticalCircuit].sort()).toEqual(['BC', 'CB'])
    expect(found.late[0]).toEqual({ round: 0, departure: 'AB', delay: 10, because: null })
    expect(found.late[1]).toEqual({ round: 0, departure: 'BA', delay: 10, because: 'AB' })
    expect(found.connections[0]).toEqual({ departure: 'BA', waitsFor: 'AB', tokens: 0, slack: 0 })
    expect(found.goneBy).toBe(found.late.at(-1)!.round + 1)
  })

  it('never ends at the least period, and represents thirds exactly', async () => {
    const found = await delay(timetable(), { period: 20.5, at: 'BC', by: 1, rounds: 50 })
    expect(found).toMatchObject({ margin: 0, goneBy: null })
    const thirds = { nodes: 1, from: [0], to: [0], weight: Float64Array.of(1 / 3), tokens: [1] }
    expect((await delay(thirds, { period: 1, at: 0, by: 2 })).late.map((each) => each.delay)).toEqual([
      2,
      4 / 3,
      2 / 3,
    ])
  })

  it('rejects a period that is too short, and names the circuit', async () => {
    const short = delay(timetable(), { period: 20, at: 'AB', by: 1 })
    await expect(short).rejects.toThrow(/at least 20\.5, which the circuit (BC → CB → BC|CB → BC → CB) needs/)
    await expect(delay(timetable(), { period: 24, at: 'X', by: 1 })).rejects.toThrow(ArgumentError)
    await expect(delay(timetable(), { period: 24, at: 'AB', by: -1 })).rejects.toThrow(/above 0/)
    const circuit = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, 1], tokens: [0, 0] }
    await expect(delay(circuit, { period: 5, at: 0, by: 1 })).rejects.toThrow(CycleError)
  })

  it.each([
    [[0.5, 1, 1, 1], 'ERR_MPMML_DTYPE', /tokens\[0\] must be a number of tokens/],
    [['1', 1, 1, 1], 'ERR_MPMML_DTYPE', /tokens\[0\]/],
    [[1, 1, 2 ** 32 + 1, 1], 'ERR_MPMML_VALUE', /tokens\[2\] is 4294967297/],
    [null, 'ERR_MPMML_DTYPE', /tokens must be an array/],
    [3, 'ERR_MPMML_DTYPE', /tokens must be an array/],
    [[1], 'ERR_MPMML_SHAPE', /one entry for each edge/],
  ])('rejects the tokens %j', async (tokens, code, message) => {
    const list = { nodes: 2, from: [0, 0, 1, 1], to: [0, 1, 0, 1], weight: [2, 5, 3, 3], tokens }
    const found = delay(list as never, { period: 5, at: 0, by: 4 })
    await expect(found).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })

  // B. Heidergott, G. J. Olsder, J. van der Woude, Max Plus at Work, chapter 1: A = [2 5; 3 3] has the eigenvalue 4.
  it('has the period of the textbook', async () => {
    const list = { nodes: 2, from: [0, 0, 1, 1], to: [0, 1, 0, 1], weight: [2, 5, 3, 3] }
    expect(await delay(list, { period: 5, at: 0, by: 4 })).toMatchObject({
      leastPeriod: 4,
      margin: 1,
      goneBy: 3,
    })
  })
})

describe('stability', () => {
  const random = new Random(8)
  const cases = Array.from({ length: 60 }, () => randomLine(random))

  it.each(cases)('equals the least mean slack of all circuits: line $#', async ({ nodes, connections }) => {
    const list = listOf(nodes, connections)
    const all = circuits(nodes, connections)
    const least = Math.max(...all.map((each) => total(each, 'weight') / total(each, 'tokens')))
    const period = all.length === 0 ? 7 : Math.ceil(least) + random.integer(0, 5)
    if (period === 0) return
    const found = await delay(list, { period, at: 'D0', by: 1 })
    const margins = all.map((each) => (period * total(each, 'tokens') - total(each, 'weight')) / each.length)
    if (all.length === 0) expect(found).toMatchObject({ stabilityMargin: null, leastPeriod: null })
    else {
      expect(found.stabilityMargin).toBeCloseTo(Math.min(...margins), 12)
      expect(found.leastPeriod).toBeCloseTo(least, 12)
    }
  })

  it.each(cases)(
    'equals the delays that reach no other departure: line $#',
    async ({ nodes, connections }) => {
      const list = listOf(nodes, connections)
      const { leastPeriod } = await delay(list, { period: 1000, at: 'D0', by: 1 })
      const period = Math.ceil(leastPeriod ?? 0) + random.integer(1, 5)
      const recovery = await recoveryTimes(list, { period })
      expect(recovery.shape).toEqual([nodes, nodes])
      for (let late = 0; late < nodes; late++) {
        // The delay far exceeds all slack, so each reached departure is late by the delay minus its recovery
        // time.
        const by = 10_000
        const rounds = simulated(nodes, connections, period, late, by)
        const { departures } = await delay(list, { period, at: `D${late}`, by, rounds: 1 })
        for (let reached = 0; reached < nodes; reached++) {
          const delays = rounds.map((row, round) => (round === 0 && late === reached ? 0 : row[reached]!))
          const most = Math.max(...delays)
          const expected = most === 0 ? Infinity : by - most
          expect(recovery.at(`D${late}`, `D${reached}`), `${late} to ${reached}`).toBe(expected)
          expect(departures[reached]!.recovery).toBe(most === 0 ? null : expected)
        }
      }
    },
  )

  it('has rows for some departures, and parts of the unit', async () => {
    const weight = Float64Array.of(2.5, 5.25, 3, 3)
    const list = { nodes: ['A', 'B'], from: ['A', 'A', 'B', 'B'], to: ['A', 'B', 'A', 'B'], weight }
    const all = await recoveryTimes(list, { period: 5 })
    expect([...all.data]).toEqual([1.75, 1.75, 0, 1.75])
    expect(all.at('B', 'A')).toBe(0)
    const one = await recoveryTimes(list, { period: 5, sources: 'B' })
    expect([...one.data]).toEqual([...all.data.subarray(2)])
    expect((await recoveryTimes(list, { period: 5, sources: ['B', 'A'] })).at('A', 'B')).toBe(
      all.at('A', 'B'),
    )
    await expect(recoveryTimes(list, { period: 5, sources: ['B', 'X'] })).rejects.toThrow(
      /sources\[1\] is "?'?X/,
    )
    await expect(recoveryTimes(list, { period: 4 })).rejects.toThrow(/at least 4\.125/)
    await expect(recoveryTimes(list, {} as never)).rejects.toThrow(/period/)
    await expect(recoveryTimes(3 as never, { period: 4 })).rejects.toThrow(/edge list/)
    const empty = { nodes: 0, from: [], to: [], weight: [] }
    expect(await recoveryTimes(empty, { period: 1 })).toMatchObject({ shape: [0, 0] })
  })
})
