/** Full disks, signals and closed pipes: no partial file remains, and no stack is shown. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, watch, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'
import { cli, interrupted, json, mpmml, onTerminal, runProgram, writeNumbers } from './support.js'

const path = useFolder()

const shell = (command: string) => runProgram('bash', ['-c', command, process.execPath, cli])
/** mpmml in a line of the shell, where $0 is Node.js and $1 the script. */
const program = '"$0" "$1"'

describe('a full disk', () => {
  it('leaves the old file and no other', async () => {
    writeNumbers(path('a.npy'), [200, 1], Array(200).fill(1))
    writeNumbers(path('b.npy'), [1, 200], Array(200).fill(2))
    mkdirSync(path('out'))
    writeFileSync(path('out/c.npy'), 'old')
    // The result has 160 kB, and the limit of a file is 64 KiB.
    const { status, stdout, stderr } = await shell(
      `ulimit -f 64; exec ${program} multiply ${path('a.npy')} ${path('b.npy')} -o ${path('out/c.npy')}`,
    )
    expect(stderr).toBe(
      `mpmml: ${path('out/c.npy')} can't be written: file too large (EFBIG) [ERR_MPMML_FILE]\n`,
    )
    expect(stdout).toBe('')
    expect(status).toBe(1)
    expect(readdirSync(path('out'))).toEqual(['c.npy'])
  })

  it.each(['variants --backend cpu', 'info --json'])(
    'causes an error of one line if it stores stdout: %s',
    async (command) => {
      const { status, stderr } = await shell(`exec ${program} ${command} >/dev/full`)
      expect(stderr).toMatch(/^mpmml: the result can't be written to stdout: [^\n]*ENOSPC[^\n]*\n$/)
      expect(status).toBe(1)
    },
  )
})

it.each(['variants --backend cpu', 'variants --backend cpu --json', 'info', '--help'])(
  'exits normally if the reader closes the pipe: %s',
  async (command) => {
    const { status, stderr } = await mpmml(command.split(' '), {
      started: (child) => child.stdout!.destroy(),
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  },
)

describe('a signal', () => {
  it.each<[NodeJS.Signals, number]>([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])('ends a product without a file: %s, exit status %i', async (signal, expected) => {
    // The naive variant takes at least ten seconds, so the signal certainly arrives during the product.
    const size = 2500
    if (!existsSync(path('square.npy'))) {
      writeNumbers(path('square.npy'), [size, size], new Int32Array(size * size).fill(3))
    }
    const [naive] = await json([
      'variants',
      '--family',
      'naive',
      '--semiring',
      'max-plus',
      '--backend',
      'cpu',
    ])
    const folder = path(`signal-${signal}`)
    mkdirSync(folder)
    const args = [
      'multiply',
      path('square.npy'),
      path('square.npy'),
      '-o',
      `${folder}/c.npy`,
      '--variant',
      naive.name,
    ]
    const outcome = await interrupted(args, /multiplying/, signal)
    expect(outcome).toEqual({ status: expected, stdout: '', said: 'mpmml: interrupted\n' })
    expect(readdirSync(folder)).toEqual([])
  })

  /** Multiplies into a new folder and sends the signal once the temporary file exists. */
  async function interruptWriting(signal: NodeJS.Signals) {
    const size = 6000
    writeNumbers(path('column.npy'), [size, 1], new Int32Array(size).fill(1))
    writeNumbers(path('row.npy'), [1, size], new Int32Array(size).fill(2))
    const folder = path(`writing-${signal}`)
    mkdirSync(folder)
    const watcher = watch(folder)
    const outcome = await mpmml(['multiply', path('column.npy'), path('row.npy'), '-o', `${folder}/c.npy`], {
      started: (child) => watcher.once('change', () => child.kill(signal)),
    })
    watcher.close()
    return { ...outcome, folder }
  }

  it('leaves nothing if it arrives during writing', async () => {
    const { status, stderr, folder } = await interruptWriting('SIGTERM')
    expect(stderr).toBe('mpmml: interrupted\n')
    expect(status).toBe(143)
    expect(readdirSync(folder)).toEqual([])
  })

  it('removes the copy of standard input, also if a second one follows at once', async () => {
    const folder = path('pipe')
    mkdirSync(folder)
    const child = spawn(process.execPath, [cli, 'show', '-', '--format', 'csv'], {
      env: { ...process.env, ...onTerminal, TMPDIR: folder },
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    child.stderr.once('data', () => {
      child.kill('SIGINT')
      child.kill('SIGTERM')
    })
    const [status] = (await once(child, 'close')) as [number | null]
    // The system may deliver the second signal first.
    expect([130, 143]).toContain(status)
    expect(readdirSync(folder)).toEqual([])
  })

  it('leaves nothing under the name if it kills the process', async () => {
    const { signal, folder } = await interruptWriting('SIGKILL')
    expect(signal).toBe('SIGKILL')
    expect(existsSync(`${folder}/c.npy`)).toBe(false)
  })
})
