/** Flags of the library's options: the name of each on the command line, and the parser of its value. */
import { InvalidArgumentError, Option } from 'commander'
import { type Option as LibraryOption, libraryOptions } from '../lib/command-line.js'

/** Name of an option of the library that has a flag. */
type FlagName = keyof typeof libraryOptions

/** Description of a flag. */
export interface Flag {
  /** Flag as help shows it, with its value. */
  readonly flag: string
  readonly summary: string
  /**
   * Returns the value that the library's functions accept; the text itself by default. Values that these
   * functions reject are wrong usage.
   */
  readonly fromText?: (text: string) => unknown
}

/** Parses an integer. Other strings are returned unchanged, so that the library's functions reject them. */
const whole = (text: string): unknown => (/^\s*-?\d{1,10}\s*$/.test(text) ? Number(text) : text)

/** Parses a number; returns other strings unchanged. */
function real(text: string): unknown {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isNaN(value) ? text : value
}

/** Returns a parser whose error states the expected form instead of the library's message. */
const expecting = (name: FlagName, parse: (text: string) => unknown, expected: string) => (text: string) => {
  const value = parse(text)
  try {
    libraryOptions[name].read(value, name)
  } catch {
    throw new InvalidArgumentError(`It must be ${expected}.`)
  }
  return value
}

const bytes = expecting('memory', (text) => text, 'a number of bytes, such as 8GiB')
const pair = expecting('chunks', (text) => text.split(/[x×]/).map(whole), 'ROWSxCOLS, such as 1024x1024')
const parameter = (flag: string, summary: string): Flag => ({ flag, summary, fromText: whole })

