/**
 * Reads and checks all environment variables of the library, except MPMML_ADDON (lib/load.ts). Native code
 * never reads variables, because JavaScript may write them while other threads run. An empty variable counts
 * as unset.
 */
import { type BackendChoice, backendNames } from './backend-name.js'
import { show } from './describe.js'
import { FileError, OptionError } from './errors.js'
import { addon } from './native.js'
import { environment, exists, homeFolder, isAbsolute, join, platform } from './platform.js'

function read(name: string): string | undefined {
  return environment[name] || undefined
}

function wrong(name: string, expected: string, value: string): OptionError {
  return new OptionError(`the environment variable ${name} must be ${expected}, but it is ${show(value)}`)
}

/** Returns the integer value of a variable, from `least` to `most`; undefined if unset. */
function readNumber(name: string, least: number, most: number, what: string): number | undefined {
  const value = read(name)
  if (value === undefined) return undefined
  const number = /^[0-9]+$/.test(value) ? Number(value) : Number.NaN
  if (number >= least && number <= most) return number
  throw wrong(name, `a whole number of ${what} from ${least} to ${most}`, value)
}

/** Returns the integer value of a variable, from 1 to `most`; 0 if unset. */
function readCount(name: string, most: number, what: string): number {
  return readNumber(name, 1, most, what) ?? 0
}

/** Returns MPMML_BACKEND, which replaces `backend: 'auto'`; 'auto' if unset. */
export function environmentBackend(): BackendChoice {
  const value = read('MPMML_BACKEND')
  if (value === undefined || value === 'auto') return 'auto'
  const known = backendNames.find((name) => name === value)
  if (known !== undefined) return known
  throw wrong('MPMML_BACKEND', "'auto', 'cuda', 'webgpu' or 'cpu'", value)
}

/**
 * Returns MPMML_WEBGPU_FALLBACK: whether WebGPU may use a software implementation on the processor, which is
 * slower than the CPU backend; for tests.
 */
export function allowsWebGpuFallback(): boolean {
  const value = read('MPMML_WEBGPU_FALLBACK')
  if (value === undefined || value === '0') return false
  if (value === '1') return true
  throw wrong('MPMML_WEBGPU_FALLBACK', "'0' or '1'", value)
}

/**
 * Returns whether Vulkan's loader finds a driver on Linux, by its environment variables or in one of its
 * folders.
 *
 * @see https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md
 */
export function hasVulkanDriver(): boolean {
  if (read('VK_DRIVER_FILES') ?? read('VK_ICD_FILENAMES') ?? read('VK_ADD_DRIVER_FILES')) return true
  const named = [read('XDG_DATA_DIRS'), read('XDG_CONFIG_DIRS'), read('XDG_DATA_HOME')].join(':').split(':')
  const usual = ['/usr/share', '/usr/local/share', '/etc', '/usr/local/etc', '/run/opengl-driver/share']
  return [...named, ...usual].some((folder) => isAbsolute(folder) && exists(join(folder, 'vulkan', 'icd.d')))
}

const MAX_MEBIBYTES = 2 ** 32

/**
 * Returns MPMML_DEVICE_MEMORY_MIB in bytes, the limit of the device memory of a product; 0 means no limit.
 */
export function deviceMemoryLimit(): number {
  return readCount('MPMML_DEVICE_MEMORY_MIB', MAX_MEBIBYTES, 'MiB') * 2 ** 20
}

let limited = false

/**
 * Passes the limit of pinned memory for results to native code, once per process: MPMML_PINNED_MEMORY_MIB,
 * read at the first use of the library. Native code chooses the limit if the variable is unset. Throws
 * OptionError if the variable is invalid.
 */
export function limitPinned(): void {
  if (limited) return
  const mebibytes = readNumber('MPMML_PINNED_MEMORY_MIB', 0, MAX_MEBIBYTES, 'MiB')
  if (mebibytes !== undefined) addon.limitPinned(mebibytes * 2 ** 20)
  limited = true
}

