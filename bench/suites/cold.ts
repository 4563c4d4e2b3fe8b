/**
 * Measures the first calls of a process: the slowest call and the median. Each call allocates a new result.
 */
import { mpmm } from '../../lib/index.js'
import { type Experiment, median } from '../experiment.js'
import { runInSubprocess } from '../subprocesses/run.js'
import { randomMatrix, valueKinds } from '../timing/values.js'
import { type Bench, differsFromNaive, type Suite } from './suite.js'

/** The first two calls start the backend and compile kernels. */
const FIRST = 2
const CALLS = 100

/** Goals on an H200: the median in ms, and the ratio of the slowest call to the median. */
const sizes: { size: number; ms: number; aim: number; ratio: number; ratioAim: number }[] = [
  { size: 256, ms: 0.16, aim: 0.1, ratio: 4, ratioAim: 2 },
  { size: 512, ms: 0.45, aim: 0.3, ratio: 3, ratioAim: 2 },
  { size: 1024, ms: 0.9, aim: 0.6, ratio: 3, ratioAim: 2 },
  { size: 2048, ms: 2.6, aim: 1.9, ratio: 3, ratioAim: 2 },
  { size: 4096, ms: 8, aim: 6.8, ratio: 1.8, ratioAim: 1.3 },
  { size: 8192, ms: 21, aim: 17, ratio: 1.8, ratioAim: 1.3 },
]

interface ColdRequest {
  place: Bench['place']
  size: number
  calls: number
  /**
   * Whether results stay referenced until the end, so that no call reuses the memory of an earlier result.
   */
  isKept: boolean
}

interface ColdResult {
  /** Milliseconds of each call, in order. */
  times: number[]
  /** Milliseconds until the first call returned its promise. */
  hold: number
  wrong: string | undefined
}

async function callFirst({ place, size, calls, isKept }: ColdRequest): Promise<ColdResult> {
  const operands = [1, 2].map((seed) => randomMatrix([size, size], valueKinds.int32, seed))
  const [a, b] = operands as [(typeof operands)[0], (typeof operands)[0]]
  const retained = []
  const times = []
  let hold = 0
  for (let call = 0; call < calls; call++) {
    const begin = performance.now()
    const product = mpmm(a, b, place)
    if (call === 0) hold = performance.now() - begin
    const { c } = await product
    times.push(performance.now() - begin)
    if (isKept || call === 0) retained.push(c)
  }
  return { times, hold, wrong: size > 512 ? undefined : differsFromNaive(retained.at(-1)!, a, b) }
}

/** First calls of the library in a new process. */
export const firstCalls: Experiment<ColdRequest, ColdResult> = {
  grid: (request) => [{ what: `${request.size}³`, cost: 1, measure: () => callFirst(request) }],
}

async function show(
  bench: Bench,
  { size, ms, aim, ratio, ratioAim }: (typeof sizes)[number],
  isKept: boolean,
) {
  const calls = bench.times(5, CALLS)
  const of = `${size}³, results ${isKept ? 'kept' : 'dropped'}`
  await runInSubprocess<ColdResult>(
    {
      experiment: 'first calls',
      request: { place: bench.place, size, calls: FIRST + calls, isKept } satisfies ColdRequest,
      what: of,
      does: 'made the first calls',
      threads: null,
      found({ times, hold, wrong }) {
        if (wrong) bench.wrong(`${of}: ${wrong}`)
        const rest = times.slice(FIRST)
        const slowest = Math.max(...rest)
        bench.figure(of, 'first call', 'ms', times[0]!)
        bench.figure(of, "first call, on JavaScript's thread", 'ms', hold, bench.ofGpu({ must: 5, aim: 2 }))
        bench.figure(of, 'calls from the third on', 'ms', rest, bench.ofGpu({ must: ms, aim }))
        bench.figure(of, 'the slowest of them / their median', 'x', slowest / median(rest), {
          ...bench.ofGpu({ must: ratio, aim: ratioAim }),
          note: `call ${FIRST + 1 + rest.indexOf(slowest)}`,
        })
      },
    },
    // No abort signal is needed, because the subprocess exits with this process.
    new AbortController().signal,
    () => {},
  )
}

export const cold: Suite = {
  shows: 'the first calls of a process, int32 max-plus from arrays into new results',
  grid(bench) {
    const shown = bench.quick ? [{ ...sizes[0]!, size: 64 }] : bench.gpu ? sizes : sizes.slice(0, 3)
    return shown.flatMap((size) =>
      [false, true].map((isKept) => [
        `${size.size}³, results ${isKept ? 'kept' : 'dropped'}`,
        () => show(bench, size, isKept),
      ]),
    )
  },
}
