/** mpmml paths GRAPH */
import { type Command, Option } from 'commander'
import { closureOptions, nodeNumbers } from '../arguments.js'
import {
  ARRAYS_HELP,
  type ArraysFlags,
  type ArraysGraph,
  type ArraysRecord,
  assertOnDisk,
  describeArrays,
  inMemory,
  isOnDisk,
  isOutOfMemory,
  isZarr,
  runArrays,
} from '../arrays.js'
import { newCommand } from '../commands.js'
import { type CsvFlags, csvOptions } from '../csv-kind.js'
import { libraryOption } from '../flags.js'
import {
  edgeOptions,
  type FileNode,
  GRAPH_HELP,
  type GraphFile,
  namesNodes,
  namingCycles,
  readGraphFile,
} from '../graph.js'
import { print, printJson } from '../output.js'
import {
  checkPaths,
  describeCheck,
  describePaths,
  findPaths,
  type PathsRequest,
  pathSemirings,
  readGraphOf,
  requestedNodes,
} from '../paths.js'
import { formatOptions, graphFormatOption, openPipes, PIPE, type PipeFlags } from '../pipes.js'
import { type BlocksFlags, blocksOptions, doneByBlocks } from '../queue.js'
import { describeReduced, type ReduceRequest, reduceGraph } from '../reduced-paths.js'

type Flags = Omit<PathsRequest, 'graph' | 'verify' | 'isNamed'> &
  BlocksFlags &
  PipeFlags &
  CsvFlags & {
    check?: string
    verify?: true
    names?: true
    json?: true
    reduce?: ReduceRequest['reduce']
  }

/** Request for distances that are written to a file during the computation. */
type Streamed = PathsRequest & ArraysFlags

export function pathsCommand(signal: AbortSignal): Command {
  const command = newCommand('paths')
    .argument('<GRAPH...>', '.gr, .mtx, .csv or .graphml files of one graph; or a .npy file or .zarr array')
    .option('--from <node,…>', 'only paths from these nodes', fileNodes)
    .option('--to <node,…>', 'only paths to these nodes; shows their nodes', fileNodes)
    .addOption(
      new Option('--names', 'the .csv file names its nodes; said by names in --from or --to, too').conflicts(
        'matrix',
      ),
    )
    .addOption(libraryOption('limit'))
    .addOption(libraryOption('method'))
    .addOption(libraryOption('reduce'))
    .option(
      '-o, --output <D.npy>',
      'write the distances to this file, or .zarr array (without it those of small graphs are printed)',
    )
    .option('--all', 'print the distances, however many')
    .option(
      '--next <N.npy>',
      'write, for each pair, the node after the first on its path: as a row number from 0, −1 if there is none; of --reduce nearest the nodes',
    )
  const options = [
    ...csvOptions(),
    ...edgeOptions(),
    ...closureOptions(pathSemirings, 'min-plus'),
    ...blocksOptions(),
    ...formatOptions(graphFormatOption()),
  ]
  for (const option of options) command.addOption(option)
  return command
    .option('--verify', 'check that no edge makes a distance better, and walk the paths')
    .option('--check <D.npy>', 'compute nothing: verify these distances, and the paths of --next N.npy')
    .option('--json', 'print one JSON value')
    .addHelpText(
      'after',
      `${GRAPH_HELP}
${ARRAYS_HELP}

min-plus finds shortest paths, max-plus longest, max-min widest, max-times most reliable ones, or-and reachable nodes.`,
    )
    .action(async ([graph, ...more]: [string, ...string[]], { json, check, names, ...flags }: Flags) => {
      const refused = [
        ...['devices', 'from', 'to', 'names', 'limit', 'method', 'reduce', 'next', 'verify', 'check'],
        ...['edges', 'format', 'all', 'weight', 'twoWay', 'scale', 'more'],
      ]
      const requested = { ...flags, names, check, ...(more.length > 0 && { more }) }
      const isMatrix = isMatrixOnDisk(graph)
      const isByBlocks = isMatrix || flags.queue !== undefined
      if (
        isByBlocks &&
        (await doneByBlocks(command, 'paths', [graph], requested, refused, json === true, signal))
      )
        return
      const isStreamed = !isMatrix && isOnDisk(flags, [], flags.output)
      if (isStreamed) assertOnDisk(command, requested, [...notStreamed, 'all'], flags.output)
      const { output } = flags
      const input = graph === PIPE ? `.${flags.format}` : graph
      const mayName = /\.[ct]sv(\.gz)?$/i.test(input) && !flags.matrix
      const isNamed = names === true || namesNodes(input) || (mayName && hasNames([flags.from, flags.to]))
      const [from, to] = [flags.from, flags.to].map((list, at) =>
        isNamed ? list?.map(String) : list && numbersIn(command, list, at === 0 ? '--from' : '--to'),
      )
      const request: PathsRequest = {
        ...flags,
        from,
        to,
        graph,
        more,
        isNamed,
        verify: flags.verify === true,
      }
      assertApplicable(command, flags, check)
      const pipes = {
        inputs: [graph, check],
        outputs: [output, check === undefined ? flags.next : undefined],
      }
      await openPipes(command, pipes, { ...flags, json }, signal)
      if (check !== undefined) {
        const record = await checkPaths(request, check, signal)
        return json ? printJson(record) : print(describeCheck(record))
      }
      const printRecord = async <Report>(record: Report, describe: (record: Report) => string) => {
        if (output === PIPE || flags.next === PIPE) return
        await (json ? printJson(record) : print(describe(record)))
      }
      if (isStreamed) {
        const file = await readGraphFile(graph, request.semiring, signal, request)
        return printRecord(await stream(request, file, signal), describeArrays)
      }
      const file = await inMemory(() => readGraphOf(request, signal))
      const { reduce } = flags
      if (reduce !== undefined) {
        const record = await reduceGraph({ ...request, reduce }, file, signal)
        return printRecord(record, (shown) => describeReduced(shown, request.semiring))
      }
      const isFree = notStreamed.every((name) => (requested as Record<string, unknown>)[name] === undefined)
      const mayStream = isFree && !isMatrix && request.semiring !== 'or-and' && /\.npy$/i.test(output ?? '')
      const record = await inMemory(() => findPaths(request, file, signal)).catch((error) => {
        if (mayStream && isOutOfMemory(error) && isList(file)) return null
        throw error
      })
      if (record) return printRecord(record, (shown) => describePaths(shown, request))
      await printRecord(await stream(request, file, signal), describeArrays)
    })
}

