/** Loads the XML parser when a graph in GraphML is read, so that importing the library doesn't load it. */
import { createRequire } from 'node:module'
import { PackageError } from '../errors.js'

/** The module saxes. Published declarations don't name its types, which users may not have. */
export interface Saxes {
  readonly SaxesParser: unknown
}

/** Returns the parser synchronously. Even for a bundle, the package must be in node_modules. */
export function assertSaxes(): Saxes {
  try {
    return createRequire(import.meta.url)('saxes')
  } catch (error) {
    throw new PackageError('GraphML needs the package saxes, which is not installed: run npm install saxes', {
      cause: error,
    })
  }
}

/**
 * Returns the parser, even if a bundler has put it into a separate file: bundlers recognize a dynamic import.
 *
 * The import alone would block the event loop three times as long, 25 ms instead of 8 on one core of a
 * server.
 */
export async function loadSaxes(): Promise<Saxes> {
  try {
    return assertSaxes()
  } catch {
    return import('saxes')
  }
}
