/** Cache on disk for the machine code of custom semirings. */
import { builtWithCuda } from '../backend.js'
import { codeFolder } from '../environment.js'
import { addon } from '../native.js'

/** Size limit of the cache; a kernel takes about 100 KB. */
const MAX_BYTES = 64 * 2 ** 20

let configured: string | undefined

/**
 * Passes the folder of the cache to native code before the first compilation. Throws OptionError if
 * MPMML_CACHE is invalid.
 */
export function configureCode(): void {
  if (!builtWithCuda) return
  const folder = codeFolder()
  if (folder === configured) return
  configured = folder
  addon.configureUserKernels(folder, MAX_BYTES)
}
