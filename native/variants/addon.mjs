// Functions and constants that the addon exports. From these, the objects that cross the addon
// (addon-requests.mjs and addon-results.mjs) and the names that both sides share (addon-lists.mjs) the
// generator writes the C++ structs, what reads and writes them, the declarations of the functions
// (generated/addon.h) and their exports, and lib's types (lib/native-interface.ts).
//
// Native code checks what it reads once more, though lib has: nothing that JavaScript passes may touch memory
// that isn't there. What is called for each product passes flat arrays: reading a property of an object costs
// about as much as multiplying two small matrices.
import { backendChoice, bytes, deviceIndex, handles } from './addon-lists.mjs'
import {
  cancel,
  count,
  device,
  deviceOrNone,
  fields,
  flag,
  integer,
  list,
  literal,
  named,
  nothing,
  number,
  optional,
  promise,
  raw,
  rawArrays,
  real,
  record,
  report,
  text,
} from './addon-types.mjs'

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
 * The functions: what each takes and gives. What gives a promise, or goes through as it is, is called with
 * the environment's arguments too.
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
