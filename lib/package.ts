/** The package that these modules belong to: its folder, and the content of its package.json. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Fields of package.json that the library needs. */
export interface Manifest {
  name: string
  version: string
  /** The packages with addons for the CPU, each for one platform; a clone has none. */
  optionalDependencies?: Record<string, string>
  /** Packages with addons for CUDA. */
  peerDependencies?: Record<string, string>
}

/** Reads a package.json; undefined if it doesn't exist. */
export function readManifest(folder: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  } catch {
    return undefined
  }
}

/** The package that the module with this URL belongs to; undefined if a bundler has copied the module out of it. */
export function packageAround(url: string | undefined): { folder: string; manifest: Manifest } | undefined {
  if (!url?.startsWith('file:')) return undefined
  for (let folder = dirname(fileURLToPath(url)); ; folder = dirname(folder)) {
    const manifest = readManifest(folder)
    if (manifest?.name === 'mpmml' && manifest.version) return { folder, manifest }
    if (folder === dirname(folder)) return undefined
  }
}

// Some bundlers define no URL for bundled modules.
const found = packageAround(import.meta.url as string | undefined)

/** The folder of the package; '' if a bundler has copied the library out of it. */
export const root = found?.folder ?? ''

/** Content of the package's package.json; undefined in a bundle. */
export const manifest = found?.manifest

/** Replaced by bench/bundle.mjs with the version. */
declare const MPMML_VERSION: string | undefined

/** The version in package.json. */
export const version = manifest?.version ?? (typeof MPMML_VERSION === 'string' ? MPMML_VERSION : 'unknown')
