/** Finds and copies the built files that pages load. */
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../lib/native.js'
import { browserFiles } from '../../native/wasm/files.mjs'

const wasm = join(root, 'build', 'Release', 'wasm')

/** Returns a required file that doesn't exist; undefined if all are built. */
export const missingForBrowsers = (): string | undefined =>
  [join(root, 'dist', 'browser', 'index.js'), ...browserFiles.map((file) => join(wasm, file))].find(
    (file) => !existsSync(file),
  )

/** Copies the files of @mpmml/wasm that browsers load. */
export function copyWasm(folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const file of browserFiles) cpSync(join(wasm, file), join(folder, file))
}
