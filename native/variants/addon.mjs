// What the addon exports, and the objects that cross it. From this the generator writes the C++ structs, what reads and writes
// them, the declarations of the functions (generated/addon.h) and their exports, and lib's types (lib/native-interface.ts).
//
// Native code checks what it reads once more, though lib has: nothing that JavaScript passes may touch memory that isn't there.
// What is called for each product passes flat arrays: reading a property of an object costs about as much as multiplying two small
// matrices.
import {
  cancel,
  count,
  device,
  deviceOrNone,
  elements,
  fields,
  flag,
  float64Array,
  float64Elements,
  indexIn,
  int,
  int32Array,
  int32Elements,
  integer,
  list,
  literal,
  maybe,
  named,
  nodeArray,
  nothing,
  number,
  numberOrText,
  object,
  ofTwo,
  optional,
  promise,
  properties,
  raw,
  rawArrays,
  real,
  record,
  report,
  strand,
  table,
  text,
  variant,
} from './addon-types.mjs'
import { most } from './expressions.mjs'

/**
 * Objects that JavaScript only passes on: what each is. Native code marks them with their kind, and `handleKind` tells it.
 */
export const handles = {
  device: { ts: 'NativeDevice', doc: 'A device that has been opened.' },
  memory: {
    ts: 'NativeMemory',
    doc: 'Memory of a device. It is freed when it is released or collected.',
  },
  userSemiring: { ts: 'NativeUserSemiring', doc: "A semiring of one's own." },
  division: {
    ts: 'NativeDivision',
    doc: 'A graph that is divided by separators; its memory is freed when it is collected.',
  },
}

/**
 * Enumerators whose names lib and native code share: the generator writes the enumeration (generated/enumerators.h), its names, and the
 * TypeScript type.
 */
const enumerators = (namespace, id, doc, members) => ({
  names: `${namespace}::k${id}Names`,
  ids: `${namespace}::${id}`,
  ts: Object.keys(members)
    .map((name) => `'${name}'`)
    .join(' | '),
  enumeration: { namespace, id, doc, members },
})
const plain = (names) => Object.fromEntries(names.split(' ').map((name) => [name, '']))

/** The lists of names of native code's enumerators, in their order: requests and reports have the indices. */
export const lists = {
  dataTypes: { names: 'kDataTypeNames', ids: 'DataType', ts: 'DataType' },
  paths: { names: 'kRangePathNames', ids: 'RangePath', ts: 'string' },
  overflowPolicies: {
    names: 'kOverflowPolicyNames',
    ids: 'OverflowPolicy',
    ts: "'throw' | 'saturate' | 'wrap'",
  },
  backendChoices: { names: 'kBackendChoiceNames', ids: 'BackendChoice', ts: "'auto' | 'cpu' | 'cuda'" },
  backends: { names: 'kBackendNames', ids: 'BackendKind', ts: "'cpu' | 'cuda'" },
  pathExtensions: enumerators(
    'graph',
    'Extension',
    '⊗: the value of a path from the values of its edges. Paths of links have no values.',
    plain('sum product bottleneck links'),
  ),
  pathMethods: enumerators(
    'graph',
    'Method',
    'The way to find paths: the one with the least estimated time, searches, or dissection (dissection.h).',
    plain('auto search dissection'),
  ),
  pathReductions: enumerators(
    'graph',
    'Reduction',
    'Numbers that replace the distances of each root.',
    plain('none eccentricity mean nearest'),
  ),
  refusalKinds: enumerators(
    'graph',
    'RefusalKind',
    'Reasons for which a question about a graph has no answer.',
    {
      nan: 'the weight at `at` is NaN',
      from: "edge `at` leaves a node that doesn't exist",
      to: "edge `at` enters a node that doesn't exist",
      negative: 'the weight at `at` is below 0, in a product',
      gains: 'the weight at `at` makes paths better, which the question rules out',
      cycle: 'a cycle gains, or there is one where there may be none',
      inexact: 'a sum of integers is beyond 2^53',
      overflow: "the distance from `from` to `to` isn't in the finite range",
      'too many': 'the graph has more edges than can be numbered',
      undivided: "dissection was asked for, and can't answer",
    },
  ),
}

const words = (text) => text.split(' ')
const of = (matrices, ...ends) => matrices.flatMap((matrix) => ends.map((end) => `${matrix}${end}`))
const layoutOf = (...matrices) => of(matrices, 'Offset', 'RowStride', 'ColStride', 'BatchStride')

/** What the lanes of a matrix are called. */
const lanesOf = (matrix) => Array.from({ length: most.lanes }, (_, lane) => `${matrix}Lane${lane}`)

/** What a product gives beside C, in the order of kFurtherResults (native/core/problem/further.h). */
export const further = ['witness']
const asksFurther = further.map((name) => `asks${name[0].toUpperCase()}${name.slice(1)}`)