/** Options that streaming doesn't support: they need all distances in memory, or no distances at all. */
const notStreamed = ['devices', 'next', 'verify', 'check', 'reduce'] as const

/** Returns whether the input is a matrix that can be read by blocks from disk. */
const isMatrixOnDisk = (path: string) => /\.npy$/i.test(path) || isZarr(path)

const isList = ({ weights }: GraphFile): boolean => 'from' in weights

/** Writes the distances of an edge list during the computation. */
async function stream(request: Streamed, file: GraphFile, signal: AbortSignal): Promise<ArraysRecord> {
  const { weights } = file
  if (!('from' in weights)) {
    throw new Error(
      `${file.path} is a matrix: distances of .gr, .mtx, .csv and .graphml files are written as they are found, and those of .npy and ` +
        '.zarr matrices block by block: mpmml convert makes a .npy of it',
    )
  }
  const { limit, method, graph, output } = request
  const requested = { ...requestedNodes(request, file), limit, method } as Omit<ArraysGraph, 'weights'>
  return namingCycles(file, () =>
    runArrays('paths', { ...request, inputs: [graph], output: output! }, signal, { weights, ...requested }),
  )
}

/** Parses node numbers or names separated by commas. */
const fileNodes = (text: string): FileNode[] => text.split(',').map((part) => part.trim())

/** Returns whether a list contains names. Integers from 2^31 on count as names. */
const hasNames = (lists: (FileNode[] | undefined)[]) =>
  lists.flatMap((list) => list ?? []).some((node) => !/^-?\d+$/.test(`${node}`) || Number(node) >= 2 ** 31)

/** Returns node numbers for a file whose nodes have numbers. Names are wrong usage. */
function numbersIn(command: Command, list: readonly FileNode[], option: string): number[] {
  const text = list.join(',')
  try {
    return nodeNumbers(text)
  } catch (error) {
    const { message } = error as Error
    return command.error(`error: option '${option} <node,…>' argument '${text}' is invalid. ${message}`, {
      exitCode: 2,
    })
  }
}

/** Reports wrong usage if options exclude each other. */
function assertApplicable(command: Command, flags: Flags, check: string | undefined): void {
  const some = flags.from !== undefined || flags.to !== undefined
  if (flags.reduce !== undefined) {
    const others = {
      '--verify': flags.verify,
      '--check': check,
      '--overflow': flags.overflow,
      '--next': typeof flags.reduce === 'object' ? undefined : flags.next,
    }
    const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? []
    if (other) command.error(`error: --reduce keeps no distances: leave out ${other}`, { exitCode: 2 })
  } else if (some && flags.next !== undefined) {
    command.error('error: --next is for all pairs: leave out --from and --to', { exitCode: 2 })
  }
  if (flags.next !== undefined && flags.next === (check ?? flags.output)) {
    command.error('error: --next needs a file of its own', { exitCode: 2 })
  }
  if (check === undefined) return
  const others = {
    '--from': flags.from,
    '--to': flags.to,
    '--limit': flags.limit,
    '--method': flags.method,
    '--output': flags.output,
    '--verify': flags.verify,
  }
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? []
  if (other) command.error(`error: --check computes nothing: leave out ${other}`, { exitCode: 2 })
}
