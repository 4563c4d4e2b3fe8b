/** mpmml bench --suite peers, without Python, with a stand-in for it, and with the libraries that are installed. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { useFolder } from '../support/folder.js'
import { describeUnless } from '../support/skip.js'
import { mpmml } from './support.js'

interface Figure {
  of: string
  what: string
  note: string
  value: { median: number }
}

const path = useFolder()
const suite = ['bench', '--suite', 'peers', '--backend', 'cpu', '--quick']

async function run(folder: string) {
  const { status, stdout, stderr } = await mpmml([...suite, '--json'], { env: { PATH: folder } })
  const { suites } = JSON.parse(stdout)
  return { status, stderr, figures: suites[0].figures as Figure[], wrong: suites[0].wrong as string[] }
}

/**
 * Creates a folder with a program python3 that lists `packages` and answers each input line by the program
 * `answers`.
 */
function standIn(name: string, packages: string, answers: string): string {
  const folder = path(name)
  mkdirSync(folder)
  const script = `#!${process.execPath}
const { readFileSync, writeFileSync } = require('node:fs')
const [first, folder, program] = process.argv.slice(2)
if (first === '-c') {
  console.log(${JSON.stringify(packages)})
  process.exit()
}
const tell = (answer) => console.log(JSON.stringify(answer))
const save = (data, shape) => {
  const dtype = data instanceof Float32Array ? '<f4' : '<i4'
  const head = \`{'descr': '\${dtype}', 'fortran_order': False, 'shape': (\${shape.join(', ')}), }\`
  const padded = head + ' '.repeat(63 - ((10 + head.length) % 64)) + '\\n'
  const prefix = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, padded.length & 255, padded.length >> 8])
  writeFileSync(\`\${folder}/\${program}.npy\`, Buffer.concat([prefix, Buffer.from(padded), Buffer.from(data.buffer)]))
}
${answers}
`
  writeFileSync(join(folder, 'python3'), script, { mode: 0o755 })
  return folder
}

/** Product of the requested rows, by definition; \`shift\` makes it wrong. */
const product = (shift: number) => `
const load = (each) => {
  const file = readFileSync(\`\${folder}/\${each}.npy\`)
  const from = 10 + file.readUInt16LE(8)
  const Type = file.toString('latin1', 10, from).includes('<f4') ? Float32Array : Int32Array
  return new Type(file.buffer.slice(file.byteOffset + from, file.byteOffset + file.length))
}
const [a, b] = [load('a'), load('b')]
const n = Math.sqrt(b.length)
tell({ version: '1.2.3', ms: 5 })
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { query, save: isSaved } = JSON.parse(line)
  const c = query.rows.map((i) =>
    Array.from({ length: n }, (_, j) => {
      let best = -Infinity
      for (let k = 0; k < n; k++) best = Math.max(best, a[i * n + k] + b[k * n + j])
      return best + ${shift}
    }),
  )
  if (isSaved) save(a.constructor.from(c.flat()), [c.length, n])
  tell({ ms: 2.5 })
})`

/** Returns the state of a process in /proc; Z if it has ended. */
function stateOf(pid: number): string {
  const file = `/proc/${pid}/stat`
  return existsSync(file) ? /\) (\w)/.exec(readFileSync(file, 'utf8'))![1]! : 'Z'
}

const linux = process.platform === 'linux'