/** What each product of a group has of its own. lib writes the five fields of a matrix in a row. */
const ofProduct = [
  ...words('batch m n k keepsC structured'),
  ...['a', 'b', 'c', 'c0', ...further].flatMap((matrix) => [`${matrix}Memory`, ...layoutOf(matrix)]),
  ...of(['a', 'b', 'c'], 'Below', 'Above'),
]

/** The tables of fields of flat arrays. */
export const tables = {
  Request: {
    doc: `What a product asks. Sizes, offsets and strides count elements. semiring, dtype, overflow, backend and variant are indices into the
exported lists semirings, dataTypes, overflowPolicies, backendChoices and variants (variant −1: none asked for). planOnly, keepsC,
mayWait and asksWitness are 0 or 1. deviceMemory is the most bytes of device memory that the product may take; 0: no limit. devices is a
DeviceSet. backend, device and devices have no meaning for products on a device that has been opened. If structured isn't 0, the
fields from aBelow on are the bands of the structure, integers or Infinity. The fields aMemory and so on are those of a member.`,
    fields: [
      ...ofProduct,
      ...words('semiring dtype overflow backend device devices variant planOnly deviceMemory mayWait'),
      ...asksFurther,
    ],
  },
  Member: {
    doc: `What a product of a group asks: the first fields of a request, whose others the group has in common. aMemory and so on say where its
matrices are: the number of a memory, −1 minus the index of an array in the list of arrays, or 0: nowhere. So native code asks
JavaScript nothing per product. Where no matrix is its layout isn't read, but for the offset of a result that is made.`,
    fields: ofProduct,
  },
  UserRequest: {
    doc: `What a product over a semiring of one's own asks; as a request, where fields have the same names. The lanes of a matrix have layouts of
their own; those that the semiring hasn't are 0.`,
    fields: [
      ...['batch', 'm', 'n', 'k'],
      ...layoutOf(...['a', 'b', 'c', 'c0'].flatMap(lanesOf), ...further),
      ...words('backend device devices keepsC deviceMemory'),
      ...asksFurther,
      'structured',
      ...of(['a', 'b', 'c'], 'Below', 'Above'),
    ],
  },
  Copy: {
    doc: 'A copy between an array and a memory, or memory that is filled with value.',
    fields: ['batch', 'rows', 'cols', 'dtype', 'value', ...layoutOf('array', 'memory')],
  },
  Report: {
    doc: `What work reports. backend, variant and path are indices into the exported lists backends, variants and paths. device is −1 on the
CPU. devices is the DeviceSet of those that computed the product together, and 0 if there was one. Times are in milliseconds.
stepsDone counts the k-steps (Problem::steps_done) while a product runs in the background. steps are those that count, of all results
of the product. gain is of a closure: −1, or the first item · n + node with which a cycle gains.`,
    fields: words(
      'backend device devices variant path totalMs kernelMs analysisMs h2dMs d2hMs stepsDone gain steps',
    ),
  },
}

