// An order of a block's instructions in which the banks of registers are read as evenly as possible.
//
// The rule (docs/notes.md): a quarter of a multiprocessor has two banks, of even and of odd registers. Each reads one register per
// clock, and the reads of an instruction must fit into two clocks. An operand can be reused: for each slot and bank, the
// register that was read through it last, as long as the same warp goes on.

import { firstUniform, noPipe } from './instruction.mjs'

/** Trials of the search. With twice as many, float32 8192³ takes 0.5 % less time, and the build longer. */
const trialsPerInstruction = 1200
/** Clocks within which an instruction's reads must fit. */
const window = 2
/** Clocks that a pipe is busy with an instruction. */
const busyClocks = 2
/** Instructions from a load to the next one, as the compiler keeps them apart. */
const loadDistance = 4
/** Instructions between a load and its first use, of the same warp. */
const loadLatency = 24
const otherLatency = 12
/** No result but a load's takes longer. */
export const mostLatency = 14

/** Instructions that must be between, so that no warp has to wait. */
export const distanceAfter = (instruction) =>
  instruction.moves ? instruction.form.latency : instruction.loads ? loadLatency : otherLatency

const isQueued = (instruction) => instruction.loads || instruction.name === 'LDGDEPBAR'

/** Numbers from 0 up to 1, the same in each run. */
function randomNumbers(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Number of bits that are set in numbers up to 7. */
const bitsSet = [0, 1, 1, 2, 1, 2, 2, 3]

/** Properties of a place ({ instruction, sources }) that decide about its clock. */
function usageOf({ instruction, sources }) {
  const bankOf = (register) => register & 1
  return {
    pipe: instruction.moves ? instruction.form.pipe : noPipe,
    // `at` is slot · 2 + bank. An operand that an earlier slot has, too, is read once.
    operands: sources.map(({ slot, register }, k) => ({
      at: slot * 2 + bankOf(register),
      register,
      isAgain: sources.slice(0, k).some((other) => other.register === register),
    })),
    // Loads read their address through the first slot.
    addresses: instruction.moves
      ? []
      : instruction.reads.filter((register) => register < firstUniform).map(bankOf),
    results: instruction.writes.map((register) => ({ register, bank: bankOf(register) })),
  }
}

/** The state that decides about the clock in which the next instruction is issued. */
class IssueState {
  /** Clocks after the last issue that the banks of even and of odd registers are taken, as bits. */
  takenEven = 0
  takenOdd = 0
  /** Clocks since each pipe took an instruction, up to busyClocks. */
  since = [busyClocks, busyClocks]
  /** The register kept for slot and bank, at slot · 2 + bank. */
  kept = [-1, -1, -1, -1, -1, -1]

  set({ takenEven, takenOdd, since, kept }) {
    this.takenEven = takenEven
    this.takenOdd = takenOdd
    for (let k = 0; k < 2; ++k) this.since[k] = since[k]
    for (let k = 0; k < 6; ++k) this.kept[k] = kept[k]
    return this
  }

  equals({ takenEven, takenOdd, since, kept }) {
    if (this.takenEven !== takenEven || this.takenOdd !== takenOdd) return false
    if (this.since[0] !== since[0] || this.since[1] !== since[1]) return false
    for (let k = 0; k < 6; ++k) if (this.kept[k] !== kept[k]) return false
    return true
  }

  /** Clocks from the last instruction to the one with this usage. */
  issue({ pipe, operands, addresses, results }) {
    const { kept, since } = this
    let readsEven = 0
    let readsOdd = 0
    for (let k = 0; k < operands.length; ++k) {
      const { isAgain, at, register } = operands[k]
      if (isAgain || kept[at] === register) continue
      if (at & 1) ++readsOdd
      else ++readsEven
    }
    let clocks = pipe === noPipe ? 1 : Math.max(1, busyClocks - since[pipe])
    const room = (1 << Math.max(window, readsEven, readsOdd)) - 1
    while (
      bitsSet[(~this.takenEven >> clocks) & room] < readsEven ||
      bitsSet[(~this.takenOdd >> clocks) & room] < readsOdd
    )
      ++clocks
    this.takenEven = take(this.takenEven, clocks, readsEven) >> clocks
    this.takenOdd = take(this.takenOdd, clocks, readsOdd) >> clocks
    since[0] = Math.min(busyClocks, since[0] + clocks)
    since[1] = Math.min(busyClocks, since[1] + clocks)
    if (pipe !== noPipe) since[pipe] = 0
    for (let k = 0; k < operands.length; ++k) kept[operands[k].at] = operands[k].register
    for (let k = 0; k < addresses.length; ++k) kept[addresses[k]] = -1
    for (let k = 0; k < results.length; ++k) {
      const { register, bank } = results[k]
      for (let slot = bank; slot < 6; slot += 2) if (kept[slot] === register) kept[slot] = -1
    }
    return clocks
  }
}

/** A bank's clocks with `reads` more of them taken, from `first` on. */
function take(taken, first, reads) {
  for (let clock = first; reads > 0; ++clock) {
    if ((taken >> clock) & 1) continue
    taken |= 1 << clock
    --reads
  }
  return taken
}

/** The clocks that a warp of its own takes for these places ({ instruction, sources }), if it never waits. */
export function clocksOf(places) {
  const state = new IssueState()
  return places.reduce((clocks, place) => clocks + state.issue(usageOf(place)), 0)
}

/**
 * The dependences of each instruction, `before` it and `after` it, as lists of { other, distance }, all by number of the instruction.
 * `earliest` is the first place of one that reads what was written before the block: its own, or behind so many that it is ready.
 */
function dependencesOf(instructions) {
  const before = instructions.map(() => [])
  const after = instructions.map(() => [])
  const earliest = new Int32Array(instructions.length)
  const writers = new Map()
  const readers = new Map()
  const link = (first, second, distance) => {
    before[second].push({ other: first, distance })
    after[first].push({ other: second, distance })
  }
  let ordered = -1
  let queued = -1
  instructions.forEach((instruction, number) => {
    for (const register of instruction.reads) {
      const writer = writers.get(register)
      if (writer === undefined) earliest[number] = Math.min(mostLatency, number)
      else link(writer, number, distanceAfter(instructions[writer]))
    }
    for (const register of instruction.writes) {
      for (const reader of readers.get(register) ?? []) if (reader !== number) link(reader, number, 1)
      const writer = writers.get(register)
      if (writer !== undefined) link(writer, number, 1)
      readers.set(register, [])
      writers.set(register, number)
    }
    for (const register of instruction.reads) {
      if (!instruction.writes.includes(register))
        readers.set(register, [...(readers.get(register) ?? []), number])
    }
    // Loads and the other fixed instructions keep their order.
    if (!instruction.moves) {
      if (ordered >= 0) link(ordered, number, 1)
      ordered = number
    }
    if (isQueued(instruction)) {
      if (queued >= 0) link(queued, number, loadDistance)
      queued = number
    }
  })
  return { before, after, earliest }
}

/** Clocks up to each checkpoint, and the states there, so that the clocks after a small change can be had without all the others. */
class Timeline {
  static spacing = 16

  constructor(places) {
    this.places = places
    this.states = []
    this.clocks = []
    this.scratch = new IssueState()
    this.total = this.#run(new IssueState(), 0, 0, places.length)
  }

  /** The clocks of all places after a change within [first, last], and up to where the states differ from the known ones. */
  after(first, last) {
    const { places, states, clocks } = this
    const start = Math.floor(first / Timeline.spacing)
    const state = this.scratch.set(states[start])
    let now = clocks[start]
    for (let index = start * Timeline.spacing; index < places.length; ++index) {
      if (index % Timeline.spacing === 0 && index > last && state.equals(states[index / Timeline.spacing])) {
        return { total: this.total + now - clocks[index / Timeline.spacing], end: index }
      }
      now += state.issue(places[index].usage)
    }
    return { total: now, end: places.length }
  }

  /** Applies a change that after() has evaluated. */
  accept(first, { total, end }) {
    const start = Math.floor(first / Timeline.spacing)
    this.#run(this.states[start], this.clocks[start], start * Timeline.spacing, end)
    const more = total - this.total
    if (more !== 0) {
      for (let k = Math.ceil(end / Timeline.spacing); k < this.clocks.length; ++k) this.clocks[k] += more
    }
    this.total = total
  }

  #run(from, clocks, first, end) {
    const state = this.scratch.set(from)
    let now = clocks
    for (let index = first; index < end; ++index) {
      if (index % Timeline.spacing === 0) {
        const checkpoint = index / Timeline.spacing
        this.states[checkpoint] ??= new IssueState()
        this.states[checkpoint].set(state)
        this.clocks[checkpoint] = now
      }
      now += state.issue(this.places[index].usage)
    }
    return now
  }
}

