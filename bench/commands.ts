/** The commands: what help says of each, and where it is. A command is loaded when it is asked for, because most of them need more than help does. */
import { type AddHelpTextPosition, Command } from 'commander'
import { reflow } from './output.js'

interface Entry {
  /** What stands behind the name in help. */
  readonly usage: string
  readonly summary: string
  readonly load: (signal: AbortSignal) => Promise<Command>
}

export const commands = {
  multiply: {
    usage: '[options] <A> <B>',
    summary: 'multiply two matrices, or batches of them, from files',
    load: async (signal) => (await import('./commands/multiply.js')).multiplyCommand(signal),
  },
  plan: {
    usage: '[options] [A] [B]',
    summary: 'show which kernel a product would take and how it stays exact, without computing it',
    load: async (signal) => (await import('./commands/plan.js')).planCommand(signal),
  },
  paths: {
    usage: '[options] <GRAPH...>',
    summary: 'find the best paths of a graph: all of them, or those from some nodes to some nodes',
    load: async (signal) => (await import('./commands/paths.js')).pathsCommand(signal),
  },
  star: {
    usage: '[options] <A>',
    summary: 'compute A* = I ⊕ A ⊕ A² ⊕ …, the best walks between all nodes of a matrix from a file',
    load: async (signal) => (await import('./commands/star.js')).starCommand(signal),
  },
  'cycle-mean': {
    usage: '[options] <GRAPH>',
    summary: 'find the greatest mean weight of the cycles of a graph, exactly, and a cycle that has it',
    load: async (signal) => (await import('./commands/cycle-mean.js')).cycleMeanCommand(signal),
  },
  schedule: {
    usage: '[options] <PLAN>',
    summary: 'schedule a plan from a table of jobs: slack, critical path, dates, changes and a Gantt chart',
    load: async (signal) => (await import('./commands/schedule.js')).scheduleCommand(signal),
  },
  timetable: {
    usage: '[options] <GRAPH>',
    summary:
      'show how a delay spreads in a periodic timetable, its least period and the slack of its connections',
    load: async (signal) => (await import('./commands/timetable.js')).timetableCommand(signal),
  },
  convert: {
    usage: '[options] <IN> <OUT>',
    summary: 'convert a matrix from one file format to another: the ends of the names say to which',
    load: async (signal) => (await import('./commands/convert.js')).convertCommand(signal),
  },
  show: {
    usage: '[options] <FILE>',
    summary: 'show what a file holds: shape, type, range, share of zeros, a corner, and where elements are',
    load: async (signal) => (await import('./commands/show.js')).showCommand(signal),
  },
  rna: {
    usage: '[options]',
    summary: 'fold each strand of a FASTA file: the pairs with the greatest sum of weights (Nussinov)',
    load: async (signal) => (await import('./commands/rna.js')).rnaCommand(signal),
  },
  bpmax: {
    usage: '[options] <QUERY> <TARGET>',
    summary: 'find the best joint structure of two strands of RNA (BPMax)',
    load: async (signal) => (await import('./commands/rna.js')).bpmaxCommand(signal),
  },
  worker: {
    usage: '[options]',
    summary: 'compute blocks of products and paths that other machines put into a queue',
    load: async (signal) => (await import('./commands/worker.js')).workerCommand(signal),
  },
  jobs: {
    usage: '[options]',
    summary: 'show the work on a queue: how far it is, its workers, what failed and why',
    load: async () => (await import('./commands/jobs.js')).jobsCommand(),
  },
  info: {
    usage: '[options]',
    summary: 'show the version, the build, the GPUs, the CPU and the backend that is taken',
    load: async () => (await import('./commands/info.js')).infoCommand(),
  },
  doctor: {
    usage: '[options]',
    summary:
      'check what products need: addon, driver, toolkit, permissions, memory, settings; say what to do',
    load: async (signal) => (await import('./commands/doctor.js')).doctorCommand(signal),
  },
  variants: {
    usage: '[options]',
    summary: 'list the kernel variants of this build',
    load: async () => (await import('./commands/variants.js')).variantsCommand(),
  },
  demo: {
    usage: '',
    summary: 'multiply two matrices that come with the package, and verify the product',
    load: async (signal) => (await import('./commands/demo.js')).demoCommand(signal),
  },
  bench: {
    usage: '[options]',
    summary: 'time products: kernels beside the measured ceiling, and whole calls',
    load: async (signal) => (await import('./commands/bench.js')).benchCommand(signal),
  },
  measure: {
    usage: '[options] [variant]',
    summary: 'time one kernel variant beside its ceiling, and verify its result; or list the families',
    load: async (signal) => (await import('./commands/measure.js')).measureCommand(signal),
  },
  tune: {
    usage: '[options]',
    summary: 'measure which kernels are the fastest on this GPU, and plan by them from now on',
    load: async (signal) => (await import('./commands/tune.js')).tuneCommand(signal),
  },
  microbench: {
    usage: '[options] <name>',
    summary: "run a microbenchmark: the thesis' chapter 2, and instruction mixes; needs a GPU",
    load: async (signal) => (await import('./commands/microbench.js')).microbenchCommand(signal),
  },
  occupancy: {
    usage: '[options] [kernel]',
    summary: "show how many threads of a kernel a multiprocessor holds (the thesis' Table 2.1)",
    load: async () => (await import('./commands/occupancy.js')).occupancyCommand(),
  },
  sweep: {
    usage: '[options] <name>',
    summary: "time the kernels of the thesis' chapter 4, all of them, or borders, over sizes; needs a GPU",
    load: async (signal) => (await import('./commands/sweep.js')).sweepCommand(signal),
  },
  ladder: {
    usage: '[options] [dim1] [dim2] [dim3] [dim4]',
    summary:
      'time the steps from one thread per cell to tuned tiles, kernel and whole call, on the GPU, and the product on the CPU',
    load: async (signal) => (await import('./commands/ladder.js')).ladderCommand(signal),
  },
  roofline: {
    usage: '[options]',
    summary:
      "measure this GPU's ceilings and how far below them each kernel stays; measures on a GPU, unless --from is given",
    load: async (signal) => (await import('./commands/roofline.js')).rooflineCommand(signal),
  },
  report: {
    usage: '[options]',
    summary:
      'make a page with every table and figure of the thesis; measures first, on a GPU, unless --from is given',
    load: async (signal) => (await import('./commands/report.js')).reportCommand(signal),
  },
  completion: {
    usage: '<shell>',
    summary: 'print a script that completes commands, options and file names in bash, zsh or fish',
    load: async () => (await import('./commands/completion.js')).completionCommand(),
  },
} satisfies Record<string, Entry>

export type CommandName = keyof typeof commands

/** The commands by purpose, in the order of help: each in one group. */
export const commandGroups: Readonly<Record<string, readonly CommandName[]>> = {
  'Products and paths': ['multiply', 'plan', 'paths', 'star', 'cycle-mean', 'rna', 'bpmax'],
  'Plans and timetables': ['schedule', 'timetable'],
  Files: ['show', 'convert'],
  'Several machines': ['worker', 'jobs'],
  'This machine': ['demo', 'doctor', 'info', 'variants', 'bench', 'tune', 'completion'],
  Laboratory: ['report', 'measure', 'microbench', 'sweep', 'occupancy', 'ladder', 'roofline'],
}

/** A command whose help fits the terminal. */
class WrappedCommand extends Command {
  override addHelpText(position: AddHelpTextPosition, text: unknown): this {
    return super.addHelpText(position, () => reflow(`${text}`, process.stdout.columns || 80))
  }
}

/** The command as its file goes on with it. */
export const newCommand = (name: CommandName): Command =>
  new WrappedCommand(name).description(commands[name].summary)
