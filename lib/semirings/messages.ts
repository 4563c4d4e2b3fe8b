/** What messages of diagnostics say of products over semirings that users write. */
import { type Elements, shapeOf } from '../layout.js'
import { describeSizes, type MatrixMessage, type ProductRequest } from '../product/diagnostics.js'
import type { Product } from '../product/request.js'
import type { View } from '../view.js'
import type { UserProduct } from './operands.js'

export function describeUser({ semiring, lanes, call }: UserProduct): ProductRequest {
  const { name, dtype } = semiring
  const [head] = lanes as [Product]
  const describe = (elements: Elements, resident: boolean): MatrixMessage => {
    const { batch, rows, cols, bytes } = elements
    return { shape: shapeOf(elements), dtype, bytes: lanes.length * batch * rows * cols * bytes, resident }
  }
  const describeView = (view: View) => describe(view, view.memory !== null)
  return {
    semiring: name,
    dtype,
    overflow: null,
    ...describeSizes(head),
    a: describeView(head.a),
    b: describeView(head.b),
    accumulate: head.c0 && describeView(head.c0),
    c: describe(head.out ?? head.newElements(), call.session !== null),
  }
}
