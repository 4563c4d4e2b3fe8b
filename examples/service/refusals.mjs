/** What the service answers if it gives no product. */
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** HTTP statuses for the codes of the library that a request is the cause of. All others are the service's fault. */
const statuses = {
  ERR_MPMML_SHAPE: 400,
  ERR_MPMML_DTYPE: 400,
  ERR_MPMML_OPTION: 400,
  ERR_MPMML_FILE: 400,
  ERR_MPMML_VALUE: 422,
  ERR_MPMML_OVERFLOW: 422,
  ERR_MPMML_OUT_OF_MEMORY: 503,
}

/** Status, code and message for anything that was thrown. */
export function refusalFor(error) {
  if (error instanceof Refusal) return error
  // The library gave the product up because of the signal; the cause is why the signal was aborted.
  if (error.code === 'ERR_MPMML_ABORTED') return refusalFor(error.cause)
  const status = statuses[error.code] ?? error.statusCode ?? 500
  const code = error.code ?? 'INTERNAL'
  return { status, code, message: status === 500 ? 'the service failed' : error.message }
}
