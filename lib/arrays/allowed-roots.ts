/** Limits the files that work on arrays may access to allowed folders and addresses. */
import { realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import { OptionError, RootsError } from '../errors.js'
import { systemReason } from '../files/files.js'
import { storeOf } from './bucket-store.js'
import { type BlockPlan, inputsOf } from './job.js'
import { Journal } from './journal.js'
import { formatAddress, isS3, parseAddress } from './names.js'

/**
 * Throws RootsError if a plan reads or writes outside of the folders, after resolving links. Without folders
 * all paths are allowed.
 */
export async function assertInside(plan: BlockPlan, roots: readonly string[] | undefined): Promise<void> {
  if (roots === undefined) return
  if (!Array.isArray(roots) || !roots.every((root) => typeof root === 'string')) {
    throw new OptionError('option roots must be a list of folders')
  }
  const folders = await Promise.all(roots.map(readRoot))
  const paths = inputsOf(plan).map(({ path }) => path)
  for (const path of [...paths, plan.output.path, new Journal(plan).own]) {
    const real = isS3(path) ? formatAddress(parseAddress(path)) : await resolved(path)
    if (folders.some((folder) => isInside(folder, real))) continue
    throw new RootsError(
      `${path} is outside of the folders that this process may touch: move it into one of them, or allow its folder`,
    )
  }
}

/** Returns the path of a folder with its symbolic links resolved; an S3 address is returned unchanged. */
async function readRoot(root: string): Promise<string> {
  if (isS3(root)) return formatAddress(parseAddress(root))
  try {
    return await realpath(root)
  } catch (error) {
    throw new OptionError(
      `option roots: the folder ${root} can't be used: ${systemReason(error)}: make it, or name another`,
      { cause: error },
    )
  }
}

/** Throws unless the folder exists, or the storage of an address responds. */
export async function assertRoot(root: string, signal: AbortSignal | undefined): Promise<void> {
  const real = await readRoot(root)
  if (isS3(real)) await storeOf(real, signal).isTaken(real)
}

/** Resolves a path, including one that doesn't exist yet. */
async function resolved(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    if (path === dirname(path)) return path
    return join(await resolved(dirname(path)), basename(path))
  }
}

function isInside(folder: string, path: string): boolean {
  if (isS3(folder) || isS3(path)) return path === folder || path.startsWith(`${folder}/`)
  const relativePath = relative(folder, path)
  return relativePath !== '..' && !relativePath.startsWith(`..${sep}`) && !isAbsolute(relativePath)
}
