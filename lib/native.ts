/** The addon, and what it exports (native/addon/). lib/load.ts finds it. */
import { AddonError } from './errors.js'
import { type AddonOrigin, load, ownBuild, sourcePackage } from './load.js'
import { packageRoot, root, version } from './package.js'
import type { ElementArray, OperandArray } from './storage.js'
import type { DataType, InstructionSet, Semiring, VariantName } from './variant-names.js'

export { packageRoot, root, version }

/** A row of the native variant registry. Its index in {@link Addon.variants} is how requests and reports name it. */
export interface NativeVariant {
  name: VariantName
  family: string
  semiring: Semiring
  dtype: DataType
  parameters: Record<string, number | string>
  automatic: boolean
  backend: 'cpu' | 'cuda'
  architectures: string[]
}

/** A row of the table that no kernel can be built for. */
export interface NativeRefusedVariant
  extends Pick<NativeVariant, 'family' | 'semiring' | 'dtype' | 'parameters'> {
  name: string
  /** The constraint that it breaks. */
  reason: string
}

/** The variant that was the fastest for products of some size whose cheapest exact path is `path`. */
export interface MeasuredChoice {
  variant: number
  path: number
  m: number
  n: number
  k: number
  batch: number
}

/** What a product reports, by the names in {@link Addon.reportFields}: milliseconds, and indices into the addon's lists. */
export type ReportField =
  | 'backend'
  | 'device'
  | 'devices'
  | 'variant'
  | 'path'
  | 'totalMs'
  | 'kernelMs'
  | 'analysisMs'
  | 'h2dMs'
  | 'd2hMs'
  | 'stepsDone'
  | 'gain'
  | 'steps'

/** A device that has been opened; opaque. */
export interface NativeDevice {
  readonly nativeDevice: unique symbol
}

/** Memory of a device; opaque. It is given back when it is released or collected. */
export interface NativeMemory {
  readonly nativeMemory: unique symbol
}

/** The memories that a call has made: none, one, or those of the results and of the witnesses. */
export type Made = undefined | NativeMemory | readonly [results: NativeMemory, witnesses: NativeMemory]

/** The matrices of a product. */
type ProductMatrix = 'a' | 'b' | 'c' | 'c0' | 'witness'
type MatrixField = 'Offset' | 'RowStride' | 'ColStride' | 'BatchStride'

/** What a request says, by the names in {@link Addon.requestFields}; native/addon/request.h has their meaning. */
export type RequestField =
  | 'batch'
  | 'm'
  | 'n'
  | 'k'
  | `${ProductMatrix}${MatrixField}`
  | 'semiring'
  | 'dtype'
  | 'overflow'
  | 'backend'
  | 'device'
  | 'devices'
  | 'variant'
  | 'planOnly'
  | 'keepsC'
  | 'deviceMemory'
  | 'mayWait'
  | 'asksWitness'
  | `${ProductMatrix}Memory`
  | 'structured'
  | `${'a' | 'b' | 'c'}${'Below' | 'Above'}`

/** What a copy or a fill says, by the names in {@link Addon.copyFields}. */
export type CopyField = 'batch' | 'rows' | 'cols' | 'dtype' | 'value' | `${'array' | 'memory'}${MatrixField}`

/** The memory of a device, in bytes. */
export interface NativeMemoryUse {
  used: number
  reserved: number
  peak: number
  free: number
  total: number
}

/** The settings of the CPU backend. */
export interface CpuSettings {
  /** 0: as many as this process may use. */
  threads: number
  /** '': the best that processor and build have. */
  instructionSet: string
  /** What is wrong with the settings; '' if nothing is. Products on the CPU then fail with this message. */
  wrong: string
}

/** What `describe()` tells of the build and the machine. */
export interface NativeDescription {
  compiler: string
  cuda: {
    built: boolean
    /** One line: what was built, or why CUDA wasn't. */
    status: string
    toolkit: string
    architectures: string[]
    /** Version of the driver's CUDA interface, '' if there is no driver. */
    driver: string
    /** Why CUDA can't be used; '' if it can. */
    reason: string
    devices: Record<string, number | string>[]
  }
  cpu: { simd: string; instructionSets: string[]; threads: number }
}

/** How often the laboratory launches what it times, and where. */
export interface LabLaunches {
  /** Timed launches; 5 by default. */
  repetitions?: number | undefined
  /** Launches before the timed ones; 1 by default. */
  warmup?: number | undefined
  /** The index of the CUDA device; 0 by default. */
  device?: number | undefined
}

