/** mpmml paths GRAPH */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { closureOptions, nodeNumbers } from '../arguments.js'
import { ARRAYS_HELP, inMemory } from '../arrays.js'
import { newCommand } from '../commands.js'
import { type CsvFlags, csvOptions } from '../csv-kind.js'
import { type FileNode, GRAPH_HELP } from '../graph.js'
import { print, printJson } from '../output.js'
import {
  checkPaths,
  describeCheck,
  describePaths,
  findPaths,
  type PathsRequest,
  pathSemirings,
} from '../paths.js'
import { formatOptions, openPipes, PIPE, type PipeFlags } from '../pipes.js'
import { type BlocksFlags, blocksOptions, doneByBlocks } from '../queue.js'

type Flags = Omit<PathsRequest, 'graph' | 'verify' | 'isNamed'> &
  BlocksFlags &
  PipeFlags &
  CsvFlags & { check?: string; verify?: true; names?: true; json?: true }

export function pathsCommand(signal: AbortSignal): Command {
  const command = newCommand('paths')
    .argument('<GRAPH>', 'a .gr, .mtx, .csv, .graphml or .npy file, or a .zarr array')
    .option('--from <node,…>', 'only paths from these nodes', fileNodes)
    .option('--to <node,…>', 'only paths to these nodes; shows their nodes', fileNodes)
    .addOption(
      new Option(
        '--names',
        'the .csv or .graphml file names its nodes; said by names in --from or --to, too',
      ).conflicts('matrix'),
    )
    .option(
      '--limit <value>',
      'paths with worse values count as none, and nothing farther is searched',
      anyNumber,
    )
    .option(
      '-o, --output <D.npy>',
      'write the distances to this file (without it those of small graphs are printed)',
    )
    .option('--all', 'print the distances, however many')
    .option(
      '--next <N.npy>',
      'write, for each pair, the node after the first on its path: as a row number from 0, −1 if there is none',
    )
  const options = [
    ...csvOptions(),
    ...closureOptions(pathSemirings, 'min-plus'),
    ...blocksOptions(),
    ...formatOptions(),
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
    .action(async (graph: string, { json, check, names, ...flags }: Flags) => {
      const refused = [
        ...['devices', 'from', 'to', 'names', 'limit', 'next', 'verify', 'check'],
        ...['edges', 'format', 'all'],
      ]
      const asked = { ...flags, names, check }
      if (await doneByBlocks(command, 'paths', [graph], asked, refused, json === true, signal)) return
      const { output } = flags
      const mayName = hasNodeNames(graph === PIPE ? `.${flags.format}` : graph) && !flags.matrix
      const isNamed = names === true || (mayName && hasNames([flags.from, flags.to]))
      const [from, to] = [flags.from, flags.to].map((list, at) =>
        isNamed ? list?.map(String) : list && numbersIn(command, list, at === 0 ? '--from' : '--to'),
      )
      const request: PathsRequest = { ...flags, from, to, graph, isNamed, verify: flags.verify === true }
      requireFitting(command, flags, check)
      const pipes = {
        inputs: [graph, check],
        outputs: [output, check === undefined ? flags.next : undefined],
      }
      await openPipes(command, pipes, { ...flags, json }, signal)
      if (check !== undefined) {
        const record = await checkPaths(request, check, signal)
        return json ? printJson(record) : print(describeCheck(record))
      }
      const record = await inMemory(() => findPaths(request, signal))
      if (output === PIPE || flags.next === PIPE) return
      await (json ? printJson(record) : print(describePaths(record, request)))
    })
}

/** Whether a file of this name can name its nodes. */
const hasNodeNames = (path: string) => /\.([ct]sv|graphml)(\.gz)?$/i.test(path)

/** Numbers, or names of nodes. */
const fileNodes = (text: string): FileNode[] => text.split(',').map((part) => part.trim())

function anyNumber(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isNaN(value)) throw new InvalidArgumentError('It must be a number.')
  return value
}

const hasNames = (lists: (FileNode[] | undefined)[]) =>
  lists.flatMap((list) => list ?? []).some((node) => !/^-?\d+$/.test(`${node}`))

/** The nodes of a file that has numbers; anything else is wrong usage. */
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

/** Options that mean nothing together are wrong usage. */
function requireFitting(command: Command, flags: Flags, check: string | undefined): void {
  const some = flags.from !== undefined || flags.to !== undefined
  if (some && flags.next !== undefined) {
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
    '--output': flags.output,
    '--verify': flags.verify,
  }
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? []
  if (other) command.error(`error: --check computes nothing: leave out ${other}`, { exitCode: 2 })
}
