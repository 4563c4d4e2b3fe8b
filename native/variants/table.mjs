// The table of kernel variants, the single definition of the existing kernels.
//
// From it the generator (generate.mjs) writes one instantiation per row, the native registry and the
// TypeScript type of variant names. A family's rows are in order of preference: of variants with equal cost
// the planner selects the first.
//
// - To add a combination of parameters, add it to its family's `rows`.
// - To add a kernel family, write its header and add it to `families`.
// - To add a semiring, write its struct in core/algebra/semiring.h and add it to `semirings` (and to the tests' oracles).

import { ladder } from './ladder.mjs'
import { mpmml } from './mpmml.mjs'

/**
 * Semirings: the public name, the struct template in core/algebra/semiring.h, the element types of the semiring, and those of
 * them in which a ⊗ b can overflow. `idempotent` is false if x ⊕ x isn't always x: then there are no closures.
 */
export const semirings = [
  {
    name: 'max-plus',
    struct: 'MaxPlus',
    dataTypes: ['int32', 'float32', 'float64'],
    overflows: ['int32'],
  },
  {
    name: 'min-plus',
    struct: 'MinPlus',
    dataTypes: ['int32', 'float32', 'float64'],
    overflows: ['int32'],
  },
  { name: 'plus-times', struct: 'PlusTimes', dataTypes: ['float32', 'float64'], idempotent: false },
  { name: 'max-min', struct: 'MaxMin', dataTypes: ['int32', 'float32', 'float64'] },
  { name: 'min-max', struct: 'MinMax', dataTypes: ['int32', 'float32', 'float64'] },
  { name: 'max-times', struct: 'MaxTimes', dataTypes: ['float32', 'float64'] },
  { name: 'or-and', struct: 'OrAnd', dataTypes: ['uint8'] },
  { name: 'xor-and', struct: 'XorAnd', dataTypes: ['uint8'], idempotent: false },
]

/**
 * A type of numbers, by its public name. All its other names follow from the kind and the number of bits in
 * the name.
 */
function numberType(name, what, narrow) {
  const [, kind, digits] = /^(int|uint|float)(\d+)$/.exec(name)
  const capital = name[0].toUpperCase() + name.slice(1)
  return {
    name,
    what,
    narrow,
    bytes: digits / 8,
    short: kind[0] + digits,
    id: `k${capital}`,
    element: { float32: 'float', float64: 'double' }[name] ?? `${name}_t`,
    array: `${capital}Array`,
  }
}

/**
 * Element types: the public name, the description in the reference, and the storage type with fewer bits for
 * operands, if there is one (StorageTypeOf in core/algebra/semiring.h).
 */
export const dataTypes = [
  numberType(
    'int32',
    '32-bit integers.',
    numberType('int16', 'For operands: int32 elements in half the memory.'),
  ),
  numberType('float32', 'Numbers of single precision.'),
  numberType('float64', 'Numbers of double precision; integers up to 2^53 are exact.'),
  numberType('uint8', 'Bytes, which or-and takes for true unless they are 0.'),
]

/** Each element type, with itself and with the narrower storage type of its operands. */
export const storedTypes = dataTypes.flatMap((dataType) => [
  { dataType, stored: dataType, storage: 'kElement' },
  ...(dataType.narrow ? [{ dataType, stored: dataType.narrow, storage: 'kNarrow' }] : []),
])
const everyType = dataTypes.map(({ name }) => name)

/**
 * Instruction sets of the CPU backend, best first: the processor family that they belong to and the
 * compiler's options. The portable one is compiled for the compiler's baseline and runs anywhere. If a family
 * has other sets, only older processors run the portable one. Hosts of WebAssembly without SIMD128 refuse the
 * whole module, so SIMD128 is the baseline there.
 */
export const instructionSets = [
  {
    name: 'avx512',
    processor: 'x86_64',
    options: ['-mavx512f', '-mavx512bw', '-mavx512vl', '-mavx512dq'],
  },
  { name: 'avx2', processor: 'x86_64', options: ['-mavx2', '-mfma'] },
  { name: 'sse41', processor: 'x86_64', options: ['-msse4.1'] },
  { name: 'neon', processor: 'aarch64', options: [] },
  { name: 'simd128', processor: 'wasm32', options: ['-msimd128'], isBaseline: true },
  { name: 'portable', processor: 'any', options: [] },
]

/** Returns the instruction sets that a build for a processor family may have. */
export function setsOf(family) {
  const own = instructionSets.filter(({ processor }) => processor === family)
  const needsPortable = !own.some(({ isBaseline }) => isBaseline)
  return [...own, ...instructionSets.filter(({ processor }) => needsPortable && processor === 'any')]
}

