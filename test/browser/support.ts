/** Built files of the library that pages load. */
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../lib/native.js'
import { browserFiles } from '../../native/wasm/files.mjs'

const wasm = join(root, 'build', 'Release', 'wasm')

/** The file that wasn't built, if there is one. */
export const missingForBrowsers = (): string | undefined =>
  [join(root, 'dist', 'browser', 'index.js'), ...browserFiles.map((file) => join(wasm, file))].find(
    (file) => !existsSync(file),
  )

/** The files of @mpmml/wasm that browsers load. */
export function copyWasm(folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const file of browserFiles) cpSync(join(wasm, file), join(folder, file))
}
