/**
 * Standard input and standard output in place of files, named `-`. Input is stored in a temporary file first,
 * because most formats aren't read sequentially. Output is copied to standard output once it is complete.
 */
import { createReadStream, createWriteStream, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { withStatus, write } from './output.js'

/** Name of standard input in inputs, and of standard output in outputs. */
export const PIPE = '-'

const endings = ['npy', 'npz', 'mtx', 'csv', 'tsv', 'gr'] as const
/** Formats of graphs, by extension. */
const graphEndings = [...endings, 'graphml'] as const

export interface PipeFlags {
  format?: (typeof graphEndings)[number] | undefined
  outputFormat?: (typeof endings)[number] | undefined
}

/** Paragraph for the help of commands. */
export const PIPE_HELP = `
The name - is standard input, or standard output for a result; --format says what it holds. If a result is on standard output, nothing
else is printed there.`

export const formatOption = () => new Option('--format <name>', 'what - holds').choices(endings)

export const graphFormatOption = () => new Option('--format <name>', 'what - holds').choices(graphEndings)

/** Returns the options of commands that also write files. */
export const formatOptions = (format = formatOption()) => [
  format,
  new Option('--output-format <name>', 'what - holds as the output (that of --format by default)').choices(
    endings,
  ),
]

let folder: string | undefined
/** Temporary files that replace `-`. */
let input: string | undefined
let output: string | undefined

/** Returns the path that an input is read from. */
export const inputPath = (name: string): string => (name === PIPE && input !== undefined ? input : name)

/** Returns the path that an output is written to. */
export const outputPath = (name: string): string => (name === PIPE && output !== undefined ? output : name)

/** Returns the name of an input for messages. */
export const shownInput = (name: string): string => (name === PIPE ? 'standard input' : name)

/** Returns the name of an output for messages. */
export const shownOutput = (name: string): string => (name === PIPE ? 'standard output' : name)

/** Replaces the paths of temporary files in a message by names that the user knows. */
export function inPipes(message: string): string {
  let text = message
  if (input !== undefined) text = text.replaceAll(input, 'standard input')
  if (output !== undefined) text = text.replaceAll(output, 'standard output')
  return text
}

interface Files {
  inputs?: readonly (string | undefined)[]
  /** Extension for the format of inputs if only one is possible. */
  holds?: string
  /** Names of matrix outputs, whose format is selected by an option on a pipe. */
  outputs?: readonly (string | undefined)[]
  /** Names of outputs that {@link writeOut} writes. */
  texts?: readonly (string | undefined)[]
}

/**
 * Reads standard input to its end if it is one of the inputs. Inconsistent options are wrong usage.
 *
 * @param flags - flags of the command; `json` also needs standard output.
 */
export async function openPipes(
  command: Command,
  { inputs = [], holds, outputs = [], texts = [] }: Files,
  { format, outputFormat, json }: PipeFlags & { json?: true | undefined },
  signal: AbortSignal,
): Promise<void> {
  const usage = (problem: string) => command.error(`error: ${problem}`, { exitCode: 2 })
  const reads = inputs.filter((name) => name === PIPE).length
  const writes = outputs.includes(PIPE)
  const ending = holds ?? format
  const outputEnding = outputFormat ?? (format === 'graphml' ? undefined : format)
  if (reads > 1) usage('standard input can be only one of the inputs')
  if (reads > 0 && ending === undefined) usage('name what standard input holds: --format csv')
  if (writes && outputEnding === undefined) {
    usage(`name what standard output is to hold: --${format === undefined ? 'format' : 'output-format'} csv`)
  }
  if ((writes || texts.includes(PIPE)) && json) {
    usage('--json and a result on standard output are two: leave out one')
  }
  if (reads === 0 && !writes) return
  folder = temporaryFolder()
  if (writes) output = join(folder, `standard-output.${outputEnding}`)
  if (reads === 0) return
  input = join(folder, `standard-input.${ending}`)
  const file = createWriteStream(input, { flags: 'wx' })
  await withStatus('reading standard input', () => pipeline(process.stdin, file, { signal }))
}

function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'mpmml-pipe-'))
  } catch (error) {
    throw new Error(
      `standard input and output need a folder for temporary files, but ${tmpdir()} takes none (${(error as NodeJS.ErrnoException).code}): set TMPDIR to another`,
      { cause: error },
    )
  }
}

/** Writes a string to a file, or to standard output. */
export async function writeOut(name: string, text: string): Promise<void> {
  if (name === PIPE) return write(text)
  // Imported on demand, so that run.ts reports a failure to load the module like other errors.
  const { writeText } = await import('../lib/files.js')
  await writeText(name, text)
}

/** Copies the temporary file of the output to standard output. */
export async function passOn(): Promise<void> {
  if (output === undefined || !existsSync(output)) return
  try {
    await pipeline(createReadStream(output), process.stdout, { end: false })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // The reader closed the pipe, which isn't an error.
    if (code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE') return
    throw new Error(`the result can't be written to stdout: ${message}`, { cause: error })
  }
}

/** Removes the temporary files. */
export function closePipes(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  folder = undefined
  input = undefined
  output = undefined
}
