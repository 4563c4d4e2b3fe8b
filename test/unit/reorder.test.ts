/** Reordering the machine code of main loops: the first steps of max-plus on int32, as CUDA 13.0 compiles them for sm_90. */
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'
import { describeUnless } from '../support/skip.js'

interface Instruction {
  name: string
  moves: boolean
  loads: boolean
  sources: { slot: number; register: number }[]
  reads: number[]
  writes: number[]
  control: { stall: number; stays: number; waits: number; writeBarrier: number; kept: number }
}
const load = (file: string) => import(new URL(`../../native/reorder/${file}.mjs`, import.meta.url).href)
const {
  instructionsOf: timedInstructionsOf,
  reorderBlock,
  reorderCubin,
} = (await load('cubin')) as {
  instructionsOf(bytes: Buffer): (Instruction & { clock: number })[]
  reorderBlock(bytes: Buffer, options?: object): { bytes: Buffer; before: number; after: number } | undefined
  reorderCubin(file: Buffer): { file: Buffer; blocks: { address: number; before: number; after: number }[] }
}
const { errorsOf } = (await load('check')) as { errorsOf(before: Buffer, after: Buffer): string[] }
const { controlsOf } = (await load('control')) as { controlsOf(places: object[]): Instruction['control'][] }
const { decode } = (await load('instruction')) as { decode(bytes: Buffer): Instruction }
const { clocksOf } = (await load('order')) as { clocksOf(places: object[]): number }

const kBytes = 16
const lines = readFileSync(new URL('fixtures/sm90-steps.hex', import.meta.url), 'utf8')
  .trim()
  .split('\n')
const block = Buffer.from(lines.join(''), 'hex')
const options = { trials: 20_000 }
const reordered = reorderBlock(block, options)?.bytes ?? Buffer.alloc(0)
const instructionsOf = (bytes: Buffer) =>
  Array.from({ length: bytes.length / kBytes }, (_, k) =>
    decode(bytes.subarray(k * kBytes, (k + 1) * kBytes)),
  )

/**
 * Returns the registers after a block, on a simulated machine. An instruction issues after the stalls before
 * it. Arithmetic writes its result four clocks later, and a load when its barrier is waited for.
 */
function run(bytes: Buffer, start: number[]): number[] {
  const registers = [...start]
  let pending: { clock: number; barrier: number; register: number; value: number }[] = []
  const write = (isDue: (result: (typeof pending)[number]) => boolean) => {
    for (const { register, value } of pending.filter(isDue)) registers[register] = value
    pending = pending.filter((result) => !isDue(result))
  }
  let clock = 0
  let loads = 0
  instructionsOf(bytes).forEach(({ name, loads: isLoad, sources, reads, writes, control }, k) => {
    const barriers = [0, 1, 2, 3, 4, 5].filter((barrier) => (control.waits >> barrier) & 1)
    const latest = Math.max(
      ...pending.filter(({ barrier }) => barriers.includes(barrier)).map((result) => result.clock),
      -1,
    )
    write((result) => (result.barrier < 0 ? result.clock <= clock : result.clock <= latest))
    const [a = 0, b = 0, c = 0] = sources.map(({ register }) => registers[register] ?? 0)
    // Arithmetic on 31 bits, so that JavaScript's numbers have the machine's results.
    const results: Record<string, () => number> = {
      IMAD: () => a + b,
      VIADDMNMX: () => Math.max(a + b, c),
      VIMNMX3: () => Math.max(a, b, c),
      VIADD: () => (registers[reads[0] ?? 0] ?? 0) + 1,
    }
    const value = results[name]?.()
    if (isLoad) {
      ++loads
      const address = bytes.readUInt32LE(k * kBytes + 4) * 7 + (registers[reads[0] ?? 0] ?? 0)
      writes.forEach((register, word) => {
        const loaded = (address * 31 + word * 17) % 1009
        pending.push({ clock: loads, barrier: control.writeBarrier, register, value: loaded })
      })
    } else if (value !== undefined) {
      pending.push({ clock: clock + 4, barrier: -1, register: writes[0] ?? 0, value })
    }
    clock += Math.max(1, control.stall)
  })
  write(() => true)
  return registers
}

