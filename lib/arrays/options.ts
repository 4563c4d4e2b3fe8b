/** The options of work on arrays on disk, read once and checked. */

import { resolve } from 'node:path'
import { signal } from '../abort.js'
import { backend, device } from '../backend.js'
import type { BackendChoice } from '../backend-name.js'
import { semiringName } from '../built-in.js'
import { show } from '../describe.js'
import { FileError, OptionError } from '../errors.js'
import { pathOf } from '../files/files.js'
import { availableMemory } from '../free-memory.js'
import {
  boolean,
  choice,
  Options,
  type OptionsOf,
  option,
  type ReadOf,
  requireNames,
  wholeOf,
} from '../options.js'
import { policy } from '../overflow.js'
import type { MpmmOptions, Overflow, Progress } from '../product/options.js'
import type { Semiring } from '../variant-names.js'
import type { ZarrLayout } from './job.js'
import { formatAddress, isS3, parseAddress } from './names.js'

/** How far work on arrays is. */
export interface ArraysProgress extends Progress {
  /** Blocks that are done. */
  readonly blocks: number
  /** How many blocks there are. */
  readonly total: number
  /** Estimated from the pace of the blocks since the start; undefined until one is done. */
  readonly secondsLeft: number | undefined
}

/** What says how an output is laid out and the work is cut: see {@link planBlocks}. */
export interface LayoutOptions {
  /**
   * The most bytes of host memory that the work takes: a number, or a text such as '8GiB'. Half of what is free, if left out, and at
   * most 8 GiB.
   */
  memory?: number | string | undefined
  /** Of a Zarr output: rows and columns of a chunk; [1024, 1024] if left out, and no more than the output has. */
  chunks?: readonly [number, number] | undefined
  /** Of a Zarr output: rows and columns of a shard, multiples of those of a chunk; no shards if left out. */
  shards?: readonly [number, number] | undefined
  /** Of a Zarr output: how its chunks are compressed; 'none' if left out. */
  codec?: 'none' | 'zstd' | 'gzip' | 'blosc' | undefined
  /**
   * Rows and columns of a block, and how deep the products are that one is made from; as large as `memory` allows, if left out. Blocks of
   * paths are square, so all sizes that are given must be the same.
   */
  block?:
    | number
    | {
        readonly rows?: number | undefined
        readonly cols?: number | undefined
        readonly depth?: number | undefined
      }
    | undefined
}

/** What says what is done if there is something already. */
export interface BeginOptions {
  /** Goes on with what was begun: blocks that are done aren't computed again. Begins if nothing was. */
  resume?: boolean | undefined
  /** Replaces an output that exists, and drops work on it that was begun. */
  overwrite?: boolean | undefined
}

/** What is computed of matrices on disk, and how its output is made. */
export interface WorkOptions extends LayoutOptions, BeginOptions {
  /** 'max-plus' for products and 'min-plus' for paths, if left out. */
  semiring?: Semiring | undefined
  /** What to do with int32 results that are outside of the finite range, as in `mpmm`. */
  overflow?: Overflow | undefined
}

/** Where blocks are computed, and what is called meanwhile. */
export interface RunOptions extends Pick<MpmmOptions, 'device'> {
  /** 'auto', the default, takes CUDA if it can be used, otherwise the CPU. */
  backend?: BackendChoice | undefined
  /** The most bytes of a GPU's memory that blocks take: a number, or a text such as '8GiB'. Most of what is free, if left out. */
  deviceMemory?: number | string | undefined
  /** Gives up, with ERR_MPMML_ABORTED; what is done stays, and can be resumed. */
  signal?: AbortSignal | undefined
}

const GIB = 2 ** 30

/** Of memory that has no limit. */
const usualMemory = () => Math.min(8 * GIB, Math.floor(availableMemory() / 2))

const units: Record<string, number> = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: GIB,
  ti: 2 ** 40,
}

/** Bytes: a number, or a text such as '8GiB' and '500 MB'. */
export function readBytes(value: unknown, name: string): number {
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*$/i.exec(String(value)) ?? []
  const bytes =
    typeof value === 'number' ? value : Number(number) * (units[(unit ?? '').toLowerCase()] ?? Number.NaN)
  if (Number.isFinite(bytes) && bytes > 0) return Math.floor(bytes)
  throw new OptionError(
    `option ${name} must be a number of bytes, or a text such as '8GiB', but it is ${show(value)}`,
  )
}

