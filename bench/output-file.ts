/** What is checked of an output file before any work: a product of minutes isn't thrown away for a wrong name. */
import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { FileError } from '../lib/index.js'

/** The entry that a path leads to, through any links; undefined if nothing is there. */
async function entry(path: string) {
  try {
    return await stat(path, { bigint: true })
  } catch {
    return undefined
  }
}

/** Throws FileError if `output` is one of the inputs, by whatever name, or can't be written. */
export async function checkOutput(output: string, inputs: string[]): Promise<void> {
  const target = await entry(output)
  for (const input of target ? inputs : []) {
    const source = await entry(input)
    if (source?.dev === target!.dev && source.ino === target!.ino) {
      throw new FileError(`the output ${output} is the same file as the input ${input}: name another output`)
    }
  }
  // writeNpy reports anything else that is wrong; these two it would report late.
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
