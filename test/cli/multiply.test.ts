/** mpmml multiply: products of files. Expected numbers are published, computed by hand, or by the loops below. */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readNpy, writeNpy } from '../../lib/files.js'
import { matrix } from '../../lib/index.js'
import { useFolder } from '../support/folder.js'
import { EPSILON, fails, json, readNumbers, succeeds, writeNumbers } from './support.js'

const path = useFolder()

/** K. Stanczyk, Max-Plus Algebra Toolbox for MATLAB, user guide, example 2.12c. */
const example = () => [
  writeNumbers(path('a.npy'), [2, 3], [1, 6, 2, 8, 3, 4]),
  writeNumbers(path('b.npy'), [3, 2], [2, 5, 3, 3, 1, 6]),
]

/** Multiplies two matrices and reads the written file. */
async function product(
  a: [shape: number[], values: number[]],
  b: [shape: number[], values: number[]],
  ...flags: string[]
) {
  const [fileA, fileB, fileC] = [path('pa.npy'), path('pb.npy'), path('pc.npy')]
  writeNumbers(fileA, ...a)
  writeNumbers(fileB, ...b)
  await succeeds(['multiply', fileA, fileB, '-o', fileC, ...flags])
  return readNumbers(fileC)
}

describe('the product', () => {
  it('is right for the published example', async () => {
    const printed = await succeeds(['multiply', ...example(), '-o', path('c.npy')])
    expect(readNumbers(path('c.npy'))).toEqual({ shape: [2, 2], values: [9, 9, 10, 13] })
    expect(printed).toMatch(/^A +2 × 3 .*a\.npy$/m)
    expect(printed).toMatch(/^C +2 × 2 .*c\.npy$/m)
    expect(printed).toMatch(/^values +4: 9 … 13$/m)
    expect(printed).toMatch(/^backend +(cpu|cuda), /m)
    expect(printed).toMatch(/^kernel +[\d.]+ m?s$/m)
    expect(printed).not.toContain('verified')
  })

  // Source: the documentation of MaxPlus.jl, A*A.
  it('is right with ε', async () => {
    const a: [number[], number[]] = [
      [2, 2],
      [4, 3, 7, EPSILON],
    ]
    expect((await product(a, a)).values).toEqual([10, 7, 11, 10])
  })

  it('is right for Fortran order and 64-bit integers', async () => {
    const [, b] = example()
    // Fortran order stores the elements column by column.
    writeNumbers(path('f.npy'), [2, 3], [1, 8, 6, 3, 2, 4], { fortran: true })
    await succeeds(['multiply', path('f.npy'), b!, '-o', path('c.npy')])
    expect(readNumbers(path('c.npy')).values).toEqual([9, 9, 10, 13])
    writeNumbers(path('l.npy'), [2, 3], [1, 6, 2, 8, 3, 4], { descr: '<i8' })
    await succeeds(['multiply', path('l.npy'), b!, '-o', path('c.npy')])
    expect(readNumbers(path('c.npy')).values).toEqual([9, 9, 10, 13])
  })

  it('is right with an accumulated matrix', async () => {
    writeNumbers(path('c0.npy'), [2, 2], [100, EPSILON, 10, 12])
    await succeeds([
      'multiply',
      ...example(),
      '-o',
      path('c.npy'),
      '--accumulate',
      path('c0.npy'),
      '--verify',
    ])
    expect(readNumbers(path('c.npy')).values).toEqual([100, 9, 10, 13])
    writeNumbers(path('c0.npy'), [2, 3], [1, 2, 3, 4, 5, 6])
    expect(await fails(['multiply', ...example(), '--accumulate', path('c0.npy')])).toContain(
      'ERR_MPMML_SHAPE',
    )
  })

  it('is right under each overflow policy', async () => {
    const a: [number[], number[]] = [[1, 1], [2147483647]]
    const b: [number[], number[]] = [[1, 1], [5]]
    writeNumbers(path('a.npy'), ...a)
    writeNumbers(path('b.npy'), ...b)
    const args = ['multiply', path('a.npy'), path('b.npy'), '-o', path('overflow.npy')]
    expect(await fails(args)).toContain('[ERR_MPMML_OVERFLOW]')
    expect(await fails([...args, '--overflow', 'throw', '--json'])).toContain('[ERR_MPMML_OVERFLOW]')
    expect(existsSync(path('overflow.npy'))).toBe(false)
    expect((await product(a, b, '--overflow', 'saturate', '--verify')).values).toEqual([2147483647])
    expect((await product(a, b, '--overflow', 'wrap', '--verify')).values).toEqual([-2147483644])
  })
})