const backendChoice = indexIn(lists.backendChoices)
const deviceIndex = integer(0, 65535, 'int')
const bytes = integer(0, Number.MAX_SAFE_INTEGER)
const anyBytes = number(0, 1e18)
const stride = integer(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
const MOST_SIZE = 2 ** 15
const semiringName = named('Semiring', literal)
const dataType = named('DataType', literal)
const isa = named('InstructionSet', text)
const reals = list(real)
const MAXIMA = "'ternary' | 'intrinsic'"

const launches = table`
  repetitions: ${optional(count(1, 1e6), 5)} Timed launches; 5 by default.
  warmup: ${optional(count(0, 1e6), 1)} Launches before the timed ones; 1 by default.
  device: ${optional(deviceIndex, 0)} The index of the CUDA device; 0 by default.
`

/** The parameters that a microbenchmark's kernel is compiled for, and those that its occupancy depends on. */
const kernel = table`
  name: ${text}
  x: ${optional(count(1), 0)} X × Y steps per thread and iteration; compile-time, the first instance by default.
  y: ${optional(count(1), 0)} See x.
  k: ${optional(count(1), 0)} Iterations between two reads of shared memory; compile-time.
  max: ${optional(named(MAXIMA, text), '""')} How the maximum is written: \`a > b ? a : b\` or \`max(a, b)\`; compile-time.
  m: ${optional(integer(1, 2 ** 20), 32)} Columns of the operand in shared memory; 32 by default. Powers of two bring bank conflicts.
  bsi: ${optional(integer(1, 1024), 16)} Threads of a block: BS_i rows of BS_j. 16 × 16 by default.
  bsj: ${optional(integer(1, 1024), 16)} See bsi.
`

const rnaRequest = table`
  within: ${record('RnaScores')}
  minLoop: ${integer(0)}
  wide: ${flag} Whether scores take 32 bits, not 16.
  wantsTable: ${flag}
  mostBytes: ${anyBytes} With more bytes of tables on the host there is ERR_MPMML_OUT_OF_MEMORY, before any is allocated.
  backend: ${backendChoice} An index in {@link Addon.backendChoices}.
  device: ${deviceIndex}
  deviceMemory: ${bytes} The most bytes of device memory; 0: there is no limit.
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

const limit = maybe(real)

const answer = table`
  refusal: ${maybe(record('GraphRefusal'))} Why there is no answer.
`

const division = {
  ts: handles.division.ts,
  cpp: 'std::shared_ptr<const graph::Division>',
  read: 'division()',
}

const row = table`
  name: ${named('VariantName', literal)}
  family: ${literal}
  semiring: ${semiringName}
  dtype: ${dataType}
  parameters: ${properties(numberOrText)}
`

/** Objects that native code takes, each after those that it has. */
export const requests = {
  CpuSettings: object('The settings of the CPU backend.')`
    threads: ${count(0, 1024)} 0: as many as this process may use.
    instructionSet: ${text} '': the best that processor and build have.
    wrong: ${text} What is wrong with the settings; '' if nothing is. Products on the CPU then fail with this message.
  `,
  MeasuredChoice: object(
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
  LabMeasureRequest: object(
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
  LabMicrobenchKernel: object('The kernel of a microbenchmark, as its occupancy is asked for.')`
    ...: ${kernel}
  `,
  LabMicrobenchRequest: object('A microbenchmark and its parameters.', 'LabLaunches')`
    ...: ${kernel}
    gsi: ${optional(integer(1, 65535), 0)} Blocks of the grid: GS_i rows of GS_j. As many as fill the device by default.
    gsj: ${optional(integer(1, 2 ** 20), 0)} See gsi.
    n: ${optional(integer(1, 2 ** 30), 1000)} Iterations of the outermost loop; 1000 by default. It is rounded up to whole bodies of the unrolled loop.
    constant: ${optional(integer(-(2 ** 31), 2 ** 31 - 1, 'int32_t'), 1)} Const of the thesis' listings; 1 by default.
  `,
  LabBandwidthRequest: object('A bandwidth to be measured.', 'LabLaunches')`
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
  RnaFoldRequest: object('Strands to fold.', 'RnaRequest')`
    strands: ${list(strand)}
  `,
  RnaInteractRequest: object("Two strands that interact. They aren't empty.", 'RnaRequest')`
    strand1: ${strand}
    strand2: ${strand}
    between: ${record('RnaScores')}
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
    mostWorkers: ${integer(1, Number.MAX_SAFE_INTEGER)}
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
    mostNearest: ${optional(integer(0, 2 ** 31 - 1), 0)} How many.
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
  UserDefinition: object(
    "A semiring of one's own (native/core/user/semiring.h), by the indices of types and operations in native/variants/expressions.mjs. Throws ERR_MPMML_OPTION if it is none.",
  )`
    name: ${text}
    lanes: ${int32Elements} The type of each lane.
    zero: ${int32Elements} The bits of each lane.
    one: ${named('Int32Array | null', maybe(int32Elements))}
    plus: ${int32Elements} Nodes of six words: operation, type, three operands, and a constant's bits.
    plusResults: ${int32Elements} The node that each lane is.
    times: ${int32Elements}
    timesResults: ${int32Elements}
    absorbs: ${flag}
    idempotent: ${flag}
    selective: ${flag}
    logarithms: ${flag}
  `,
  CpuCeilingRequest: object('What products on the CPU are measured against (native/cpu/yardstick.h).')`
    isa: ${optional(isa, '""')} The one that products take by default.
    steps: ${text} The name of the steps (native/cpu/yardsticks.h).
    threads: ${count(1, 1024)} Threads that run at once.
    samples: ${count(1, 1000)}
    milliseconds: ${number(0.01, 1e5)} Of a sample, about.
  `,
  CpuNaiveLoopRequest: object('The size of the naive product.')`
    isa: ${optional(isa, '""')}
    m: ${count(1, MOST_SIZE)}
    n: ${count(1, MOST_SIZE)}
    k: ${count(1, MOST_SIZE)}
    repetitions: ${count(1, 1000)}
  `,
}

/** Objects that native code gives, each after those that it has. */
export const results = {
  NativeVariant: object(
    'A row of the native variant registry. Its index in {@link Addon.variants} is how requests and reports name it.',
  )`
    ...: ${row}
    automatic: ${flag}
    backend: ${named("'cpu' | 'cuda'", literal)}
    architectures: ${list(text)}
  `,
  NativeRefusedVariant: object('A row of the table that no kernel can be built for.')`
    ...: ${row}
    name: ${literal}
    reason: ${literal} The constraint that it breaks.
  `,
  NativeSemiring: object('A semiring of the build.')`
    name: ${semiringName}
    combine: ${literal} ⊕: 'maximum', 'minimum', 'sum' or another operator of native/core/algebra/semiring.h.
    extend: ${literal} ⊗.
    zeros: ${named('Partial<Record<DataType, number>>', properties(real))} The neutral element of ⊕ in each element type that it has.
    ones: ${named('Partial<Record<DataType, number>>', properties(real))} That of ⊗.
    idempotent: ${flag} Whether x ⊕ x = x, so that one k decides a result.
    join: ${maybe(ofTwo)} x ⊕ y, if it isn't the better of the two.
  `,
  NativeCuda: object('The CUDA backend and its devices.')`
    built: ${flag}
    status: ${literal} One line: what was built, or why CUDA wasn't.
    toolkit: ${literal}
    architectures: ${list(text)}
    driver: ${text} Version of the driver's CUDA interface, '' if there is no driver.
    reason: ${text} Why CUDA can't be used; '' if it can.
    devices: ${list(properties(numberOrText))}
  `,
  NativeCpu: object('The CPU backend.')`
    simd: ${text}
    instructionSets: ${list(text)}
    threads: ${int}
  `,
  NativeDescription: object('What `describe()` tells of the build and the machine.')`
    compiler: ${literal}
    cuda: ${record('NativeCuda')}
    cpu: ${record('NativeCpu')}
  `,
  NativePinnedUse: object(
    'Pinned memory of the library, in bytes: the most that is kept for results, what is there, and what arrays use of it.',
  )`
    limit: ${real}
    held: ${real}
    used: ${real}
  `,
  NativeExplanation: object('The backend that `auto` takes, and why.')`
    backend: ${named("'cpu' | 'cuda'", literal)}
    reason: ${text}
  `,
  NativeDeviceDescription: object('A device that has been opened.')`
    backend: ${int} An index in {@link Addon.backends}.
    index: ${int} −1 on the CPU.
    name: ${text} '' on the CPU.
    devices: ${real} The bits of those that it consists of; 0 if it is one.
    all: ${flag} Whether there is no other CUDA device.
  `,
  NativeMemoryUse: object('The memory of a device, in bytes.')`
    used: ${real}
    reserved: ${real}
    peak: ${real}
    free: ${real}
    total: ${real}
  `,
  LabMeasurement: object('Milliseconds, one for each repetition.')`
    kernelMs: ${reals} Only the kernel of the product.
    prepareMs: ${reals} What the variant runs before it (packing, transposing A); zeros if it runs nothing.
    analysisMs: ${reals} The scan of both operands for their range of values.
    path: ${literal} How the values were computed with: see {@link MpmmResult.path}.
    operandSets: ${int} Sets of operands that the repetitions took in turn, so that no operand is still in the L2 cache.
    clockMHz: ${real} The clock of the multiprocessors, just after the last repetition.
  `,
  LabMicrobenchInstance: object(
    'The compile-time parameters of a microbenchmark: X × Y steps per thread and iteration.',
  )`
    x: ${int}
    y: ${int}
    k: ${int} Steps between two reads of shared memory; 1 if there are none.
    max: ${named(MAXIMA, literal)} How the maximum is written: \`a > b ? a : b\` or \`max(a, b)\`.
  `,
  LabMicrobench: object('A microbenchmark of the build.')`
    name: ${literal} 'reg-reg', 'shared-one', 'shared-both', or the name of an instruction mix.
    summary: ${literal} What a step is made of, in one line.
    instances: ${list(record('LabMicrobenchInstance'))}
    parameters: ${list(text)} The run-time parameters that it has: of 'm', 'bsi', 'bsj', 'gsi', 'gsj', 'n' and 'constant'.
  `,
  LabMicrobenchResult: object('What a microbenchmark gives.')`
    ms: ${reals} Milliseconds, one for each repetition.
    clockMHz: ${real} Clock of the multiprocessors during the last repetition.
    multiprocessors: ${int}
    threadsPerBlock: ${real} Threads of a block.
    threads: ${real} Threads of the grid.
    iterations: ${real} Iterations of each thread: N, or N·M·K.
    lanes: ${int} Elements that an instruction works on: 2 for the packed forms.
    stepsPerIteration: ${int} Max-plus steps per thread and iteration; each is 2 operations.
    operationsPerIteration: ${real} Operations per thread and iteration, as the thesis counts them: 2·(X·Y+X+Y) for reg-reg.
    operationsPerThread: ${real} Operations per thread and launch.
    instructionsPerIteration: ${properties(real)} Machine instructions per thread and iteration that do these operations on this device's architecture, by opcode; empty if they weren't counted.
    peakOperationsPerClock: ${real} The most operations per clock and multiprocessor that the pipes allow for these instructions; 0 if unknown.
    peakReason: ${text} How that peak is made up.
  `,
  LabBandwidth: object('A bandwidth that the build can measure.')`
    name: ${literal} 'copy', 'l2', 'shared' or 'strided'.
    summary: ${literal} What is read, and how, in one line.
  `,
  LabBandwidthResult: object('What measuring a bandwidth gives.')`
    ms: ${reals} Milliseconds, one for each repetition.
    bytes: ${real} Bytes that the threads of a launch read and write.
    bufferBytes: ${real} The size of the buffer that they are in; 0 for shared memory.
    clockMHz: ${real} Clock of the multiprocessors just after the last repetition.
    multiprocessors: ${int}
  `,
  LabOccupancy: object('Table 2.1 of the thesis; active ones are per multiprocessor.')`
    registersPerThread: ${int}
    sharedBytesPerBlock: ${int}
    localBytes: ${int} Bytes of local memory per thread: spilled registers.
    threadsPerBlock: ${int}
    activeThreads: ${int}
    activeWarps: ${int}
    activeBlocks: ${int}
    occupancyPercent: ${real}
  `,
  LabPeak: object(
    'Results per clock and multiprocessor of 32-bit integer instructions; 0 if the architecture has no such instruction.',
  )`
    capability: ${text} Compute capability, such as '9.0'.
    add: ${int}
    minmax: ${int}
    multiplyAdd: ${int}
    fused: ${int} __viaddmax_s32 as one instruction.
    packed: ${int} Additions and maxima on two 16-bit halves of a word, in words.
    issue: ${int} Lanes that the schedulers issue to.
    cores: ${int} CUDA cores, by which theoretical machine peaks are usually given.
    tensor: ${int} Operations of tensor cores on bfloat16, two per multiply-add; 0 if there is no published number.
  `,
  RnaFolding: object('Pairs are i and j in turn.')`
    score: ${int}
    pairs: ${int32Array}
    table: ${maybe(int32Array)}
  `,
  RnaInteraction: object('A window of strand 2 and what it is worth; pairs are i and j in turn.')`
    score: ${int}
    alone: ${int} What both strands are worth if they don't interact.
    start: ${real}
    within1: ${int32Array}
    within2: ${int32Array}
    between: ${int32Array}
  `,
  RnaInteractions: object('The best windows.')`
    best: ${list(record('RnaInteraction'))}
    steps: ${real}
    table: ${maybe(int32Array)} By (i1, j1, i2, j2) in lexicographic order, j1 ≥ i1 and j2 ≥ i2.
  `,
  GraphRefusal: object(
    'Why a question about a graph has no answer; native/core/graph/refusal.h has the meaning.',
  )`
    kind: ${named(lists.refusalKinds.ts, literal)}
    at: ${real}
    from: ${int}
    to: ${int}
    value: ${real}
    cycle: ${int32Array}
    keys: ${float64Array}
  `,
  GraphSearchAnswer: object('What a search of a graph gives beside what it writes.')`
    ...: ${answer}
    dissected: ${flag} Whether the graph was dissected, and not searched.
    division: ${maybe(division)} If that was asked for.
  `,
  GraphComponents: object('The nodes of component c are `members[start[c]]` up to `start[c + 1]`.')`
    ...: ${answer}
    of: ${nodeArray}
    members: ${nodeArray}
    start: ${int32Array}
  `,
  GraphOrder: object('All nodes, so that edges lead from earlier ones to later ones.')`
    ...: ${answer}
    order: ${nodeArray}
  `,
  GraphTree: object("The indices of the tree's edges, which ascend.")`
    ...: ${answer}
    edges: ${float64Array}
  `,
  GraphPaths: object('The nodes of each path, and how long it is.')`
    ...: ${answer}
    paths: ${list(int32Array)}
    lengths: ${float64Array}
  `,
  UserDescription: object("A semiring of one's own in words: a line for each node.")`
    plus: ${text}
    times: ${text}
    loweredPlus: ${text} In the operations that kernels have.
    loweredTimes: ${text}
    key: ${text} Equal keys have equal kernels.
    skips: ${list(text)} If all of these hold, z ⊕ (x ⊗ y) surely is z, and a kernel may leave the step out. None if that isn't known.
  `,
  UserKernelText: object("A kernel for a semiring of one's own.")`
    name: ${text}
    ptx: ${text}
  `,
  CpuCeilingSamples: object('What {@link Addon.cpuCeiling} measures.')`
    isa: ${named('InstructionSet', literal)}
    stepsPerSecond: ${reals} Steps per second of all threads together, one for each sample.
  `,
  CpuNaiveLoopSamples: object('What {@link Addon.cpuNaiveLoop} measures.')`
    isa: ${named('InstructionSet', literal)}
    ms: ${reals} Milliseconds of one core, one for each repetition.
  `,
}

