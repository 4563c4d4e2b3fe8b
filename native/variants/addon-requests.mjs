// Objects that native code takes from JavaScript.
import { backendChoice, bytes, deviceIndex, division, lists, MAXIMA } from './addon-lists.mjs'
import {
  added,
  at,
  count,
  elements,
  flag,
  float64Elements,
  indexIn,
  int32Elements,
  integer,
  list,
  maybe,
  named,
  number,
  object,
  objectOf,
  optional,
  real,
  record,
  strand,
  table,
  text,
  variant,
} from './addon-types.mjs'

const anyBytes = number(0, 1e18)

const stride = integer(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)

const MAX_SIZE = 2 ** 15

const isa = named('InstructionSet', text)

const launches = table`
  repetitions: ${optional(count(1, 1e6), 5)} Timed launches; 5 by default.
  warmup: ${optional(count(0, 1e6), 1)} Launches before the timed ones; 1 by default.
  device: ${optional(deviceIndex, 0)} The index of the CUDA device; 0 by default.
`

/** The parameters that a microbenchmark's kernel is compiled for, and those that its occupancy depends on. */
const kernel = table`
  name: ${at('selection.name', text)}
  x: ${at('selection.x', optional(count(1), 0))} X × Y steps per thread and iteration; compile-time, the first instance by default.
  y: ${at('selection.y', optional(count(1), 0))} See x.
  k: ${at('selection.k', optional(count(1), 0))} Iterations between two reads of shared memory; compile-time.
  max: ${at('selection.max', optional(named(MAXIMA, text), '""'))} How the maximum is written: \`a > b ? a : b\` or \`max(a, b)\`; compile-time.
  m: ${optional(integer(1, 2 ** 20), 32)} Columns of the operand in shared memory; 32 by default. Powers of two bring bank conflicts.
  bsi: ${optional(integer(1, 1024), 16)} Threads of a block: BS_i rows of BS_j. 16 × 16 by default.
  bsj: ${optional(integer(1, 1024), 16)} See bsi.
`

const pairScores = { ...record('RnaScores'), cpp: 'PairScores', read: 'pair_scores()' }

const rnaRequest = table`
  within: ${pairScores}
  minLoop: ${integer(0)}
  wide: ${flag} Whether scores take 32 bits, not 16.
  wantsTable: ${flag}
  maxBytes: ${anyBytes} With more bytes of tables on the host there is ERR_MPMML_OUT_OF_MEMORY, before any is allocated.
  backend: ${added(backendChoice)} An index in {@link Addon.backendChoices}.
  device: ${added(deviceIndex)}
  deviceMemory: ${added(bytes)} The most bytes of device memory; 0: there is no limit.
`

const score = integer(0, 2 ** 29, 'int32_t')

const graphSource = table`
  nodes: ${integer(0, 2 ** 31 - 1, 'int32_t')}
  weights: ${named('OperandArray | null', maybe(elements))} Of a list they may be missing.
  zero: ${real} The weight that is no edge.
  from: ${maybe(int32Elements)} Of a list; a matrix has none.
  to: ${maybe(int32Elements)}
  hasZero: ${optional(flag, 'false')} Whether edges of a list that have the weight zero are none.
  offset: ${optional(bytes, 0)} The index of a matrix's first element.
  matrixRowStride: ${optional(stride, 0)}
  matrixColStride: ${optional(stride, 0)}
`

const pathRules = table`
  extension: ${indexIn(lists.pathExtensions)} An index in {@link Addon.pathExtensions}.
  maximizes: ${flag}
  noPath: ${real} What distances have where there is no path.
`

// Parts of definitions of semirings, which are small.
const userTypes = { ...int32Elements, cpp: 'std::vector<UserType>', read: 'user_types()' }
const userNodes = { ...int32Elements, cpp: 'std::vector<UserNode>', read: 'user_nodes()' }
const words = (cpp) => ({ ...int32Elements, cpp: `std::vector<${cpp}>`, read: `words<${cpp}>()` })

const limit = maybe(real)