/** A kernel variant to be timed on operands that are made on the device: nothing is copied between host and device. */
export interface LabMeasureRequest extends LabLaunches {
  /** Index of a CUDA variant in {@link Addon.variants}. */
  variant: number
  /** C is M × N, A is M × K, B is K × N. */
  m: number
  /** Columns of B and C. */
  n: number
  /** Columns of A and rows of B. */
  k: number
  /** The number of products (the thesis' Ninst); 1 by default. */
  batch?: number | undefined
  /** Finite values are drawn evenly from [minimum, maximum]; −1000 and 1000 by default. */
  minimum?: number | undefined
  /** See minimum. */
  maximum?: number | undefined
  /** The share of the elements that are the semiring's zero; 0 by default. */
  zeroFraction?: number | undefined
  /** Of the random values; 1 by default. */
  seed?: number | undefined
}

/** Milliseconds, one for each repetition. */
export interface LabMeasurement {
  /** Only the kernel of the product. */
  kernelMs: number[]
  /** What the variant runs before it (packing, transposing A); zeros if it runs nothing. */
  prepareMs: number[]
  /** The scan of both operands for their range of values. */
  analysisMs: number[]
  /** How the values were computed with: see {@link MpmmResult.path}. */
  path: string
  /** Sets of operands that the repetitions took in turn, so that no operand is still in the L2 cache. */
  operandSets: number
  /** The clock of the multiprocessors, just after the last repetition. */
  clockMHz: number
}

/** The compile-time parameters of a microbenchmark: X × Y steps per thread and iteration. */
export interface LabMicrobenchInstance {
  x: number
  y: number
  /** Steps between two reads of shared memory; 1 if there are none. */
  k: number
  /** How the maximum is written: `a > b ? a : b` or `max(a, b)`. */
  max: 'ternary' | 'intrinsic'
}

export interface LabMicrobench {
  /** 'reg-reg', 'shared-one', 'shared-both', or the name of an instruction mix. */
  name: string
  /** What a step is made of, in one line. */
  summary: string
  instances: LabMicrobenchInstance[]
  /** The run-time parameters that it has: of 'm', 'bsi', 'bsj', 'gsi', 'gsj', 'n' and 'constant'. */
  parameters: string[]
}

export interface LabMicrobenchRequest extends LabLaunches {
  name: string
  /** X × Y steps per thread and iteration; compile-time, the first instance by default. */
  x?: number | undefined
  /** See x. */
  y?: number | undefined
  /** Iterations between two reads of shared memory; compile-time. */
  k?: number | undefined
  /** How the maximum is written: `a > b ? a : b` or `max(a, b)`; compile-time. */
  max?: 'ternary' | 'intrinsic' | undefined
  /** Columns of the operand in shared memory; 32 by default. Powers of two bring bank conflicts. */
  m?: number | undefined
  /** Threads of a block: BS_i rows of BS_j. 16 × 16 by default. */
  bsi?: number | undefined
  /** See bsi. */
  bsj?: number | undefined
  /** Blocks of the grid: GS_i rows of GS_j. As many as fill the device by default. */
  gsi?: number | undefined
  /** See gsi. */
  gsj?: number | undefined
  /** Iterations of the outermost loop; 1000 by default. It is rounded up to whole bodies of the unrolled loop. */
  n?: number | undefined
  /** Const of the thesis' listings; 1 by default. */
  constant?: number | undefined
}

export interface LabMicrobenchResult {
  /** Milliseconds, one for each repetition. */
  ms: number[]
  /** Clock of the multiprocessors during the last repetition. */
  clockMHz: number
  multiprocessors: number
  /** Threads of a block, and of the grid. */
  threadsPerBlock: number
  threads: number
  /** Iterations of each thread: N, or N·M·K. */
  iterations: number
  /** Elements that an instruction works on: 2 for the packed forms. */
  lanes: number
  /** Max-plus steps per thread and iteration; each is 2 operations. */
  stepsPerIteration: number
  /** Operations per thread and iteration, as the thesis counts them: 2·(X·Y+X+Y) for reg-reg. */
  operationsPerIteration: number
  /** Operations per thread and launch. */
  operationsPerThread: number
  /** Machine instructions per thread and iteration that do these operations on this device's architecture, by opcode; empty if they weren't counted. */
  instructionsPerIteration: Record<string, number>
  /** The most operations per clock and multiprocessor that the pipes allow for these instructions; 0 if unknown. */
  peakOperationsPerClock: number
  /** How that peak is made up. */
  peakReason: string
}

