// The operations of custom semirings. Native code's enumerators and rules (generated/expressions.h) and lib's
// names and rules (lib/expression-table.ts) are generated from this table. native/core/user/semiring.h
// defines expressions.

/**
 * The types of values, in the order of native code's enumerators. A predicate is the result of a comparison.
 */
export const types = ['int32', 'uint32', 'float32', 'predicate']

const integers = ['int32', 'uint32']
const numbers = [...integers, 'float32']

/**
 * The operations, in the order of native code's enumerators:
 *
 *  - `gives`: the possible types of results.
 *  - `takes`: for each operand 'same' (the result's type), 'number' (any type of numbers), 'alike' (any type, but
 *    the same one for all of these operands), or 'predicate'.
 *  - `becomes`: 'lowered' if native code replaces it by other operations before kernels run; 'internal' if only
 *    native code creates it.
 *  - `means`: an explanation for readers.
 */
export const operations = [
  { name: 'argument', gives: numbers, takes: [], means: 'a lane of x or y' },
  { name: 'constant', gives: numbers, takes: [], means: 'a number' },
  { name: 'add', gives: numbers, takes: ['same', 'same'], means: 'x + y; of integers modulo 2³²' },
  { name: 'sub', gives: numbers, takes: ['same', 'same'], means: 'x − y; of integers modulo 2³²' },
  { name: 'mul', gives: numbers, takes: ['same', 'same'], means: 'x · y; of integers modulo 2³²' },
  { name: 'fma', gives: ['float32'], takes: ['same', 'same', 'same'], means: 'x · y + z, rounded once' },
  { name: 'neg', gives: numbers, takes: ['same'], means: '−x; of integers modulo 2³²' },
  { name: 'abs', gives: ['int32', 'float32'], takes: ['same'], means: '|x|; −2³¹ stays' },
  {
    name: 'min',
    gives: numbers,
    takes: ['same', 'same'],
    means: 'the lesser; −0 is less than +0, and NaN is skipped',
  },
  {
    name: 'max',
    gives: numbers,
    takes: ['same', 'same'],
    means: 'the greater; −0 is less than +0, and NaN is skipped',
  },
  { name: 'and', gives: [...integers, 'predicate'], takes: ['same', 'same'], means: 'bit by bit' },
  { name: 'or', gives: [...integers, 'predicate'], takes: ['same', 'same'], means: 'bit by bit' },
  { name: 'xor', gives: [...integers, 'predicate'], takes: ['same', 'same'], means: 'bit by bit' },
  { name: 'not', gives: [...integers, 'predicate'], takes: ['same'], means: 'bit by bit' },
  { name: 'shiftLeft', gives: integers, takes: ['same', 'same'], means: 'x · 2^y; y modulo 32' },
  {
    name: 'shiftRight',
    gives: integers,
    takes: ['same', 'same'],
    means: 'x / 2^y, rounded down; y modulo 32',
  },
  { name: 'popcount', gives: integers, takes: ['same'], means: 'number of bits that are 1' },
  { name: 'equal', gives: ['predicate'], takes: ['alike', 'alike'], means: 'x = y; false for NaN' },
  { name: 'less', gives: ['predicate'], takes: ['alike', 'alike'], means: 'x < y; false for NaN' },
  { name: 'lessEqual', gives: ['predicate'], takes: ['alike', 'alike'], means: 'x ≤ y; false for NaN' },
  { name: 'select', gives: numbers, takes: ['predicate', 'same', 'same'], means: 'y if x is true, else z' },
  { name: 'exp', gives: ['float32'], takes: ['same'], becomes: 'lowered', means: 'e^x' },
  { name: 'exp2', gives: ['float32'], takes: ['same'], becomes: 'lowered', means: '2^x' },
  { name: 'log', gives: ['float32'], takes: ['same'], becomes: 'lowered', means: 'the natural logarithm' },
  { name: 'log1p', gives: ['float32'], takes: ['same'], becomes: 'lowered', means: 'log(1 + x)' },
  { name: 'sqrt', gives: ['float32'], takes: ['same'], means: 'the square root, rounded to nearest' },
  {
    name: 'toInt32',
    gives: ['int32'],
    takes: ['number'],
    means:
      'modulo 2³² from uint32; from float32 rounded towards 0, the nearest that there is, and 0 from NaN',
  },
  {
    name: 'toUint32',
    gives: ['uint32'],
    takes: ['number'],
    means: 'modulo 2³² from int32; from float32 rounded towards 0, the nearest that there is, and 0 from NaN',
  },
  { name: 'toFloat32', gives: ['float32'], takes: ['number'], means: 'rounded to nearest' },
  { name: 'bits', gives: numbers, takes: ['number'], becomes: 'internal', means: 'the same 32 bits' },
]

/** Bounds, on both sides of the addon. */
export const most = { lanes: 4, nodes: 256 }

/** Number of 32-bit words of a node in the definitions that lib passes: operation, type, three operands, and a constant's bits. */
export const nodeWords = 6
