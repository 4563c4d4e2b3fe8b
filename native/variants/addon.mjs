// Functions and constants that the addon exports. From these, the objects that cross the addon
// (addon-requests.mjs and addon-results.mjs) and the names that both sides share (addon-lists.mjs) the
// generator writes the C++ structs and their conversions, the declarations of the functions
// (generated/addon.h) and their exports, and lib's types (lib/native-interface.ts).
//
// Native code validates its arguments again after lib, because no argument may cause an access to invalid
// memory. Functions that are called for each product take flat arrays: reading a property of an object costs
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

/** Values that are created when the addon is loaded, each by a function of its name. */
export const constants = {
  semirings: list(record('NativeSemiring')),
  variants: list(record('NativeVariant')),
  refusedVariants: list(record('NativeRefusedVariant')),
}

const anyMatrix = rawArrays('OperandArray | NativeMemory')
const resultMatrix = rawArrays('ElementArray | NativeMemory | null')
const memory = raw('NativeMemory')
const array = rawArrays('OperandArray')
const auxiliaryMatrices = rawArrays('AuxiliaryMatrices', true)
const product = {
  a: anyMatrix,
  b: anyMatrix,
  c: resultMatrix,
  c0: resultMatrix,
  request: fields('Request'),
  report,
}
const made = raw('NativeResult')
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
const allocatedLanes = raw('MadeLanes')
const nth = integer(0, 1e15)
const several = optional(integer(1, 1e15), 1)
const perhapsBuffer = raw('ArrayBuffer | null')

/**
 * The functions, with their arguments (`takes`) and results (`gives`). Functions that return a promise or a
 * raw value also get the call's environment.
 */
