// Objects that native code gives to JavaScript.
import { division, lists, MAXIMA } from './addon-lists.mjs'
import {
  added,
  at,
  flag,
  float64Array,
  int,
  int32Array,
  list,
  literal,
  maybe,
  named,
  nameIn,
  nodeArray,
  numberOrText,
  object,
  objectOf,
  ofTwo,
  properties,
  real,
  record,
  table,
  text,
} from './addon-types.mjs'

const semiringName = named('Semiring', literal)

const dataType = named('DataType', literal)

const reals = list(real)

const answer = table`
  refusal: ${added(maybe(record('GraphRefusal')))} Why there is no answer.
`

const row = table`
  name: ${named('VariantName', literal)}
  family: ${literal}
  semiring: ${semiringName}
  dtype: ${dataType}
  parameters: ${properties(numberOrText)}
`

/** Objects that native code gives, each after those that it has. */
export const results = {
  NativeVariant: object(
    'A row of the native variant registry. Its index in {@link Addon.variants} is how requests and reports name it.',
  )`
    ...: ${row}
    automatic: ${flag}
    backend: ${named('BackendName', literal)}
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
  NativeCpu: objectOf('cpu::CpuInfo', 'The CPU backend.')`
    simd: ${at('instruction_set', text)}
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
  NativeExplanation: objectOf('Explanation', 'The backend that `auto` takes, and why.')`
    backend: ${nameIn(lists.backends)}
    reason: ${text}
  `,
  NativeDeviceDescription: object('A device that has been opened.')`
    backend: ${int} An index in {@link Addon.backends}.
    index: ${int} −1 on the CPU.
    name: ${text} '' on the CPU.
    devices: ${real} The bits of those that it consists of; 0 if it is one.
    all: ${flag} Whether there is no other CUDA device.
  `,
  NativeMemoryUse: objectOf('MemoryUse', 'The memory of a device, in bytes.')`
    used: ${real}
    reserved: ${real}
    peak: ${real}
    free: ${real}
    total: ${real}
  `,
  LabMeasurement: objectOf('cuda::Measurement', 'Milliseconds, one for each repetition.')`
    kernelMs: ${at('kernel', reals)} Only the kernel of the product.
    prepareMs: ${at('prepare', reals)} What the variant runs before it (packing, transposing A); zeros if it runs nothing.
    analysisMs: ${at('analysis', reals)} The scan of both operands for their range of values.
    path: ${nameIn(lists.paths)} Arithmetic of the kernel: see {@link MpmmResult.arithmetic}.
    operandSets: ${int} Sets of operands that the repetitions took in turn, so that no operand is still in the L2 cache.
    clockMHz: ${real} The clock of the multiprocessors, just after the last repetition.
  `,
  LabMicrobenchInstance: objectOf(
    'microbench::Instance',
    'The compile-time parameters of a microbenchmark: X × Y steps per thread and iteration.',
  )`
    x: ${int}
    y: ${int}
    k: ${int} Steps between two reads of shared memory; 1 if there are none.
    max: ${named(MAXIMA, literal)} How the maximum is written: \`a > b ? a : b\` or \`max(a, b)\`.
  `,
  LabMicrobench: objectOf('microbench::Microbenchmark', 'A microbenchmark of the build.')`
    name: ${literal} 'reg-reg', 'shared-one', 'shared-both', or the name of an instruction mix.
    summary: ${literal} What a step is made of, in one line.
    instances: ${list(record('LabMicrobenchInstance'))}
    parameters: ${at('parameters()', list(text))} The run-time parameters that it has: of 'm', 'bsi', 'bsj', 'gsi', 'gsj', 'n' and 'constant'.
  `,
  LabMicrobenchResult: objectOf('microbench::Result', 'What a microbenchmark gives.')`
    ms: ${reals} Milliseconds, one for each repetition.
    clockMHz: ${real} Clock of the multiprocessors during the last repetition.
    multiprocessors: ${int}
    threadsPerBlock: ${real} Threads of a block.
    threads: ${real} Threads of the grid.
    iterations: ${real} Iterations of each thread: N, or N·M·K.
    lanes: ${int} Elements that an instruction works on: 2 for the packed forms.
    stepsPerIteration: ${int} Max-plus steps per thread and iteration; each is 2 operations.
    operationsPerIteration: ${real} Operations per thread and iteration, as the thesis counts them: 2·(X·Y+X+Y) for reg-reg.
    operationsPerThread: ${at('operations_per_thread()', real)} Operations per thread and launch.
    instructionsPerIteration: ${at('instructions', properties(real))} Machine instructions per thread and iteration that do these operations on this device's architecture, by opcode; empty if they weren't counted.
    peakOperationsPerClock: ${real} The most operations per clock and multiprocessor that the pipes allow for these instructions; 0 if unknown.
    peakReason: ${text} How that peak is made up.
  `,
  LabBandwidth: objectOf('microbench::Bandwidth', 'A bandwidth that the build can measure.')`
    name: ${literal} 'copy', 'l2', 'shared' or 'strided'.
    summary: ${literal} What is read, and how, in one line.
  `,
  LabBandwidthResult: objectOf('microbench::BandwidthResult', 'What measuring a bandwidth gives.')`
    ms: ${reals} Milliseconds, one for each repetition.
    bytes: ${real} Bytes that the threads of a launch read and write.
    bufferBytes: ${real} The size of the buffer that they are in; 0 for shared memory.
    clockMHz: ${real} Clock of the multiprocessors just after the last repetition.
    multiprocessors: ${int}
  `,
  LabOccupancy: objectOf('cuda::Occupancy', 'Table 2.1 of the thesis; active ones are per multiprocessor.')`
    registersPerThread: ${at('registers', int)}
    sharedBytesPerBlock: ${at('shared_bytes', int)}
    localBytes: ${int} Bytes of local memory per thread: spilled registers.
    threadsPerBlock: ${at('threads', int)}
    activeThreads: ${int}
    activeWarps: ${int}
    activeBlocks: ${int}
    occupancyPercent: ${at('percent', real)}
  `,
  LabPeak: objectOf(
    'microbench::Peak',
    'Results per clock and multiprocessor of 32-bit integer instructions; 0 if the architecture has no such instruction.',
  )`
    capability: ${at('version()', text)} Compute capability, such as '9.0'.
    add: ${int}
    minmax: ${int}
    multiplyAdd: ${int}
    fused: ${int} __viaddmax_s32 as one instruction.
    packed: ${int} Additions and maxima on two 16-bit halves of a word, in words.
    issue: ${int} Lanes that the schedulers issue to.
    cores: ${int} CUDA cores, by which theoretical machine peaks are usually given.
    tensor: ${int} Operations of tensor cores on bfloat16, two per multiply-add; 0 if there is no published number.
  `,
  RnaFolding: objectOf('Folding', 'Pairs are i and j in turn.')`
    score: ${int}
    pairs: ${int32Array}
    table: ${maybe(int32Array)}
  `,
  RnaInteraction: objectOf(
    'Interaction',
    'A window of strand 2 and what it is worth; pairs are i and j in turn.',
  )`
    score: ${int}
    alone: ${int} What both strands are worth if they don't interact.
    start: ${real}
    within1: ${int32Array}
    within2: ${int32Array}
    between: ${int32Array}
  `,
  RnaInteractions: objectOf('Interactions', 'The best windows.')`
    best: ${list(record('RnaInteraction'))}
    steps: ${real}
    table: ${maybe(int32Array)} By (i1, j1, i2, j2) in lexicographic order, j1 ≥ i1 and j2 ≥ i2.
  `,
  GraphRefusal: objectOf(
    'graph::QueryError',
    'Why a question about a graph has no answer; native/core/graph/query_error.h has the meaning.',
  )`
    kind: ${nameIn(lists.refusalKinds)}
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
  GraphComponents: objectOf(
    'graph::Parts',
    'The nodes of component c are `members[start[c]]` up to `start[c + 1]`.',
  )`
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