describe('the printed result', () => {
  it('is one JSON value with --json', async () => {
    const [a, b] = example()
    const record = await json(['multiply', a!, b!, '-o', path('c.npy'), '--verify', '--backend', 'cpu'])
    expect(record).toEqual({
      a: { path: a, shape: [2, 3] },
      b: { path: b, shape: [3, 2] },
      accumulate: null,
      c: { path: path('c.npy'), shape: [2, 2], min: 9, max: 13, zeros: 0, nan: 0, infinite: 0 },
      semiring: 'max-plus',
      dtype: 'int32',
      overflow: 'throw',
      backend: 'cpu',
      device: expect.any(String),
      devices: [],
      variant: expect.stringMatching(/maxplus_i32/),
      path: 'direct',
      timing: {
        totalMs: expect.any(Number),
        kernelMs: expect.any(Number),
        analysisMs: expect.any(Number),
        h2dMs: 0,
        d2hMs: 0,
      },
      gops: expect.any(Number),
      verified: { variant: expect.stringMatching(/^naive_maxplus_i32/), shareOfErrorBound: null },
    })
    expect(record.timing.totalMs).toBeGreaterThanOrEqual(record.timing.kernelMs)
  })

  it('is a summary and the values without -o', async () => {
    writeNumbers(path('a.npy'), [1, 2], [EPSILON, 3])
    writeNumbers(path('b.npy'), [2, 3], [1, 2, 3, 4, EPSILON, 6])
    const before = readdirSync(path('.')).length
    const record = await json(['multiply', path('a.npy'), path('b.npy')])
    const summary = { min: 7, max: 9, zeros: 1, nan: 0, infinite: 0 }
    expect(record.c).toEqual({ path: null, shape: [1, 3], ...summary, values: [[7, null, 9]] })
    expect(record.verified).toBeNull()
    expect(readdirSync(path('.'))).toHaveLength(before)
    expect(await succeeds(['multiply', path('a.npy'), path('b.npy')])).toMatch(
      /^values +3: 7 … 9; 1 is −∞, held as -2147483648$/m,
    )
  })

  it('is of floating-point numbers for files of them', async () => {
    await writeNpy(path('a.npy'), matrix(1, 2, Float32Array.of(0.5, 3)))
    await writeNpy(path('b.npy'), matrix(2, 3, Float32Array.of(1, 2, 3, 4, Number.NEGATIVE_INFINITY, 6)))
    const files = [path('a.npy'), path('b.npy'), '-o', path('c.npy'), '--verify']
    const record = await json(['multiply', ...files])
    expect(record).toMatchObject({ dtype: 'float32', overflow: null, semiring: 'max-plus' })
    expect(record.c).toMatchObject({ min: 2.5, max: 9, zeros: 0 })
    expect((await readNpy(path('c.npy'))).data).toEqual(Float32Array.of(7, 2.5, 9))
    expect(await fails(['multiply', ...files, '--overflow', 'wrap'])).toContain('overflow is for integers')
  })

  it('is the ordinary product with plus-times, verified within the bound on its rounding errors', async () => {
    const numbers = (length: number) => Float32Array.from({ length }, (_, i) => Math.sin(i * i))
    await writeNpy(path('a.npy'), matrix(30, 40, numbers(1200)))
    await writeNpy(path('b.npy'), matrix(40, 20, numbers(800)))
    const files = [path('a.npy'), path('b.npy'), '--semiring', 'plus-times', '--verify']
    const { verified } = await json(['multiply', ...files])
    expect(verified.variant).toMatch(/^naive_plustimes_f64/)
    expect(verified.shareOfErrorBound).toBeGreaterThan(0)
    expect(verified.shareOfErrorBound).toBeLessThan(1)
    expect(await succeeds(['multiply', ...files])).toMatch(
      /^verified +as naive_plustimes_f64.*rounding errors$/m,
    )
  })

  it('is of bytes with or-and: booleans, bytes and integers are equivalent', async () => {
    const [a, b, c0] = [path('a.npy'), path('b.npy'), path('c0.npy')] as const
    writeNumbers(c0, [2, 2], [0, 0, 0, 7])
    for (const descr of ['|b1', '|u1', '<i4', '<i8'] as const) {
      writeNumbers(a, [2, 3], [0, 1, 0, 0, 0, 1], { descr })
      writeNumbers(b, [3, 2], [1, 1, 0, 1, 0, 0], { descr: '|u1' })
      const files = [a, b, '--semiring', 'or-and', '-o', path('c.npy'), '--verify', '--backend', 'cpu']
      const record = await json(['multiply', ...files])
      expect(record).toMatchObject({ semiring: 'or-and', dtype: 'uint8', overflow: null, path: 'direct' })
      expect(record.c).toMatchObject({ min: 0, max: 1, zeros: 3 })
      expect(record.verified.variant).toMatch(/^naive_orand_u8/)
      expect((await readNpy(path('c.npy'), { dtype: 'uint8' })).data).toEqual(Uint8Array.of(0, 1, 0, 0))
      await json(['multiply', ...files, '--accumulate', c0])
      expect((await readNpy(path('c.npy'), { dtype: 'uint8' })).data).toEqual(Uint8Array.of(0, 1, 0, 1))
    }
    const printed = await succeeds(['multiply', a, b, '--semiring', 'or-and'])
    expect(printed).toMatch(/^values +4: 0 … 1; 3 are 0$/m)
    expect(printed).toMatch(/^semiring +or-and on uint8$/m)
    writeNumbers(a, [2, 3], [0, 1, 0, 0, -1, 1])
    expect(await fails(['multiply', a, b, '--semiring', 'or-and'])).toMatch(
      /int32 value -1 at index \[1, 1\].*uint8, 0 … 255.*\[ERR_MPMML_FILE\]/,
    )
    writeNumbers(a, [2, 3], [0, 1, 0, 0, 1, 1], { descr: '|b1' })
    expect(await fails(['multiply', a, b])).toContain('[ERR_MPMML_DTYPE]')
  })

  it('is of bottlenecks with min-max', async () => {
    writeNumbers(path('a.npy'), [1, 2], [5, -(2 ** 31)])
    writeNumbers(path('b.npy'), [2, 2], [3, 9, 7, 2 ** 31 - 1])
    const files = [path('a.npy'), path('b.npy'), '-o', path('c.npy'), '--verify']
    for (const [semiring, values] of [['min-max', [5, 9]]] as const) {
      for (const overflow of [[], ['--overflow', 'throw'], ['--overflow', 'wrap']]) {
        const record = await json(['multiply', ...files, '--semiring', semiring, ...overflow])
        expect(record).toMatchObject({ semiring, dtype: 'int32', overflow: null })
        expect(record.verified.variant).toMatch(/^naive_minmax_i32/)
        expect(readNumbers(path('c.npy')).values).toEqual(values)
      }
    }
  })

  it('is of probabilities with max-times, which has no negative elements', async () => {
    await writeNpy(path('a.npy'), matrix(1, 2, Float64Array.of(0.5, 0.9)))
    await writeNpy(path('b.npy'), matrix(2, 2, Float64Array.of(0.5, 0, 0.25, -0)))
    const files = [path('a.npy'), path('b.npy'), '--semiring', 'max-times']
    const record = await json(['multiply', ...files, '-o', path('c.npy'), '--verify'])
    expect(record.c).toMatchObject({ min: 0, max: 0.25, zeros: 1 })
    expect((await readNpy(path('c.npy'))).data).toEqual(Float64Array.of(0.25, 0))
    await writeNpy(path('b.npy'), matrix(2, 2, Float64Array.of(0.5, 0, -0.25, 1)))
    expect(await fails(['multiply', ...files])).toMatch(/b\[1, 0\].*-0\.25.*\[ERR_MPMML_VALUE\]/)
  })

  it('counts infinities that are not the zero, and NaN', async () => {
    const { POSITIVE_INFINITY: infinity, NEGATIVE_INFINITY, NaN: nan } = Number
    const summary = async (semiring: string, ...values: number[]) => {
      await writeNpy(path('a.npy'), matrix(values.length, 1, Float64Array.from(values)))
      await writeNpy(path('b.npy'), matrix(1, 1, Float64Array.of(semiring.endsWith('plus') ? 0 : 1)))
      const args = ['multiply', path('a.npy'), path('b.npy'), '--semiring', semiring]
      return /^values +(.*)$/m.exec(await succeeds(args))![1]
    }
    const values = [5, infinity, 6, infinity, NEGATIVE_INFINITY]
    expect(await summary('max-plus', ...values)).toBe('5: 5 … 6; 1 is −∞; 2 are +∞')
    expect(await summary('min-plus', ...values)).toBe('5: 5 … 6; 2 are +∞; 1 is −∞')
    expect(await summary('plus-times', 0, ...values)).toBe('6: 0 … 6; 1 is 0; 3 are ±∞')
    expect(await summary('max-times', 0, 5, infinity)).toBe('3: 0 … 5; 1 is 0; 1 is +∞')
    expect(await summary('plus-times', nan, infinity)).toBe('2: none finite; 1 is ±∞; 1 is NaN')
    const { c } = await json(['multiply', path('a.npy'), path('b.npy'), '--semiring', 'plus-times'])
    expect(c).toMatchObject({ min: null, max: null, zeros: 0, nan: 1, infinite: 1 })
  })
})