/** Returns the index of the first instruction for which `holds` is true. */
const placeOf = (bytes: Buffer, holds: (instruction: Instruction, place: number) => boolean) =>
  instructionsOf(bytes).findIndex(holds)
/** Returns a copy with another control field of the instruction at index `place`. */
function withControl(
  bytes: Buffer,
  place: number,
  { waits, stall }: { waits?: number; stall?: number },
): Buffer {
  const copy = Buffer.from(bytes)
  const at = place * kBytes + 13
  let bits = copy.readUIntLE(at, 3)
  if (stall !== undefined) bits = (bits & ~(15 << 1)) | (stall << 1)
  if (waits !== undefined) bits = (bits & ~(63 << 12)) | (waits << 12)
  copy.writeUIntLE(bits, at, 3)
  return copy
}
function exchanged(bytes: Buffer, first: number, second: number): Buffer {
  const copy = Buffer.from(bytes)
  bytes.copy(copy, first * kBytes, second * kBytes, (second + 1) * kBytes)
  bytes.copy(copy, second * kBytes, first * kBytes, (first + 1) * kBytes)
  return copy
}

describe('a reordered block', () => {
  it('takes fewer clocks, and has no errors', () => {
    const result = reorderBlock(block, options)
    expect(result?.after).toBeLessThan(result?.before ?? 0)
    expect(errorsOf(block, reordered)).toEqual([])
    expect(reordered.equals(block)).toBe(false)
  })

  it('computes equal values in every register, simulated with the latencies of the machine', () => {
    const start = Array.from({ length: 512 }, (_, k) => (k * 7919) % 1013)
    expect(run(reordered, start)).toEqual(run(block, start))
  })

  it('has the same instructions, but for control and exchanged operands', () => {
    const forms = (bytes: Buffer) =>
      instructionsOf(bytes)
        .map(({ name, reads, writes }) => [name, [...reads].sort(), writes].join(' '))
        .sort()
    expect(forms(reordered)).toEqual(forms(block))
  })

  it('lets another warp go on after a stall for which staying has no control', () => {
    const instructions = timedInstructionsOf(block)
    const [first, last] = instructions.filter(({ moves, loads }) => !moves && !loads)
    const sum = instructions.find(
      ({ name, reads }) => name === 'IMAD' && !reads.includes(first?.writes[0] ?? -1),
    )
    const places = [
      { ...first, clock: 0 },
      { ...sum, clock: 1 },
      { ...last, clock: 14 },
    ].map((instruction) => ({ instruction, sources: instruction.sources }))
    expect(controlsOf(places)[1]).toMatchObject({ stall: 13, stays: 0 })
  })

  it('is the same in every run', () => {
    expect(reorderBlock(block, options)?.bytes.equals(reordered)).toBe(true)
  })
})

describe('the check of a reordered block', () => {
  const instructions = instructionsOf(reordered)

  it('finds no error in code of the compiler', () => {
    expect(errorsOf(block, block)).toEqual([])
  })

  it('finds a warp that stays after a stall of 12 clocks', () => {
    const at = placeOf(reordered, ({ name, control }) => name === 'IMAD' && control.stays === 1)
    expect(errorsOf(block, withControl(reordered, at, { stall: 12 }))).toContain(
      `IMAD at ${at} stalls too long to stay`,
    )
  })

  it('finds a sum after the maximum that reads the sum', () => {
    const maximum = placeOf(reordered, ({ name }) => name === 'VIMNMX3')
    const sum = placeOf(
      reordered,
      ({ writes }, k) => k < maximum && instructions[maximum]?.reads.includes(writes[0] ?? -1) === true,
    )
    expect(errorsOf(block, exchanged(reordered, sum, maximum))).not.toEqual([])
  })

  it('finds every barrier that isn’t waited for', () => {
    instructions.forEach(({ control }, k) => {
      if (k === 0 || control.waits === 0) return
      expect(errorsOf(block, withControl(reordered, k, { waits: 0 })), `instruction ${k}`).not.toEqual([])
    })
  })

  it('finds a result that is read before it is available', () => {
    // All stalls are one clock, so few clocks separate a sum from the maximum that reads the sum.
    const copy = instructions.reduce((bytes, _, k) => withControl(bytes, k, { stall: 1 }), reordered)
    const maximum = placeOf(copy, ({ name }) => name === 'VIMNMX3')
    const sum = placeOf(
      copy,
      ({ writes }, k) => k < maximum && instructions[maximum]?.reads.includes(writes[0] ?? -1) === true,
    )
    let near = copy
    for (let position = sum; position + 1 < maximum; ++position)
      near = exchanged(near, position, position + 1)
    expect(errorsOf(copy, near).join()).toMatch(/too early/)
  })

  it('finds an address that is overwritten before its load', () => {
    const last = instructions.map(({ loads }) => loads).lastIndexOf(true)
    const address = instructions[last]?.reads[0] ?? 0
    const copy = Buffer.from(reordered)
    copy[(last + 1) * kBytes + 2] = address
    expect(errorsOf(copy, copy).join()).toMatch(/address/)
  })

  it('finds another instruction in the place of one', () => {
    expect(
      errorsOf(block, Buffer.concat([reordered.subarray(0, kBytes), reordered.subarray(0, -kBytes)])),
    ).not.toEqual([])
  })
})

