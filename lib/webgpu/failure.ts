/** Errors of the WebGPU backend, in the form in which the addon throws them. */

/** Codes of errors that the backend makes. */
type FailureCode =
  | 'ERR_MPMML_NO_WEBGPU'
  | 'ERR_MPMML_DEVICE_LOST'
  | 'ERR_MPMML_OUT_OF_MEMORY'
  | 'ERR_MPMML_OPTION'
  | 'ERR_MPMML_DTYPE'
  | 'ERR_MPMML_VARIANT'
  | 'ERR_MPMML_OVERFLOW'
  | 'ERR_MPMML_CYCLE'
  | 'ERR_MPMML_ABORTED'
  | 'ERR_MPMML_DISPOSED'
  | 'ERR_MPMML_DEVICE'

/** Returns an error with a stable code, which the library converts to one of its error classes. */
export const failure = (code: FailureCode, message: string): Error & { code: FailureCode } =>
  Object.assign(new Error(message), { code })

/**
 * Returns the error for a product that WebGPU can't compute exactly. The caller may compute the product on
 * the CPU.
 */
export const notExact = (what: string): Error =>
  failure('ERR_MPMML_OPTION', `WebGPU can't compute ${what} exactly: use the backend 'cpu' or 'cuda'`)
