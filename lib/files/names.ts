/** Formats of files and their extensions. */
import { show, showChoices } from '../describe.js'
import { FileError, OptionError } from '../errors.js'
import { option } from '../options.js'
import { pathOf } from './files.js'

/** Format of a file. */
export type FileFormat = 'npy' | 'npz' | 'matrix-market' | 'csv' | 'tsv' | 'dimacs'

/** Formats that hold entries. */
export type SparseFormat = 'matrix-market' | 'dimacs'

/** Formats of graphs in addition to those of matrices. */
type AnyFormat = FileFormat | 'graphml'

const endings: Record<AnyFormat, string> = {
  npy: '.npy',
  npz: '.npz',
  'matrix-market': '.mtx',
  csv: '.csv',
  tsv: '.tsv',
  dimacs: '.gr',
  graphml: '.graphml',
}

export const fileFormats: readonly FileFormat[] = ['npy', 'npz', 'matrix-market', 'csv', 'tsv', 'dimacs']

/** Formats of text, which gzip may have compressed. */
const isText = (format: AnyFormat) => format !== 'npy' && format !== 'npz'

/** Returns whether a file's extension is that of gzip. */
export const isGzipName = (name: string) => /\.gz$/i.test(name)

/**
 * Returns the format of a file by its extension, which is the default of the option `format` of {@link
 * readMatrix} and {@link writeMatrix}. The file need not exist.
 *
 * @throws FileError (ERR_MPMML_FILE) for an unknown extension, and for .gz after a format that isn't text.
 * @example
 * console.log(fileFormatOf('roads.mtx.gz')) // matrix-market
 */
export function fileFormatOf(path: string | URL): FileFormat {
  return namedFormat(pathOf(path), fileFormats, '')
}

/** Option `array`: name of an array in an archive. */
export const arrayName = option(undefined, (value, name) => {
  if (typeof value === 'string') return value
  throw new OptionError(`option ${name} must be the name of an array, but it is ${show(value)}`)
})

/**
 * Returns the format of a file: the option, or the format of its extension.
 *
 * @param known - allowed formats.
 */
export function formatOf<Format extends AnyFormat>(
  name: string,
  option: Format | undefined,
  known: readonly Format[],
): Format {
  if (option !== undefined) return assertApplicable(name, option)
  return namedFormat(name, known, `, or the option format must say what it is: ${showChoices(known)}`)
}

/** Returns the format of a file's extension. `advice` is the end of the message for an unknown one. */
function namedFormat<Format extends AnyFormat>(
  name: string,
  known: readonly Format[],
  advice: string,
): Format {
  const format = formatInName(name, known)
  if (format !== undefined) return assertApplicable(name, format)
  if (name === '') throw new FileError('the name of a file must not be empty: give its path')
  const allowed = showChoices(known.map((each) => endings[each]))
  throw new FileError(`${name}: the name must end with ${allowed}${advice}`)
}

/** Returns the format that a file's extension names; undefined if it names none of the formats. */
export function formatInName<Format extends AnyFormat>(
  name: string,
  known: readonly Format[],
): Format | undefined {
  const ending = /\.[^./\\]*$/.exec(name.replace(/\.gz$/i, ''))?.[0].toLowerCase()
  return known.find((format) => endings[format] === ending)
}

function assertApplicable<Format extends AnyFormat>(name: string, format: Format): Format {
  if (isText(format) || !isGzipName(name)) return format
  throw new FileError(
    `${name}: only text is compressed by gzip, but this is ${format}; numpy.savez_compressed makes a smaller .npz`,
  )
}
