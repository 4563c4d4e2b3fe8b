/** Reads text files as a whole, and writes them atomically. */
import { typeName } from '../describe.js'
import { DTypeError, FileError } from '../errors.js'
import { pathOf } from './files.js'
import type { TextFeed } from './line-feed.js'
import { readText } from './lines.js'
import { FileWork, type WriteFileOptions, writeFileOptions } from './progress.js'

/** Limit in characters, far above any results file. A larger file is refused before it fills the memory. */
const MAX_CHARACTERS = 2 ** 28

/** Reads a text file, which messages call `expected`, as one string. */
export function readWholeText(path: string | URL, expected: string): Promise<string> {
  const name = pathOf(path)
  let whole = ''
  const feed: TextFeed<string> = {
    *characters(text) {
      yield
      whole += text
      if (whole.length <= MAX_CHARACTERS) return
      throw new FileError(
        `${name}: expected ${expected}, but the file has more than ${MAX_CHARACTERS} characters`,
      )
    },
    *end() {
      yield
      return whole
    },
  }
  return readText(name, expected, feed, {})
}

/**
 * Writes a text file as UTF-8. The file, or the target of a symbolic link, appears under its name only when
 * it is complete.
 *
 * @throws Rejects with FileError (ERR_MPMML_FILE), with the system's reason, ERR_MPMML_EXISTS, ERR_MPMML_OPTION, AbortedError, and with ERR_MPMML_DTYPE
 *   for any other value than a string.
 * @example
 * await writeText('notes.txt', 'ε absorbs')
 * console.log(await readFile('notes.txt', 'utf8')) // ε absorbs
 */
export async function writeText(path: string | URL, text: string, options?: WriteFileOptions): Promise<void> {
  const requested = writeFileOptions.read(options)
  if (typeof text !== 'string') throw new DTypeError(`text must be a string, but it is ${typeName(text)}`)
  await FileWork.write(pathOf(path), requested, function* (work) {
    work.reached(0)
    yield new TextEncoder().encode(text)
  })
}
