// Reorders the main loops in a cubin: machine code for one architecture, as ptxas writes it.
import { errorsOf } from './check.mjs'
import { controlsOf } from './control.mjs'
import { decode, encode, isControlFlow, kBytes, targetOf } from './instruction.mjs'
import { clocksOf, orderOf } from './order.mjs'

/** The number that stands for no barrier. */
const noBarrier = 7
/** The least number of arithmetic instructions in a block that is reordered. */
const leastArithmetic = 100

/** The text sections of an ELF file, as { name, start, size } in bytes of the file. */
function textSections(file) {
  if (file.readUInt32BE(0) !== 0x7f454c46) throw new Error('this is no cubin')
  const headers = Number(file.readBigUInt64LE(40))
  const [headerBytes, count, names] = [file.readUInt16LE(58), file.readUInt16LE(60), file.readUInt16LE(62)]
  const sections = Array.from({ length: count }, (_, k) => {
    const at = headers + k * headerBytes
    return {
      name: file.readUInt32LE(at),
      start: Number(file.readBigUInt64LE(at + 24)),
      size: Number(file.readBigUInt64LE(at + 32)),
    }
  })
  return sections
    .map((section) => {
      const at = sections[names].start + section.name
      return { ...section, name: file.toString('latin1', at, file.indexOf(0, at)) }
    })
    .filter(({ name }) => name.startsWith('.text.'))
}

/** The addresses in a function at which blocks begin. */
function blockStarts(code) {
  const starts = new Set([0])
  for (let address = 0; address < code.length; address += kBytes) {
    const bytes = code.subarray(address, address + kBytes)
    if (isControlFlow(bytes)) starts.add(address + kBytes)
    const target = targetOf(bytes, address)
    if (target !== undefined) starts.add(target)
  }
  return [...starts].filter((start) => start < code.length).sort((a, b) => a - b)
}

/** The loops of a function, as { start, end }: from where a branch back leads, up to behind that branch. */
function loopsOf(code) {
  const loops = []
  for (let address = 0; address < code.length; address += kBytes) {
    const target = targetOf(code.subarray(address, address + kBytes), address)
    if (target !== undefined && target >= 0 && target < address)
      loops.push({ start: target, end: address + kBytes })
  }
  return loops
}

/** The address behind the last unknown instruction of a block. */
function afterUnknown(code, start, end) {
  let address = end
  while (address > start && decode(code.subarray(address - kBytes, address))) address -= kBytes
  return address
}

/** The instructions of a block, or undefined if one of them is unknown. `clock` is when the compiler has one issued. */
export function instructionsOf(bytes) {
  const instructions = []
  let clock = 0
  for (let at = 0; at < bytes.length; at += kBytes) {
    const instruction = decode(bytes.subarray(at, at + kBytes))
    if (!instruction) return undefined
    instructions.push({ ...instruction, clock })
    clock += Math.max(1, instruction.control.stall)
  }
  return instructions
}

/** A block in another order, as { bytes, before, after }, the last two in clocks; undefined if it isn't known, or errorsOf() finds any. */
export function reorderBlock(bytes, options) {
  const instructions = instructionsOf(bytes)
  if (!instructions || instructions.filter(({ moves }) => moves).length < leastArithmetic) return undefined
  // The code after the block may rely on the latency of the branch at its end.
  if (instructions.at(-1).name !== 'BRA' || !instructions.every(hasKnownBarriers)) return undefined
  const before = clocksOf(instructions.map((instruction) => ({ instruction, sources: instruction.sources })))
  const places = orderOf(instructions, options)
  const controls = controlsOf(places)
  if (!controls) return undefined
  const encoded = Buffer.concat(
    places.map(({ instruction, sources }, k) => encode(instruction, sources, controls[k])),
  )
  if (errorsOf(bytes, encoded).length > 0) return undefined
  return { bytes: encoded, before, after: clocksOf(places) }
}

/** Returns whether the first barrier serves only copies to shared memory, and the others only loads from shared memory. */
function hasKnownBarriers({ name, control, moves, loads }) {
  const usesFirst = (control.waits & 1) === 1
  if (name === 'LDGDEPBAR') return control.writeBarrier === 0 && !usesFirst
  if (loads) return control.writeBarrier !== 0 && !usesFirst
  return control.writeBarrier === noBarrier && control.readBarrier === noBarrier && !(moves && usesFirst)
}

/** The cubin with its loops in a better order, and the reordered blocks, as { file, blocks }. Unknown code is unchanged. */
export function reorderCubin(file, options) {
  const result = Buffer.from(file)
  const blocks = []
  // Kernels of one arithmetic share blocks.
  const known = new Map()
  const reordered = (bytes) => {
    const key = bytes.toString('latin1')
    if (!known.has(key)) known.set(key, reorderBlock(bytes, options))
    return known.get(key)
  }
  for (const section of textSections(file)) {
    const code = file.subarray(section.start, section.start + section.size)
    const starts = blockStarts(code)
    const loops = loopsOf(code)
    starts.forEach((start, k) => {
      const end = starts[k + 1] ?? code.length
      const address = afterUnknown(code, start, end)
      if (!loops.some((loop) => loop.start <= address && end <= loop.end)) return
      const block = reordered(code.subarray(address, end))
      if (!block || block.after >= block.before) return
      block.bytes.copy(result, section.start + address)
      blocks.push({
        name: section.name.slice('.text.'.length),
        address,
        instructions: (end - address) / kBytes,
        before: block.before,
        after: block.after,
      })
    })
  }
  return { file: result, blocks }
}
