/** Files appear under their names only when they are complete. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AbortedError, FileError, ShapeError } from '../../lib/errors.js'
import { systemReason, writeComplete, writeFully } from '../../lib/files/files.js'
import { useFolder } from '../support/folder.js'
import { asRoot } from '../support/machine.js'
import { itUnless } from '../support/skip.js'

const inFolder = useFolder(afterEach)
let path: string
beforeEach(() => {
  path = inFolder('c.npy')
})

const text = (content: string) => (file: FileHandle) => writeFully(file, Buffer.from(content))

async function failure(promise: Promise<void>): Promise<Error> {
  return promise.then(
    () => expect.unreachable('nothing failed'),
    (error) => error,
  )
}

describe('writeComplete', () => {
  it('writes the file, and leaves nothing else', async () => {
    await writeComplete(path, text('content'))
    expect(readFileSync(path, 'utf8')).toBe('content')
    expect(readdirSync(inFolder())).toEqual(['c.npy'])
  })

  it('keeps the old content until the new content is complete', async () => {
    writeFileSync(path, 'old')
    await writeComplete(path, async (file) => {
      await writeFully(file, Buffer.from('ne'))
      expect(readFileSync(path, 'utf8')).toBe('old')
      await writeFully(file, Buffer.from('w'))
    })
    expect(readFileSync(path, 'utf8')).toBe('new')
  })

  it('keeps the permissions of the file that it replaces', async () => {
    writeFileSync(path, 'old')
    chmodSync(path, 0o640)
    await writeComplete(path, text('new'))
    expect(statSync(path).mode & 0o777).toBe(0o640)
  })

  it('replaces the file behind a symbolic link, not the link', async () => {
    const target = inFolder('target')
    writeFileSync(target, 'old')
    symlinkSync('target', path)
    await writeComplete(path, text('new'))
    expect(lstatSync(path).isSymbolicLink()).toBe(true)
    expect(readFileSync(target, 'utf8')).toBe('new')
  })

  it('does not change the other names of a replaced file', async () => {
    writeFileSync(path, 'old')
    linkSync(path, inFolder('other'))
    await writeComplete(path, text('new'))
    expect(readFileSync(inFolder('other'), 'utf8')).toBe('old')
  })

  it('accepts names as long as the file system allows', async () => {
    const long = inFolder('x'.repeat(255))
    await writeComplete(long, text('content'))
    expect(readFileSync(long, 'utf8')).toBe('content')
  })

  it.each([
    ['an error of the system', Object.assign(new Error('ENOSPC: raw'), { errno: -28, code: 'ENOSPC' })],
    ['an error of the library', new ShapeError('no such shape')],
    ['anything else', new Error('something else')],
  ])('removes its temporary file after %s, and keeps the old file', async (_, cause) => {
    writeFileSync(path, 'old')
    const error = await failure(
      writeComplete(path, async (file) => {
        await writeFully(file, Buffer.alloc(100_000))
        throw cause
      }),
    )
    expect(readdirSync(inFolder())).toEqual(['c.npy'])
    expect(readFileSync(path, 'utf8')).toBe('old')
    if (cause instanceof ShapeError) expect(error).toBe(cause)
    else {
      expect(error).toBeInstanceOf(FileError)
      expect(error.cause).toBe(cause)
      expect(error.message).toContain(path)
    }
    if ('errno' in cause) expect(error.message).toContain('no space left on device (ENOSPC)')
  })

  it.each([
    ['before', (controller: AbortController) => controller.abort(), () => {}],
    ['after the last byte', () => {}, (controller: AbortController) => controller.abort()],
  ])('aborts when the signal is aborted %s', async (_, before, after) => {
    const controller = new AbortController()
    before(controller)
    const error = await failure(
      writeComplete(
        path,
        async (file) => {
          await writeFully(file, Buffer.from('content'))
          after(controller)
        },
        controller,
      ),
    )
    expect(error).toBeInstanceOf(AbortedError)
    expect(error.message).toContain('was aborted by its AbortSignal: see `cause` for the reason')
    expect(error.cause).toBe(controller.signal.reason)
    expect(readdirSync(inFolder())).toEqual([])
  })

  it('lets one of several writers take a free name if none may overwrite', async () => {
    const path = inFolder('file')
    const contents = ['first', 'second', 'third', 'fourth']
    const outcomes = await Promise.allSettled(
      contents.map((content) => writeComplete(path, text(content), { overwrite: false })),
    )
    const written = outcomes.findIndex(({ status }) => status === 'fulfilled')
    expect(readFileSync(path, 'utf8')).toBe(contents[written])
    const refused = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason.code] : [],
    )
    expect(refused).toEqual(['ERR_MPMML_EXISTS', 'ERR_MPMML_EXISTS', 'ERR_MPMML_EXISTS'])
    expect(readdirSync(inFolder())).toEqual(['file'])
  })

  it('never replaces anything but a regular file', async () => {
    mkdirSync(path)
    const pipe = inFolder('pipe')
    execFileSync('mkfifo', [pipe])
    const nowhere = inFolder('nowhere')
    symlinkSync('absent', nowhere)
    for (const [target, kind] of [
      [path, 'a folder'],
      [pipe, 'a named pipe'],
      ['/dev/full', 'a device'],
      [nowhere, 'leads nowhere'],
    ] as const) {
      const error = await failure(writeComplete(target, text('content')))
      expect(error).toBeInstanceOf(FileError)
      expect(error.message).toContain(target)
      expect(error.message).toContain(kind)
    }
    expect(readdirSync(inFolder()).sort()).toEqual(['c.npy', 'nowhere', 'pipe'])
    expect(lstatSync('/dev/full').isCharacterDevice()).toBe(true)
  })

  it('explains why a file cannot be created', async () => {
    writeFileSync(path, '')
    for (const [target, reason] of [
      [inFolder('absent', 'c.npy'), 'no such file or directory (ENOENT)'],
      [join(path, 'c.npy'), 'not a directory (ENOTDIR)'],
      [inFolder('x'.repeat(256)), 'name too long (ENAMETOOLONG)'],
      ['', 'no such file or directory (ENOENT)'],
      ['/proc/c.npy', '(E'],
      ['a\0b', 'null bytes'],
    ] as const) {
      const error = await failure(writeComplete(target, text('content')))
      expect(error).toBeInstanceOf(FileError)
      expect(error.message).toContain(reason)
    }
  })

  itUnless(asRoot, 'rejects a file without write permission', async () => {
    writeFileSync(path, 'old', { mode: 0o444 })
    expect((await failure(writeComplete(path, text('new')))).message).toContain('permission denied (EACCES)')
    chmodSync(inFolder(), 0o555)
    const error = await failure(writeComplete(inFolder('other'), text('new')))
    chmodSync(inFolder(), 0o755)
    expect(error.message).toContain('permission denied (EACCES)')
  })

  it('gives the name to one of two writers, with its whole file', async () => {
    const contents = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(200_000))
    await Promise.all(contents.map((content) => writeComplete(path, text(content))))
    expect(contents).toContain(readFileSync(path, 'utf8'))
    expect(readdirSync(inFolder())).toEqual(['c.npy'])
  })
})

it('returns the text of errors that are not of the system', () => {
  expect(systemReason(new Error('odd'))).toBe('odd')
  expect(systemReason('odd')).toBe('odd')
})