export const flags: Readonly<Record<FlagName, Flag>> = {
  semiring: { flag: '--semiring <name>', summary: 'the semiring' },
  backend: { flag: '--backend <name>', summary: 'where to compute' },
  device: { flag: '--device <index>', summary: 'the CUDA device, from 0', fromText: whole },
  devices: {
    flag: '--devices <list>',
    summary: "CUDA devices that compute it together: 'all', or 0,1,…",
    fromText: (text) => (text === 'all' ? text : text.split(',').map(whole)),
  },
  variant: { flag: '--variant <name>', summary: 'a kernel variant, from mpmml variants' },
  overflow: {
    flag: '--overflow <policy>',
    summary: 'what a sum outside the finite int32 range does ("throw" by default)',
  },
  memory: {
    flag: '--memory <bytes>',
    summary: 'work on blocks on disk, in no more memory than this, such as 8GiB',
    fromText: bytes,
  },
  deviceMemory: {
    flag: '--device-memory <bytes>',
    summary: "of blocks on disk: the most of a GPU's memory",
    fromText: bytes,
  },
  chunks: {
    flag: '--chunks <RxC>',
    summary: 'of a .zarr output: rows and columns of a chunk',
    fromText: pair,
  },
  shards: {
    flag: '--shards <RxC>',
    summary: 'of a .zarr output: rows and columns of a shard',
    fromText: pair,
  },
  codec: { flag: '--codec <name>', summary: 'of a .zarr output: how chunks are compressed' },
  resume: { flag: '--resume', summary: 'of blocks on disk: go on with what was begun' },
  overwrite: {
    flag: '--overwrite',
    summary: 'of blocks on disk: replace a .zarr output, or what was begun of an output',
  },
  limit: {
    flag: '--limit <value>',
    summary: 'paths with worse values count as none, and nothing farther is searched',
    fromText: real,
  },
  method: {
    flag: '--method <name>',
    summary: 'how paths are found, in place of what is estimated to be cheapest',
  },
  reduce: {
    flag: '--reduce <what>',
    summary:
      'a number for each node in place of distances: eccentricity or mean; or nearest=5, its nearest nodes',
    fromText: expecting(
      'reduce',
      (text) => {
        const [, digits] = /^nearest=([1-9]\d{0,9})$/.exec(text) ?? []
        return digits === undefined ? text : { nearest: Number(digits) }
      },
      "'eccentricity', 'mean' or 'nearest=5', with any whole number from 1",
    ),
  },
  queue: {
    flag: '--queue <url>',
    summary: 'redis://HOST:6379, or rediss://USER:PASSWORD@HOST:6379 for TLS',
  },
  name: {
    flag: '--queue-name <name>',
    summary: 'one of several queues on the same Redis ("blocks" by default)',
  },
  lockDuration: {
    flag: '--lock <seconds>',
    summary: 'after how long without a sign of life others take the blocks of this worker (30 by default)',
    fromText(text) {
      const seconds = whole(text)
      return typeof seconds === 'number' ? 1000 * seconds : seconds
    },
  },
  roots: {
    flag: '--root <folder...>',
    summary:
      'folders, or s3://bucket/prefix, that blocks may be read from and written to; all else is refused',
    fromText: (text) => [text],
  },
  concurrency: {
    flag: '--concurrency <count>',
    summary:
      'blocks at once on each GPU, or on the CPU (2 by default: one is read while another is computed)',
    fromText: whole,
  },
  weights: {
    flag: '--weights <GC,AU,GU>',
    summary: 'what pairs are worth; 3,2,1 by default',
    fromText(text) {
      const [GC, AU, GU, ...more] = text.split(',').map(whole)
      if (GU !== undefined && more.length === 0) return { GC, AU, GU }
      throw new InvalidArgumentError('It must be three whole numbers, for GC, AU and GU, such as 3,2,1.')
    },
  },
  minLoop: {
    flag: '--min-loop <bases>',
    summary: 'the fewest bases between two that pair; 3 by default',
    fromText: whole,
  },
  window: {
    flag: '--window <bases>',
    summary: 'only structures within so many bases of the target',
    fromText: whole,
  },
  top: {
    flag: '--top <n>',
    summary: 'show the best n interactions of all records; windows of a record do not overlap',
    fromText: whole,
  },
  x: parameter('--x <X>', 'rows of steps of a thread and iteration (compiled in)'),
  y: parameter('--y <Y>', 'columns of them (compiled in)'),
  k: parameter('--k <K>', 'iterations between two reads of shared memory (compiled in)'),
  max: { flag: '--max <form>', summary: 'how the maximum is written' },
  m: parameter('--m <M>', 'columns of the operand in shared memory'),
  bsi: parameter('--bsi <BS_i>', 'rows of threads of a block'),
  bsj: parameter('--bsj <BS_j>', 'columns of threads of a block'),
  gsi: parameter('--gsi <GS_i>', 'rows of blocks of the grid'),
  gsj: parameter('--gsj <GS_j>', 'columns of blocks of the grid'),
  n: parameter('--n <N>', 'iterations of the outermost loop'),
  constant: parameter('--const <Const>', "Const of the thesis' listings"),
}

/** Flags of the parameters of microbenchmarks. */
export const parameterNames = [
  'x',
  'y',
  'k',
  'max',
  'm',
  'bsi',
  'bsj',
  'gsi',
  'gsj',
  'n',
  'constant',
] as const

/**
 * Returns the value of a flag's text. Throws commander's error, which is reported as wrong usage, for a text
 * that the library rejects.
 */
export function readFlag(name: FlagName, text: string): unknown {
  const { fromText = (text: string): unknown => text } = flags[name]
  try {
    const value = fromText(text)
    libraryOptions[name].read(value, name)
    return value
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error
    throw new InvalidArgumentError(`${(error as Error).message}.`)
  }
}

/** Returns commander's option for an option of the library. `summary` replaces the flag's summary. */
export function libraryOption(name: FlagName, summary = flags[name].summary): Option {
  const option = new Option(flags[name].flag, summary)
  const { choices }: LibraryOption<unknown> = libraryOptions[name]
  if (choices) return option.choices(choices)
  if (option.isBoolean()) return option
  return option.argParser((text, before) => {
    const value = readFlag(name, text)
    // Each occurrence of a repeatable flag appends to a list.
    const isFirst = before === undefined || before === option.defaultValue
    return option.variadic && !isFirst ? [...(before as unknown[]), ...(value as unknown[])] : value
  })
}