export const functions = {
  describe: {
    doc: 'Throws Error with the code ERR_MPMML_OPTION if the settings of the CPU backend are wrong.',
    gives: record('NativeDescription'),
  },
  deviceName: {
    doc: "Returns the name of a CUDA device that has run a product; '' before. Makes no CUDA call.",
    takes: { device: deviceIndex },
    gives: text,
  },
  tensorCores: {
    doc: 'Returns a sentence about whether a CUDA device computes exponents on its tensor cores. The first call runs the test.',
    takes: { device: deviceIndex },
    gives: text,
  },
  configureCpu: {
    doc: 'Sets the settings of the CPU backend. Takes effect only as the first call in the process.',
    takes: { settings: record('CpuSettings') },
  },
  explain: {
    doc: 'Returns the backend that `auto` selects, and the reason.',
    takes: { device: deviceIndex },
    gives: record('NativeExplanation'),
  },
  explainWithoutCuda: {
    doc: 'Sets the reason for the lack of CUDA, instead of the reason that the build knows. Takes effect only as the first call in the process.',
    takes: { reason: text },
  },
  setMeasuredChoices: {
    doc: 'Replaces the measured choices of the planner for a GPU model, by its name. Makes no CUDA call.',
    takes: { gpu: text, choices: list(record('MeasuredChoice')) },
  },
  configureUserKernels: {
    doc: `Sets the folder that caches the code that the driver compiles for custom semirings, and the maximum bytes of its files. An empty
folder disables the cache, and so does an unusable one. Makes no CUDA call.`,
    takes: { folder: text, bytes },
  },
  handleKind: {
    doc: "Returns the kind of an object that native code has created; '' for other values.",
    takes: { handle: raw('unknown') },
    gives: named("HandleKind | ''", literal),
  },
  openDevice: {
    doc: 'Opens a device; `backend` is an index in {@link Addon.backendChoices}, `deviceMemory` and `devices` have the meaning of a request.',
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
    doc: 'Waits for the earlier work of the device, and frees its memory.',
    takes: { device },
    gives: promise(nothing),
  },
  upload: {
    doc: 'Copies a matrix into new row-major memory.',
    takes: { device, array, request: fields('Copy'), cancel },
    gives: promise(memory),
  },
  download: { takes: { device, memory, array, request: fields('Copy'), cancel }, gives: promise(nothing) },
  fill: {
    doc: "Allocates memory in which all elements are the request's value.",
    takes: { device, request: fields('Copy') },
    gives: promise(memory),
  },
  combine: {
    doc: 'C = C ⊕ D. The layout of b in the request is that of D.',
    takes: { device, c: memory, d: memory, request: fields('Request') },
    gives: promise(nothing),
  },
  closeMatrix: {
    doc: `Computes the closure of a square matrix of size n, or of a batch. The request's layouts of a and c are those of the matrix and of
\`out\`. With \`inPlace\` the closure replaces the matrix, which is row-major. Otherwise it is copied to \`out\`, or to new memory if
\`out\` is null. With \`wantsNext\`, the next nodes are written to new memory. The promise is resolved with the new memory: closure, next,
or [closure, next]. It is rejected with ERR_MPMML_CYCLE if there is an improving cycle; then the report has \`gain\`, and \`out\` is
unchanged.`,
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
    doc: 'Copies a matrix to another. The layout of the array in the request is that of `to`.',
    takes: { device, from: memory, to: memory, request: fields('Copy') },
    gives: promise(nothing),
  },
  memoryNumber: {
    doc: 'Returns the number by which requests of a group name the memory until its release.',
    takes: { memory },
    gives: real,
  },
  release: {
    doc: 'Releases the memory. Started work still uses it.',
    takes: { memory },
  },
  multiplySync: {
    doc: `Computes a product on this thread. Throws Error with \`code\`. Without a device all matrices are arrays, and \`c\` may be null
only if the product is only planned. With a device, a, b and c0 are arrays or memory of the device. \`c\` is memory of the device, or null:
then row-major memory is allocated for the result and returned. Each requested auxiliary output is passed or allocated likewise, in separate
memory.`,
    takes: { ...product, device: deviceOrNone, auxiliary: auxiliaryMatrices },
    gives: made,
  },
  multiply: {
    doc: `Computes a product off the event loop, on a device after all earlier work; see multiplySync. A value other than 0 in
\`cancel[0]\` cancels the product. Reads the request before it returns. The report's \`stepsDone\` counts the progress.`,
    takes: { ...product, cancel, device: deviceOrNone, auxiliary: auxiliaryMatrices },
    gives: promise(made),
  },
  multiplyGroup: {
    doc: `Computes several products, whose members and reports are contiguous. The request has the fields that they share. On a device,
products without c get it in one new memory, at the offset in the member; the promise is resolved with the memory. Each kind of auxiliary
outputs gets another memory likewise. Error messages start with "product <index>: ". The members must not change until the promise settles.`,
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
  cancelWork: {
    doc: "Sets `cancel[0]`, and fails the queued work with this flag that hasn't begun to run.",
    takes: { cancel },
    gives: raw('void'),
  },
  rnaFold: {
    doc: `Folds strands off the event loop. The report's stepsDone is the completed fraction of the work. At the end \`backend\` and
\`device\` are those that computed.`,
    takes: { request: record('RnaFoldRequest'), report, cancel },
    gives: promise(list(record('RnaFolding'))),
  },
  rnaInteract: {
    doc: 'Computes the interaction of two strands, which must not be empty; see rnaFold.',
    takes: { request: record('RnaInteractRequest'), report, cancel },
    gives: promise(record('RnaInteractions')),
  },
  graphSearch: {
    doc: `Searches a graph off the event loop, on all cores, and writes the results to the arrays of the request. The report's stepsDone
counts up to 1, like in the other graph queries.`,
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
    doc: 'Validates a definition and returns the custom semiring.',
    takes: { definition: record('UserDefinition') },
    gives: raw('NativeUserSemiring'),
  },
  describeUserSemiring: { takes: { semiring: userSemiring }, gives: record('UserDescription') },
  evaluateUserSemiring: {
    doc: `out = x ⊕ y if \`combine\`, else x ⊗ y, element by element. Each operand has an array per lane, all of one length; \`out\` may be x or y.`,
    takes: { semiring: userSemiring, combine: flag, x: laneArrays, y: laneArrays, out: laneArrays },
  },
  multiplyUserSync: {
    doc: `Computes a product over a custom semiring. Matrices are passed as in multiplySync, one for each lane. Returns the new memories:
those of the lanes of C if it is null, and those of auxiliary outputs.`,
    takes: { semiring: userSemiring, ...userProduct, device: deviceOrNone, auxiliary: auxiliaryMatrices },
    gives: allocatedLanes,
  },
  multiplyUser: {
    doc: 'Computes a product over a custom semiring off the event loop; see multiplyUserSync and multiply.',
    takes: {
      semiring: userSemiring,
      ...userProduct,
      cancel,
      device: deviceOrNone,
      auxiliary: auxiliaryMatrices,
    },
    gives: promise(allocatedLanes),
  },
  multiplyUserGroup: {
    doc: 'Computes several products over a custom semiring in order, with contiguous requests and reports; see multiplyGroup.',
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
    doc: 'Returns a description of the backend and the kernel that would compute a product of this request.',
    takes: { semiring: userSemiring, request: fields('UserRequest'), device: deviceOrNone },
    gives: promise(text),
  },
  userKernelTexts: {
    doc: 'For tests: returns the PTX that the driver compiles for products over a semiring, one text per kernel; none in a build without CUDA.',
    takes: { semiring: userSemiring },
    gives: list(record('UserKernelText')),
  },
  failAllocation: {
    doc: 'For tests: makes `count` allocations fail, on the host or a device, from the nth one from now on; nth = 0: none.',
    takes: { nth, count: several },
  },
  failThread: {
    doc: 'For tests: makes `count` starts of native threads fail, from the nth one from now on; nth = 0: none.',
    takes: { nth, count: several },
  },
  failDriver: {
    doc: 'For tests: makes the driver refuse to compile or load `count` kernels, from the nth one from now on; nth = 0: none.',
    takes: { nth, count: several },
  },
  pretendDevices: {
    doc: `For tests: provides \`count\` fake devices for multi-device work, all of which are CUDA device 0, or the CPU if there is no
usable GPU. 0: the real devices.`,
    takes: { count: count(0, 52) },
  },
  delayWork: {
    doc: 'For tests: delays the completion of work on the CPU, and on devices that are opened from now on, by `milliseconds`.',
    takes: { milliseconds: number(0, 1e6) },
  },
  divideProducts: {
    doc: `For tests: computes products of arrays on the CPU, or on fake devices that are the CPU, in blocks whose results have at most
\`bytes\` bytes, like products on a GPU with little memory. Blocks have a minimum size. 0: products aren't divided.`,
    takes: { bytes: number(0, 1e12) },
  },
  packedBytes: {
    doc: 'For tests: returns the bytes of cached packings of matrices on GPUs.',
    gives: real,
  },
  rememberedReaders: {
    doc: 'For tests: returns the number of copies to arrays, ended or under way, that matrices on GPUs record.',
    gives: real,
  },
  preferHugePages: {
    doc: "Requests huge pages for an array that hasn't been written yet, to save page faults.",
    takes: { array: rawArrays('ElementArray') },
  },
  pinnedBuffer: {
    doc: "Returns zeros in pinned memory; null if CUDA can't be used.",
    takes: { bytes },
    gives: promise(perhapsBuffer),
  },
  pinnedBufferSync: { takes: { bytes }, gives: perhapsBuffer },
  resultBuffer: {
    doc: `Returns pinned memory with undefined content for the result of a product on a CUDA device; null if none is free or the device
hasn't been used yet.`,
    takes: { bytes, device: deviceIndex },
    gives: perhapsBuffer,
  },
  limitPinned: {
    doc: 'Sets the maximum bytes of pinned memory that are retained for results.',
    takes: { bytes },
  },
  pinnedUse: { gives: record('NativePinnedUse') },
  pretendPinned: {
    doc: 'For tests: replaces pinned memory by ordinary memory from now on, with or without a GPU.',
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
    doc: "For tests: runs a kernel that reads an invalid address. Afterwards CUDA can't be used in this process.",
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
