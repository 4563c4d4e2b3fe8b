/** Converts errors to the strings that are stored in Redis, and back. */
import { AbortedError, errorWithCode, MpmmlError, QueueError } from '../errors.js'

/** Codes of errors that another attempt can't avoid. */
const final: ReadonlySet<string> = new Set([
  'ERR_MPMML_SHAPE',
  'ERR_MPMML_DTYPE',
  'ERR_MPMML_VALUE',
  'ERR_MPMML_OVERFLOW',
  'ERR_MPMML_VARIANT',
  'ERR_MPMML_OPTION',
  'ERR_MPMML_CYCLE',
  'ERR_MPMML_LIMIT',
  'ERR_MPMML_PACKAGE',
  'ERR_MPMML_EXISTS',
  'ERR_MPMML_RESUME',
  'ERR_MPMML_CHANGED',
  'ERR_MPMML_ROOTS',
])

export const isFinal = (error: unknown): boolean => error instanceof MpmmlError && final.has(error.code)

/** Returns the message with its code in brackets, on one line. */
export function reasonText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/\s*\n\s*/g, ' ') + (error instanceof MpmmlError ? ` [${error.code}]` : '')
}

/** Returns the error of a failed block that the producer throws, of the class that the reason names. */
export function errorOf(job: string, reason: string): Error {
  const [, message = reason, code] = /^(.*) \[(ERR_MPMML_[A-Z_]+)\]$/s.exec(reason) ?? []
  const failed = `block ${job} failed: ${message}`
  const error = errorWithCode(code, failed)
  // AbortedError is reserved for the signal of the producer's own caller.
  return error && !(error instanceof AbortedError) ? error : new QueueError(failed)
}
