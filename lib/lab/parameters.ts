/** Parameters of microbenchmarks, by the thesis' names. */
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import { choice, whole } from '../options.js'

const parameter = (most = MAX_INT32, least = 1) => whole(undefined, least, most)

export const parameterSet = {
  x: parameter(),
  y: parameter(),
  k: parameter(),
  max: choice(['ternary', 'intrinsic'] as const, undefined),
  m: parameter(2 ** 20),
  bsi: parameter(1024),
  bsj: parameter(1024),
  gsi: parameter(65535),
  gsj: parameter(2 ** 20),
  n: parameter(2 ** 30),
  constant: parameter(MAX_INT32, MIN_INT32),
}
