/** Shared code of the tests of closures and powers. */
import { plus, power, star } from '../../lib/algebra.js'
import type { BackendName } from '../../lib/backend-name.js'
import { DeviceMatrix, type MatrixLike, type OperandArray } from '../../lib/index.js'

export type Backend = BackendName
export type AnyMatrix = MatrixLike<OperandArray> | DeviceMatrix<OperandArray>
type AnyClosure = (a: AnyMatrix, options?: object) => Promise<{ c: never; backend: Backend; device: string }>

// Functions whose argument types are only known at run time.
export const anyStar = star as unknown as AnyClosure
export const anyPlus = plus as unknown as AnyClosure
export const anyPower = power as unknown as (
  a: AnyMatrix,
  n: unknown,
  options?: object,
) => Promise<{ c: never; backend: Backend }>

/** Elements of a result on the host or on a device. */
export async function elementsOf(c: unknown): Promise<OperandArray> {
  return c instanceof DeviceMatrix ? (await c.download()).data : (c as MatrixLike<OperandArray>).data
}
