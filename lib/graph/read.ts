/** Reads graphs from files. */

import { ShapeError } from '../errors.js'
import { pathOf } from '../files/files.js'
import { readText } from '../files/lines.js'
import { formatOf } from '../files/names.js'
import type { FileOptions } from '../files/progress.js'
import { inSlices } from '../graph-core/slices.js'
import { choice, Options, type OptionsOf } from '../options.js'
import { longWorkSet } from '../product/options.js'
import { partOf } from '../product/progress.js'
import { type GraphFormat, type GraphTextOptions, graphFeed, graphFormats, graphTextSet } from './formats.js'
import { joiningGraphs } from './joined-files.js'
import type { NamedGraph, ReadEdgeList } from './named-edges.js'
import { loadSaxes } from './saxes.js'

/** The options of {@link readGraph}. `undefined` means the default. */
export interface ReadGraphOptions extends GraphTextOptions, FileOptions {
  /**
   * Format of the file. By default the file's extension selects it: .gr, .mtx, .csv, .tsv or .graphml,
   * followed by .gz if the file is compressed by gzip.
   */
  format?: GraphFormat | undefined
}

const readOptions = new Options({
  format: choice(graphFormats, undefined),
  ...graphTextSet,
  ...longWorkSet,
} satisfies OptionsOf<ReadGraphOptions>)

/**
 * Reads a graph from a file in a format of {@link parseGraph}. Decompresses gzip files.
 *
 * @param path - a regular file, or an array of files that form one graph: nodes with equal names or numbers
 * are one node.
 * @throws FileError for a file that can't be read or is malformed; ERR_MPMML_OPTION; ERR_MPMML_VALUE for a
 * weight whose product with `scale` isn't an int32 integer; LimitError; ERR_MPMML_OUT_OF_MEMORY;
 * AbortedError.
 * @example
 * await writeFile('roads.csv', '0,1,4\n1,2,-1\n')
 * const { distances } = await shortestPaths(await readGraph('roads.csv'), { sources: 0 })
 * console.log(distances.data.join()) // 0,4,3
 */
export function readGraph(
  path: string | URL | readonly (string | URL)[],
  options: ReadGraphOptions & { keys: true },
): Promise<NamedGraph>
export function readGraph(
  path: string | URL | readonly (string | URL)[],
  options?: ReadGraphOptions,
): Promise<ReadEdgeList>
export async function readGraph(
  path: string | URL | readonly (string | URL)[],
  options?: ReadGraphOptions,
): Promise<ReadEdgeList> {
  const { format: given, twoWay, scale, signal, onProgress, ...columnOptions } = readOptions.read(options)
  const paths = Array.isArray(path) ? [...(path as readonly (string | URL)[])] : [path as string | URL]
  if (paths.length === 0) throw new ShapeError('the paths of a graph must be one or more, but there are none')
  const names = paths.map(pathOf)
  const graphs: ReadEdgeList[] = []
  for (const name of names) {
    const format = formatOf(name, given, graphFormats)
    const feed = graphFeed(name, format, columnOptions, format === 'graphml' ? await loadSaxes() : null)
    const options = { signal, onProgress: partOf(onProgress, graphs.length, names.length) }
    graphs.push(await readText(name, 'a graph', feed, options))
  }
  return inSlices(joiningGraphs(graphs, names, twoWay, scale), signal, 'the reading of a graph')
}
