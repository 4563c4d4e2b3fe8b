// Parses the machine code (SASS) that cuobjdump prints.

/** The functions of a dump: their mangled names and instructions, as { address, opcode, operands }. */
export function functionsOf(dump) {
  return dump
    .split(/^\s*Function : /m)
    .slice(1)
    .map((text) => ({
      name: /^\S+/.exec(text)[0],
      instructions: [
        ...text.matchAll(/\/\*([0-9a-f]{4,5})\*\/\s+\{?\s*(?:@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);/g),
      ].map(([, address, opcode, operands]) => ({
        address: Number.parseInt(address, 16),
        opcode,
        operands: operands.trimEnd(),
      })),
    }))
}

/** A function's longest loop: its instructions by opcode. */
export function loopOf({ instructions }) {
  let longest = []
  for (const { address, opcode, operands } of instructions) {
    const target = /^BRA/.test(opcode) && /0x([0-9a-f]+)$/.exec(operands)
    const from = target ? Number.parseInt(target[1], 16) : address
    if (from >= address) continue
    const loop = instructions.filter((other) => other.address >= from && other.address <= address)
    if (loop.length > longest.length) longest = loop
  }
  return countsOf(longest)
}

/** Instructions by opcode, without suffixes. Packed ones keep theirs, and so do moves and additions made by IMAD. */
export function countsOf(instructions) {
  const counts = new Map()
  for (const { opcode } of instructions) {
    const whole = /^(V\w+\.[SU]16|IMAD\.MOV)/.test(opcode)
    const name = whole ? opcode : opcode.split('.')[0]
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}