/**
 * Additional compiler options for the portable kernels of products and closures in a family with other sets.
 * Their loops are written with vectors, so -O3 only duplicates the code around them. With -O2 they take 42 %
 * less space and the same time (GCC 12, EPYC).
 */
export const optionsBehindOthers = ['-O2']

/**
 * Accumulators. `overflowing` and `plain` list the arithmetics that a kernel with this accumulator is
 * instantiated over: `overflowing` for semirings whose ⊗ can overflow, `plain` for the others. The
 * arithmetics are in core/algebra/arithmetic.h; backends specialize some of them, in cpu/wide.h, cpu/bits.h
 * and cuda/kernels/simd_step.cuh. `dataTypes` are the element types that it supports, and `suffix` is its
 * part of a variant's name.
 */
export const accumulators = {
  exponent: {
    overflowing: ['Exponent'],
    plain: ['Exponent'],
    dataTypes: ['int32', 'float32'],
    suffix: '',
  },
  exponentwide: {
    overflowing: ['ExponentWide'],
    plain: ['ExponentWide'],
    dataTypes: ['int32', 'float32'],
    suffix: '_wide',
  },
  exponentbounded: { overflowing: ['ExponentBounded'], dataTypes: ['int32'], suffix: '_bounded' },
  byte: { overflowing: ['Byte'], dataTypes: ['int32'], suffix: '_acc8' },
  uint16: { overflowing: ['Half'], dataTypes: ['int32'], suffix: '_acc16' },
  int32: { overflowing: ['NativeArithmetic'], plain: ['Plain'], dataTypes: ['int32'], suffix: '' },
  int64: { overflowing: ['Wide', 'Wrapping'], dataTypes: ['int32'], suffix: '_acc64' },
  float32: { plain: ['Plain'], dataTypes: ['float32'], suffix: '' },
  float64: { plain: ['Plain'], dataTypes: ['float64'], suffix: '' },
  uint8: { plain: ['Plain'], dataTypes: ['uint8'], suffix: '' },
  element: { plain: ['Plain'], dataTypes: everyType, suffix: '' },
  bits: { plain: ['Bits'], dataTypes: ['uint8'], suffix: '' },
}

const accumulatorSuffix = (p) => accumulators[p.accumulator].suffix

/**
 * Kernel families:
 *
 * - `parameters` lists the parameters in the order of the template's arguments. The accumulator and the instruction
 *   set aren't arguments: they determine the arithmetic and the compiler's options.
 * - `rows` are the combinations. Each exists for every semiring that its accumulator has arithmetics for, or only for
 *   those of `semirings`.
 * - `label` makes a row's part of the canonical name.
 * - `automatic` says whether the planner may choose the family, or which of its rows, by itself.
 * - `constraints` hold for every row that can be built. Other rows are refused by name, with the reason.
 * - `header` and `template` are functions of the row if the rows have several templates; `arguments` then gives the
 *   template's arguments.
 * - `together` is how many rows are compiled as one source file (files.mjs); 1 if it is missing. `typesTogether` says
 *   that a file may have rows of several element types.
 */
