/** mpmml paths GRAPH */
import { type Command, InvalidArgumentError } from 'commander'
import { closureOptions, nodeNumbers } from '../arguments.js'
import {
  ARRAYS_HELP,
  type ArraysFlags,
  arraysOptions,
  describeArrays,
  inMemory,
  isOnDisk,
  requireOnDisk,
  runArrays,
} from '../arrays.js'
import { newCommand } from '../commands.js'
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

import { describeQueueWork, type QueueFlags, queueOptions, requireForWorkers, runOnQueue } from '../queue.js'

type Flags = Omit<PathsRequest, 'graph' | 'verify' | 'isNamed'> &
  ArraysFlags &
  QueueFlags & { check?: string; verify?: true; names?: true; json?: true }

export function pathsCommand(signal: AbortSignal): Command {
  const command = newCommand('paths')
    .argument('<GRAPH>', 'a .gr, .mtx, .csv, .graphml or .npy file, or a .zarr array')
    .option('--from <node,…>', 'only paths from these nodes', fileNodes)
    .option('--to <node,…>', 'only paths to these nodes; shows their nodes', fileNodes)
    .option('--names', 'the .csv or .graphml file names its nodes; said by names in --from or --to, too')
    .option(
      '--limit <value>',
      'paths with worse values count as none, and nothing farther is searched',
      anyNumber,
    )
    .option('-o, --output <D.npy>', 'write the distances to this file')
    .option(
      '--next <N.npy>',
      'write, for each pair, the node after the first on its path: as a row number from 0, −1 if there is none',
    )
  for (const option of [...closureOptions(pathSemirings, 'min-plus'), ...arraysOptions(), ...queueOptions()])
    command.addOption(option)
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
      const { queue, output } = flags
      if (queue !== undefined || isOnDisk(flags, [graph], output)) {
        const refused = ['devices', 'from', 'to', 'names', 'limit', 'next', 'verify', 'check']
        requireOnDisk(command, { ...flags, names, check }, refused, output)
        if (queue !== undefined) {
          requireForWorkers(command, flags)
          const record = await runOnQueue('paths', { ...flags, queue, inputs: [graph], output }, signal)
          return json ? printJson(record) : print(describeQueueWork(record))
        }
        const record = await runArrays('paths', { ...flags, inputs: [graph], output }, signal)
        return json ? printJson(record) : print(describeArrays(record))
      }
      const mayName = /\.(csv|graphml)(\.gz)?$/i.test(graph)
      const isNamed = names === true || (mayName && hasNames([flags.from, flags.to]))
      const [from, to] = [flags.from, flags.to].map((list, at) =>
        isNamed ? list?.map(String) : list && numbersIn(command, list, at === 0 ? '--from' : '--to'),
      )
      const request: PathsRequest = { ...flags, from, to, graph, isNamed, verify: flags.verify === true }
      requireFitting(command, flags, check)
      if (check !== undefined) {
        const record = await checkPaths(request, check, signal)
        return json ? printJson(record) : print(describeCheck(record))
      }
      const record = await inMemory(() => findPaths(request, signal))
      await (json ? printJson(record) : print(describePaths(record, request)))
    })
}

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
