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
  refusal: ${added(maybe(record('GraphRefusal')))} Reason for a missing answer.
`

const row = table`
  name: ${named('VariantName', literal)}
  family: ${literal}
  semiring: ${semiringName}
  dtype: ${dataType}
  parameters: ${properties(numberOrText)}
`

/** Objects that native code returns, each after the objects that it contains. */
export const results = {
  NativeVariant: object(
    'A row of the native variant registry. Requests and reports name it by its index in {@link Addon.variants}.',
  )`
    ...: ${row}
    automatic: ${flag}
    backend: ${named('BackendName', literal)}
    architectures: ${list(text)}
  `,
  NativeRefusedVariant: object('A row of the table for which no kernel can be built.')`
    ...: ${row}
    name: ${literal}
    reason: ${literal} The violated constraint.
  `,
  NativeSemiring: object('A semiring of the build.')`
    name: ${semiringName}
    combine: ${literal} ⊕: 'maximum', 'minimum', 'sum' or another operator of native/core/algebra/semiring.h.
    extend: ${literal} ⊗.
    zeros: ${named('Partial<Record<DataType, number>>', properties(real))} Neutral element of ⊕ for each element type of the semiring.
    ones: ${named('Partial<Record<DataType, number>>', properties(real))} Neutral element of ⊗ for each element type.
    idempotent: ${flag} Whether x ⊕ x = x. Then each result is the ⊗ of a single k.
    join: ${maybe(ofTwo)} x ⊕ y for semirings that aren't idempotent.
  `,
  NativeCuda: object('The CUDA backend and its devices.')`
    built: ${flag}
    status: ${literal} One line: the built kernels, or the reason why CUDA wasn't built.
    toolkit: ${literal}
    architectures: ${list(text)}
    driver: ${text} Version of the driver's CUDA interface, '' if there is no driver.
    reason: ${text} Reason why CUDA can't be used; '' if it can.
    devices: ${list(properties(numberOrText))}
  `,
  NativeCpu: objectOf('cpu::CpuInfo', 'The CPU backend.')`
    simd: ${at('instruction_set', text)}
    instructionSets: ${list(text)}
    threads: ${int}
  `,
  NativeDescription: object('Description of the build and the machine.')`
    compiler: ${literal}
    cuda: ${record('NativeCuda')}
    cpu: ${record('NativeCpu')}
  `,
  NativePinnedUse: object(
    'Pinned memory of the library in bytes: maximum that is retained for results, allocated memory, and memory that arrays use.',
  )`
    limit: ${real}
    held: ${real}
    used: ${real}
  `,
  NativeExplanation: objectOf('Explanation', 'The backend that `auto` selects, and the reason.')`
    backend: ${nameIn(lists.backends)}
    reason: ${text}
  `,
  NativeDeviceDescription: object('Properties of an opened device.')`
    backend: ${int} An index in {@link Addon.backends}.
    index: ${int} −1 on the CPU.
    name: ${text} '' on the CPU.
    devices: ${real} DeviceSet of a multi-GPU device; 0 for a single device.
    all: ${flag} Whether the machine has no other CUDA device.
  `,
  NativeMemoryUse: objectOf('MemoryUse', 'The memory of a device, in bytes.')`
    used: ${real}
    reserved: ${real}
    peak: ${real}
    free: ${real}
    total: ${real}
  `,
  LabMeasurement: objectOf('cuda::Measurement', 'Milliseconds, one for each repetition.')`
    kernelMs: ${at('kernel', reals)} Time of the product's kernel alone.
    prepareMs: ${at('prepare', reals)} Time of the variant's preparation (packing, transposing A); zeros without preparation.
    analysisMs: ${at('analysis', reals)} The scan of both operands for their range of values.
    path: ${nameIn(lists.paths)} Arithmetic of the kernel: see {@link MpmmResult.arithmetic}.
    operandSets: ${int} Sets of operands that the repetitions alternate between, so that no operand is still in the L2 cache.
    clockMHz: ${real} Clock of the multiprocessors just after the last repetition.
  `,
  LabMicrobenchInstance: objectOf(
    'microbench::Instance',
    'The compile-time parameters of a microbenchmark: X × Y steps per thread and iteration.',
  )`
    x: ${int}
    y: ${int}
    k: ${int} Steps between two reads of shared memory; 1 without reads.
    max: ${named(MAXIMA, literal)} Form of the maximum: \`a > b ? a : b\` or \`max(a, b)\`.
  `,
  LabMicrobench: objectOf('microbench::Microbenchmark', 'A microbenchmark of the build.')`
    name: ${literal} 'reg-reg', 'shared-one', 'shared-both', or the name of an instruction mix.
    summary: ${literal} One line about the instructions of a step.
    instances: ${list(record('LabMicrobenchInstance'))}
    parameters: ${at('parameters()', list(text))} Run-time parameters of the microbenchmark, from 'm', 'bsi', 'bsj', 'gsi', 'gsj', 'n' and 'constant'.
  `,
  LabMicrobenchResult: objectOf('microbench::Result', 'Result of a microbenchmark.')`
    ms: ${reals} Milliseconds, one for each repetition.
    clockMHz: ${real} Clock of the multiprocessors during the last repetition.
    multiprocessors: ${int}
    threadsPerBlock: ${real} Threads of a block.
    threads: ${real} Threads of the grid.
    iterations: ${real} Iterations of each thread: N, or N·M·K.
    lanes: ${int} Elements per instruction: 2 for packed instructions.
    stepsPerIteration: ${int} Max-plus steps per thread and iteration; each is 2 operations.
    operationsPerIteration: ${real} Operations per thread and iteration, as the thesis counts them: 2·(X·Y+X+Y) for reg-reg.
    operationsPerThread: ${at('operations_per_thread()', real)} Operations per thread and launch.
    instructionsPerIteration: ${at('instructions', properties(real))} Machine instructions per thread and iteration that do these operations on this device's architecture, by opcode; empty if they weren't counted.
    peakOperationsPerClock: ${real} Maximum operations per clock and multiprocessor that the pipes allow for these instructions; 0 if unknown.
    peakReason: ${text} Derivation of the peak.
  `,
  LabBandwidth: objectOf('microbench::Bandwidth', 'A bandwidth that the build can measure.')`
    name: ${literal} 'copy', 'l2', 'shared' or 'strided'.
    summary: ${literal} One line about the measured memory and the access pattern.
  `,
  LabBandwidthResult: objectOf('microbench::BandwidthResult', 'Result of a bandwidth measurement.')`
    ms: ${reals} Milliseconds, one for each repetition.
    bytes: ${real} Bytes that the threads of a launch read and write.
    bufferBytes: ${real} Size of their buffer in bytes; 0 for shared memory.
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
    issue: ${int} Lanes to which the schedulers issue.
    cores: ${int} CUDA cores, on which theoretical machine peaks are usually based.
    tensor: ${int} Operations of tensor cores on bfloat16, two per multiply-add; 0 if there is no published number.
  `,
  RnaFolding: objectOf('Folding', 'Pairs are i and j in turn.')`
    score: ${int}
    pairs: ${int32Array}
    table: ${maybe(int32Array)}
  `,
  RnaInteraction: objectOf(
    'Interaction',
    'A window of strand 2 and its score. Pairs are arrays of alternating i and j.',
  )`
    score: ${int}
    alone: ${int} Score of both strands without interaction.
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
    'Reason why a graph query has no answer (native/core/graph/query_error.h).',
  )`
    kind: ${nameIn(lists.refusalKinds)}
    at: ${real}
    from: ${int}
    to: ${int}
    value: ${real}
    cycle: ${int32Array}
    keys: ${float64Array}
  `,
  GraphSearchAnswer: object('Result of a graph search, apart from the written arrays.')`
    ...: ${answer}
    dissected: ${flag} Whether nested dissection answered instead of searches.
    division: ${maybe(division)} The division, if requested.
  `,
  GraphComponents: objectOf(
    'graph::ComponentMembers',
    'The nodes of component c are `members[start[c]]` up to `start[c + 1]`.',
  )`
    ...: ${answer}
    of: ${nodeArray}
    members: ${nodeArray}
    start: ${int32Array}
  `,
  GraphOrder: object('Topological order: all nodes, each before the targets of its edges.')`
    ...: ${answer}
    order: ${nodeArray}
  `,
  GraphTree: object("Ascending indices of the tree's edges.")`
    ...: ${answer}
    edges: ${float64Array}
  `,
  GraphPaths: object('Nodes and length of each path.')`
    ...: ${answer}
    paths: ${list(int32Array)}
    lengths: ${float64Array}
  `,
  UserDescription: object('A custom semiring as text, with a line for each node.')`
    plus: ${text}
    times: ${text}
    loweredPlus: ${text} ⊕ in the operations of kernels.
    loweredTimes: ${text}
    key: ${text} Equal keys have equal kernels.
    skips: ${list(text)} Conditions that together imply z ⊕ (x ⊗ y) = z, so that a kernel may skip the step. Empty if unknown.
  `,
  UserKernelText: object('A kernel for a custom semiring.')`
    name: ${text}
    ptx: ${text}
  `,
  CpuCeilingSamples: object('Result of {@link Addon.cpuCeiling}.')`
    isa: ${named('InstructionSet', literal)}
    stepsPerSecond: ${reals} Steps per second of all threads together, one for each sample.
  `,
  CpuNaiveLoopSamples: object('Result of {@link Addon.cpuNaiveLoop}.')`
    isa: ${named('InstructionSet', literal)}
    ms: ${reals} Milliseconds of one core, one for each repetition.
  `,
}
