/** zarrita, which is loaded when a Zarr array is named. */
import { PackageError } from '../errors.js'

type Zarrita = typeof import('zarrita')

let loaded: Promise<Zarrita> | undefined

/** @throws PackageError with the command that installs it. */
export function loadZarrita(): Promise<Zarrita> {
  loaded ??= import('zarrita').catch((error: Error) => {
    loaded = undefined
    const missing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'
    throw new PackageError(
      `Zarr arrays need the package zarrita, ${missing ? 'which is not installed' : `which can't be loaded (${error.message})`}: ` +
        'run npm install zarrita',
      { cause: error },
    )
  })
  return loaded
}
