/**
 * Reads the settings of the service: environment variables, which README.md lists. An invalid value ends the
 * service before it listens.
 */

/** Returns the number in a variable; by default it must be an integer. */
function setting(name, otherwise, { least = 1, most = 2 ** 53 - 1, fraction = false } = {}) {
  const text = process.env[name] ?? `${otherwise}`
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (value >= least && value <= most && (fraction || Number.isInteger(value))) return value
  const kind = fraction ? 'a number' : 'a whole number'
  throw new Error(`${name} must be ${kind} from ${least} to ${most}, but it is '${text}'`)
}

/** Returns seconds up to the limit of timers in Node.js. */
const seconds = (name, otherwise) =>
  setting(name, otherwise, { least: 0.001, most: 2_000_000, fraction: true })

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

export function readSettings() {
  const { HOST: host = '127.0.0.1', LOG_LEVEL: level = 'warn' } = process.env
  if (!levels.includes(level))
    throw new Error(`LOG_LEVEL must be one of ${levels.join(', ')}, but it is '${level}'`)
  return {
    host,
    level,
    port: setting('PORT', 3000, { least: 0, most: 65535 }),
    /** Limit of a .npy file in bytes. */
    fileBytes: setting('MAX_FILE_BYTES', 64 * 2 ** 20),
    /** Size of a JSON body, and elements of a product in JSON: reading and writing JSON blocks the event loop. */
    jsonBytes: setting('MAX_JSON_BYTES', 4 * 2 ** 20),
    jsonElements: setting('MAX_JSON_ELEMENTS', 2 ** 20),
    /** Limit of the product's elements. */
    elements: setting('MAX_ELEMENTS', 2 ** 24),
    /** Limit of the product's steps: batch · M · N · K. */
    steps: setting('MAX_STEPS', 2 ** 36),
    /** Number of concurrent products, and of queued requests. */
    running: setting('MAX_RUNNING', 2),
    waiting: setting('MAX_WAITING', 16, { least: 0 }),
    /** Number of bodies that are received at once. */
    uploading: setting('MAX_UPLOADING', 32),
    /** Limits of the times to receive a body, to compute the answer, and to send it. */
    bodySeconds: seconds('MAX_BODY_SECONDS', 60),
    seconds: seconds('MAX_SECONDS', 30),
    sendSeconds: seconds('MAX_SEND_SECONDS', 30),
  }
}
