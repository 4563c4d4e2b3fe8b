/** Checks output files before any work, so that a wrong name doesn't waste minutes of computation. */
import { access, constants, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { FileError } from '../lib/index.js'
import { PIPE } from './pipes.js'

/** Returns the file that a path leads to through links; undefined if it doesn't exist. */
async function entry(path: string) {
  try {
    return await stat(path, { bigint: true })
  } catch {
    return undefined
  }
}

/** Returns the canonical path of a file, with links resolved; the file itself may not exist yet. */
async function realPathOf(path: string): Promise<string> {
  const realPath = await realpath(path).catch(async () => join(await realpath(dirname(path)), basename(path)))
  // Outside of Linux, paths that differ only in case may name one file.
  return process.platform === 'linux' ? realPath : realPath.toLowerCase()
}

async function checkOne(output: string, inputs: readonly string[]): Promise<void> {
  const target = await entry(output)
  for (const input of target ? inputs : []) {
    const source = await entry(input)
    if (source?.dev === target!.dev && source.ino === target!.ino) {
      throw new FileError(`the output ${output} is the same file as the input ${input}: name another output`)
    }
  }
  // Only two errors are checked here, because writeNpy would report them after the computation. It reports
  // all other errors itself.
  if (target && !target.isFile()) {
    throw new FileError(
      `${output} can't be written: it isn't a regular file, and is never replaced: name another output`,
    )
  }
  try {
    await access(dirname(output), constants.W_OK)
  } catch (error) {
    throw new FileError(
      `${output} can't be written: the folder ${dirname(output)} doesn't exist or takes no files (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}

/**
 * @param outputs - names of the outputs; undefined for outputs that weren't requested. Standard output is
 * always valid.
 * @throws FileError if an output is one of the inputs or another output, even by another path, or can't be
 * written.
 */
export async function checkOutputs(
  outputs: readonly (string | undefined)[],
  inputs: readonly string[],
): Promise<void> {
  const taken = new Map<string, string>()
  for (const output of outputs) {
    if (output === undefined || output === PIPE) continue
    await checkOne(output, inputs)
    const realPath = await realPathOf(output)
    const other = taken.get(realPath)
    if (other !== undefined) {
      throw new FileError(`the outputs ${other} and ${output} are the same file: name two`)
    }
    taken.set(realPath, output)
  }
}
