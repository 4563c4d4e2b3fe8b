/** The functions of products with matrices whose types are only known at run time. */
import {
  type DenseMatrix,
  type DeviceMatrix,
  type GroupedOptions,
  type GroupedProduct,
  type MpmmOptions,
  type MpmmResult,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  type OperandArray,
  type WitnessedResult,
} from '../../lib/index.js'

export type Options = MpmmOptions<DenseMatrix<OperandArray> & DeviceMatrix>

/** `Witness` is the type of `options.witness`. */
export function untyped<Witness extends boolean>() {
  type Result = WitnessedResult<MpmmResult, Witness>
  return {
    product: mpmm as unknown as (a: unknown, b: unknown, options?: Options) => Promise<Result>,
    productNow: mpmmSync as unknown as (a: unknown, b: unknown, options?: Options) => Result,
    group: mpmmGrouped as unknown as (
      products: GroupedProduct[],
      options?: GroupedOptions,
    ) => Promise<Result[]>,
  }
}
