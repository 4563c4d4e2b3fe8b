/** Delays in timetables against a simulation, event by event. */
import { describe, expect, it } from 'vitest'
import { parseEdgeCsv } from '../../lib/graph.js'
import { ArgumentError, CycleError } from '../../lib/index.js'
import { delay, type Timetable } from '../../lib/schedule.js'
import { Random } from '../support/generators.js'

interface Connection {
  from: number
  to: number
  weight: number
  tokens: number
}

const ROUNDS = 12

/** Delays of each departure in each round: no train leaves before its time, and trains of earlier rounds are on time. */
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

describe('delay', () => {
  it('equals a simulation of random lines with several trains', async () => {
    const random = new Random(5)
    let spread = 0
    for (let run = 0; run < 60; run++) {
      const nodes = random.integer(1, 6)
      const connections = Array.from({ length: random.integer(1, 12) }, (): Connection => {
        const [from, to] = [random.integer(0, nodes - 1), random.integer(0, nodes - 1)]
        // Only departures of greater numbers wait without a token, so that no circuit lacks one.
        return {
          from,
          to,
          weight: random.integer(0, 20),
          tokens: from > to ? random.integer(0, 2) : random.integer(1, 3),
        }
      })
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
  const timetable = () => parseEdgeCsv(rail, 'rail.csv', { keys: true, tokens: true }) as Timetable

  it('answers in the names of stations', async () => {
    const found = await delay(timetable(), { period: 24, at: 'AB', by: 10 })
    // 41 minutes with 2 trains.
    expect(found).toMatchObject({ leastPeriod: 20.5, margin: 3.5 })
    expect([...found.criticalCircuit].sort()).toEqual(['BC', 'CB'])
    expect(found.late[0]).toEqual({ round: 0, departure: 'AB', delay: 10, because: null })
    expect(found.late[1]).toEqual({ round: 0, departure: 'BA', delay: 10, because: 'AB' })
    expect(found.connections[0]).toEqual({ departure: 'BA', waitsFor: 'AB', tokens: 0, slack: 0 })
    expect(found.goneBy).toBe(found.late.at(-1)!.round + 1)
  })

  it('never ends at the least period, and has thirds exactly', async () => {
    const found = await delay(timetable(), { period: 20.5, at: 'BC', by: 1, rounds: 50 })
    expect(found).toMatchObject({ margin: 0, goneBy: null })
    const thirds = { nodes: 1, from: [0], to: [0], weight: Float64Array.of(1 / 3), tokens: [1] }
    expect((await delay(thirds, { period: 1, at: 0, by: 2 })).late.map((each) => each.delay)).toEqual([
      2,
      4 / 3,
      2 / 3,
    ])
  })

  it('refuses a period that is too short, and names the circuit', async () => {
    const short = delay(timetable(), { period: 20, at: 'AB', by: 1 })
    await expect(short).rejects.toThrow(/at least 20\.5, which the circuit (BC → CB → BC|CB → BC → CB) needs/)
    await expect(delay(timetable(), { period: 24, at: 'X', by: 1 })).rejects.toThrow(ArgumentError)
    await expect(delay(timetable(), { period: 24, at: 'AB', by: -1 })).rejects.toThrow(/above 0/)
    const circuit = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, 1], tokens: [0, 0] }
    await expect(delay(circuit, { period: 5, at: 0, by: 1 })).rejects.toThrow(CycleError)
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
