// The check of a reordered block: it computes the same values as the original, and waits for every operand. The check is independent of
// the search for the order.
import { decode, kBytes, mostStallToStay } from './instruction.mjs'

/** Clocks from the issue of an instruction until its result can be read. */
const latencies = { FADD: 5, IMAD: 5, VIMNMX3: 6, VIADDMNMX: 6 }
const latencyOfOthers = 6
/** Clocks after which every result of fixed latency from before the block can be read. */
const mostLatency = 14
const noBarrier = 7

/** The errors in `after` as a replacement of `before` (the bytes of both), one line each. */
export function errorsOf(before, after) {
  const terms = new Map()
  const old = follow(before, terms)
  const now = follow(after, terms)
  const errors = [...now.hazards]
  if (before.length !== after.length) errors.push('the blocks have different lengths')
  if (old.unknown || now.unknown) errors.push('an instruction is unknown')
  if (old.ordered.join('\n') !== now.ordered.join('\n'))
    errors.push('what must stay in its order is in another')
  if (countsOf(old).join() !== countsOf(now).join()) errors.push('the instructions are not the same')
  for (const [register, clock] of now.firstReads) {
    if (clock < Math.min(mostLatency, old.firstReads.get(register) ?? 0))
      errors.push(`register ${register} is read too early`)
  }
  for (const register of new Set([...old.values.keys(), ...now.values.keys()])) {
    if (old.values.get(register) !== now.values.get(register))
      errors.push(`register ${register} has another value at the end`)
  }
  return errors
}

const countsOf = ({ counts }) => [...counts].map(([form, count]) => `${form}: ${count}`).sort()

/** The values of all registers at a block's end, and the hazards within it. `terms` has a number for each value that was seen. */
function follow(bytes, terms) {
  const values = new Map()
  const counts = new Map()
  const hazards = []
  const ordered = []
  /** By register: the clock from which it can be read; the load that has yet to write it; the loads that have yet to read it. */
  const ready = new Map()
  const loading = new Map()
  const addressing = new Map()
  const loads = []
  /** The clock in which a register's value from before the block is first read. */
  const firstReads = new Map()
  let clock = 0
  let unknown = false
  const numberOf = (term) => {
    if (!terms.has(term)) terms.set(term, terms.size)
    return `t${terms.get(term)}`
  }
  const contentOf = (register) => values.get(register) ?? `r${register}`
  for (let at = 0; at < bytes.length; at += kBytes) {
    const instruction = decode(bytes.subarray(at, at + kBytes))
    if (!instruction) {
      unknown = true
      continue
    }
    const { name, control, reads, writes } = instruction
    const where = `${name} at ${at / kBytes}`
    const form = formOf(instruction)
    counts.set(form, (counts.get(form) ?? 0) + 1)
    if (control.stays && control.stall > mostStallToStay) hazards.push(`${where} stalls too long to stay`)
    for (let barrier = 0; barrier < 6; ++barrier) {
      if (!((control.waits >> barrier) & 1)) continue
      const latest = loads.lastIndexOf(barrier)
      // Loads come back in order.
      for (const pending of [loading, addressing]) {
        for (const [register, load] of pending) if (load <= latest) pending.delete(register)
      }
    }
    for (const register of reads) {
      if (!values.has(register) && !firstReads.has(register)) firstReads.set(register, clock)
      if (loading.has(register)) hazards.push(`${where} reads register ${register} before it is loaded`)
      if ((ready.get(register) ?? 0) > clock) hazards.push(`${where} reads register ${register} too early`)
    }
    for (const register of writes) {
      if (loading.has(register)) hazards.push(`${where} writes register ${register} before it is loaded`)
      if (addressing.has(register))
        hazards.push(`${where} writes register ${register} before it is read as an address`)
    }
    if (instruction.moves) {
      const operands = instruction.sources.map(({ register }) => contentOf(register))
      if (instruction.form.uniform) operands.push(contentOf(reads.at(-1)))
      const pair = instruction.form.commutes ? operands.splice(0, 2).sort() : []
      values.set(writes[0], numberOf([form, ...pair, ...operands].join(' ')))
      ready.set(writes[0], clock + latencies[name])
    } else {
      ordered.push([form, ...reads.map(contentOf)].join(' '))
      if (instruction.loads) {
        loads.push(control.writeBarrier === noBarrier ? undefined : control.writeBarrier)
        for (const register of reads) addressing.set(register, loads.length - 1)
        for (const register of writes) {
          loading.set(register, loads.length - 1)
          ready.delete(register)
        }
      } else {
        for (const register of writes) ready.set(register, clock + latencyOfOthers)
      }
      writes.forEach((register, k) => {
        values.set(register, `o${ordered.length}.${k}`)
      })
    }
    clock += Math.max(1, control.stall)
  }
  if (loading.size > 0) hazards.push('loads are under way at the end')
  for (const [register, from] of ready)
    if (from > clock + 1) hazards.push(`register ${register} is ready too late at the end`)
  return { values, counts, hazards, ordered, unknown, firstReads }
}

/** An instruction without its operands and control; of one that keeps its place, without its control. */
function formOf({ bytes, form, writes }) {
  const rest = Buffer.from(bytes)
  rest[13] &= 1
  rest[14] = 0
  rest[15] &= 0xc0
  if (form) {
    rest[2] = 0
    for (const [, byte] of form.sources) rest[byte] = 0
  }
  return `${rest.toString('hex')}${form ? '' : ` ${writes}`}`
}