const MAX_THREADS = 1024

let configured = false

/**
 * Passes the settings of the CPU backend to native code, once per process: MPMML_NUM_THREADS and
 * MPMML_CPU_ISA, read at the first use of the library. Never throws: an invalid setting is an error only of
 * work on the CPU backend.
 */
export function configureCpu(): void {
  if (configured) return
  configured = true
  let threads = 0
  let problem = ''
  try {
    threads = readCount('MPMML_NUM_THREADS', MAX_THREADS, 'threads')
  } catch (error) {
    problem = (error as OptionError).message
  }
  addon.configureCpu({ threads, instructionSet: read('MPMML_CPU_ISA') ?? '', wrong: problem })
}

/**
 * Returns the system's folder for the user's caches; null if it doesn't exist. Users that the system doesn't
 * know, for example in containers, have no home folder.
 *
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */
function cacheFolder(): string | null {
  const inHome = (...names: string[]) => {
    try {
      return join(homeFolder(), ...names)
    } catch {
      return ''
    }
  }
  const folder =
    platform === 'darwin'
      ? inHome('Library', 'Caches')
      : platform === 'win32'
        ? (read('LOCALAPPDATA') ?? inHome('AppData', 'Local'))
        : (read('XDG_CACHE_HOME') ?? inHome('.cache'))
  return isAbsolute(folder) ? folder : null
}

/** Returns the library's own folder in the user's caches; null if the user has no cache folder. */
export function ownCacheFolder(): string | null {
  const folder = cacheFolder()
  // On Windows each program has its own folder with a subfolder for caches.
  return folder && join(folder, ...(platform === 'win32' ? ['mpmml', 'Cache'] : ['mpmml']))
}

/**
 * Returns the folder that caches the machine code that the driver compiled for custom semirings. MPMML_CACHE
 * sets it; 'off' means none. By default it is the library's own cache folder. Returns '' for no folder.
 */
export function codeFolder(): string {
  const value = read('MPMML_CACHE')
  if (value === undefined) return ownCacheFolder() ?? ''
  if (value === 'off') return ''
  if (isAbsolute(value)) return value
  throw wrong('MPMML_CACHE', "an absolute path, or 'off'", value)
}

/**
 * Returns MPMML_QUEUE_PASSWORD, the password of a queue whose address has none. A variable is safer than the
 * address, because other users can read the arguments of a command.
 */
export function queuePassword(): string | undefined {
  return read('MPMML_QUEUE_PASSWORD')
}

/** Endpoint and credentials of S3. */
export interface S3Settings {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
  readonly region: string
  /** Null for AWS. */
  readonly endpoint: URL | null
}

/**
 * Returns the settings from the usual variables of S3 programs. Reads them at each call, because a program
 * may renew the credentials of a session.
 */
export function s3Settings(): S3Settings {
  const accessKeyId = read('AWS_ACCESS_KEY_ID')
  const secretAccessKey = read('AWS_SECRET_ACCESS_KEY')
  if (!accessKeyId || !secretAccessKey) {
    throw new FileError(
      'addresses s3:// need credentials: set the environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and ' +
        'AWS_SESSION_TOKEN for those of a session',
    )
  }
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: read('AWS_SESSION_TOKEN'),
    region: read('AWS_REGION') ?? read('AWS_DEFAULT_REGION') ?? 'us-east-1',
    endpoint: readEndpoint('AWS_ENDPOINT_URL_S3') ?? readEndpoint('AWS_ENDPOINT_URL'),
  }
}

function readEndpoint(name: string): URL | null {
  const text = read(name)
  if (text === undefined) return null
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && !url.search) {
    return url
  }
  // The message doesn't show the value, because it may contain a password.
  throw new OptionError(
    `the environment variable ${name} must be an address such as https://storage.example:9000, without user and password, but it is not`,
  )
}
