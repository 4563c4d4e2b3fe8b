/** mpmml ladder */
import { type Command, Option } from 'commander'
import { type DataType, matrix, mpmm, ResourceError, type Semiring } from '../../lib/index.js'
import { type Machine, machine, type Point, type Results } from '../../lib/lab.js'
import { usage, wholeNumber, wholeNumbers } from '../arguments.js'
import { newCommand } from '../commands.js'
import { arrays } from '../dtype.js'
import { runCases } from '../experiment.js'
import { libraryOption } from '../flags.js'
import { forgetOperands, laddered } from '../lab/calls.js'
import {
  cpuTable,
  describeTables,
  LadderPoints,
  type LadderTable,
  ladderTable,
  reportTables,
} from '../lab/describe-ladder.js'
import { type Dimensions, readDimensions } from '../lab/dimensions.js'
import type { Job } from '../lab/job.js'
import { caseOf } from '../lab/jobs.js'
import {
  type Algebra,
  algebraOf,
  algebraOptions,
  type Borders,
  cpuJob,
  ladderKernels,
  productJobs,
  sizeOf,
  tableJobs,
} from '../lab/ladder.js'
import { runJobs } from '../lab/runner.js'
import { greatest } from '../min-max.js'
import { print, printJson } from '../output.js'

interface Flags {
  semiring: Semiring
  dtype?: DataType
  sizes?: number[]
  borders: Borders
  device: number
  output?: string
  resume?: true
  json?: true
}

/** Matrix sizes of Tables 1 and 2 in the report by J. Sun (see bench/lab/k20.ts). */
const reportSizes = Array.from({ length: 10 }, (_, index) => 1000 * (index + 1))

/** Limit of the estimated duration of a product on the CPU, in seconds. Slower products are skipped. */
const CPU_SECONDS = 10

const most = 10 ** 6
const dimension = wholeNumber(1, most)

export function ladderCommand(signal: AbortSignal): Command {
  const command = newCommand('ladder')
    .argument('[dim1]', 'rows of A; without the others all matrices are dim1 × dim1', dimension)
    .argument('[dim2]', 'columns of A (dim1 by default)', dimension)
    .argument('[dim3]', 'rows of B (dim2 by default, and it must be that)', dimension)
    .argument('[dim4]', 'columns of B (dim3 by default)', dimension)
    .option('--sizes <n,…>', "square sizes instead of the report's 1000 to 10000", wholeNumbers(1, most))
  for (const option of algebraOptions(laddered)) command.addOption(option)
  command
    .addOption(
      new Option('--borders <how>', 'how tiles at the border stay correct')
        .choices(['guards', 'padding'])
        .default('guards'),
    )
    .addOption(libraryOption('device').default(0))
    .option('-o, --output <results.json>', 'keep the results in this file, beside what it has; needs a GPU')
    .option('--resume', 'leave out what the file has already')
    .option('--json', 'print one JSON value')
    .addHelpText(
      'after',
      "\nWithout dimensions the tables of J. Sun's report (2017) are measured, and shown beside its times on a Tesla K20c.",
    )
  return command.action(async (...given: unknown[]) => {
    const dims = given.slice(0, 4).filter((value): value is number => value !== undefined)
    const flags = given[4] as Flags
    const product = productOf(command, dims, flags)
    const sizes = flags.sizes ?? reportSizes
    const algebra = usage(command, () => algebraOf(flags))
    const { points, missing, results } = await run(product, sizes, algebra, flags, signal)
    forgetOperands()
    const tables = tablesOf(points, product, sizes, algebra, flags)
    await (flags.json
      ? printJson({ ...algebra, ...(results ?? { machine: null }), points, missing: missing ?? null, tables })
      : print([describeTables(tables), missing].filter((text) => text !== undefined).join('\n\n')))
  })
}

/** Returns the product with the given dimensions; undefined if the report's tables are requested. */
function productOf(command: Command, dims: number[], flags: Flags): Dimensions | undefined {
  if (dims.length === 0) return undefined
  if (flags.sizes) command.error('error: --sizes cannot be used with dimensions', { exitCode: 2 })
  return usage(command, () => readDimensions(dims))
}

interface Outcome {
  points: Point[]
  /** Reason why the GPU part is missing; undefined if it was measured. */
  missing: string | undefined
  results: Results | undefined
}

async function run(
  product: Dimensions | undefined,
  sizes: number[],
  algebra: Algebra,
  { borders, output, resume, device }: Flags,
  signal: AbortSignal,
): Promise<Outcome> {
  const onCpu = await cpuJobs(algebra, product ? [product] : sizes.map(sizeOf))
  let here: Machine | undefined
  let missing: string | undefined
  try {
    here = machine(device)
  } catch (error) {
    // A results file describes one GPU, so it requires a usable GPU.
    const isWithoutGpu = error instanceof ResourceError && error.code === 'ERR_MPMML_NO_CUDA'
    if (!isWithoutGpu || output !== undefined) throw error
    missing = `The GPU's part is missing: ${error.message}`
  }
  if (!here) {
    // Without a GPU only the CPU's jobs run, and their results aren't stored.
    const cases = onCpu.map((job) => caseOf(job, { device }))
    return { points: await runCases(cases, signal), missing, results: undefined }
  }
  const onGpu = product ? productJobs(algebra, borders, product) : tableJobs(algebra, borders, sizes)
  const request = { jobs: [...onCpu, ...onGpu], device, output, again: !resume }
  return { ...(await runJobs(request, signal)), missing }
}

/**
 * Returns jobs for the products that the CPU can compute within CPU_SECONDS, estimated from the speed of a
 * small product.
 */
async function cpuJobs(algebra: Algebra, products: Dimensions[]): Promise<Job[]> {
  const steps = ({ m, k, n }: Dimensions) => m * k * n
  const small = matrix(512, 512, new arrays[algebra.dtype](512 * 512).fill(1))
  const { timing } = await mpmm(small, small, { backend: 'cpu', semiring: algebra.semiring })
  const perSecond = steps(sizeOf(512)) / (timing.totalMs / 1000)
  return products
    .filter((product) => steps(product) / perSecond <= CPU_SECONDS)
    .map((product) => cpuJob(algebra, product))
}

function tablesOf(
  all: Point[],
  product: Dimensions | undefined,
  sizes: number[],
  algebra: Algebra,
  { borders }: Flags,
): LadderTable[] {
  const points = new LadderPoints(all)
  const list = ladderKernels(algebra, borders)
  const measured = points.calls('cuda').length > 0
  const largest = greatest(sizes)
  const { m, k, n } = product ?? sizeOf(largest)
  const onGpu = [...(product ? [] : reportTables(points, list, sizes)), ladderTable(points, list, [m, k, n])]
  const onCpu = cpuTable(points)
  return [...(measured ? onGpu : []), ...(onCpu ? [onCpu] : [])]
}