export interface LabBandwidth {
  /** 'copy', 'l2', 'shared' or 'strided'. */
  name: string
  /** What is read, and how, in one line. */
  summary: string
}

export interface LabBandwidthRequest extends LabLaunches {
  name: string
  /** 32-bit words from one thread to the next, for 'strided'; 1 by default. */
  stride?: number | undefined
}

export interface LabBandwidthResult {
  /** Milliseconds, one for each repetition. */
  ms: number[]
  /** Bytes that the threads of a launch read and write. */
  bytes: number
  /** The size of the buffer that they are in; 0 for shared memory. */
  bufferBytes: number
  /** Clock of the multiprocessors just after the last repetition. */
  clockMHz: number
  multiprocessors: number
}

export type LabOccupancyRequest = { device?: number } & (
  | { variant: number }
  | { microbench: Pick<LabMicrobenchRequest, 'name' | 'x' | 'y' | 'k' | 'max' | 'm' | 'bsi' | 'bsj'> }
)

/** Table 2.1 of the thesis; active ones are per multiprocessor. */
export interface LabOccupancy {
  registersPerThread: number
  sharedBytesPerBlock: number
  /** Bytes of local memory per thread: spilled registers. */
  localBytes: number
  threadsPerBlock: number
  activeThreads: number
  activeWarps: number
  activeBlocks: number
  occupancyPercent: number
}

/** Results per clock and multiprocessor of 32-bit integer instructions; 0 if the architecture has no such instruction. */
export interface LabPeak {
  /** Compute capability, such as '9.0'. */
  capability: string
  add: number
  minmax: number
  multiplyAdd: number
  /** __viaddmax_s32 as one instruction. */
  fused: number
  /** Additions and maxima on two 16-bit halves of a word, in words. */
  packed: number
  /** Lanes that the schedulers issue to. */
  issue: number
  /** CUDA cores, by which theoretical machine peaks are usually given. */
  cores: number
  /** Operations of tensor cores on bfloat16, two per multiply-add; 0 if there is no published number. */
  tensor: number
}

/** What pairs of bases are worth; 0: they can't pair. */
export interface RnaScores {
  gc: number
  au: number
  gu: number
}

/** What folding and interaction are asked for by; native/core/rna.h has the meaning. Strands hold the indices of ACGU. */
export interface RnaRequest {
  within: RnaScores
  minLoop: number
  /** Whether scores take 32 bits, not 16. */
  wide: boolean
  wantsTable: boolean
  /** With more bytes of tables on the host there is ERR_MPMML_OUT_OF_MEMORY, before any is allocated. */
  mostBytes: number
  /** An index in {@link Addon.backendChoices}. */
  backend: number
  device: number
  /** The most bytes of device memory; 0: there is no limit. */
  deviceMemory: number
}

export interface RnaFoldRequest extends RnaRequest {
  strands: Uint8Array[]
}

export interface RnaInteractRequest extends RnaRequest {
  strand1: Uint8Array
  strand2: Uint8Array
  between: RnaScores
  /** The length of windows of strand 2; its own length if there are none. */
  reach: number
  /** The most windows that are wanted. */
  top: number
}

/** Pairs are i and j in turn. */
export interface RnaFolding {
  score: number
  pairs: Int32Array
  table?: Int32Array
}

export interface RnaInteraction {
  score: number
  /** What both strands are worth if they don't interact. */
  alone: number
  start: number
  within1: Int32Array
  within2: Int32Array
  between: Int32Array
}

export interface RnaInteractions {
  best: RnaInteraction[]
  steps: number
  /** By (i1, j1, i2, j2) in lexicographic order, j1 ≥ i1 and j2 ≥ i2. */
  table?: Int32Array
}

/** A graph: an edge list, or a square matrix of weights. */
export interface GraphSource {
  nodes: number
  weights?: OperandArray | null
  /** The weight that is no edge. */
  zero: number
  from?: Int32Array
  to?: Int32Array
  /** Whether edges of a list that have the weight zero are none. */
  hasZero?: boolean
  /** The index of a matrix's first element. */
  offset?: number
  matrixRowStride?: number
  matrixColStride?: number
}