describe('unsupported input', () => {
  it('stays unchanged: an instruction in the block', () => {
    const copy = Buffer.from(block)
    // LDG replaces the last arithmetic instruction.
    copy.writeUInt16LE(0x7981, (lines.length - 3) * kBytes)
    expect(reorderBlock(copy, options)).toBeUndefined()
  })

  it('stays unchanged: another barrier than those of loads', () => {
    const position = placeOf(block, ({ name }) => name === 'IMAD')
    expect(reorderBlock(withControl(block, position, { waits: 1 }), options)).toBeUndefined()
  })

  it('is rejected if it is not a cubin', () => {
    expect(() => reorderCubin(Buffer.alloc(100))).toThrow('this is no cubin')
  })
})

/** Returns a cubin whose only function is a loop: the block, and a branch back to its start. */
function cubin(): Buffer {
  const branch = Buffer.alloc(kBytes)
  const words = BigInt.asUintN(56, BigInt(-(block.length + kBytes) / 4))
  branch.writeBigUInt64LE(0x7947n | ((words & 255n) << 16n) | BigInt.asUintN(64, (words >> 8n) << 34n), 0)
  branch.writeBigUInt64LE((words >> 38n) | (5n << 41n), 8)
  const names = Buffer.from('\0.shstrtab\0.text.loop\0')
  const code = Buffer.concat([block, branch])
  const header = Buffer.alloc(64)
  header.writeUInt32BE(0x7f454c46, 0)
  const section = (name: string, start: number, size: number) => {
    const bytes = Buffer.alloc(64)
    bytes.writeUInt32LE(names.indexOf(name), 0)
    bytes.writeBigUInt64LE(BigInt(start), 24)
    bytes.writeBigUInt64LE(BigInt(size), 32)
    return bytes
  }
  const nameStart = 64 + code.length
  header.writeBigUInt64LE(BigInt(nameStart + names.length), 40)
  header.writeUInt16LE(64, 58)
  header.writeUInt16LE(2, 60)
  header.writeUInt16LE(0, 62)
  return Buffer.concat([
    header,
    code,
    names,
    section('.shstrtab', nameStart, names.length),
    section('.text.loop', 64, code.length),
  ])
}

describe('a cubin', () => {
  it('changes only in the order of its loop', () => {
    const file = cubin()
    const result = reorderCubin(file)
    expect(result.blocks).toEqual([expect.objectContaining({ name: 'loop', address: 0 })])
    expect(errorsOf(block, result.file.subarray(64, 64 + block.length))).toEqual([])
    expect(result.file.subarray(64 + block.length).equals(file.subarray(64 + block.length))).toBe(true)
  })
})

