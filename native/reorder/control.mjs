// The control information of a block's instructions in a new order: stalls, the barriers of loads, and kept operands.
import { mostStallToStay } from './instruction.mjs'
import { distanceAfter, mostLatency } from './order.mjs'

const noBarrier = 7
/** The barriers that loads may use. Copies to shared memory have the first one. */
const barriers = [1, 2, 3, 4, 5]
const allBarriers = barriers.reduce((mask, barrier) => mask | (1 << barrier), 0)
const copyBarrier = 0
/** Clocks until a barrier that an instruction sets can be waited for. */
const barrierClocks = 2
const mostStall = 15

/** The control of each place; undefined if the order needs a longer stall than an instruction can have. */
export function controlsOf(places) {
  const stalls = stallsOf(places)
  if (!stalls) return undefined
  const { writeBarriers, waits } = barriersOf(places)
  return places.map(({ instruction }, index) => {
    const { control } = instruction
    const writeBarrier = instruction.loads ? writeBarriers[index] : control.writeBarrier
    const isWaitedFor =
      writeBarrier !== noBarrier && index + 1 < places.length && (waits[index + 1] >> writeBarrier) & 1
    const stall = isWaitedFor ? Math.max(stalls[index], barrierClocks) : stalls[index]
    const stays = instruction.moves || instruction.loads ? 1 : control.stays
    return {
      stall,
      stays: stall > mostStallToStay ? 0 : stays,
      writeBarrier,
      readBarrier: instruction.loads ? noBarrier : control.readBarrier,
      waits: waits[index] | (control.waits & (1 << copyBarrier)),
      kept: keptBy(places, index),
    }
  })
}

function stallsOf(places) {
  const issued = []
  const ready = firstReads(places)
  let before
  places.forEach(({ instruction }, index) => {
    let clock = index === 0 ? 0 : issued[index - 1] + 1
    for (const register of instruction.reads) clock = Math.max(clock, ready.get(register) ?? 0)
    if (!instruction.moves) {
      const since = before
        ? issued[before.index] + between(before.instruction, instruction)
        : Math.min(mostLatency, instruction.clock)
      clock = Math.max(clock, since)
      before = { instruction, index }
    }
    if (index === 0) clock = 0
    issued.push(clock)
    for (const register of instruction.writes)
      ready.set(register, instruction.loads ? 0 : clock + distanceAfter(instruction))
  })
  const stalls = issued.slice(1).map((clock, index) => clock - issued[index])
  const most = Math.max(...stalls)
  if (most > mostStall) return undefined
  return [...stalls, places.at(-1).instruction.control.stall]
}

/** By register that was written before the block: the clock from which it is ready, as the compiler has it read, or at the latest. */
function firstReads(places) {
  const inOrder = places.map(({ instruction }) => instruction).sort((a, b) => a.clock - b.clock)
  const written = new Set()
  const clocks = new Map()
  for (const { reads, writes, clock } of inOrder) {
    for (const register of reads) {
      if (!written.has(register) && !clocks.has(register)) clocks.set(register, Math.min(mostLatency, clock))
    }
    for (const register of writes) written.add(register)
  }
  return clocks
}

/** The clocks between two that stay in their order: those that the compiler put there, if not both are loads. */
function between(first, second) {
  return first.loads && second.loads ? 1 : Math.min(mostLatency, second.clock - first.clock)
}

/** The barriers that loads set, and the barriers that instructions wait for. Loads complete in order, so one barrier serves earlier loads too. */
function barriersOf(places) {
  const loads = []
  const waits = places.map(() => 0)
  const waited = []
  let done = 0
  places.forEach(({ instruction }, index) => {
    // An instruction waits for a load if it reads or writes a register that the load writes, or writes the load's address.
    for (let load = loads.length - 1; load >= done; --load) {
      const { reads, writes } = places[loads[load]].instruction
      const touches =
        instruction.reads.some((register) => writes.includes(register)) ||
        instruction.writes.some((register) => writes.includes(register) || reads.includes(register))
      if (!touches) continue
      waited.push({ load: loads[load], by: index })
      done = load + 1
      break
    }
    if (instruction.loads) loads.push(index)
  })
  // No load is pending at the end of the block.
  if (done < loads.length) waited.push({ load: loads.at(-1), by: places.length - 1 })
  const writeBarriers = places.map(() => noBarrier)
  const inUse = new Map(barriers.map((barrier) => [barrier, -1]))
  for (const { load, by } of waited) {
    // The barrier that was free first. A wait for a barrier of two loads lasts until both are complete.
    const barrier = barriers.reduce((first, other) => (inUse.get(other) < inUse.get(first) ? other : first))
    writeBarriers[load] = barrier
    waits[by] |= 1 << barrier
    inUse.set(barrier, Math.max(inUse.get(barrier), by))
  }
  // Loads from before the block.
  waits[0] |= allBarriers
  return { writeBarriers, waits }
}

/** The slots whose operand is kept, because it is the next one that is read through the slot from the same bank. */
function keptBy(places, index) {
  const { instruction, sources } = places[index]
  let slots = 0
  for (const { slot, register } of sources) {
    if (!instruction.writes.includes(register) && isNext(places, index, slot, register)) slots |= 1 << slot
  }
  return slots
}

function isNext(places, index, slot, register) {
  for (const { instruction, sources } of places.slice(index + 1)) {
    const read = sources.find((source) => source.slot === slot && source.register % 2 === register % 2)
    if (read) return read.register === register
    if (!instruction.moves && slot === 0 && instruction.reads.some((other) => other % 2 === register % 2))
      return false
    if (instruction.writes.includes(register)) return false
  }
  return false
}