/** A place of the numbered instruction, with these operands. */
const placeOf = (instruction, number, sources) => ({
  instruction,
  number,
  sources,
  usage: usageOf({ instruction, sources }),
  twin: undefined,
})

/** The place with its first two operands exchanged. */
function exchanged(place) {
  if (!place.twin) {
    const [first, second, ...others] = place.sources
    place.twin = placeOf(place.instruction, place.number, [
      { ...first, register: second.register },
      { ...second, register: first.register },
      ...others,
    ])
    place.twin.twin = place
  }
  return place.twin
}

/** The places of a block's instructions, with their dependences. */
class Order {
  constructor(instructions) {
    this.dependences = dependencesOf(instructions)
    this.places = instructions.map((instruction, number) => placeOf(instruction, number, instruction.sources))
    this.indexOf = Int32Array.from(instructions, (_, number) => number)
  }

  /** Returns whether no dependence keeps the instruction at `from` from moving to `to`. */
  mayMove(from, to) {
    const { number } = this.places[from]
    const { before, after } = this.dependences
    if (to < from) return before[number].every(({ other }) => this.indexOf[other] < to)
    return after[number].every(({ other }) => this.indexOf[other] > to)
  }

  move(from, to) {
    const { places, indexOf } = this
    const place = places[from]
    const step = from < to ? 1 : -1
    for (let index = from; index !== to; index += step) {
      places[index] = places[index + step]
      indexOf[places[index].number] = index
    }
    places[to] = place
    indexOf[place.number] = to
  }