/** What is searched for; native/graph/search.h has the meaning. */
export interface GraphSearchRequest extends GraphSource {
  /** 0: sum, 1: product, 2: bottleneck, 3: links. */
  extension: number
  maximizes: boolean
  /** What distances have where there is no path. */
  noPath: number
  backward: boolean
  roots: Int32Array | null
  ends: Int32Array | null
  limit: number | undefined
  /** An index in {@link Addon.overflowPolicies}. */
  overflow: number
  least: number
  most: number
  mostWorkers: number
  distances: ElementArray
  next: Int32Array | null
  trees: Int32Array | null
  /** The index of the first of the distances, and of the next nodes. */
  place: number
  treePlace: number
  rootStride: number
  endStride: number
}

/** Why a question about a graph has no answer; native/graph/refusal.h has the meaning. */
export interface GraphRefusal {
  kind: 'nan' | 'from' | 'to' | 'negative' | 'gains' | 'cycle' | 'inexact' | 'overflow' | 'too many'
  at: number
  from: number
  to: number
  value: number
  cycle: Int32Array
  keys: Float64Array
}

/** What work on a graph gives. */
export interface GraphAnswer {
  refusal?: GraphRefusal
}

/** What products on the CPU are measured against (native/cpu/yardstick.h). */
export interface CpuCeilingRequest {
  /** The one that products take by default. */
  isa?: InstructionSet
  /** The name of the steps (native/cpu/yardsticks.h). */
  steps: string
  /** Threads that run at once. */
  threads: number
  samples: number
  /** Of a sample, about. */
  milliseconds: number
}

export interface CpuCeilingSamples {
  isa: InstructionSet
  /** Steps per second of all threads together, one for each sample. */
  stepsPerSecond: number[]
}

export interface CpuNaiveLoopRequest {
  isa?: InstructionSet
  m: number
  n: number
  k: number
  repetitions: number
}

export interface CpuNaiveLoopSamples {
  isa: InstructionSet
  /** Milliseconds of one core, one for each repetition. */
  ms: number[]
}

/** A semiring of the build. */
export interface NativeSemiring {
  name: Semiring
  /** ⊕. */
  combine: 'maximum' | 'minimum' | 'sum' | 'or'
  /** ⊗. */
  extend: 'maximum' | 'minimum' | 'sum' | 'product' | 'and'
  /** The neutral element of ⊕ in each element type that it has. */
  zeros: Partial<Record<DataType, number>>
  /** That of ⊗. */
  ones: Partial<Record<DataType, number>>
  /** Whether x ⊕ x = x, so that one k decides a result. */
  idempotent: boolean
}

