// Instructions of sm_90 as machine code, as far as the main loops of the pipelined kernels have them. An instruction has 16 bytes.
// Registers are whole bytes, the last 21 bits but two say how it is issued (https://arxiv.org/abs/1804.06826).

/** The bytes of an instruction. */
export const kBytes = 16

const zeroRegister = 255
const always = 7
/** Uniform registers are numbered from here on. */
export const firstUniform = 256
/** `pipe` of instructions that occupy no pipe for more than a clock. */
export const noPipe = -1
/** The bytes that hold registers. */
const place = { destination: 2, a: 3, b: 4, c: 8 }

/**
 * The arithmetic that may change places. `sources` are the slots that operands are read through (0 to 2: a, b, c), with the byte
 * that says which register. A pipe (0: ALU, 1: multiplication) is busy for two clocks with each of its instructions. The first two sources
 * may be exchanged if `commutes`.
 */
const arithmetic = new Map([
  // FADD reads its second operand through the third slot.
  [
    0x221,
    {
      name: 'FADD',
      latency: 5,
      pipe: noPipe,
      sources: [
        [0, place.a],
        [2, place.b],
      ],
      commutes: true,
    },
  ],
  [
    0x20f,
    {
      name: 'VIMNMX3',
      latency: 6,
      pipe: 0,
      sources: [
        [0, place.a],
        [1, place.b],
        [2, place.c],
      ],
    },
  ],
  [
    0x246,
    {
      name: 'VIADDMNMX',
      latency: 6,
      pipe: 0,
      sources: [
        [0, place.a],
        [1, place.b],
        [2, place.c],
      ],
      commutes: true,
    },
  ],
  // The second factor is a uniform register.
  [
    0xc24,
    {
      name: 'IMAD',
      latency: 5,
      pipe: 1,
      sources: [
        [0, place.a],
        [2, place.c],
      ],
      uniform: place.b,
    },
  ],
])

/** The instructions of such a loop that keep their order, with the registers that they read and write. */
const others = new Map([
  [0x287, { name: 'USEL', reads: [], writesUniform: true }],
  [0x28c, { name: 'UISETP', reads: [] }],
  [0x88c, { name: 'UISETP', reads: [] }],
  [0x290, { name: 'UIADD3', reads: [], writesUniform: true }],
  [0x890, { name: 'UIADD3', reads: [], writesUniform: true }],
  [0x81c, { name: 'PLOP3', reads: [] }],
  [0x9af, { name: 'LDGDEPBAR', reads: [] }],
  [0xc0c, { name: 'ISETP', reads: [place.a] }],
  [0x202, { name: 'MOV', reads: [place.b], writes: true }],
  [0xc36, { name: 'VIADD', reads: [place.a], writes: true }],
  [0x947, { name: 'BRA', reads: [] }],
])

const opcodeOf = (bytes) => bytes[0] | ((bytes[1] & 15) << 8)

/** Opcodes that change which instruction is next: calls, branches, barriers of reconvergence, ends. */
export const isControlFlow = (bytes) =>
  (opcodeOf(bytes) & 0xff0) === 0x940 || (opcodeOf(bytes) & 0xff0) === 0x950

/** The address that a branch at `address` goes to, or undefined if the bytes are no branch with a target. */
export function targetOf(bytes, address) {
  if (![0x947, 0x944, 0x945].includes(opcodeOf(bytes))) return undefined
  const low = bytes.readBigUInt64LE(0)
  const high = bytes.readBigUInt64LE(8)
  const words = BigInt.asIntN(56, ((low >> 16n) & 255n) | (((low >> 34n) | ((high & 0x3ffffn) << 30n)) << 8n))
  return address + kBytes + Number(words) * 4
}

/** Longest stall in clocks after which the warp may go on. Machine code has no control for longer ones, and the disassembler rejects it. */
export const mostStallToStay = 11

/** How an instruction is issued: clocks until the next one, whether its warp goes on, barriers, and the operands that the next instruction reuses. */
function controlOf(bytes) {
  const bits = (bytes[13] | (bytes[14] << 8) | (bytes[15] << 16)) >> 1
  return {
    stall: bits & 15,
    stays: (bits >> 4) & 1,
    writeBarrier: (bits >> 5) & 7,
    readBarrier: (bits >> 8) & 7,
    waits: (bits >> 11) & 63,
    kept: (bits >> 17) & 15,
  }
}

/** `bytes` with these registers in place of its own (undefined: the same) and this control. */
export function encode(instruction, sources, control) {
  const bytes = Buffer.from(instruction.bytes)
  sources.forEach(({ register }, k) => {
    if (instruction.moves) bytes[instruction.form.sources[k][1]] = register
  })
  const bits =
    control.stall |
    (control.stays << 4) |
    (control.writeBarrier << 5) |
    (control.readBarrier << 8) |
    (control.waits << 11) |
    (control.kept << 17)
  bytes[13] = (bytes[13] & 1) | ((bits << 1) & 255)
  bytes[14] = (bits >> 7) & 255
  bytes[15] = (bytes[15] & 0xc0) | ((bits >> 15) & 63)
  return bytes
}

/**
 * An instruction: { name, bytes, control, form, moves, loads, sources, reads, writes }, or undefined if its bytes are none that is
 * known. `sources` are the operands of one that `moves`, as { slot, register }; `reads` and `writes` are all its registers.
 */
export function decode(bytes) {
  const opcode = opcodeOf(bytes)
  const isConditional = bytes[1] >> 4 !== always
  const control = controlOf(bytes)
  const form = arithmetic.get(opcode)
  if (form && !isConditional) {
    const sources = form.sources.map(([slot, byte]) => ({ slot, register: bytes[byte] }))
    const writes = [bytes[place.destination]]
    if ([...writes, ...sources.map((source) => source.register)].includes(zeroRegister)) return undefined
    // These bits negate operands, among other modifiers.
    if (
      bytes[5] | bytes[6] | bytes[7] ||
      (form.name === 'FADD' && bytes[8] | bytes[9] | bytes[10] | bytes[11])
    )
      return undefined
    // The choice between minimum and maximum may not depend on a predicate.
    if (form.pipe === 0 && ((bytes[10] >> 7) | ((bytes[11] & 3) << 1)) !== always) return undefined
    const reads = sources.map((source) => source.register)
    if (form.uniform) reads.push(firstUniform + bytes[form.uniform])
    return { name: form.name, bytes, control, form, moves: true, loads: false, sources, reads, writes }
  }
  if (opcode === 0x984 && !isConditional) {
    // Only loads of whole registers.
    const registers = { 4: 1, 5: 2, 6: 4 }[(bytes[9] >> 1) & 7]
    if (!registers || bytes[place.destination] === zeroRegister) return undefined
    const writes = Array.from({ length: registers }, (_, k) => bytes[place.destination] + k)
    return {
      name: 'LDS',
      bytes,
      control,
      form: null,
      moves: false,
      loads: true,
      sources: [],
      reads: [bytes[place.a]],
      writes,
    }
  }
  const other = others.get(opcode)
  if (!other || (isConditional && other.name !== 'BRA')) return undefined
  const registersAt = (places) =>
    places.map((byte) => bytes[byte]).filter((register) => register !== zeroRegister)
  return {
    name: other.name,
    bytes,
    control,
    form: null,
    moves: false,
    loads: false,
    sources: [],
    reads: registersAt(other.reads),
    writes: writesOf(other, bytes),
  }
}

function writesOf(other, bytes) {
  const register = bytes[place.destination]
  if (other.writesUniform) return [firstUniform + register]
  return other.writes && register !== zeroRegister ? [register] : []
}
