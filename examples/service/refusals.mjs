/** Error answers of the service. */
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message)
    this.status = status
    this.code = code
  }
}

export const badRequest = (message) => new Refusal(400, 'BAD_REQUEST', message)

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

/**
 * Status, code and message for anything that was thrown.
 *
 * @param otherwise - the status of what says none: 400 while a body is read, which may hold anything.
 */
export function refusalFor(error, otherwise = 500) {
  if (error instanceof Refusal) return error
  // The library gave the product up because of the signal; the cause is why the signal was aborted.
  if (error.code === 'ERR_MPMML_ABORTED') return refusalFor(error.cause)
  const status = statuses[error.code] ?? error.statusCode ?? otherwise
  const code = error.code ?? (status === 500 ? 'INTERNAL' : 'BAD_REQUEST')
  return { status, code, message: status === 500 ? 'the service failed' : error.message }
}