/** Values that are made when the addon is loaded, each by a function of its name. */
export const constants = {
  semirings: list(record('NativeSemiring')),
  variants: list(record('NativeVariant')),
  refusedVariants: list(record('NativeRefusedVariant')),
}

const anyMatrix = rawArrays('OperandArray | NativeMemory')
const resultMatrix = rawArrays('ElementArray | NativeMemory | null')
const memory = raw('NativeMemory')
const array = rawArrays('OperandArray')
const furtherMatrices = rawArrays('FurtherMatrices', true)
const product = {
  a: anyMatrix,
  b: anyMatrix,
  c: resultMatrix,
  c0: resultMatrix,
  request: fields('Request'),
  report,
}
const made = raw('Made')
const userSemiring = {
  ts: handles.userSemiring.ts,
  cpp: 'std::shared_ptr<const UserSemiring>',
  read: 'user_semiring()',
}
const laneArrays = rawArrays('LaneArray[]')
const lanesOfMatrix = rawArrays('LaneMatrix[]')
const lanesOrNone = rawArrays('LaneMatrix[] | null')
const userProduct = {
  a: lanesOfMatrix,
  b: lanesOfMatrix,
  c: lanesOrNone,
  c0: lanesOrNone,
  request: fields('UserRequest'),
  report,
}
const madeLanes = raw('MadeLanes')
const nth = integer(0, 1e15)
const several = optional(integer(1, 1e15), 1)
const perhapsBuffer = raw('ArrayBuffer | null')

