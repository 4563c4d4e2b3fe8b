/** Text files, read whole and written so that they appear when they are complete. */
import { typeName } from '../describe.js'
import { DTypeError, FileError } from '../errors.js'
import { StrictDecoder } from './encoding.js'
import { openForReading, pathOf, readError, readFully } from './files.js'
import { FileWork, type WriteFileOptions, writeFileOptions } from './progress.js'

/** Far more than any results take; a wrong file is refused before it fills the memory. */
const MOST_BYTES = 2 ** 28

export async function readText(path: string | URL, expected: string): Promise<string> {
  const name = pathOf(path)
  const { file, size } = await openForReading(name, expected)
  try {
    if (size > MOST_BYTES) {
      throw new FileError(
        `${name}: expected ${expected}, but the file has ${size} bytes, more than ${MOST_BYTES}`,
      )
    }
    const bytes = new Uint8Array(size)
    const length = await readFully(file, bytes, 0)
    return new StrictDecoder(name).decode(bytes.subarray(0, length), true)
  } catch (error) {
    throw readError(name, error)
  } finally {
    await file.close()
  }
}

/**
 * Writes a text file as UTF-8. It appears under its name, or that of the file that a link leads to, only when it is complete.
 *
 * @throws Rejects with FileError (ERR_MPMML_FILE), with the system's reason, ExistsError, OptionError, AbortedError, and with DTypeError
 *   for any other value than a string.
 * @example
 * await writeText('notes.txt', 'ε absorbs')
 * console.log(await readFile('notes.txt', 'utf8')) // ε absorbs
 */
export async function writeText(path: string | URL, text: string, options?: WriteFileOptions): Promise<void> {
  const asked = writeFileOptions.read(options)
  if (typeof text !== 'string') throw new DTypeError(`text must be a string, but it is ${typeName(text)}`)
  await FileWork.write(pathOf(path), asked, function* (work) {
    work.reached(0)
    yield new TextEncoder().encode(text)
  })
}
