/**
 * Runs random calls of all kinds concurrently. Results are compared with the naive product, and errors with
 * the expected codes.
 */
import { mpmm, openDevice } from '../../lib/index.js'
import { elapsed, repeat } from '../experiment.js'
import { Draw } from '../random.js'
import { type Call, type Dense, describeCall, drawCalls, matricesOf, type Product } from '../stress/calls.js'
import { invalidCalls, type OperandPlacements } from '../stress/mistakes.js'
import { judge, type Outcome, perform, untilIdle } from '../stress/perform.js'
import { firstDifference, naiveVariant } from '../verify.js'
import { processState } from './process-state.js'
import type { Bench, Suite } from './suite.js'

/** Calls that run at once. */
const AT_ONCE = 64

/** Computes a problem by the naive variant on the CPU. */
async function naive(problem: Product): Promise<Dense> {
  const { semiring, dtype, overflow } = problem
  const { a, b, c0 } = matricesOf(problem)
  const variant = naiveVariant(semiring, dtype)
  const { c } = await mpmm(a, b, { semiring, overflow, variant, accumulate: c0 ?? undefined })
  return c as Dense
}

/**
 * Combines two 32-bit hashes of the elements. Hashes are compared, because results aren't stored.
 */
function hashOf({ data }: Dense): number {
  const value = new Float64Array(1)
  const words = new Int32Array(value.buffer)
  let [low, high] = [17, 71]
  for (let index = 0; index < data.length; index++) {
    // Adding 0 turns −0 into 0, because the sign of a sum that is 0 is unspecified.
    value[0] = data[index]! + 0
    low = Math.imul(low ^ words[0]!, 0x01000193) ^ (low >>> 15)
    low = Math.imul(low ^ words[1]!, 0x01000193) ^ (low >>> 13)
    high = Math.imul(high ^ words[1]!, 0x85ebca6b) ^ (high >>> 16)
    high = Math.imul(high ^ words[0]!, 0x85ebca6b) ^ (high >>> 11)
  }
  return (low >>> 0) * 2 ** 20 + ((high >>> 0) & 0xfffff)
}

/** Runs `work` on each item, `atOnce` items concurrently. */
async function each<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

interface Counters {
  results: number
  rightResults: number
  codes: number
  rightCodes: number
  /** Number of calls that were aborted while queued or running. */
  aborted: number
}

const failed = (outcome: Outcome) => 'error' in outcome

async function round(
  bench: Bench,
  calls: readonly Call[],
  hashes: ReadonlyMap<number, number>,
  placements: OperandPlacements,
  tally: Counters,
): Promise<void> {
  await each(calls, AT_ONCE, async (call) => {
    const outcome = await perform(call, placements)
    const suspects: [Product, Dense][] = []
    const wrong = judge(call, outcome, (product, c) => {
      if (hashOf(c) === hashes.get(product.seed)) return undefined
      suspects.push([product, c])
      return 'it differs from the naive product'
    })
    const isCode = call.code !== null || failed(outcome)
    tally[isCode ? 'codes' : 'results']++
    if (call.code === null && failed(outcome)) tally.aborted++
    if (wrong === undefined) tally[isCode ? 'rightCodes' : 'rightResults']++
    else bench.wrong(`${describeCall(call)}: ${wrong}${await details(suspects)}`)
  })
}

async function details(suspects: readonly [Product, Dense][]): Promise<string> {
  for (const [problem, c] of suspects) {
    const difference = firstDifference(c, await naive(problem))
    if (!difference) return ' by its hash, but not by its elements'
    const { index, value, expected, count } = difference
    return `: C[${index.join(', ')}] is ${value} instead of ${expected}, ${count} elements differ`
  }
  return ''
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const draw = new Draw(seed)
  const mixed = [...items]
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = draw.integer(0, last)
    ;[mixed[last], mixed[other]] = [mixed[other]!, mixed[last]!]
  }
  return mixed
}

async function run(bench: Bench): Promise<void> {
  const { quick } = bench
  const device = await bench.device()
  const elsewhere = await openDevice({ backend: 'cpu' })
  const count = quick ? 200 : 2000
  const warmingUp = quick ? 1 : 3
  const rounds = bench.times(2, 8)
  const calls = drawCalls(count, 12, quick ? { largest: 128, large: 0.01 } : { largest: 512, large: 0.03 })
  const hashes = new Map<number, number>()
  const problems = calls.flatMap((call) => (call.mistake ? [] : call.call.products))
  await each(problems, 8, async (problem) => {
    if (hashes.size % 100 === 0) bench.onPart('naive products', (0.5 * hashes.size) / problems.length)
    hashes.set(problem.seed, hashOf(await naive(problem)))
  })
  const tally: Counters = { results: 0, rightResults: 0, codes: 0, rightCodes: 0, aborted: 0 }
  const before = device.memory()
  let warm = 0
  // Memory of the library and of JavaScript grows during the warm-up, separately in each thread.
  const samples = await repeat(rounds, warmingUp, async (nth) => {
    const share = (nth + warmingUp) / (warmingUp + rounds)
    bench.onPart(nth < 0 ? 'warming up' : `round ${nth + 1} of ${rounds}`, 0.5 + share / 2)
    const order = shuffled(calls, nth + warmingUp)
    const ms = await elapsed(() => round(bench, order, hashes, { device, elsewhere }, tally))
    const { rss } = await processState()
    if (nth < 0) warm = rss
    return { ms, rss }
  })
  await untilIdle(device)
  const after = device.memory()
  const of = `${count} calls`
  const all = (warmingUp + rounds) * count
  const given = calls.filter(({ mistake }) => mistake).length
  const right = { must: 100, moreIsBetter: true }
  bench.figure(of, 'right results', '%', (100 * tally.rightResults) / tally.results, {
    ...right,
    note: `${tally.rightResults} of ${tally.results}, of ${all} calls`,
  })
  bench.figure(of, 'right codes of errors', '%', (100 * tally.rightCodes) / tally.codes, {
    ...right,
    note: `${tally.rightCodes} of ${tally.codes}: ${invalidCalls.length} kinds of mistakes in ${given} of the ${count} calls, ${tally.aborted} times aborted meanwhile`,
  })
  bench.figures(of, samples, [['a round', 'ms', ({ ms }) => ms]])
  bench.figure(of, 'RSS after warming up', 'bytes', warm, { note: `${warmingUp} rounds` })
  const drifts = samples.map(({ rss }) => (100 * (rss - warm)) / warm)
  bench.figure(of, 'its growth by the last round', '%', drifts.at(-1)!, {
    must: 5,
    note: `after each: ${drifts.map((drift) => drift.toFixed(1)).join(', ')}`,
  })
  bench.figure(of, "the device's memory in use before", 'bytes', before.used)
  bench.figure(of, "the device's memory in use after", 'bytes', after.used, { must: before.used })
  bench.figure(of, 'the most in use', 'bytes', after.peak)
  bench.figure(of, 'held by the library after', 'bytes', after.reserved, { note: 'with its workspaces' })
  bench.figure(of, "the device's free memory before", 'bytes', before.free)
  bench.figure(of, "the device's free memory after", 'bytes', after.free)
  await elsewhere.close()
}

export const mixed: Suite = {
  shows: `calls of all kinds, ${AT_ONCE} at once: semirings, types, batches, views, arrays and a device, groups, aborts, mistakes`,
  grid: (bench) => [['calls', () => run(bench)]],
}