  /** Returns whether the instruction at `index` keeps its distances to the instructions that it depends on, and to its dependents. */
  keepsDistances(index) {
    const { number } = this.places[index]
    const { before, after, earliest } = this.dependences
    if (index < earliest[number]) return false
    for (const { other, distance } of before[number]) if (index - this.indexOf[other] < distance) return false
    for (const { other, distance } of after[number]) if (this.indexOf[other] - index < distance) return false
    return true
  }
}

/**
 * The instructions of a block in another order, as { instruction, sources } (operands may be exchanged), found by simulated annealing
 * with this many trials. The last instruction stays the last.
 */
export function orderOf(
  instructions,
  { trials = trialsPerInstruction * instructions.length, seed = 1 } = {},
) {
  const random = randomNumbers(seed)
  const order = new Order(instructions)
  const { places } = order
  const timeline = new Timeline(places)
  let best = timeline.total
  let bestPlaces = [...places]
  const last = places.length - 1
  const isTaken = ({ total }, temperature) => {
    const more = total - timeline.total
    return more <= 0 || random() < Math.exp(-more / temperature)
  }
  for (let trial = 0; trial < trials; ++trial) {
    const temperature = 0.5 * (1 - trial / trials) + 0.02
    const from = Math.floor(random() * last)
    const { instruction } = places[from]
    let first = from
    let change
    if (random() < 0.2) {
      if (!instruction.form?.commutes) continue
      places[from] = exchanged(places[from])
      change = timeline.after(from, from)
      if (!isTaken(change, temperature)) {
        places[from] = exchanged(places[from])
        continue
      }
    } else {
      if (!instruction.moves && !instruction.loads) continue
      const reach = random() < 0.5 ? 6 : 60
      const to = from + Math.floor(random() * (2 * reach + 1)) - reach
      if (to < 0 || to >= last || to === from || !order.mayMove(from, to)) continue
      order.move(from, to)
      first = Math.min(from, to)
      const end = Math.max(from, to)
      let isAllowed = true
      for (let index = first; index <= end && isAllowed; ++index) isAllowed = order.keepsDistances(index)
      change = isAllowed ? timeline.after(first, end) : undefined
      if (!change || !isTaken(change, temperature)) {
        order.move(to, from)
        continue
      }
    }
    timeline.accept(first, change)
    if (timeline.total < best) {
      best = timeline.total
      bestPlaces = [...places]
    }
  }
  return bestPlaces
}
