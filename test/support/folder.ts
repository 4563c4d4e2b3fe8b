/** Temporary folders of tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, type afterEach } from 'vitest'

/**
 * Returns the function that makes paths in a temporary folder. The first path creates the folder, and the hook
 * removes it: after the tests of the file or suite, or with `afterEach` after each test, which then has a folder
 * of its own.
 */
export function useFolder(hook: typeof afterEach = afterAll): (...names: string[]) => string {
  let folder: string | undefined
  hook(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    folder = undefined
  })
  return (...names) => {
    folder ??= mkdtempSync(join(tmpdir(), 'mpmml-test-'))
    return join(folder, ...names)
  }
}