/**
 * The functions: what each takes and gives. What gives a promise, or goes through as it is, is called with the environment's
 * arguments too.
 */
export const functions = {
  describe: {
    doc: 'Throws Error with the code ERR_MPMML_OPTION if the settings of the CPU backend are wrong.',
    gives: record('NativeDescription'),
  },
  deviceName: {
    doc: "The name of a CUDA device that a product has run on; '' before. Makes no CUDA call.",
    takes: { device: deviceIndex },
    gives: text,
  },
  tensorCores: {
    doc: 'Whether a CUDA device computes exponents on its tensor cores, in words. The first call checks it.',
    takes: { device: deviceIndex },
    gives: text,
  },
  configureCpu: {
    doc: 'Takes effect only as the first call in the process.',
    takes: { settings: record('CpuSettings') },
  },
  explain: {
    doc: 'Which backend `auto` takes, and why.',
    takes: { device: deviceIndex },
    gives: record('NativeExplanation'),
  },
  explainWithoutCuda: {
    doc: 'Says better than the build can why there is no CUDA. Takes effect only as the first call in the process.',
    takes: { reason: text },
  },
  setMeasuredChoices: {
    doc: 'Replaces what the planner knows of a GPU model, by its name. Makes no CUDA call.',
    takes: { gpu: text, choices: list(record('MeasuredChoice')) },
  },
  configureUserKernels: {
    doc: `Where code that the driver compiles for semirings of one's own is kept for later processes, and how many bytes of files there may be; an
empty folder: nowhere. A folder that can't be used is none. Makes no CUDA call.`,
    takes: { folder: text, bytes },
  },
  handleKind: {
    doc: "The kind of an object that native code has made; '' of any other value.",
    takes: { handle: raw('unknown') },
    gives: named("HandleKind | ''", literal),
  },
  openDevice: {
    doc: 'Opens a device; `backend` is an index in {@link Addon.backendChoices}, `deviceMemory` and `devices` are as in a request.',
    takes: {
      backend: backendChoice,
      device: deviceIndex,
      deviceMemory: bytes,
      devices: optional(integer(0, 2 ** 52 - 1, 'DeviceSet'), 0),
    },
    gives: promise(device),
  },
  describeDevice: { takes: { device }, gives: record('NativeDeviceDescription') },
  memoryUse: { takes: { device }, gives: record('NativeMemoryUse') },
  closeDevice: {
    doc: "Waits for what was started before. Afterwards the device's memory is gone.",
    takes: { device },
    gives: promise(nothing),
  },
  upload: {
    doc: 'Copies a matrix into memory that is made for it, row-major.',
    takes: { device, array, request: fields('Copy'), cancel },
    gives: promise(memory),
  },
  download: { takes: { device, memory, array, request: fields('Copy'), cancel }, gives: promise(nothing) },
  fill: {
    doc: "Makes memory in which all elements are the request's value.",
    takes: { device, request: fields('Copy') },
    gives: promise(memory),
  },
  combine: {
    doc: 'C = C ⊕ D. The request has the layout of D as that of b.',
    takes: { device, c: memory, d: memory, request: fields('Request') },
    gives: promise(nothing),
  },
  closeMatrix: {
    doc: `Closes a square matrix, or a batch, whose layout the request has as that of a, of size n. \`inPlace\`: it becomes its own
closure, and is row-major. The closure is copied to \`out\`, whose layout the request has as that of c; if that is null and it isn't
closed in place, memory is made for it. If \`wantsNext\`, memory is made for the next nodes too. The promise gives what was made:
closure, next, or [closure, next]. It is rejected with ERR_MPMML_CYCLE if a cycle gains; then the report has \`gain\`, and \`out\` is as it was.`,
    takes: {
      device,
      matrix: memory,
      out: raw('NativeMemory | null'),
      inPlace: flag,
      reflexive: flag,
      wantsNext: flag,
      request: fields('Request'),
      report,
      cancel,
    },
    gives: promise(raw('NativeMemory | [NativeMemory, NativeMemory] | undefined')),
  },
  copyMatrix: {
    doc: 'Copies a matrix to another. The request has the layout of `to` as that of the array.',
    takes: { device, from: memory, to: memory, request: fields('Copy') },
    gives: promise(nothing),
  },
  memoryNumber: {
    doc: 'By which requests of a group name the memory, until it is released.',
    takes: { memory },
    gives: real,
  },
  release: {
    doc: 'JavaScript lets go of the memory. Work that has been started keeps it.',
    takes: { memory },
  },
  multiplySync: {
    doc: `Throws Error with \`code\`. Without a device all matrices are arrays, and \`c\` is null only if the product is only planned. With a device
a, b and c0 are arrays or its memory; \`c\` is its memory, or null: then the result's memory is made, row-major, and returned.
The same is true of the further results that the request asks for: each has memory of its own.`,
    takes: { ...product, device: deviceOrNone, further: furtherMatrices },
    gives: made,
  },
  multiply: {
    doc: `The same off the event loop, on a device after all that was started before. A value other than 0 in \`cancel[0]\` asks that it be
given up. Reads the request before it returns. \`stepsDone\` is counted in the report meanwhile.`,
    takes: { ...product, cancel, device: deviceOrNone, further: furtherMatrices },
    gives: promise(made),
  },
  multiplyGroup: {
    doc: `Several products, whose members and reports follow each other. The request has what they have in common. On a device products whose c
is nowhere get it in one memory, at the offset that the member has; the promise gives it. Each kind of further results gets another memory in the same way.
What a product is rejected with starts with "product <index>: ". Don't change the members until the promise settles.`,
    takes: {
      arrays: rawArrays('OperandArray[]'),
      request: fields('Request'),
      members: rawArrays('Float64Array'),
      reports: rawArrays('Float64Array'),
      cancel,
      device: deviceOrNone,
    },
    gives: promise(made),
  },
  giveUp: {
    doc: "Sets `cancel[0]`, and gives up at once what has been started with it and hasn't begun to run.",
    takes: { cancel },
    gives: raw('void'),
  },
  rnaFold: {
    doc: `Folds strands, off the event loop. The report's stepsDone is the share of the work that is done; in the end \`backend\` and \`device\` say
what has done it.`,
    takes: { request: record('RnaFoldRequest'), report, cancel },
    gives: promise(list(record('RnaFolding'))),
  },
  rnaInteract: {
    doc: "The same for the interaction of two strands, which aren't empty.",
    takes: { request: record('RnaInteractRequest'), report, cancel },
    gives: promise(record('RnaInteractions')),
  },
  graphSearch: {
    doc: `Searches a graph off the event loop, on all cores, and writes what it finds to the arrays of the request. The report's stepsDone
grows by 1, as it does for the other questions about graphs.`,
    takes: { request: record('GraphSearchRequest'), report, cancel },
    gives: promise(record('GraphSearchAnswer')),
  },
  graphComponents: {
    takes: { request: record('GraphComponentsRequest'), report, cancel },
    gives: promise(record('GraphComponents')),
  },
  graphOrder: {
    takes: { request: record('GraphSource'), report, cancel },
    gives: promise(record('GraphOrder')),
  },
  graphSpanningTree: {
    takes: { request: record('GraphTreeRequest'), report, cancel },
    gives: promise(record('GraphTree')),
  },
  graphShortest: {
    takes: { request: record('GraphShortestRequest'), report, cancel },
    gives: promise(record('GraphPaths')),
  },
  userSemiring: {
    doc: 'Checks a definition.',
    takes: { definition: record('UserDefinition') },
    gives: raw('NativeUserSemiring'),
  },
  describeUserSemiring: { takes: { semiring: userSemiring }, gives: record('UserDescription') },
  evaluateUserSemiring: {
    doc: `out = x ⊕ y if \`combine\`, else x ⊗ y, element by element. There is an array for each lane, all of one length; \`out\` may be x or y.`,
    takes: { semiring: userSemiring, combine: flag, x: laneArrays, y: laneArrays, out: laneArrays },
  },
  multiplyUserSync: {
    doc: `A product over a semiring of one's own; matrices are as those of multiplySync, one for each lane. Gives the memories that are made: those of
the lanes of C if that is null, and those of further results.`,
    takes: { semiring: userSemiring, ...userProduct, device: deviceOrNone, further: furtherMatrices },
    gives: madeLanes,
  },
  multiplyUser: {
    doc: 'The same off the event loop; see multiply.',
    takes: { semiring: userSemiring, ...userProduct, cancel, device: deviceOrNone, further: furtherMatrices },
    gives: promise(madeLanes),
  },
  multiplyUserGroup: {
    doc: 'Several of them, one after the other, whose requests and reports follow each other; see multiplyGroup.',
    takes: {
      semiring: userSemiring,
      products: rawArrays('UserMatrices[]'),
      requests: rawArrays('Float64Array'),
      reports: rawArrays('Float64Array'),
      cancel,
      device: deviceOrNone,
    },
    gives: promise(raw('MadeLanes[]')),
  },
  explainUser: {
    doc: 'Where and with what a product of this request would be computed, in words.',
    takes: { semiring: userSemiring, request: fields('UserRequest'), device: deviceOrNone },
    gives: promise(text),
  },
  userKernelTexts: {
    doc: 'For tests: what the driver compiles for products over it, a text of PTX for each kernel that may be taken; none in a build without CUDA.',
    takes: { semiring: userSemiring },
    gives: list(record('UserKernelText')),
  },
  failAllocation: {
    doc: 'For tests: the nth allocation from now on fails, on the host or a device, or `count` from there on; 0: none does.',
    takes: { nth, count: several },
  },
  failThread: {
    doc: 'For tests: the same of the threads that native code starts.',
    takes: { nth, count: several },
  },
  failDriver: {
    doc: 'For tests: the driver refuses the nth kernel that it is asked to compile or to load from now on, or `count` from there on; 0: none.',
    takes: { nth, count: several },
  },
  pretendDevices: {
    doc: `For tests: from now on there are \`count\` devices for work on several, all of which are CUDA device 0, or the CPU if that can't be used. 0:
those that there are.`,
    takes: { count: count(0, 52) },
  },
  delayWork: {
    doc: 'For tests: from now on work on the CPU shows as done only so many milliseconds later; on devices, on those that are opened from now on.',
    takes: { milliseconds: number(0, 1e6) },
  },
  divideProducts: {
    doc: `For tests: from now on products of arrays on the CPU, or on pretended devices that are the CPU, are computed in blocks whose results take at
most so many bytes, as far as blocks may be that small, as products are on a GPU with little memory. 0: they aren't divided.`,
    takes: { bytes: number(0, 1e12) },
  },
  packedBytes: {
    doc: 'For tests: the bytes of packed forms that matrices on GPUs keep.',
    gives: real,
  },
  rememberedReaders: {
    doc: 'For tests: how many copies to arrays, ended or under way, the matrices on GPUs remember.',
    gives: real,
  },
  preferHugePages: {
    doc: "Asks the system for huge pages for an array that hasn't been written yet: they cost fewer page faults.",
    takes: { array: rawArrays('ElementArray') },
  },
  pinnedBuffer: {
    doc: "Zeros in pinned memory; null if CUDA can't be used.",
    takes: { bytes },
    gives: promise(perhapsBuffer),
  },
  pinnedBufferSync: { takes: { bytes }, gives: perhapsBuffer },
  resultBuffer: {
    doc: `Pinned memory with undefined content for the result of a product on a CUDA device; null if none is free, or the device hasn't been
used yet.`,
    takes: { bytes, device: deviceIndex },
    gives: perhapsBuffer,
  },
  limitPinned: {
    doc: 'The most bytes of pinned memory that are kept for results.',
    takes: { bytes },
  },
  pinnedUse: { gives: record('NativePinnedUse') },
  pretendPinned: {
    doc: 'For tests: from now on what is called pinned memory is ordinary memory, whether there is a GPU or not.',
    takes: { flag },
  },
  labMeasure: {
    doc: 'Promises of the laboratory are rejected with ERR_MPMML_NO_CUDA if no GPU can be used.',
    takes: { request: record('LabMeasureRequest') },
    gives: promise(record('LabMeasurement')),
  },
  labMicrobenches: { gives: list(record('LabMicrobench')) },
  labMicrobench: {
    takes: { request: record('LabMicrobenchRequest') },
    gives: promise(record('LabMicrobenchResult')),
  },
  labBandwidths: { gives: list(record('LabBandwidth')) },
  labBandwidth: {
    takes: { request: record('LabBandwidthRequest') },
    gives: promise(record('LabBandwidthResult')),
  },
  labOccupancy: {
    takes: { request: record('LabOccupancyRequest') },
    gives: promise(record('LabOccupancy')),
  },
  labFault: {
    doc: "For tests: a kernel reads from where no memory is. Afterwards CUDA can't be used in this process.",
    takes: { request: record('LabFaultRequest') },
    gives: promise(nothing),
  },
  labPeaks: { gives: list(record('LabPeak')) },
  cpuCeiling: {
    takes: { request: record('CpuCeilingRequest') },
    gives: promise(record('CpuCeilingSamples')),
  },
  cpuNaiveLoop: {
    takes: { request: record('CpuNaiveLoopRequest') },
    gives: promise(record('CpuNaiveLoopSamples')),
  },
}
