/** Error answers of the service. */
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message)
    this.status = status
    this.code = code
  }
}

export const badRequest = (message) => new Refusal(400, 'BAD_REQUEST', message)

/**
 * HTTP statuses for error codes of the library that a request causes. Other errors are failures of the
 * service.
 */
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
 * Returns status, code and message for any thrown value.
 *
 * @param otherwise - status for errors without one; 400 while an untrusted body is read.
 */
export function refusalFor(error, otherwise = 500) {
  if (error instanceof Refusal) return error
  // The signal aborted the product, and `cause` is the signal's reason.
  if (error.code === 'ERR_MPMML_ABORTED') return refusalFor(error.cause)
  const status = statuses[error.code] ?? error.statusCode ?? otherwise
  const code = error.code ?? (status === 500 ? 'INTERNAL' : 'BAD_REQUEST')
  return { status, code, message: status === 500 ? 'the service failed' : error.message }
}
