/** Loads the XML parser when a graph in GraphML is read, so that to import the library takes no time for it. */
import { createRequire } from 'node:module'
import { PackageError } from '../errors.js'

export type Saxes = typeof import('saxes')

/** Returns the parser at once. In a bundle it must lie in node_modules: {@link readGraph} imports it so that bundlers see it. */
export function requireSaxes(): Saxes {
  try {
    return createRequire(import.meta.url)('saxes')
  } catch (error) {
    throw new PackageError('GraphML needs the package saxes, which is not installed: run npm install saxes', {
      cause: error,
    })
  }
}
