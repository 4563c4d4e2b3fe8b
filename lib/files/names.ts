/** The formats of files, and how their names end. */
import { showChoices } from '../describe.js'
import { FileError } from '../errors.js'
import { readChoice } from '../options.js'

/** What a file's bytes mean. */
export type FileFormat = 'npy' | 'npz' | 'matrix-market' | 'csv' | 'tsv' | 'dimacs'

const endings: Record<FileFormat, string> = {
  npy: '.npy',
  npz: '.npz',
  'matrix-market': '.mtx',
  csv: '.csv',
  tsv: '.tsv',
  dimacs: '.gr',
}

export const fileFormats = Object.keys(endings) as FileFormat[]

/** Formats of text, which gzip may have compressed. */
const isText = (format: FileFormat) => format !== 'npy' && format !== 'npz'

/** Whether a file's name says that gzip compressed it. */
export const isGzipName = (name: string) => /\.gz$/i.test(name)

/**
 * The format of a file: what the option says, or how its name ends.
 *
 * @param known - the formats that are possible.
 */
export function formatOf<Format extends FileFormat>(
  name: string,
  option: unknown,
  known: readonly Format[],
): Format {
  const format = option === undefined ? byName(name, known) : known[readChoice(known, option, 'format')]!
  if (isText(format) || !isGzipName(name)) return format
  throw new FileError(
    `${name}: only text is compressed by gzip, but this is ${format}; numpy.savez_compressed makes a smaller .npz`,
  )
}

function byName<Format extends FileFormat>(name: string, known: readonly Format[]): Format {
  const ending = /\.[^./\\]*$/.exec(name.replace(/\.gz$/i, ''))?.[0].toLowerCase()
  const format = known.find((format) => endings[format] === ending)
  if (format !== undefined) return format
  throw new FileError(
    `${name}: the name must end with ${showChoices(known.map((format) => endings[format]))}, or the option format must say ` +
      `what it is: ${showChoices(known)}`,
  )
}
