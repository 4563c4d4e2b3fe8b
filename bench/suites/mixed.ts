/** Calls of all kinds at once, every result compared with the naive product, every error with its code. */
import { mpmm, openDevice } from '../../lib/index.js'
import { type Call, describeCall, drawCalls, matricesOf, type Problem } from '../mixed/calls.js'
import type { Dense } from '../mixed/matrices.js'
import { mistakes } from '../mixed/mistakes.js'
import { judge, type Outcome, type Places, perform } from '../mixed/perform.js'
import { firstDifference, naiveVariant } from '../verify.js'
import { Draw } from './draw.js'
import { processState } from './process-state.js'
import type { Findings, Suite } from './protocol.js'

/** Calls that run at once. */
const AT_ONCE = 64

/** By the naive variant, in arrays on the CPU. */
async function naive(problem: Problem): Promise<Dense> {
  const { semiring, dtype, overflow } = problem
  const { a, b, c0 } = matricesOf(problem)
  const variant = naiveVariant(semiring, dtype)
  const { c } = await mpmm(a, b, { semiring, overflow, variant, accumulate: c0 ?? undefined })
  return c as Dense
}

/** Two 32-bit hashes of the elements in one: results aren't kept. */
function hashOf({ data }: Dense): number {
  const value = new Float64Array(1)
  const words = new Int32Array(value.buffer)
  let [low, high] = [17, 71]
  for (let index = 0; index < data.length; index++) {
    // −0 and 0 are equal: of sums the sign isn't specified.
    value[0] = data[index]! + 0
    low = Math.imul(low ^ words[0]!, 0x01000193) ^ (low >>> 15)
    low = Math.imul(low ^ words[1]!, 0x01000193) ^ (low >>> 13)
    high = Math.imul(high ^ words[1]!, 0x85ebca6b) ^ (high >>> 16)
    high = Math.imul(high ^ words[0]!, 0x85ebca6b) ^ (high >>> 11)
  }
  return (low >>> 0) * 2 ** 20 + ((high >>> 0) & 0xfffff)
}

/** Runs `work` on each item, so many at once. */
async function each<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

interface Tally {
  results: number
  rightResults: number
  codes: number
  rightCodes: number
  /** Given up while they waited or ran. */
  givenUp: number
}

const failed = (outcome: Outcome) => 'error' in outcome

async function round(
  calls: readonly Call[],
  hashes: ReadonlyMap<number, number>,
  places: Places,
  tally: Tally,
  findings: Findings,
): Promise<void> {
  await each(calls, AT_ONCE, async (call) => {
    const outcome = await perform(call, places)
    const suspects: [Problem, Dense][] = []
    const wrong = judge(call, outcome, (product, c) => {
      if (hashOf(c) === hashes.get(product.seed)) return undefined
      suspects.push([product, c])
      return 'it differs from the naive product'
    })
    const isCode = call.code !== null || failed(outcome)
    tally[isCode ? 'codes' : 'results']++
    if (call.code === null && failed(outcome)) tally.givenUp++
    if (wrong === undefined) tally[isCode ? 'rightCodes' : 'rightResults']++
    else findings.wrong(`${describeCall(call)}: ${wrong}${await details(suspects)}`)
  })
}

async function details(suspects: readonly [Problem, Dense][]): Promise<string> {
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

export const mixed: Suite = {
  shows: `calls of all kinds, ${AT_ONCE} at once: semirings, types, batches, views, arrays and a device, groups, aborts, mistakes`,
  async run({ backend, device: index, quick, repetitions }, findings) {
    const device = await openDevice({ backend, device: index })
    const elsewhere = await openDevice({ backend: 'cpu' })
    const places = { device, elsewhere }
    const count = quick ? 200 : 2000
    const rounds = repetitions ?? (quick ? 2 : 6)
    const calls = drawCalls(count, 12, quick ? { largest: 128, large: 0.01 } : { largest: 512, large: 0.03 })
    const hashes = new Map<number, number>()
    const problems = calls.flatMap((call) => (call.mistake ? [] : call.call.products))
    await each(problems, 8, async (problem) => {
      if (hashes.size % 100 === 0) {
        findings.progress('naive products', (0.5 * hashes.size) / problems.length)
      }
      hashes.set(problem.seed, hashOf(await naive(problem)))
    })
    const tally: Tally = { results: 0, rightResults: 0, codes: 0, rightCodes: 0, givenUp: 0 }
    const before = device.memory()
    const times = []
    const rss = []
    // The first round warms up: the library's own memory and that of JavaScript grow to what such calls need.
    for (let at = -1; at < rounds; at++) {
      findings.progress(
        at < 0 ? 'warming up' : `round ${at + 1} of ${rounds}`,
        0.5 + (0.5 * (at + 1)) / (rounds + 1),
      )
      const begin = performance.now()
      await round(shuffled(calls, at + 1), hashes, places, tally, findings)
      times.push(performance.now() - begin)
      rss.push((await processState()).rss)
    }
    const after = device.memory()
    const of = `${count} calls`
    const all = (rounds + 1) * count
    const given = calls.filter(({ mistake }) => mistake).length
    findings.figure(of, 'right results', '%', (100 * tally.rightResults) / tally.results, {
      must: 100,
      moreIsBetter: true,
      note: `${tally.rightResults} of ${tally.results}, of ${all} calls`,
    })
    findings.figure(of, 'right codes of errors', '%', (100 * tally.rightCodes) / tally.codes, {
      must: 100,
      moreIsBetter: true,
      note: `${tally.rightCodes} of ${tally.codes}: ${mistakes.length} kinds of mistakes in ${given} of the ${count} calls, ${tally.givenUp} times given up meanwhile`,
    })
    findings.figure(of, 'a round', 'ms', times.slice(1))
    const [warm, ...later] = rss as [number, ...number[]]
    findings.figure(of, 'RSS after the first round', 'bytes', warm)
    const drifts = later.map((now) => (100 * (now - warm)) / warm)
    findings.figure(of, 'its growth by the last round', '%', drifts.at(-1)!, {
      must: 5,
      note: drifts.map((drift) => drift.toFixed(1)).join(', '),
    })
    findings.figure(of, "the device's memory in use, before", 'bytes', before.used)
    findings.figure(of, 'after', 'bytes', after.used, { must: before.used })
    findings.figure(of, 'the most in use', 'bytes', after.peak)
    findings.figure(of, 'what the library holds of it, before', 'bytes', before.reserved)
    findings.figure(of, 'after', 'bytes', after.reserved)
    await elsewhere.close()
    await device.close()
  },
}
