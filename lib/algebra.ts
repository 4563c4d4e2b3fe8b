/**
 * Max-plus algebra beyond products: closures and powers.
 *
 * @packageDocumentation
 */
export { plus, star } from './algebra/closure.js'
export type { AlgebraOptions, AlgebraResult } from './algebra/options.js'
export { power } from './algebra/power.js'
