/** The package that these modules belong to: its folder, and what its package.json says. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AddonError } from './errors.js'

/** What package.json says that the library needs to know. */
export interface Manifest {
  name: string
  version: string
  /** The packages with addons for the CPU, each for one platform; a clone has none. */
  optionalDependencies?: Record<string, string>
  /** Those with addons for CUDA. */
  peerDependencies?: Record<string, string>
}

/** A package.json; undefined if there is none. */
export function readManifest(folder: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  } catch {
    return undefined
  }
}

function findPackage(url: string | undefined): { folder: string; manifest: Manifest } {
  let from = 'a file without a URL'
  if (url?.startsWith('file:')) {
    from = dirname(fileURLToPath(url))
    for (let folder = from; ; folder = dirname(folder)) {
      const manifest = readManifest(folder)
      if (manifest?.name === 'mpmml' && manifest.version) return { folder, manifest }
      if (folder === dirname(folder)) break
    }
  }
  throw new AddonError(
    `expected the package mpmml around its own modules, but none was found from ${from} up to the root: a bundler has ` +
      "copied them. Mark mpmml as external in the bundler's options, so that it is loaded from node_modules",
  )
}

/**
 * The folder of the package that the module with this URL belongs to.
 *
 * @throws AddonError (ERR_MPMML_ADDON) if there is none, because the module was copied out of it.
 */
export function packageRoot(url: string | undefined): string {
  return findPackage(url).folder
}

/** The folder of the package, and its package.json. */
export const { folder: root, manifest } = findPackage(import.meta.url)

/** The version in package.json. */
export const { version } = manifest
