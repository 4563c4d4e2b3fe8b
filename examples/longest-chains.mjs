/**
 * Counts the longest chains of a project. A unique longest chain determines the end; if there are many,
 * shortening one job may not help. Elements are pairs: the length of a chain, and the number of chains of
 * that length.
 *
 *   node examples/longest-chains.mjs
 *
 * The project is fictional. Jobs take days; a chain is a path from the start to the end.
 */
import { mpmm, zeroOf } from 'mpmml'
import { counting } from 'mpmml/semirings'

const jobs = [
  { name: 'start', days: 0, after: [] },
  { name: 'survey', days: 4, after: ['start'] },
  { name: 'design', days: 6, after: ['start'] },
  { name: 'permits', days: 5, after: ['survey'] },
  { name: 'orders', days: 3, after: ['survey', 'design'] },
  { name: 'footings', days: 6, after: ['permits', 'orders'] },
  { name: 'frames', days: 6, after: ['orders'] },
  { name: 'crane', days: 2, after: ['footings', 'frames'] },
  { name: 'shell', days: 8, after: ['crane'] },
  { name: 'pipes', days: 8, after: ['footings', 'crane'] },
  { name: 'end', days: 0, after: ['shell', 'pipes'] },
]
const n = jobs.length
const zero = zeroOf('max-plus')

/** Returns a matrix of pairs without chains: [zero, 0] everywhere. */
const nothing = () => [
  { data: new Int32Array(n * n).fill(zero), shape: [n, n] },
  { data: new Uint32Array(n * n), shape: [n, n] },
]

const steps = nothing()
const none = nothing()
for (const [to, { after }] of jobs.entries()) {
  for (const name of after) {
    const from = jobs.findIndex((job) => job.name === name)
    // The length of a chain of one step is the duration of the step's first job.
    steps[0].data[from * n + to] = jobs[from].days
    steps[1].data[from * n + to] = 1
  }
  // One chain without steps leads from each job to itself.
  none[0].data[to * n + to] = 0
  none[1].data[to * n + to] = 1
}

// Each iteration I ⊕ A ⊗ chains allows one more step. Chains have fewer than n steps.
let chains = none
for (let most = 1; most < n; most++) {
  chains = (await mpmm(steps, chains, { semiring: counting('max-plus'), accumulate: none })).c
}

const [days, counts] = chains
console.log(`The project takes ${days.data[n - 1]} days, which ${counts.data[n - 1]} chains need.`)
console.log('job       chains through it')
for (const [job, { name }] of jobs.entries()) {
  const before = days.data[job]
  const after = days.data[job * n + n - 1]
  const isCritical = before + after === days.data[n - 1]
  const through = isCritical ? counts.data[job] * counts.data[job * n + n - 1] : 0
  console.log(`${name.padEnd(8)}  ${String(through).padStart(6)}${isCritical ? '' : '  (has slack)'}`)
}
