/** Loads optional packages, which few users need, at their first use. */
import { PackageError } from './errors.js'

/**
 * Returns a function that loads packages once. If loading fails, the next call tries again.
 *
 * @param need - feature that needs the packages, and the verb, for the message: 'Zarr arrays need'.
 * @param load - imports them, by names that bundlers can read.
 * @returns a function that rejects with PackageError, with the command that installs them.
 */
export function optionalPackages<Loaded>(
  need: string,
  names: readonly string[],
  load: () => Promise<Loaded>,
): () => Promise<Loaded> {
  let loaded: Promise<Loaded> | undefined
  const failed = (error: NodeJS.ErrnoException): never => {
    loaded = undefined
    const [packages, are] = names.length === 1 ? ['package', 'is'] : ['packages', 'are']
    const missing = error.code === 'ERR_MODULE_NOT_FOUND'
    const reason = missing ? `which ${are} not installed` : `which can't be loaded (${error.message})`
    throw new PackageError(
      `${need} the ${packages} ${names.join(' and ')}, ${reason}: run npm install ${names.join(' ')}`,
      { cause: error },
    )
  }
  return () => {
    loaded ??= load().catch(failed)
    return loaded
  }
}
