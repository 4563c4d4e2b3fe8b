/** Options of work on arrays on disk, and their validation. */

import { resolve } from 'node:path'
import { signal } from '../abort.js'
import { backend, device } from '../backend.js'
import type { BackendChoice } from '../backend-name.js'
import { semiringName } from '../built-in-semirings.js'
import { show } from '../describe.js'
import { FileError, OptionError } from '../errors.js'
import { pathOf } from '../files/files.js'
import { availableMemory } from '../free-memory.js'
import { assertNames, boolean, choice, Options, type OptionsOf, option, type ReadOf } from '../options.js'
import { policy } from '../overflow.js'
import type { MpmmOptions, Overflow, Progress } from '../product/options.js'
import type { Semiring } from '../variant-names.js'
import type { ZarrLayout } from './job.js'
import { formatAddress, isS3, parseAddress } from './names.js'

/** Progress of work on arrays. */
export interface ArraysProgress extends Progress {
  /** Blocks that are done. */
  readonly blocks: number
  /** Number of blocks. */
  readonly total: number
  /**
   * Estimated remaining time in seconds, from the rate of blocks since the start; undefined until a block is
   * done.
   */
  readonly secondsLeft: number | undefined
}

/** Options of a computation on matrices on disk and of its output: see {@link planBlocks}. */
export interface WorkOptions {
  /** Semiring, by default 'max-plus' for products and 'min-plus' for paths. */
  semiring?: Semiring | undefined
  /** Treatment of int32 results outside the finite range, as in `mpmm`. */
  overflow?: Overflow | undefined
  /**
   * Limit of host memory in bytes: a number or a string such as '8GiB'. Default: half of the free memory, at
   * most 8 GiB.
   */
  memory?: number | string | undefined
  /** Rows and columns of a chunk of a Zarr output. Default: [1024, 1024], but no more than the output has. */
  chunks?: readonly [number, number] | undefined
  /** Rows and columns of a shard of a Zarr output, multiples of the chunk's. Default: no shards. */
  shards?: readonly [number, number] | undefined
  /** Compression of the chunks of a Zarr output. Default: 'none'. */
  codec?: 'none' | 'zstd' | 'gzip' | 'blosc' | undefined
  /**
   * Rows and columns of a block, and depth (part of K) of the products that are accumulated in it. Default:
   * as large as `memory` allows. Blocks of paths are square, so all given sizes must be equal.
   */
  block?:
    | number
    | {
        readonly rows?: number | undefined
        readonly cols?: number | undefined
        readonly depth?: number | undefined
      }
    | undefined
  /** Resumes unfinished work: completed blocks aren't computed again. Starts new work if none was begun. */
  resume?: boolean | undefined
  /** Replaces an existing output, and drops unfinished work on it. */
  overwrite?: boolean | undefined
}

/** Options for the backend of block computations, and callbacks. */
export interface RunOptions extends Pick<MpmmOptions, 'device'> {
  /** Backend: 'auto', the default, is CUDA if it can be used, otherwise the CPU. */
  backend?: BackendChoice | undefined
  /** Limit of GPU memory in bytes: a number or a string such as '8GiB'. Default: most of the free memory. */
  deviceMemory?: number | string | undefined
  /** Aborts the work with ERR_MPMML_ABORTED. Completed blocks are kept, and the work can be resumed. */
  signal?: AbortSignal | undefined
}

const GIB = 2 ** 30

/** Returns the default of `memory` in bytes. */
export const usualMemory = () => Math.min(8 * GIB, Math.floor(availableMemory() / 2))

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

/** Reads a number of bytes: a number, or a text such as '8GiB' and '500 MB'. */
function readBytes(value: unknown, name: string): number {
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

type BlockSizes = Exclude<WorkOptions['block'], number | undefined>

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
  assertNames(value, ['rows', 'cols', 'depth'], 'block')
  return { ...value }
}

/** Limit of memory in bytes. */
export const bytes = option(undefined, readBytes)

/** The semiring has no default here, because products and paths have different ones. */
export const workSet = {
  semiring: semiringName,
  overflow: policy,
  memory: bytes,
  chunks: option(undefined, readPair),
  shards: option(undefined, readPair),
  codec: choice<ZarrLayout['codec'], undefined>(['none', 'zstd', 'gzip', 'blosc'], undefined),
  block: option<BlockSizes>({}, readBlockSizes),
  resume: boolean(false),
  overwrite: boolean(false),
} satisfies OptionsOf<WorkOptions>

export const runSet = {
  backend,
  device,
  deviceMemory: bytes,
  signal,
} satisfies OptionsOf<RunOptions>

const workOptions = new Options({ ...workSet, signal })

/** Values of {@link WorkOptions} and of the signal. */
export type ReadWork = ReadOf<typeof workOptions>

/** Returns a path in a form that is valid in every process of the machine. */
export function readPath(path: string | URL): string {
  const text = pathOf(path)
  if (isS3(text)) return formatAddress(parseAddress(text))
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) return resolve(text)
  throw new FileError(
    `${text} is an address, but arrays are folders, files and s3://bucket/name.zarr: copy it to a disk, or mount it as a file system, and name its path`,
  )
}
