/**
 * Computes the earliest starts of the jobs of a project. Some jobs must be done before others, so the
 * earliest start of a job is the length of the longest chain that leads to it. In max-plus the longest chains
 * are the sum of the powers of the graph's matrix, and squaring doubles their number of steps. The matrices
 * stay on the GPU, or in the CPU's memory with the same code.
 *
 *   node examples/precedence-graph.mjs                     an example from a textbook
 *   node examples/precedence-graph.mjs --jobs 1000,4000    times for random projects with these numbers of jobs
 *   --backend cpu                                          'auto' (default), 'cuda' or 'cpu'
 */
import { parseArgs } from 'node:util'
import { EPSILON, matrix, mpmm, openDevice } from 'mpmml'

/**
 * Ten jobs: the duration of each, and its successors.
 * R. Sedgewick and K. Wayne, Algorithms, 4th edition, section 4.4: parallel precedence-constrained scheduling.
 */
const project = {
  durations: [41, 51, 50, 36, 38, 45, 21, 32, 32, 29],
  before: [[1, 7, 9], [2], [], [], [], [], [3, 8], [3, 8], [2], [4, 6]],
  /** Relative deadlines of section 4.4: `job` starts at most `within` after the start of `of`. */
  deadlines: [
    { job: 2, within: 12, of: 4 },
    { job: 2, within: 70, of: 7 },
  ],
}

/** Returns an n × n matrix with the value of each edge [from, to, value], and minus infinity elsewhere. */
function graph(n, edges) {
  const data = new Int32Array(n * n).fill(EPSILON)
  for (const [from, to, value] of edges) data[from * n + to] = Math.max(data[from * n + to], value)
  return matrix(n, n, data)
}

/** If job i is done before job j, j starts at least the duration of i after the start of i. */
const precedences = ({ durations, before }) =>
  before.flatMap((after, i) => after.map((j) => [i, j, durations[i]]))

/** If job i starts at most `within` after job j, job j starts at least −within after job i. */
const backward = (deadlines) => deadlines.map(({ job, within, of }) => [job, of, -within])

/**
 * Returns the longest chains of at least one edge between all pairs: steps ⊕ steps² ⊕ … ⊕ stepsⁿ. Disposes
 * `steps`.
 */
async function longestChains(device, steps) {
  const [n] = steps.shape
  let chains = steps
  let spare = await device.full([n, n], EPSILON)
  const products = []
  for (let length = 1; length < n; length *= 2) {
    // Each product doubles the number of steps. Products aren't awaited, because the device computes them in
    // order.
    products.push(mpmm(chains, chains, { accumulate: chains, out: spare }))
    const longer = spare
    spare = chains
    chains = longer
  }
  const results = await Promise.all(products)
  spare.dispose()
  return { chains, results }
}

/** Returns the earliest start of each job: 0, or the length of the longest chain that ends at the job. */
async function earliestStarts(device, chains) {
  const row = await device.full([1, chains.shape[0]], 0)
  const { c } = await mpmm(row, chains, { accumulate: row })
  return (await c.download()).data
}

/** Returns the jobs of a critical chain, which determines the end of the project. */
function criticalChain({ durations, before }, starts) {
  const end = (job) => starts[job] + durations[job]
  const jobs = durations.map((_, job) => job)
  const chain = [jobs.reduce((last, job) => (end(job) > end(last) ? job : last))]
  for (;;) {
    const previous = jobs.find((job) => before[job].includes(chain[0]) && end(job) === starts[chain[0]])
    if (previous === undefined) return chain
    chain.unshift(previous)
  }
}

/**
 * Throws an error if the deadlines are infeasible: deadlines are backward edges, and jobs on a cycle longer
 * than 0 would start after themselves.
 */
async function requireFeasible(chains) {
  const n = chains.shape[0]
  const { data } = await chains.download()
  for (let job = 0; job < n; job++) {
    if (data[job * n + job] > 0) throw new Error(`job ${job} can't meet the deadlines`)
  }
}

async function textbook(device) {
  const { durations, deadlines } = project
  const n = durations.length
  const steps = await device.upload(graph(n, precedences(project)))
  // ⊕ of the two matrices selects the longer of two steps between a pair of jobs.
  const both = await device.upload(graph(n, backward(deadlines)))
  await both.combine(steps)
  const starts = await earliestStarts(device, (await longestChains(device, steps)).chains)
  const { chains } = await longestChains(device, both)
  await requireFeasible(chains)
  const later = await earliestStarts(device, chains)

  console.log('job  takes  starts  with deadlines')
  for (let job = 0; job < n; job++) {
    const cells = [
      String(job).padStart(3),
      String(durations[job]).padStart(5),
      String(starts[job]).padStart(6),
    ]
    console.log(`${cells.join('  ')}  ${String(later[job]).padStart(14)}`)
  }
  const chain = criticalChain(project, starts)
  const last = chain.at(-1)
  console.log(`The project takes ${starts[last] + durations[last]}. Its critical chain: ${chain.join(' → ')}`)
}

/** Returns a random project of n jobs. */
const madeUp = (n) => ({
  durations: Array.from({ length: n }, (_, i) => 1 + ((37 * i) % 100)),
  before: Array.from({ length: n }, (_, i) => [i + 3, i + 7, i + 31].filter((j) => j < n)),
})

async function measure(device, sizes) {
  console.log('  jobs  products  whole ms  kernels ms  project takes')
  for (const n of sizes) {
    const { durations, before } = madeUp(n)
    const edges = graph(n, precedences({ durations, before }))
    const begin = performance.now()
    const { chains, results } = await longestChains(device, await device.upload(edges))
    const starts = await earliestStarts(device, chains)
    const whole = performance.now() - begin
    chains.dispose()
    const kernels = results.reduce((sum, { timing }) => sum + timing.kernelMs, 0)
    const takes = Math.max(...durations.map((duration, job) => starts[job] + duration))
    const cells = [n, results.length, whole.toFixed(1), kernels.toFixed(1), takes]
    console.log(cells.map((cell, i) => String(cell).padStart([6, 8, 8, 10, 13][i])).join('  '))
  }
}

const { values } = parseArgs({ options: { jobs: { type: 'string' }, backend: { type: 'string' } } })
const device = await openDevice({ backend: values.backend })
console.log(`on ${device.name} (${device.backend})`)
try {
  if (values.jobs) await measure(device, values.jobs.split(',').map(Number))
  else await textbook(device)
} finally {
  await device.close()
}