export const families = [
  {
    name: 'pipelined',
    backend: 'cuda',
    header: 'cuda/launch/pipelined.cuh',
    template: 'Pipelined',
    parameters: ['BM', 'BN', 'BK', 'TM', 'TN', 'stages', 'slices', 'accumulator'],
    label: (p) =>
      `${p.BM}x${p.BN}x${p.BK}_${p.TM}x${p.TN}_st${p.stages}_sl${p.slices}${accumulatorSuffix(p)}`,
    automatic: true,
    together: 3,
    // biome-ignore format: one row per line
    rows: [
      { BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, stages: 2, slices: 1, accumulator: 'int32' },
      { BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, stages: 4, slices: 4, accumulator: 'int32' },
      { BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, stages: 3, slices: 8, accumulator: 'int32' },
      { BM: 64, BN: 32, BK: 8, TM: 8, TN: 4, stages: 3, slices: 8, accumulator: 'int32' },
      { BM: 192, BN: 96, BK: 16, TM: 12, TN: 8, stages: 4, slices: 2, accumulator: 'int32' },
      { BM: 96, BN: 48, BK: 8, TM: 12, TN: 4, stages: 4, slices: 4, accumulator: 'int32' },
      { BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, stages: 2, slices: 1, accumulator: 'uint16' },
      { BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, stages: 4, slices: 4, accumulator: 'uint16' },
      { BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, stages: 3, slices: 8, accumulator: 'uint16' },
      { BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, stages: 2, slices: 1, accumulator: 'float32' },
      { BM: 64, BN: 128, BK: 16, TM: 8, TN: 8, stages: 3, slices: 4, accumulator: 'float32' },
      { BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, stages: 4, slices: 4, accumulator: 'float32' },
      { BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, stages: 3, slices: 8, accumulator: 'float32' },
      { BM: 64, BN: 32, BK: 8, TM: 8, TN: 4, stages: 3, slices: 8, accumulator: 'float32' },
      { BM: 96, BN: 48, BK: 16, TM: 12, TN: 4, stages: 3, slices: 4, accumulator: 'float32' },
      { BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, stages: 2, slices: 1, accumulator: 'float64' },
      { BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, stages: 2, slices: 4, accumulator: 'float64' },
      { BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, stages: 2, slices: 1, accumulator: 'bits' },
      { BM: 128, BN: 64, BK: 16, TM: 8, TN: 8, stages: 4, slices: 4, accumulator: 'bits' },
      { BM: 64, BN: 64, BK: 16, TM: 8, TN: 8, stages: 3, slices: 8, accumulator: 'bits' },
    ],
  },
  {
    name: 'tensor',
    backend: 'cuda',
    header: 'cuda/launch/tensor.cuh',
    template: 'Tensor',
    semirings: ['plus-times'],
    parameters: ['BM', 'BN', 'BK', 'WM', 'WN', 'stages', 'accumulator'],
    label: (p) => `${p.BM}x${p.BN}x${p.BK}_${p.WM}x${p.WN}_st${p.stages}`,
    automatic: true,
    rows: [{ BM: 64, BN: 64, BK: 16, WM: 32, WN: 16, stages: 4, accumulator: 'float64' }],
  },
  {
    name: 'exponent',
    backend: 'cuda',
    header: 'cuda/launch/exponent.cuh',
    template: 'ExponentTiles',
    semirings: ['max-plus', 'min-plus'],
    parameters: ['BM', 'BN', 'BK', 'stages', 'accumulator'],
    label: (p) => `${p.BM}x${p.BN}x${p.BK}_st${p.stages}${accumulatorSuffix(p)}`,
    automatic: true,
    together: 3,
    list: 'hopper',
    rows: [
      { BM: 128, BN: 128, BK: 64, stages: 6, accumulator: 'exponent' },
      { BM: 128, BN: 144, BK: 64, stages: 6, accumulator: 'exponent' },
      { BM: 128, BN: 64, BK: 64, stages: 8, accumulator: 'exponent' },
      { BM: 128, BN: 128, BK: 64, stages: 6, accumulator: 'exponentwide' },
      { BM: 128, BN: 144, BK: 64, stages: 6, accumulator: 'exponentwide' },
      { BM: 128, BN: 64, BK: 64, stages: 8, accumulator: 'exponentwide' },
      { BM: 128, BN: 128, BK: 64, stages: 6, accumulator: 'exponentbounded' },
    ],
  },
  {
    name: 'warpexponent',
    backend: 'cuda',
    header: 'cuda/launch/warp_exponent.cuh',
    template: 'WarpExponentTiles',
    semirings: ['max-plus', 'min-plus'],
    parameters: ['BM', 'BN', 'BK', 'WM', 'WN', 'stages', 'accumulator'],
    label: (p) => `${p.BM}x${p.BN}x${p.BK}_${p.WM}x${p.WN}_st${p.stages}${accumulatorSuffix(p)}`,
    automatic: true,
    together: 3,
    rows: [
      { BM: 128, BN: 128, BK: 64, WM: 64, WN: 64, stages: 2, accumulator: 'exponent' },
      { BM: 128, BN: 128, BK: 64, WM: 64, WN: 64, stages: 2, accumulator: 'exponentwide' },
      { BM: 128, BN: 128, BK: 64, WM: 64, WN: 64, stages: 2, accumulator: 'exponentbounded' },
    ],
  },
  {
    // The time of this family depends on the values, so the planner selects it only after a scan
    // (cuda/runtime/ranked_choice.h).
    name: 'ranked',
    backend: 'cuda',
    header: 'cuda/launch/ranked.cuh',
    template: 'Ranked',
    semirings: ['max-plus', 'min-plus'],
    parameters: ['BN', 'threads', 'accumulator'],
    label: (p) => `${p.BN}_${p.threads}`,
    automatic: false,
    list: 'cuda',
    rows: [{ BN: 8192, threads: 512, accumulator: 'int32' }],
  },
  {
    name: 'boolean',
    backend: 'cuda',
    header: 'cuda/launch/boolean.cuh',
    template: 'BooleanTiles',
    parameters: ['BM', 'BN', 'BK', 'stages', 'accumulator'],
    label: (p) => `${p.BM}x${p.BN}x${p.BK}_st${p.stages}`,
    automatic: true,
    list: 'hopper',
    rows: [{ BM: 128, BN: 128, BK: 1024, stages: 3, accumulator: 'bits' }],
  },
  {
    name: 'small',
    backend: 'cuda',
    header: 'cuda/launch/small.cuh',
    template: 'Small',
    parameters: ['BM', 'BN', 'BK', 'TM', 'slices', 'accumulator'],
    label: (p) =>
      `${p.BM}x${p.BN}x${p.BK}_${p.TM}x4${p.slices > 1 ? `_sl${p.slices}` : ''}${accumulatorSuffix(p)}`,
    automatic: true,
    together: 11,
    typesTogether: true,
    // biome-ignore format: one row per line
    rows: [
      { BM: 4, BN: 4, BK: 4, TM: 1, slices: 1, accumulator: 'int32' },
      { BM: 8, BN: 8, BK: 8, TM: 1, slices: 1, accumulator: 'int32' },
      { BM: 16, BN: 16, BK: 16, TM: 2, slices: 1, accumulator: 'int32' },
      { BM: 16, BN: 16, BK: 16, TM: 2, slices: 8, accumulator: 'int32' },
      { BM: 32, BN: 32, BK: 16, TM: 8, slices: 1, accumulator: 'int32' },
      { BM: 32, BN: 32, BK: 16, TM: 8, slices: 4, accumulator: 'int32' },
      { BM: 32, BN: 32, BK: 16, TM: 8, slices: 8, accumulator: 'int32' },
      { BM: 8, BN: 8, BK: 8, TM: 1, slices: 1, accumulator: 'int64' },
      { BM: 16, BN: 16, BK: 16, TM: 2, slices: 8, accumulator: 'int64' },
      { BM: 32, BN: 32, BK: 16, TM: 8, slices: 1, accumulator: 'int64' },
      { BM: 4, BN: 4, BK: 4, TM: 1, slices: 1, accumulator: 'float32' },
      { BM: 8, BN: 8, BK: 8, TM: 1, slices: 1, accumulator: 'float32' },
      { BM: 16, BN: 16, BK: 16, TM: 2, slices: 1, accumulator: 'float32' },
      { BM: 16, BN: 16, BK: 16, TM: 2, slices: 8, accumulator: 'float32' },
      { BM: 32, BN: 32, BK: 16, TM: 8, slices: 1, accumulator: 'float32' },
      { BM: 32, BN: 32, BK: 16, TM: 8, slices: 4, accumulator: 'float32' },
      { BM: 32, BN: 32, BK: 16, TM: 8, slices: 8, accumulator: 'float32' },
      { BM: 8, BN: 8, BK: 8, TM: 1, slices: 1, accumulator: 'float64' },
      { BM: 16, BN: 16, BK: 16, TM: 2, slices: 8, accumulator: 'float64' },
      { BM: 32, BN: 32, BK: 16, TM: 8, slices: 1, accumulator: 'float64' },
      { BM: 8, BN: 8, BK: 8, TM: 1, slices: 1, accumulator: 'uint8' },
      { BM: 32, BN: 32, BK: 16, TM: 8, slices: 1, accumulator: 'uint8' },
    ],
  },
  {
    name: 'thin',
    backend: 'cuda',
    header: 'cuda/launch/thin.cuh',
    template: 'SkinnyConfig',
    parameters: ['BM', 'BK', 'accumulator'],
    label: (p) => `${p.BM}x${p.BK}${accumulatorSuffix(p)}`,
    automatic: true,
    together: 6,
    typesTogether: true,
    rows: [
      { BM: 4, BK: 512, accumulator: 'int32' },
      { BM: 8, BK: 256, accumulator: 'int32' },
      { BM: 8, BK: 256, accumulator: 'int64' },
      { BM: 4, BK: 512, accumulator: 'float32' },
      { BM: 8, BK: 256, accumulator: 'float32' },
      { BM: 4, BK: 512, accumulator: 'float64' },
    ],
  },
  mpmml,
  ladder,
  {
    name: 'naive',
    backend: 'cpu',
    header: 'cpu/naive.h',
    template: 'Naive',
    parameters: ['accumulator'],
    label: (p) => accumulatorSuffix(p).slice(1) || 'direct',
    automatic: false,
    together: 8,
    rows: [{ accumulator: 'int64' }, { accumulator: 'element' }],
  },
  {
    name: 'packed',
    backend: 'cpu',
    header: 'cpu/packed.h',
    template: 'Packed',
    parameters: ['isa', 'MR', 'NR', 'accumulator'],
    label: (p) => `${p.isa}_${p.MR}x${p.NR}${accumulatorSuffix(p)}`,
    automatic: true,
    together: 12,
    rows: [
      { isa: 'avx512', MR: 8, NR: 128, accumulator: 'byte' },
      { isa: 'avx512', MR: 8, NR: 64, accumulator: 'uint16' },
      { isa: 'avx512', MR: 8, NR: 32, accumulator: 'int32' },
      { isa: 'avx512', MR: 8, NR: 16, accumulator: 'int64' },
      { isa: 'avx512', MR: 8, NR: 32, accumulator: 'float32' },
      { isa: 'avx512', MR: 8, NR: 16, accumulator: 'float64' },
      { isa: 'avx512', MR: 8, NR: 16, accumulator: 'bits' },
      { isa: 'avx2', MR: 4, NR: 64, accumulator: 'byte' },
      { isa: 'avx2', MR: 4, NR: 32, accumulator: 'uint16' },
      { isa: 'avx2', MR: 4, NR: 16, accumulator: 'int32' },
      { isa: 'avx2', MR: 4, NR: 8, accumulator: 'int64' },
      { isa: 'avx2', MR: 4, NR: 16, accumulator: 'float32' },
      { isa: 'avx2', MR: 4, NR: 8, accumulator: 'float64' },
      { isa: 'avx2', MR: 4, NR: 8, accumulator: 'bits' },
      { isa: 'sse41', MR: 4, NR: 32, accumulator: 'byte' },
      { isa: 'sse41', MR: 4, NR: 16, accumulator: 'uint16' },
      { isa: 'sse41', MR: 4, NR: 8, accumulator: 'int32' },
      { isa: 'sse41', MR: 4, NR: 4, accumulator: 'int64' },
      { isa: 'sse41', MR: 4, NR: 8, accumulator: 'float32' },
      { isa: 'sse41', MR: 4, NR: 4, accumulator: 'float64' },
      { isa: 'sse41', MR: 4, NR: 4, accumulator: 'bits' },
      { isa: 'neon', MR: 4, NR: 64, accumulator: 'byte' },
      { isa: 'neon', MR: 4, NR: 32, accumulator: 'uint16' },
      { isa: 'neon', MR: 4, NR: 16, accumulator: 'int32' },
      { isa: 'neon', MR: 4, NR: 8, accumulator: 'int64' },
      { isa: 'neon', MR: 4, NR: 16, accumulator: 'float32' },
      { isa: 'neon', MR: 4, NR: 8, accumulator: 'float64' },
      { isa: 'neon', MR: 4, NR: 8, accumulator: 'bits' },
      { isa: 'simd128', MR: 4, NR: 32, accumulator: 'byte' },
      { isa: 'simd128', MR: 4, NR: 16, accumulator: 'uint16' },
      { isa: 'simd128', MR: 4, NR: 8, accumulator: 'int32' },
      { isa: 'simd128', MR: 4, NR: 4, accumulator: 'int64' },
      { isa: 'simd128', MR: 4, NR: 8, accumulator: 'float32' },
      { isa: 'simd128', MR: 4, NR: 4, accumulator: 'float64' },
      { isa: 'simd128', MR: 4, NR: 4, accumulator: 'bits' },
      { isa: 'portable', MR: 4, NR: 32, accumulator: 'byte' },
      { isa: 'portable', MR: 4, NR: 16, accumulator: 'uint16' },
      { isa: 'portable', MR: 4, NR: 8, accumulator: 'int32' },
      { isa: 'portable', MR: 4, NR: 4, accumulator: 'int64' },
      { isa: 'portable', MR: 4, NR: 8, accumulator: 'float32' },
      { isa: 'portable', MR: 4, NR: 4, accumulator: 'float64' },
      { isa: 'portable', MR: 4, NR: 4, accumulator: 'bits' },
    ],
  },
  {
    name: 'thin',
    backend: 'cpu',
    header: 'cpu/thin.h',
    template: 'Thin',
    parameters: ['isa', 'accumulator'],
    label: (p) => `${p.isa}${accumulatorSuffix(p)}`,
    automatic: true,
    together: 8,
    rows: instructionSets.flatMap(({ name }) =>
      ['int32', 'int64', 'float32', 'float64'].map((accumulator) => ({ isa: name, accumulator })),
    ),
  },
]
