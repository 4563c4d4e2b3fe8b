/** Out-of-core products and paths of arrays on disk, for the commands. */
import { stat } from 'node:fs/promises'
import type { Command } from 'commander'
import type { ArraysOptions, ArraysResult, PathsArraysOptions } from '../lib/arrays.js'
import type { EdgeList, KeyedEdgeList } from '../lib/graph.js'
import { type MpmmOptions, ResourceError, type Semiring } from '../lib/index.js'
import { libraryOption } from './flags.js'
import { bytes, duration, labelled, shapeText } from './output.js'
import { checkOutputs } from './output-file.js'
import { withProgress } from './progress.js'

/** Values of the options {@link arraysOptions}. */
export interface ArraysFlags {
  memory?: ArraysOptions['memory']
  deviceMemory?: ArraysOptions['deviceMemory']
  chunks?: [number, number]
  shards?: [number, number]
  codec?: ArraysOptions['codec']
  resume?: true
  overwrite?: true
}

const flagNames = ['memory', 'deviceMemory', 'chunks', 'shards', 'codec', 'resume', 'overwrite'] as const

/** Returns the options of out-of-core work. */
export const arraysOptions = () => flagNames.map((name) => libraryOption(name))

/** Paragraph for the help of commands. */
export const ARRAYS_HELP = `
Matrices that don't fit in memory are .zarr arrays (version 3; they need the package zarrita, and hash-wasm for shards and checksums) or .npy
files: with --memory or another option of blocks on disk, or if one of them is a .zarr, blocks are read, computed and written one after the
other. --resume goes on after an interruption. A .zarr array may be in a bucket, s3://bucket/name.zarr, with the package aws4fetch and the
variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and others.`

/** Returns whether a path names a Zarr array, which may be inside groups. */
export const isZarr = (path: string) => /\.zarr(?:[/\\]|$)/i.test(path) && !/\.npy$/i.test(path)

/**
 * Returns whether the work runs out of core, by blocks on disk. The decision depends on options and file
 * names, not on free memory.
 */
export function isOnDisk(flags: ArraysFlags, inputs: readonly string[], output: string | undefined): boolean {
  if (flagNames.some((name) => flags[name] !== undefined)) return true
  return [...inputs, output ?? ''].some(isZarr)
}

export const isOutOfMemory = (error: unknown): error is ResourceError =>
  error instanceof ResourceError && error.code === 'ERR_MPMML_OUT_OF_MEMORY'

/** Returns the result of `work`. If memory doesn't suffice, the error suggests out-of-core computation. */
export async function inMemory<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isOutOfMemory(error)) throw error
    throw new ResourceError(
      `${error.message}; with --memory, such as --memory 8GiB, .npy files are computed block by block on disk`,
      { cause: error },
    )
  }
}

/**
 * Returns the option `overwrite` for the output. Finished .npy files are always replaced. Replacing a .zarr
 * array or an unfinished output requires --overwrite.
 *
 * @throws FileError if a .npy output is one of the inputs, or can't be written.
 */
export async function replaces({
  inputs,
  output,
  resume,
  overwrite,
}: ArraysFlags & { inputs: readonly string[]; output: string }): Promise<true | undefined> {
  if (!/\.npy$/i.test(output)) return overwrite
  await checkOutputs([output], inputs)
  if (overwrite || resume) return overwrite
  const [there, begun] = await Promise.all(
    [output, `${output}.partial`].map((path) => stat(path).catch(() => null)),
  )
  return there && !begun ? true : undefined
}

/** Reports wrong usage if the output is missing, or if out-of-core work doesn't support a given option. */
export function assertOnDisk(
  command: Command,
  flags: object,
  refused: readonly string[],
  output: string | undefined,
): asserts output is string {
  const given = refused.find((name) => (flags as Record<string, unknown>)[name] !== undefined)
  const problem =
    given !== undefined
      ? `--${given} is not for matrices that are computed block by block on disk`
      : output === undefined
        ? 'matrices that are computed block by block on disk need an output: name it with -o'
        : undefined
  if (problem !== undefined) command.error(`error: ${problem}`, { exitCode: 2 })
}

interface ArraysRequest extends ArraysFlags, Pick<MpmmOptions, 'overflow' | 'backend' | 'device'> {
  inputs: readonly string[]
  output: string
  semiring: Semiring
}

/** Output of `--json`. */
export interface ArraysRecord extends ArraysResult {
  inputs: readonly string[]
  semiring: Semiring
}

/** Loaded graph with the path query on it. */
export interface ArraysGraph extends Pick<PathsArraysOptions, 'sources' | 'targets' | 'limit' | 'method'> {
  weights: EdgeList | KeyedEdgeList
}

/** @param graph - graph of a path query, which replaces the input file. */
export async function runArrays(
  kind: 'multiply' | 'paths',
  request: ArraysRequest,
  signal: AbortSignal,
  graph?: ArraysGraph,
): Promise<ArraysRecord> {
  // Imported on demand, because most calls of these commands don't need the module.
  const { multiplyArrays, shortestPathsArrays } = await import('../lib/arrays.js')
  const { inputs, output, semiring, overflow, backend, device } = request
  const given = Object.fromEntries(flagNames.map((name) => [name, request[name]]))
  given.overwrite = await replaces(request)
  const result = await withProgress(
    kind === 'multiply' ? `multiplying into ${output}` : `finding paths into ${output}`,
    (onProgress) => {
      const options: ArraysOptions = { ...given, semiring, overflow, backend, device, signal, onProgress }
      if (kind === 'multiply') return multiplyArrays(inputs[0]!, inputs[1]!, output, options)
      const { weights, ...rest } = graph ?? { weights: inputs[0]! }
      return shortestPathsArrays(weights, output, { ...options, ...rest })
    },
  )
  return { inputs, semiring, ...result }
}

/** Returns the record as text for people. */
export function describeArrays(record: ArraysRecord): string {
  const { shape, path, block, blocks, resumed, timing } = record
  // Graph searches process whole rows, so their blocks have no inner dimension.
  const sizes = (record.method ? [block.rows, block.cols] : [block.rows, block.depth, block.cols]).join(' × ')
  return labelled([
    ['result', `${shapeText(shape)}  ${path}`],
    ['semiring', `${record.semiring} on ${record.dtype}`],
    ['method', record.method],
    ['backend', `${record.backend}, ${record.device}`],
    ['blocks', `${blocks}${resumed > 0 ? `, of which ${resumed} were done before` : ''}, up to ${sizes}`],
    ['disk', `${bytes(record.bytesRead)} read, ${bytes(record.bytesWritten)} written`],
    ['memory', bytes(record.peakBytes)],
    ['kernel', duration(timing.kernelMs)],
    [
      'waited',
      `${duration(timing.readMs)} for blocks to be read, ${duration(timing.writeMs)} for results to be written`,
    ],
    ['total', duration(timing.totalMs)],
  ])
}