describe('multiply', () => {
  it('uses the named variant, and verifies with another', async () => {
    const rows = await json(['variants', '--semiring', 'max-plus', '--backend', 'cpu'])
    const [naive] = rows.filter((row: { family: string }) => row.family === 'naive')
    const [other] = rows.filter((row: { architectures: string[] }) => row.architectures.includes('portable'))
    const args = ['multiply', ...example(), '-o', path('c.npy')]
    for (const { name } of [naive, other])
      expect((await json([...args, '--variant', name])).variant).toBe(name)
    expect((await json([...args, '--variant', other.name, '--verify'])).verified.variant).toBe(naive.name)
    expect(await fails([...args, '--variant', naive.name, '--verify'])).toContain('would prove nothing')
  })

  it('rejects variants that do not exist or compute something else', async () => {
    const args = ['multiply', ...example(), '-o', path('none.npy')]
    expect(await fails([...args, '--variant', 'fastest'])).toContain('[ERR_MPMML_VARIANT]')
    const [row] = await json(['variants', '--semiring', 'min-plus', '--backend', 'cpu'])
    expect(await fails([...args, '--variant', row.name])).toContain('[ERR_MPMML_VARIANT]')
    expect(existsSync(path('none.npy'))).toBe(false)
  })

  it('uses the named backend, or states why it cannot', async () => {
    const args = ['multiply', ...example()]
    expect((await json([...args, '--backend', 'cpu'])).backend).toBe('cpu')
    expect(await succeeds([...args, '--backend', 'cpu'])).toMatch(/^backend +cpu, .*: as --backend asks$/m)
    const { cuda } = await json(['info'])
    if (cuda.reason === '') {
      expect((await json([...args, '--backend', 'cuda', '--device', '0', '--verify'])).backend).toBe('cuda')
      expect(await fails([...args, '--backend', 'cuda', '--device', '99'])).toContain('[ERR_MPMML_NO_CUDA]')
    } else {
      expect(await fails([...args, '--backend', 'cuda'])).toContain('[ERR_MPMML_NO_CUDA]')
    }
    const environment = { env: { MPMML_BACKEND: 'cpu' } }
    expect((await json(args, environment)).backend).toBe('cpu')
    expect(await succeeds(args, environment)).toMatch(/^backend +cpu, .*MPMML_BACKEND/m)
    expect(await fails(args, 1, { env: { MPMML_BACKEND: 'tpu' } })).toContain('[ERR_MPMML_OPTION]')
  })
})