describeUnless(
  process.platform === 'win32' && 'the programs in its place are scripts of a shell',
  'the program in place of nvcc',
  () => {
    const inFolder = useFolder(afterEach)
    beforeEach(() => {
      writeFileSync(inFolder('kernel.cubin'), cubin())
      program('ptxas', `cp ${inFolder()}/kernel.cubin "$5"`)
    })

    function program(name: string, script: string): void {
      writeFileSync(inFolder(name), `#!/bin/sh\n${script}\n`)
      chmodSync(inFolder(name), 0o755)
    }
    /** Simulates a compiler that runs the given commands and by default writes `plain`. */
    function compileWith(steps: string[]): { status: number | null; object: string } {
      const said = steps.map((step) => `echo '#$ ${step}' >&2`).join('\n')
      program('nvcc', `if [ "$1" = --dryrun ]; then\n${said}\nexit 0; fi\necho plain > ${inFolder()}/object`)
      const nvcc = fileURLToPath(new URL('../../native/reorder/nvcc.mjs', import.meta.url))
      const { status } = spawnSync(process.execPath, [nvcc, inFolder('nvcc'), '-c', 'kernel.cu'])
      return { status, object: readFileSync(inFolder('object'), 'latin1') }
    }
    const settings = () => `PATH=${inFolder()}:${process.env.PATH}`
    const assembler = () => `ptxas -arch=sm_90 -m64 "kernel.ptx" -o "${inFolder()}/sm_90.cubin"`

    it('puts reordered machine code into the object file', () => {
      const { status, object } = compileWith([
        settings(),
        assembler(),
        `cp ${inFolder()}/sm_90.cubin ${inFolder()}/object`,
      ])
      expect(status).toBe(0)
      expect(object).toBe(reorderCubin(cubin()).file.toString('latin1'))
    })

    it('compiles like nvcc if a command fails, or if the output has no machine code for sm_90', () => {
      expect(compileWith([settings(), assembler(), 'false'])).toEqual({ status: 0, object: 'plain\n' })
      expect(compileWith(['true'])).toEqual({ status: 0, object: 'plain\n' })
    })

    it('compiles like nvcc if the output of ptxas is not a cubin', () => {
      writeFileSync(inFolder('kernel.cubin'), Buffer.alloc(100))
      expect(compileWith([settings(), assembler()])).toEqual({ status: 0, object: 'plain\n' })
    })
  },
)

// Measured on an H200 with two warps per quarter of a multiprocessor (docs/notes.md), in clocks per repetition.
describe('the rule of register banks', () => {
  const forms = { F: 0x221, V: 0x20f, A: 0x246, I: 0xc24 }
  const registers = { F: [3, 4], V: [3, 4, 8], A: [3, 4, 8], I: [3, 8] }
  /**
   * Returns the clocks of instructions such as `F 24 e`, with fixed registers, or alternating even or odd
   * ones per repetition.
   */
  function clocks(pattern: string): number {
    const repetitions = 60
    const places = Array.from({ length: repetitions }, (_, repetition) =>
      pattern.split(' | ').map((text, index) => {
        const [kind = '', ...operands] = text.split(' ')
        const bytes = Buffer.alloc(kBytes)
        bytes.writeUInt16LE(forms[kind as keyof typeof forms] | 0x7000, 0)
        bytes[2] = 100 + ((repetition * 3 + index) % 24)
        if (kind === 'V' || kind === 'A') bytes.writeUInt16LE(0x0380, 10)
        operands.forEach((operand, k) => {
          const changing = 40 + ((repetition * 5 + index * 3 + k * 7) % 24) * 2
          const register = operand === 'e' ? changing : operand === 'o' ? changing + 1 : Number(operand)
          bytes[registers[kind as keyof typeof registers][k] ?? 0] = register
        })
        const instruction = decode(bytes)
        return { instruction, sources: instruction.sources }
      }),
    ).flat()
    return Math.round(clocksOf(places) / repetitions)
  }
  it.each([
    ['F e o', 1],
    ['F e e', 2],
    ['F 24 e', 1],
    ['F 24 e | F o e', 2],
    ['F 24 e | F e o', 3],
    ['F e 24 | F e o', 2],
    ['F e 24 | F o e', 3],
    ['F 24 e | F 25 o | V o e e', 3],
    ['F 24 e | F 25 o | V e o e', 4],
    ['F 24 e | V o o e', 2],
    ['F 24 e | V e o o', 3],
    ['V 24 e e', 2],
    ['V 24 e o | F o e', 2],
    ['V 24 e o | F e o', 3],
    ['I 24 e | A o o e', 2],
    ['I 24 e | A e o o', 3],
    ['A e 24 o | I e o', 2],
    ['I 24 e | A 24 e o', 2],
  ])('has %s take %i clocks', (pattern, measured) => {
    expect(clocks(pattern)).toBe(measured)
  })
})