function readPair(value: unknown, name: string): [number, number] {
  if (
    Array.isArray(value) &&
    value.length === 2 &&
    value.every((size) => Number.isSafeInteger(size) && size > 0)
  ) {
    return [value[0], value[1]]
  }
  const came = Array.isArray(value) ? JSON.stringify(value) : show(value)
  throw new OptionError(`option ${name} must be [rows, cols], integers above 0, but it is ${came}`)
}

type BlockSizes = Exclude<LayoutOptions['block'], number | undefined>

function readBlockSizes(value: unknown): BlockSizes {
  const sizes: Record<string, unknown> =
    typeof value === 'number' ? { rows: value, cols: value, depth: value } : blockObject(value)
  for (const [name, size] of Object.entries(sizes)) {
    if (size !== undefined && !(Number.isSafeInteger(size) && Number(size) > 0)) {
      throw new OptionError(
        `option block must have sizes that are integers above 0, but ${name} is ${show(size)}`,
      )
    }
  }
  return sizes as BlockSizes
}

function blockObject(value: unknown): Record<string, unknown> {
  requireNames(value, ['rows', 'cols', 'depth'], 'block')
  return { ...value }
}

/** What `read` makes of the text of a command line, which has no quotation marks and brackets to speak of. */
const fromText =
  (parse: (text: string) => unknown, read: (value: unknown, name: string) => unknown, expected: string) =>
  (text: string) => {
    try {
      return read(parse(text), '')
    } catch (cause) {
      throw new OptionError(`It must be ${expected}`, { cause })
    }
  }

const bytesOf = fromText((text) => text, readBytes, 'a number of bytes, such as 8GiB')
const pairOf = fromText((text) => text.split(/[x×]/).map(wholeOf), readPair, 'ROWSxCOLS, such as 1024x1024')

const bytesAs = (flag: string, summary: string) =>
  option(undefined, readBytes, { commandLine: { flag, summary, fromText: bytesOf } })

const pairAs = (flag: string, summary: string) =>
  option(undefined, readPair, { commandLine: { flag, summary, fromText: pairOf } })

/** The most host memory that something takes. */
export const memoryFor = (summary: string) => bytesAs('--memory <bytes>', summary)

export const layoutSet = {
  memory: memoryFor('work on blocks on disk, in no more memory than this, such as 8GiB'),
  chunks: pairAs('--chunks <RxC>', 'of a .zarr output: rows and columns of a chunk'),
  shards: pairAs('--shards <RxC>', 'of a .zarr output: rows and columns of a shard'),
  codec: choice<ZarrLayout['codec'], undefined>(['none', 'zstd', 'gzip', 'blosc'], undefined, {
    flag: '--codec <name>',
    summary: 'of a .zarr output: how chunks are compressed',
  }),
  block: option<BlockSizes>({}, readBlockSizes),
} satisfies OptionsOf<LayoutOptions>

export const beginSet = {
  resume: boolean(false, { flag: '--resume', summary: 'of blocks on disk: go on with what was begun' }),
  overwrite: boolean(false, {
    flag: '--overwrite',
    summary: 'of blocks on disk: replace a .zarr output, or what was begun of an output',
  }),
} satisfies OptionsOf<BeginOptions>

export const runSet = {
  backend,
  device,
  deviceMemory: bytesAs('--device-memory <bytes>', "of blocks on disk: the most of a GPU's memory"),
  signal,
} satisfies OptionsOf<RunOptions>

/** Functions of products and of paths have usual semirings of their own. */
export const workSet = {
  semiring: semiringName,
  overflow: policy,
  ...layoutSet,
  ...beginSet,
} satisfies OptionsOf<WorkOptions>

const layoutOptions = new Options(layoutSet)
const beginOptions = new Options(beginSet)
type Layout = ReadOf<typeof layoutOptions>
export type ReadBegin = ReadOf<typeof beginOptions>
export type ReadLayout = Omit<Layout, 'memory'> & { readonly memory: number }

export const memoryOf = ({ memory = usualMemory() }: Pick<Layout, 'memory'>): number => memory

/** Throws OptionError for options that contradict each other. */
export function requireOneOf({ resume, overwrite }: ReadBegin): void {
  if (resume && overwrite) {
    throw new OptionError('options resume and overwrite contradict each other: leave one of them out')
  }
}

/** A path as it is in every process of this machine. */
export function readPath(path: string | URL): string {
  const text = pathOf(path)
  if (isS3(text)) return formatAddress(parseAddress(text))
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) return resolve(text)
  throw new FileError(
    `${text} is an address, but arrays are folders, files and s3://bucket/name.zarr: copy it to a disk, or mount it as a file system, and name its path`,
  )
}