describe('the output file', () => {
  it('is never an input, under any name', async () => {
    const [a] = example()
    writeNumbers(path('c0.npy'), [2, 2], [1, 2, 3, 4])
    linkSync(a!, path('hard.npy'))
    symlinkSync('b.npy', path('soft.npy'))
    mkdirSync(path('sub'))
    const names = ['a.npy', 'b.npy', 'c0.npy', 'hard.npy', 'soft.npy', './a.npy', 'sub/../b.npy']
    const content = readFileSync(a!)
    for (const name of names) {
      const line = await fails(['multiply', 'a.npy', 'b.npy', '--accumulate', 'c0.npy', '-o', name], 1, {
        cwd: path('.'),
      })
      expect(line).toContain('the same file as the input')
      expect(line).toContain('[ERR_MPMML_FILE]')
    }
    expect(readFileSync(a!)).toEqual(content)
  })

  it('replaces a regular file, and nothing else', async () => {
    const args = ['multiply', ...example(), '-o']
    writeFileSync(path('old.npy'), 'old')
    await succeeds([...args, path('old.npy')])
    expect(readNumbers(path('old.npy')).values).toEqual([9, 9, 10, 13])
    mkdirSync(path('folder.npy'))
    for (const target of [
      path('folder.npy'),
      '/dev/full',
      '/dev/null',
      path('absent/c.npy'),
      path('old.npy/c.npy'),
      '',
    ]) {
      expect(await fails([...args, target])).toContain('[ERR_MPMML_FILE]')
    }
  })

  it('is not written if shapes do not fit', async () => {
    const [a] = example()
    const line = await fails(['multiply', a!, a!, '-o', path('none.npy')])
    expect(line).toContain('[ERR_MPMML_SHAPE]')
    expect(line).toContain('3')
    expect(existsSync(path('none.npy'))).toBe(false)
  })
})