describeUnless(!linux && 'programs in place of python3 are scripts of Linux', 'bench --suite peers', () => {
  it('ends normally without Python, and reports it', async () => {
    const { status, figures, wrong } = await run(path('nothing'))
    expect([status, wrong]).toEqual([0, []])
    expect(figures).toHaveLength(1)
    expect(figures[0]).toMatchObject({ of: 'python3 with NumPy', value: { median: 0 } })
    expect(figures[0]!.note).toMatch(/^nothing was measured: python3 was not found/)
  })

  it('ends normally if Python has no NumPy', async () => {
    const { status, figures } = await run(standIn('bare', 'scipy', ''))
    expect(status).toBe(0)
    expect(figures.map(({ note }) => note)).toEqual([expect.stringMatching(/python3 has no NumPy/)])
  })

  it('shows a program with its version, and names the libraries that are not installed', async () => {
    const { status, figures, wrong } = await run(standIn('right', 'numpy', product(0)))
    expect([status, wrong]).toEqual([0, []])
    expect(figures[0]!.note.split(', ')).toEqual(expect.arrayContaining(['PyTorch', 'Triton', 'CuPy', 'JAX']))
    const theirs = figures.filter(({ what }) => what === 'NumPy, a row at a time')
    expect(theirs.map(({ of }) => of)).toEqual(['128³, max-plus of int32', '128³, max-plus of float32'])
    for (const { value, note } of theirs) {
      // The product has 2 · 128³ operations and takes 2.5 ms.
      expect(value.median).toBeCloseTo((2 * 128 ** 3) / 2.5 / 1e9, 9)
      expect(note).toMatch(/^[\d.e+-]+ × the time here; NumPy 1\.2\.3; ready after 5 ms$/)
    }
  })

  it('reports a program whose result differs', async () => {
    const { status, wrong, figures, stderr } = await run(standIn('wrong', 'numpy', product(1)))
    expect(status).toBe(1)
    expect(wrong).toHaveLength(2)
    expect(wrong[0]).toMatch(
      /^128³, max-plus of int32: NumPy, a row at a time: element 0, 0 is -?\d+, but -?\d+ here; \d+ differ$/,
    )
    expect(stderr).toContain('peers: 128³')
    expect(figures.some(({ what }) => what.startsWith('NumPy'))).toBe(false)
  })

  it.each([
    ['fails', "tell({ failed: 'RuntimeError: no GPU' })", /^not measured: RuntimeError: no GPU$/],
    [
      'ends',
      "console.error('Segmentation fault'); process.exit(3)",
      /^not measured: it ended: Segmentation fault$/,
    ],
  ])('continues after a program that %s', async (name, answers, note) => {
    const { status, figures, wrong } = await run(standIn(name, 'numpy jax', answers))
    expect([status, wrong]).toEqual([0, []])
    const theirs = figures.filter(({ what }) => /^(NumPy|JAX)/.test(what))
    expect(theirs).toHaveLength(4)
    for (const each of theirs) expect(each.note).toMatch(note)
    expect(figures.filter(({ what }) => what === 'mpmml')).toHaveLength(4)
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('leaves no folder and no process at %s', async (signal) => {
    const [folder, pid] = [path(`temporary-${signal}`), path(`pid-${signal}`)]
    mkdirSync(folder)
    const waiting = `writeFileSync(${JSON.stringify(pid)}, String(process.pid)); setInterval(() => {}, 1000)`
    const env = { PATH: standIn(`waiting-${signal}`, 'numpy', waiting), TMPDIR: folder }
    const { stdout, stderr } = await mpmml(suite, {
      env,
      started(child) {
        const timer = setInterval(() => {
          if (!existsSync(pid)) return
          clearInterval(timer)
          child.kill(signal)
        }, 20)
      },
    })
    expect([stdout, stderr]).toEqual(['', 'mpmml: interrupted\n'])
    expect(readdirSync(folder)).toEqual([])
    const program = Number(readFileSync(pid, 'utf8'))
    // A process that has ended, but that its parent hasn't waited for, has the state Z.
    await vi.waitFor(() => expect(stateOf(program)).toBe('Z'))
  })

  it('measures the installed libraries, with equal results', async () => {
    const { status, figures, wrong } = await run([...process.env.PATH!.split(delimiter)].join(delimiter))
    expect([status, wrong]).toEqual([0, []])
    expect(figures.length).toBeGreaterThan(0)
    for (const { what, note } of figures) if (what === 'mpmml') expect(note).not.toBe('')
  }, 120_000)
})
