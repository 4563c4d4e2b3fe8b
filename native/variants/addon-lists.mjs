// Names that native code and lib share: handles, enumerators and the fields of flat arrays.
import { indexIn, integer } from './addon-types.mjs'
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

/** Names of the lanes of a matrix. */
const lanesOf = (matrix) => Array.from({ length: most.lanes }, (_, lane) => `${matrix}Lane${lane}`)

/** Results of a product in addition to C, in the order of kFurtherResults (native/core/problem/auxiliary_outputs.h). */
export const further = ['witness']
const asksFurther = further.map((name) => `asks${name[0].toUpperCase()}${name.slice(1)}`)

/** Fields of each product of a group. lib writes the five fields of a matrix in a row. */
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

// Types of arguments and fields of several tables.
export const backendChoice = indexIn(lists.backendChoices)
export const deviceIndex = integer(0, 65535, 'int')
export const bytes = integer(0, Number.MAX_SAFE_INTEGER)
export const MAXIMA = "'ternary' | 'intrinsic'"
export const division = {
  ts: handles.division.ts,
  cpp: 'std::shared_ptr<const graph::Division>',
  read: 'division()',
}
