/**
 * Names, help texts and files of the commands. Files are loaded on demand, because most import more modules
 * than help needs.
 */
import { type AddHelpTextPosition, Command } from 'commander'
import { reflow } from './output.js'

interface Entry {
  /** Text after the name in help. */
  readonly usage: string
  readonly summary: string
  /** Base name of the command's file in bench/commands; by default the command's name. */
  readonly file?: string
}

export const commands = {
  multiply: {
    usage: '[options] <A> <B>',
    summary: 'multiply two matrices, or batches of them, from files',
  },
  plan: {
    usage: '[options] [A] [B]',
    summary: 'show which kernel a product would take and how it stays exact, without computing it',
  },
  paths: {
    usage: '[options] <GRAPH...>',
    summary: 'find the best paths of a graph: all of them, or those from some nodes to some nodes',
  },
  star: {
    usage: '[options] <A>',
    summary: 'compute A* = I ⊕ A ⊕ A² ⊕ …, the best walks between all nodes of a matrix from a file',
  },
  'cycle-mean': {
    usage: '[options] <GRAPH>',
    summary: 'find the greatest mean weight of the cycles of a graph, exactly, and a cycle that has it',
  },
  schedule: {
    usage: '[options] <PLAN>',
    summary: 'schedule a plan from a table of jobs: slack, critical path, dates, changes and a Gantt chart',
  },
  timetable: {
    usage: '[options] <GRAPH>',
    summary:
      'show how a delay spreads in a periodic timetable, its least period and the slack of its connections',
  },
  convert: {
    usage: '[options] <IN> <OUT>',
    summary: 'convert a matrix from one file format to another: the ends of the names say to which',
  },
  show: {
    usage: '[options] <FILE>',
    summary: 'show what a file holds: shape, type, range, share of zeros, a corner, and where elements are',
  },
  rna: {
    usage: '[options]',
    summary: 'fold each strand of a FASTA file: the pairs with the greatest sum of weights (Nussinov)',
  },
  bpmax: {
    file: 'rna',
    usage: '[options] <QUERY> <TARGET>',
    summary: 'find the best joint structure of two strands of RNA (BPMax)',
  },
  worker: {
    usage: '[options]',
    summary: 'compute blocks of products and paths that other machines put into a queue',
  },
  jobs: {
    usage: '[options]',
    summary: 'show the work on a queue: how far it is, its workers, what failed and why',
  },
  info: {
    usage: '[options]',
    summary: 'show the version, the build, the GPUs, the CPU and the backend that is taken',
  },
  doctor: {
    usage: '[options]',
    summary:
      'check what products need: addon, driver, toolkit, permissions, memory, settings; say what to do',
  },
  variants: {
    usage: '[options]',
    summary: 'list the kernel variants of this build',
  },
  demo: {
    usage: '',
    summary: 'multiply two matrices that come with the package, and verify the product',
  },
  bench: {
    usage: '[options]',
    summary: 'time products: kernels beside the measured ceiling, and whole calls',
  },
  measure: {
    usage: '[options] [variant]',
    summary: 'time one kernel variant beside its ceiling, and verify its result; or list the families',
  },
  tune: {
    usage: '[options]',
    summary: 'measure which kernels are the fastest on this GPU, and plan by them from now on',
  },
  microbench: {
    usage: '[options] <name>',
    summary: "run a microbenchmark: the thesis' chapter 2, and instruction mixes; needs a GPU",
  },
  occupancy: {
    usage: '[options] [kernel]',
    summary: "show how many threads of a kernel a multiprocessor holds (the thesis' Table 2.1)",
  },
  sweep: {
    usage: '[options] <name>',
    summary: "time the kernels of the thesis' chapter 4, all of them, or borders, over sizes; needs a GPU",
  },
  ladder: {
    usage: '[options] [dim1] [dim2] [dim3] [dim4]',
    summary:
      'time the steps from one thread per cell to tuned tiles, kernel and whole call, on the GPU, and the product on the CPU',
  },
  roofline: {
    usage: '[options]',
    summary:
      "measure this GPU's ceilings and how far below them each kernel stays; measures on a GPU, unless --from is given",
  },
  report: {
    usage: '[options]',
    summary:
      'make a page with every table and figure of the thesis; measures first, on a GPU, unless --from is given',
  },
  completion: {
    usage: '<shell>',
    summary: 'print a script that completes commands, options and file names in bash, zsh or fish',
  },
} satisfies Record<string, Entry>

export type CommandName = keyof typeof commands

/** Loads a command. Its file exports a function named after it: cycle-mean.ts exports `cycleMeanCommand`. */
export async function loadCommand(name: CommandName, signal: AbortSignal): Promise<Command> {
  const { file = name }: Entry = commands[name]
  // The path is built at run time, because Vite would otherwise resolve it statically and search for a .js
  // file.
  const module = `./commands/${file}.js`
  const functions: Record<string, (signal: AbortSignal) => Command> = await import(/* @vite-ignore */ module)
  const camelCase = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  return functions[`${camelCase}Command`]!(signal)
}

/** Command groups in the order of help. Each command is in exactly one group. */
export const commandGroups: Readonly<Record<string, readonly CommandName[]>> = {
  'Products and paths': ['multiply', 'plan', 'paths', 'star', 'cycle-mean', 'rna', 'bpmax'],
  'Plans and timetables': ['schedule', 'timetable'],
  Files: ['show', 'convert'],
  'Several machines': ['worker', 'jobs'],
  'This machine': ['demo', 'doctor', 'info', 'variants', 'bench', 'tune', 'completion'],
  Laboratory: ['report', 'measure', 'microbench', 'sweep', 'occupancy', 'ladder', 'roofline'],
}

/** Command whose help is wrapped at the terminal's width. */
class WrappedCommand extends Command {
  override addHelpText(position: AddHelpTextPosition, text: unknown): this {
    return super.addHelpText(position, () => reflow(`${text}`, process.stdout.columns || 80))
  }
}

/** Returns a command with its name and summary, to which its file adds arguments and options. */
export const newCommand = (name: CommandName): Command =>
  new WrappedCommand(name).description(commands[name].summary)
