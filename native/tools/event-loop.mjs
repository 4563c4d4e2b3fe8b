// The longest block of JavaScript's thread while matrices of so many GiB are freed and pinned arrays are made:
//
//   node native/tools/event-loop.mjs [GiB] [backend ...]
//
// by default 8 GiB, on the CPU and, if CUDA can be used, a GPU. A block is the time between two turns of the event loop beyond
// a millisecond that its timer asks for. Needs the built package (npm run build), and two to three times the memory.
import { constants } from 'node:buffer'
import { setTimeout as sleep } from 'node:timers/promises'
import { explainBackend, openDevice, pinned } from '../../dist/lib/index.js'

const [gib = '8', ...asked] = process.argv.slice(2)
const bytes = Number(gib) * 2 ** 30
const automatic = explainBackend().backend === 'cuda' ? ['cpu', 'cuda'] : ['cpu']
const backends = asked.length > 0 ? asked : automatic

/** Runs `work`, and then goes on for a second, in which what it has let go of is freed. Returns milliseconds. */
async function longestBlock(work) {
  let longest = 0
  let last = performance.now()
  let runs = true
  const turn = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (runs) setImmediate(turn)
  }
  turn()
  const start = performance.now()
  const result = await work()
  const took = performance.now() - start
  await sleep(3000)
  runs = false
  return { result, longest, took }
}

const show = (what, { longest, took }) =>
  console.log(
    `${what.padEnd(52)} ${longest.toFixed(1).padStart(8)} ms longest block, ${took.toFixed(0).padStart(7)} ms in all`,
  )

for (const backend of backends) {
  const device = await openDevice({ backend })
  const rows = Math.floor(bytes / 4 / 16_384)
  // Without work, for comparison.
  show(`${backend}: nothing`, await longestBlock(async () => {}))
  const made = await longestBlock(() => device.full([rows, 16_384], 7))
  show(`${backend}: a matrix of ${gib} GiB is filled`, made)
  const beside = await device.full([16, 16], 1)
  show(
    `${backend}: it is disposed, and others are used`,
    await longestBlock(async () => {
      made.result.dispose()
      for (let round = 0; round < 50; round++) await beside.combine(beside)
    }),
  )
  await device.close()
}

// Node 20 has no longer arrays than 4 GiB.
const pinnedBytes = Math.min(bytes, 4 * Math.floor(constants.MAX_LENGTH / 4))
const array = await longestBlock(() => pinned('int32', pinnedBytes / 4))
show(`a pinned array of ${pinnedBytes / 2 ** 30} GiB is made`, array)
array.result = null
if (globalThis.gc) show('it is collected', await longestBlock(async () => globalThis.gc()))
else console.log('node --expose-gc shows also how it is collected')
