// Names that native code and lib share: handles, enumerators and the fields of flat arrays.
import { indexIn, integer } from './addon-types.mjs'
import { most } from './expressions.mjs'

/**
 * zzz
 */
export const handles = {
  device: { ts: 'NativeDevice', doc: 'An opened device.' },
  memory: {
    ts: 'NativeMemory',
    doc: 'Memory of a device. It is freed when it is released or collected.',
  },
  userSemiring: { ts: 'NativeUserSemiring', doc: 'A custom semiring.' },
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
  paths: { names: 'kRangePathNames', ids: 'ArithmeticKind', ts: 'string' },
  overflowPolicies: {
    names: 'kOverflowPolicyNames',
    ids: 'OverflowPolicy',
    ts: "'throw' | 'saturate' | 'wrap'",
  },
  backendChoices: { names: 'kBackendChoiceNames', ids: 'BackendChoice', ts: 'BackendChoice' },
  backends: { names: 'kBackendNames', ids: 'BackendKind', ts: 'BackendName' },
  pathExtensions: enumerators(
    'graph',
    'Extension',
    '⊗: the value of a path from the values of its edges. Paths of links have no values.',
    plain('sum product bottleneck links'),
  ),
  pathMethods: enumerators(
    'graph',
    'Method',
    'Method of a path query: the one with the least estimated time, searches, or nested dissection (dissection.h).',
    plain('auto search dissection'),
  ),
  pathReductions: enumerators(
    'graph',
    'Reduction',
    'Numbers that replace the distances of each root.',
    plain('none eccentricity mean nearest'),
  ),
  refusalKinds: enumerators('graph', 'RefusalKind', 'Reasons why a graph query has no answer.', {
    nan: 'the weight at `at` is NaN',
    from: "edge `at` leaves a node that doesn't exist",
    to: "edge `at` enters a node that doesn't exist",
    negative: 'the weight at `at` is below 0, in a product',
    gains: 'the weight at `at` improves paths, which the query excludes',
    cycle: 'an improving cycle, or a cycle in a graph that must be acyclic',
    inexact: 'a sum of integers is beyond 2^53',
    overflow: "the distance from `from` to `to` isn't in the finite range",
    'too many': 'the graph has more edges than can be numbered',
    undivided: "nested dissection was requested, but can't answer the query",
  }),
}

const words = (text) => text.split(' ')
const of = (matrices, ...ends) => matrices.flatMap((matrix) => ends.map((end) => `${matrix}${end}`))
const layoutOf = (...matrices) => of(matrices, 'Offset', 'RowStride', 'ColStride', 'BatchStride')

/** Names of the lanes of a matrix. */
const lanesOf = (matrix) => Array.from({ length: most.lanes }, (_, lane) => `${matrix}Lane${lane}`)

/** Results of a product in addition to C, in the order of kAuxiliaryResults (native/core/problem/auxiliary_outputs.h). */
export const auxiliary = ['witness']
const asksAuxiliary = auxiliary.map((name) => `asks${name[0].toUpperCase()}${name.slice(1)}`)

/** Fields of each product of a group. lib writes the five fields of a matrix in a row. */
const ofProduct = [
  ...words('batch m n k keepsC structured'),
  ...['a', 'b', 'c', 'c0', ...auxiliary].flatMap((matrix) => [`${matrix}Memory`, ...layoutOf(matrix)]),
  ...of(['a', 'b', 'c'], 'Below', 'Above'),
]

/** The tables of fields of flat arrays. */
export const tables = {
  Request: {
    doc: `Request of a product. Sizes, offsets and strides count elements. semiring, dtype, overflow, backend and variant are indices into the
exported lists semirings, dataTypes, overflowPolicies, backendChoices and variants (variant −1: none requested). planOnly, keepsC,
mayWait and asksWitness are 0 or 1. deviceMemory is the maximum of device memory for the product in bytes; 0: no limit. devices is a
DeviceSet. backend, device and devices are ignored for products on an opened device. If structured isn't 0, the
fields from aBelow on are the bands of the structure, integers or Infinity. The fields aMemory and so on are described at Member.`,
    fields: [
      ...ofProduct,
      ...words('semiring dtype overflow backend device devices variant planOnly deviceMemory mayWait'),
      ...asksAuxiliary,
    ],
  },
  Member: {
    doc: `Request of a product of a group: the first fields of a request, whose other fields the group shares. aMemory and so on are the
locations of its matrices: the number of a memory, −1 minus the index of an array in the list of arrays, or 0 for no matrix. So native code
calls no JavaScript per product. The layout of a missing matrix isn't read, except for the offset of a result to be allocated.`,
    fields: ofProduct,
  },
  UserRequest: {
    doc: `Request of a product over a custom semiring. Fields with names of Request have its meaning. Each lane of a matrix has a layout;
the layouts of lanes that the semiring doesn't have are 0.`,
    fields: [
      ...['batch', 'm', 'n', 'k'],
      ...layoutOf(...['a', 'b', 'c', 'c0'].flatMap(lanesOf), ...auxiliary),
      ...words('backend device devices keepsC deviceMemory'),
      ...asksAuxiliary,
      'structured',
      ...of(['a', 'b', 'c'], 'Below', 'Above'),
    ],
  },
  Copy: {
    doc: 'A copy between an array and a memory, or a fill of new memory with value.',
    fields: ['batch', 'rows', 'cols', 'dtype', 'value', ...layoutOf('array', 'memory')],
  },
  Report: {
    doc: `Report of work. backend, variant and path are indices into the exported lists backends, variants and paths. device is −1 on the
CPU. devices is the DeviceSet of a product on several devices, and 0 for a single device. Times are in milliseconds.
stepsDone counts the k-steps (Problem::steps_done) while a product runs in the background. steps is the number of k-steps that contribute
to results of the product. gain belongs to closures: −1, or the first item · n + node with an improving cycle.`,
    fields: words(
      'backend device devices variant path totalMs kernelMs analysisMs h2dMs d2hMs stepsDone gain steps',
    ),
  },
}

// Types of arguments and fields of several tables.
export const backendChoice = indexIn(lists.backendChoices)
export const deviceIndex = integer(0, 65535, 'int')
export const bytes = integer(0, Number.MAX_SAFE_INTEGER)
export const MAXIMA = "'ternary' | 'intrinsic'"
export const division = {
  ts: handles.division.ts,
  cpp: 'std::shared_ptr<const graph::Dissection>',
  read: 'division()',
}
