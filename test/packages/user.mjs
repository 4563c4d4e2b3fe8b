// Computes one product, like the first program of a user, and prints the backend.
import { info, matrix, mpmm, variants } from 'mpmml'

const { c, backend, variant } = await mpmm(matrix(2, 3, [1, 6, 2, 8, 3, 4]), matrix(3, 2, [2, 5, 3, 3, 1, 6]))
const { addon, cuda, auto } = info()
console.log(
  JSON.stringify({ c: [...c.data], backend, variant, addon, cuda, auto, variants: variants().length }),
)