export interface Addon {
  semirings: NativeSemiring[]
  variants: NativeVariant[]
  refusedVariants: NativeRefusedVariant[]
  /** The names of native code's enumerators, in their order: requests and reports have the indices. */
  dataTypes: DataType[]
  paths: string[]
  overflowPolicies: ('throw' | 'saturate' | 'wrap')[]
  backendChoices: ('auto' | 'cpu' | 'cuda')[]
  backends: ('cpu' | 'cuda')[]
  /** The fields of a request's Float64Array, in order. */
  requestFields: RequestField[]
  /** The fields of a report's Float64Array, in order. */
  reportFields: ReportField[]
  /** Throws Error with the code ERR_MPMML_OPTION if the settings of the CPU backend are wrong. */
  describe(): NativeDescription
  /** The name of a CUDA device that a product has run on; '' before. Makes no CUDA call. */
  deviceName(device: number): string
  tensorCores(device: number): string
  /** Takes effect only as the first call in the process. */
  configureCpu(settings: CpuSettings): void
  explain(device: number): { backend: 'cpu' | 'cuda'; reason: string }
  /** Says better than the build can why there is no CUDA. Takes effect only as the first call in the process. */
  explainWithoutCuda(reason: string): void
  /** The fields of the Float64Array of a copy or a fill, in order. */
  copyFields: CopyField[]
  /**
   * Opens a device; `backend` is an index in {@link Addon.backendChoices}, `deviceMemory` and `devices` are as in a request.
   */
  openDevice(backend: number, device: number, deviceMemory: number, devices?: number): Promise<NativeDevice>
  /**
   * `backend` is an index in {@link Addon.backends}. On the CPU the index is −1 and the name ''. `devices` are the bits of
   * those that it consists of; 0 if it is one. `all` says whether there is no other CUDA device.
   */
  describeDevice(device: NativeDevice): {
    backend: number
    index: number
    name: string
    devices: number
    all: boolean
  }
  memoryUse(device: NativeDevice): NativeMemoryUse
  /** Waits for what was started before. Afterwards the device's memory is gone. */
  closeDevice(device: NativeDevice): Promise<void>
  /** Copies a matrix into memory that is made for it, row-major. */
  upload(
    device: NativeDevice,
    array: OperandArray,
    request: Float64Array,
    cancel: Int32Array,
  ): Promise<NativeMemory>
  download(
    device: NativeDevice,
    memory: NativeMemory,
    array: OperandArray,
    request: Float64Array,
    cancel: Int32Array,
  ): Promise<void>
  /** Makes memory in which all elements are the request's value. */
  fill(device: NativeDevice, request: Float64Array): Promise<NativeMemory>
  /** C = C ⊕ D. The request has the layout of D as that of b. */
  combine(device: NativeDevice, c: NativeMemory, d: NativeMemory, request: Float64Array): Promise<void>
  /**
   * Closes a square matrix, or a batch, whose layout the request has as that of a, of size n. `inPlace`: it becomes its own
   * closure, and is row-major. The closure is copied to `out`, whose layout the request has as that of c; if that is null and
   * it isn't closed in place, memory is made for it. If `wantsNext`, memory is made for the next nodes too. The promise gives
   * what was made: closure, next, or [closure, next]. It is rejected with ERR_MPMML_CYCLE if a cycle gains; then the report
   * has `gain` (native/addon/request.h), and `out` is as it was.
   */
  closeMatrix(
    device: NativeDevice,
    matrix: NativeMemory,
    out: NativeMemory | null,
    inPlace: boolean,
    reflexive: boolean,
    wantsNext: boolean,
    request: Float64Array,
    report: Float64Array,
    cancel: Int32Array,
  ): Promise<NativeMemory | [NativeMemory, NativeMemory] | undefined>
  /** Copies a matrix to another. The request has the layout of `to` as that of the array. */
  copyMatrix(device: NativeDevice, from: NativeMemory, to: NativeMemory, request: Float64Array): Promise<void>
  /** By which requests of a group name the memory, until it is released. */
  memoryNumber(memory: NativeMemory): number
  /** JavaScript lets go of the memory. Work that has been started keeps it. */
  release(memory: NativeMemory): void
  /**
   * Throws Error with `code`. Without a device all matrices are arrays, and `c` is null only if the product is only
   * planned. With a device a, b and c0 are arrays or its memory; `c` is its memory, or null: then the result's memory is
   * made, row-major, and returned. The same is true of the witness, if the request asks for it: it has memory of its own.
   */
  multiplySync(
    a: OperandArray | NativeMemory,
    b: OperandArray | NativeMemory,
    c: ElementArray | NativeMemory | null,
    c0: ElementArray | NativeMemory | null,
    request: Float64Array,
    report: Float64Array,
    device: NativeDevice | null,
    witness?: Int32Array | NativeMemory | null,
  ): Made
  /**
   * The same off the event loop, on a device after all that was started before. A value other than 0 in `cancel[0]` asks
   * that it be given up. Reads the request before it returns. `stepsDone` is counted in the report meanwhile.
   */
  multiply(
    a: OperandArray | NativeMemory,
    b: OperandArray | NativeMemory,
    c: ElementArray | NativeMemory | null,
    c0: ElementArray | NativeMemory | null,
    request: Float64Array,
    report: Float64Array,
    cancel: Int32Array,
    device: NativeDevice | null,
    witness?: Int32Array | NativeMemory | null,
  ): Promise<Made>
  /**
   * Folds strands, off the event loop. The report's stepsDone is the share of the work that is done; in the end `backend` and
   * `device` say what has done it.
   */
  rnaFold(request: RnaFoldRequest, report: Float64Array, cancel: Int32Array): Promise<RnaFolding[]>
  /** The same for the interaction of two strands, which aren't empty. */
  rnaInteract(request: RnaInteractRequest, report: Float64Array, cancel: Int32Array): Promise<RnaInteractions>
  /**
   * Searches a graph off the event loop, on all cores, and writes what it finds to the arrays of the request. The report's stepsDone
   * grows by 1.
   */
  graphSearch(request: GraphSearchRequest, report: Float64Array, cancel: Int32Array): Promise<GraphAnswer>
  /** The nodes of component c are `members[start[c]]` up to `start[c + 1]`. */
  graphComponents(
    request: GraphSource & { strong: boolean },
    report: Float64Array,
    cancel: Int32Array,
  ): Promise<GraphAnswer & { of: Int32Array; members: Int32Array; start: Int32Array }>
  graphOrder(
    request: GraphSource,
    report: Float64Array,
    cancel: Int32Array,
  ): Promise<GraphAnswer & { order: Int32Array }>
  /** Gives the indices of the tree's edges, which ascend. */
  graphSpanningTree(
    request: GraphSource & Pick<GraphSearchRequest, 'extension' | 'maximizes' | 'noPath'>,
    report: Float64Array,
    cancel: Int32Array,
  ): Promise<GraphAnswer & { edges: Float64Array }>
  /** At most `most` paths from the node `source` to the node `target`. */
  graphShortest(
    request: GraphSource & { source: number; target: number; most: number; limit: number | undefined },
    report: Float64Array,
    cancel: Int32Array,
  ): Promise<GraphAnswer & { paths: Int32Array[]; lengths: Float64Array }>
  /**
   * Several products, whose requests and reports follow each other. A request says where each matrix is: the
   * {@link memoryNumber} of a memory, −1 minus an index in `arrays`, or 0. On a device products whose c is nowhere get it in
   * one memory, at the offset that their request has; the promise gives it. Witnesses get another memory in the same way.
   * What a product is rejected with starts with "product <index>: ".
   */
  multiplyGroup(
    arrays: OperandArray[],
    requests: Float64Array,
    reports: Float64Array,
    cancel: Int32Array,
    device: NativeDevice | null,
  ): Promise<Made>
  /** Sets `cancel[0]`, and gives up at once what has been started with it and hasn't begun to run. */
  giveUp(cancel: Int32Array): void
  /** For tests: the nth allocation from now on fails, on the host or a device, or `count` from there on; 0: none does. */
  failAllocation(nth: number, count?: number): void
  /** For tests: the same of the threads that native code starts. */
  failThread(nth: number, count?: number): void
  /**
   * For tests: from now on there are `count` devices for work on several, all of which are CUDA device 0, or the CPU if that
   * can't be used. 0: those that there are.
   */
  pretendDevices(count: number): void
  /** For tests: work on devices that are opened from now on shows as done only so many milliseconds later. */
  delayWork(milliseconds: number): void
  /** Asks the system for huge pages for an array that nobody has written yet: they cost fewer page faults. */
  preferHugePages(array: ElementArray): void
  /** Zeros in pinned memory; null if CUDA can't be used. */
  pinnedBuffer(bytes: number): Promise<ArrayBuffer | null>
  pinnedBufferSync(bytes: number): ArrayBuffer | null
  /** Replaces what the planner knows of a GPU model, by its name; `variant` and `path` are indices. Makes no CUDA call. */
  setMeasuredChoices(gpu: string, choices: MeasuredChoice[]): void
  /** Promises of the laboratory are rejected with ERR_MPMML_NO_CUDA if no GPU can be used. */
  labMeasure(request: LabMeasureRequest): Promise<LabMeasurement>
  labMicrobenches(): LabMicrobench[]
  labMicrobench(request: LabMicrobenchRequest): Promise<LabMicrobenchResult>
  labBandwidths(): LabBandwidth[]
  labBandwidth(request: LabBandwidthRequest): Promise<LabBandwidthResult>
  labOccupancy(request: LabOccupancyRequest): Promise<LabOccupancy>
  /** For tests: a kernel reads from where no memory is. Afterwards CUDA can't be used in this process. */
  labFault(request: { device?: number }): Promise<void>
  labPeaks(): LabPeak[]
  cpuCeiling(request: CpuCeilingRequest): Promise<CpuCeilingSamples>
  cpuNaiveLoop(request: CpuNaiveLoopRequest): Promise<CpuNaiveLoopSamples>
}

const loaded = load<Addon>()

/** The addon, loaded once. */
export const addon: Addon = loaded.addon

/** Which addon it is, and where it comes from. */
export const addonOrigin: AddonOrigin = loaded.origin

/** What to do if the addon lacks the laboratory's kernels. */
export function withoutLaboratory(): string {
  const { from } = addonOrigin
  const packageOfLab = `@mpmml/lab-${process.platform}-${process.arch}`
  const run =
    from === ownBuild
      ? 'npm run build -- lab'
      : from === sourcePackage
        ? `MPMML_LAB=ON npm rebuild ${sourcePackage}`
        : `npm install ${packageOfLab}@${version}`
  return `the addon that is loaded is that of products only (${from}); run: ${run}`
}

/** The index of a name in one of the addon's lists: native code is the one source of their order. */
export function indexIn<Name extends string>(list: readonly Name[], name: Name): number {
  const index = list.indexOf(name)
  if (index >= 0) return index
  throw new AddonError(
    `the native addon doesn't know the name ${name}: it is of another version; run: npm rebuild mpmml`,
  )
}