/** Objects that native code takes, each after those that it has. */
export const requests = {
  CpuSettings: objectOf('cpu::Settings', 'The settings of the CPU backend.')`
    threads: ${count(0, 1024)} 0: as many as this process may use.
    instructionSet: ${text} '': the best that processor and build have.
    wrong: ${text} What is wrong with the settings; '' if nothing is. Products on the CPU then fail with this message.
  `,
  MeasuredChoice: objectOf(
    'cuda::MeasuredChoice',
    'The variant that was the fastest for products of some size whose cheapest exact path is `path`.',
  )`
    variant: ${variant}
    path: ${indexIn(lists.paths)}
    m: ${integer(1)}
    n: ${integer(1)}
    k: ${integer(1)}
    batch: ${integer(1)}
  `,
  LabLaunches: object('How often the laboratory launches what it times, and where.')`
    ...: ${launches}
  `,
  LabMeasureRequest: objectOf(
    'cuda::MeasureRequest',
    'A kernel variant to be timed on operands that are made on the device: nothing is copied between host and device.',
    'LabLaunches',
  )`
    variant: ${variant} Index of a CUDA variant in {@link Addon.variants}.
    m: ${integer(1)} C is M × N, A is M × K, B is K × N.
    n: ${integer(1)} Columns of B and C.
    k: ${integer(1)} Columns of A and rows of B.
    batch: ${optional(integer(1), 1)} The number of products (the thesis' Ninst); 1 by default.
    minimum: ${optional(integer(-(2 ** 31) + 1, 2 ** 31 - 2, 'int32_t'), -1000)} Finite values are drawn evenly from [minimum, maximum]; −1000 and 1000 by default.
    maximum: ${optional(integer(-(2 ** 31) + 1, 2 ** 31 - 2, 'int32_t'), 1000)} See minimum.
    zeroFraction: ${optional(number(0, 1), 0)} The share of the elements that are the semiring's zero; 0 by default.
    seed: ${optional(integer(0, Number.MAX_SAFE_INTEGER, 'uint64_t'), 1)} Of the random values; 1 by default.
  `,
  LabMicrobenchKernel: objectOf(
    'microbench::Kernel',
    'The kernel of a microbenchmark, as its occupancy is asked for.',
  )`
    ...: ${kernel}
  `,
  LabMicrobenchRequest: objectOf(
    'microbench::Request',
    'A microbenchmark and its parameters.',
    'LabLaunches',
  )`
    ...: ${kernel}
    gsi: ${optional(integer(1, 65535), 0)} Blocks of the grid: GS_i rows of GS_j. As many as fill the device by default.
    gsj: ${optional(integer(1, 2 ** 20), 0)} See gsi.
    n: ${optional(integer(1, 2 ** 30), 1000)} Iterations of the outermost loop; 1000 by default. It is rounded up to whole bodies of the unrolled loop.
    constant: ${optional(integer(-(2 ** 31), 2 ** 31 - 1, 'int32_t'), 1)} Const of the thesis' listings; 1 by default.
  `,
  LabBandwidthRequest: objectOf('microbench::BandwidthRequest', 'A bandwidth to be measured.', 'LabLaunches')`
    name: ${text}
    stride: ${optional(integer(1, 2 ** 20, 'int32_t'), 1)} 32-bit words from one thread to the next, for 'strided'; 1 by default.
  `,
  LabOccupancyRequest: object(
    'The kernel whose occupancy is asked for: a variant, or that of a microbenchmark.',
  )`
    device: ${optional(deviceIndex, 0)}
    variant: ${optional(variant, 'nullptr')}
    microbench: ${maybe(record('LabMicrobenchKernel'))}
  `,
  LabFaultRequest: object('Where a kernel fails.')`
    device: ${optional(deviceIndex, 0)}
  `,
  RnaScores: object("What pairs of bases are worth; 0: they can't pair.")`
    gc: ${score}
    au: ${score}
    gu: ${score}
  `,
  RnaRequest: object(
    'What folding and interaction are asked for by; native/core/rna/rna.h has the meaning. Strands hold the indices of ACGU.',
  )`
    ...: ${rnaRequest}
  `,
  RnaFoldRequest: objectOf('FoldRequest', 'Strands to fold.', 'RnaRequest')`
    strands: ${list(strand)}
  `,
  RnaInteractRequest: objectOf(
    'InteractionRequest',
    "Two strands that interact. They aren't empty.",
    'RnaRequest',
  )`
    strand1: ${strand}
    strand2: ${strand}
    between: ${pairScores}
    reach: ${integer(1)} The length of windows of strand 2; its own length if there are none.
    top: ${integer(1)} The most windows that are wanted.
  `,
  GraphSource: object('A graph: an edge list, or a square matrix of weights.')`
    ...: ${graphSource}
  `,
  GraphSearchRequest: object(
    'What is searched for; native/core/graph/search.h has the meaning.',
    'GraphSource',
  )`
    ...: ${pathRules}
    backward: ${flag}
    roots: ${named('Int32Array | null', maybe(int32Elements))}
    ends: ${named('Int32Array | null', maybe(int32Elements))}
    limit: ${limit}
    overflow: ${indexIn(lists.overflowPolicies)} An index in {@link Addon.overflowPolicies}.
    least: ${real}
    most: ${real}
    method: ${indexIn(lists.pathMethods)} An index in {@link Addon.pathMethods}.
    within: ${limit} The milliseconds that another way takes, with which dissection is compared in place of searches.
    maxWorkers: ${integer(1, Number.MAX_SAFE_INTEGER)}
    memory: ${bytes} What dissection may take.
    division: ${optional(division, 'nullptr')} What was made of the same graph, for the same rules.
    divides: ${optional(flag, 'false')} Whether only a division is wanted, if it is to answer; then nothing is written.
    distances: ${named('ElementArray', elements)}
    next: ${named('Int32Array | null', maybe(int32Elements))}
    trees: ${named('Int32Array | null', maybe(int32Elements))}
    place: ${bytes} The index of the first of the distances, and of the next nodes.
    treePlace: ${bytes}
    rootStride: ${bytes}
    endStride: ${bytes}
    reduction: ${optional(indexIn(lists.pathReductions), '')} An index in {@link Addon.pathReductions}: numbers that replace the distances of each root.
    reduced: ${maybe(float64Elements)} Then nothing else is written.
    reached: ${maybe(int32Elements)}
    maxNearest: ${optional(integer(0, 2 ** 31 - 1), 0)} How many.
    nearest: ${maybe(int32Elements)}
  `,
  GraphComponentsRequest: object('An edge list whose components are wanted.', 'GraphSource')`
    strong: ${flag}
  `,
  GraphTreeRequest: object('An edge list whose best spanning tree is wanted.', 'GraphSource')`
    ...: ${pathRules}
  `,
  GraphShortestRequest: object(
    'At most `most` paths from the node `source` to the node `target` of an edge list.',
    'GraphSource',
  )`
    source: ${integer(0, 2 ** 31 - 1, 'int32_t')}
    target: ${integer(0, 2 ** 31 - 1, 'int32_t')}
    most: ${integer(1, 2 ** 24)}
    limit: ${limit}
  `,
  UserDefinition: objectOf(
    'mpmml::UserDefinition',
    "A semiring of one's own (native/core/user/semiring.h), by the indices of types and operations in native/variants/expressions.mjs. Throws ERR_MPMML_OPTION if it is none.",
  )`
    name: ${text}
    lanes: ${userTypes} The type of each lane.
    zero: ${words('uint32_t')} The bits of each lane.
    one: ${named('Int32Array | null', maybe(words('uint32_t')))}
    plus: ${at('plus.nodes', userNodes)} Nodes of six words: operation, type, three operands, and a constant's bits.
    plusResults: ${at('plus.results', words('int32_t'))} The node that each lane is.
    times: ${at('times.nodes', userNodes)}
    timesResults: ${at('times.results', words('int32_t'))}
    absorbs: ${flag}
    idempotent: ${flag}
    selective: ${flag}
    logarithms: ${flag}
  `,
  CpuCeilingRequest: object(
    'What products on the CPU are measured against (native/lab/cpu/peak_benchmark.h).',
  )`
    isa: ${optional(isa, '""')} The one that products take by default.
    steps: ${text} The name of the steps (native/lab/cpu/peak_benchmarks.h).
    threads: ${count(1, 1024)} Threads that run at once.
    samples: ${count(1, 1000)}
    milliseconds: ${number(0.01, 1e5)} Of a sample, about.
  `,
  CpuNaiveLoopRequest: object('The size of the naive product.')`
    isa: ${optional(isa, '""')}
    m: ${count(1, MAX_SIZE)}
    n: ${count(1, MAX_SIZE)}
    k: ${count(1, MAX_SIZE)}
    repetitions: ${count(1, 1000)}
  `,
}
