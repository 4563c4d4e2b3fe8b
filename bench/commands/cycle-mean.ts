/** mpmml cycle-mean GRAPH */
import { type Command, Option } from 'commander'
import { type CycleMean, componentCycleMeans, maximumCycleMean, minimumCycleMean } from '../../lib/algebra.js'
import type { DataType } from '../../lib/index.js'
import { newCommand } from '../commands.js'
import { type CsvFlags, csvOptions } from '../csv-kind.js'
import {
  counted,
  cycleText,
  describeGraph,
  edgeOptions,
  type FileNode,
  fileNodes,
  GRAPH_HELP,
  type GraphFile,
  type GraphRecord,
  graphRecord,
  readGraphFile,
} from '../graph.js'
import { labelled, print, printJson, table, withStatus } from '../output.js'
import { graphFormatOption, openPipes, type PipeFlags, shownInput } from '../pipes.js'

interface Flags extends PipeFlags, CsvFlags {
  semiring: 'max-plus' | 'min-plus'
  components?: true
  names?: true
  weight?: string | false
  twoWay?: true
  scale?: number
  json?: true
}

interface MeanRecord {
  numerator: number
  denominator: number
  value: number
  /** Nodes of the cycle, numbered or named as in the file. */
  cycle: FileNode[]
}

/** Output of `cycle-mean --json`. */
interface CycleMeanRecord {
  graph: GraphRecord
  semiring: Flags['semiring']
  dtype: DataType
  /** Cycle mean; null if the graph has no cycle. */
  mean: MeanRecord | null
  /** Strongly connected components with a cycle; null if they weren't requested. */
  components: { nodes: FileNode[]; mean: MeanRecord }[] | null
}

export function cycleMeanCommand(signal: AbortSignal): Command {
  const command = newCommand('cycle-mean')
  for (const option of [...csvOptions(), ...edgeOptions()]) command.addOption(option)
  return command
    .argument('<GRAPH>', 'a .gr, .mtx, .csv, .graphml or .npy file')
    .addOption(
      new Option('--semiring <name>', 'max-plus for the greatest mean, min-plus for the smallest')
        .choices(['max-plus', 'min-plus'])
        .default('max-plus'),
    )
    .addOption(new Option('--names', 'the .csv file names its nodes').conflicts('matrix'))
    .option('--components', 'also show the mean of each strongly connected component that has a cycle')
    .addOption(graphFormatOption())
    .option('--json', 'print one JSON value')
    .addHelpText(
      'after',
      `${GRAPH_HELP}
A .csv may have a column tokens: then a mean is the weight of a cycle divided by its tokens.`,
    )
    .action(async (path: string, flags: Flags) => {
      await openPipes(command, { inputs: [path] }, flags, signal)
      const record = await compute(path, flags, signal)
      await (flags.json ? printJson(record) : print(describe(record)))
    })
}

async function compute(
  path: string,
  { semiring, components, names, ...flags }: Flags,
  signal: AbortSignal,
): Promise<CycleMeanRecord> {
  const graph = await withStatus(`reading ${shownInput(path)}`, () =>
    readGraphFile(path, semiring, signal, { ...flags, isNamed: names, tokens: true }),
  )
  const find = semiring === 'max-plus' ? maximumCycleMean : minimumCycleMean
  const mean = await withStatus('looking for the best cycle', async () => find(graph.weights, { signal }))
  return {
    graph: graphRecord(graph),
    semiring,
    dtype: graph.dtype,
    mean: mean && meanRecord(mean, graph),
    components: components
      ? await withStatus('looking into each component', () => componentsOf(graph, semiring, signal))
      : null,
  }
}

const meanRecord = ({ numerator, denominator, value, cycle }: CycleMean<FileNode>, graph: GraphFile) => ({
  numerator,
  denominator,
  value,
  cycle: fileNodes(cycle, graph),
})

async function componentsOf(graph: GraphFile, semiring: Flags['semiring'], signal: AbortSignal) {
  const { component, means } = await componentCycleMeans(graph.weights, { semiring, signal })
  const nodes: number[][] = means.map(() => [])
  for (const [node, of] of component.entries()) nodes[of]!.push(node)
  return means
    .flatMap((mean, of) => (mean ? [{ first: nodes[of]![0]!, of, mean }] : []))
    .sort((a, b) => a.first - b.first)
    .map(({ of, mean }) => ({ nodes: fileNodes(nodes[of]!, graph), mean: meanRecord(mean, graph) }))
}

function describe({ graph, semiring, dtype, mean, components }: CycleMeanRecord): string {
  const name = semiring === 'max-plus' ? 'maximum' : 'minimum'
  const head = labelled([
    ['graph', describeGraph(graph)],
    ['weights', dtype],
    [name, mean ? meanText(mean) : 'there is no cycle'],
    ['cycle', mean ? cycleText(mean.cycle) : undefined],
    ['components', components ? `${counted(components.length, 'component')} with cycles` : undefined],
  ])
  if (!components || components.length === 0) return head
  const rows = components.map(({ nodes, mean }) => [
    String(nodes.length),
    meanText(mean),
    cycleText(mean.cycle),
  ])
  return `${head}\n\n${table([['nodes', name, 'cycle'], ...rows])}`
}

/** Returns a mean as text, such as "7/2 = 3.5", "1/3 ≈ 0.333333" or "4". */
function meanText({ numerator, denominator, value }: MeanRecord): string {
  if (denominator === 1) return `${value}`
  const short = Number(value.toPrecision(6))
  return `${numerator}/${denominator} ${short === value ? '=' : '≈'} ${short}`
}
