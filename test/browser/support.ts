/** Finds and copies the built files that pages load. */
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../lib/native.js'
import { browserFiles } from '../../native/wasm/files.mjs'
import { missingFile } from '../support/skip.js'

const wasm = join(root, 'build', 'Release', 'wasm')

/** Reason why pages can't load the library; undefined if they can. */
export const missingForBrowsers = () =>
  missingFile(join(root, 'dist', 'browser', 'index.js'), ...browserFiles.map((file) => join(wasm, file)))

/** Copies the files of @mpmml/wasm that browsers load. */
export function copyWasm(folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const file of browserFiles) cpSync(join(wasm, file), join(folder, file))
}