describe('an input file', () => {
  const b = () => writeNumbers(path('b.npy'), [3, 2], [2, 5, 3, 3, 1, 6])
  const good = () => readFileSync(writeNumbers(path('good.npy'), [2, 3], [1, 6, 2, 8, 3, 4]))

  it.each<[string, () => string | Buffer, string]>([
    ['is text', () => '1,6,2\n8,3,4\n', 'NumPy'],
    ['is truncated', () => good().subarray(0, -1), 'truncated'],
    [
      'has half floats',
      () => Buffer.from(good().toString('latin1').replace('<i4', '<f2'), 'latin1'),
      'astype(numpy.float32)',
    ],
  ])('is rejected if it %s', async (_, content, expected) => {
    writeFileSync(path('bad.npy'), content())
    const line = await fails(['multiply', path('bad.npy'), b(), '-o', path('none.npy')])
    expect(line).toContain(path('bad.npy'))
    expect(line).toContain(expected)
    expect(line).toContain('[ERR_MPMML_FILE]')
    expect(existsSync(path('none.npy'))).toBe(false)
  })

  it.each(['/dev/zero', '.', 'absent.npy'])('is rejected if it is such as %s', async (name) => {
    for (const args of [
      [name, b()],
      [b(), name],
      [b(), b(), '--accumulate', name],
    ]) {
      expect(await fails(['multiply', ...args, '--json'])).toContain('[ERR_MPMML_FILE]')
    }
  })

  it('does not break the line if its name has control characters', async () => {
    expect(await fails(['multiply', 'no\nsuch\x1b[31mfile', b()])).toContain('no such\\x1b[31mfile')
  })
})
