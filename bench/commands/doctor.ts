/** mpmml doctor */

import { execFile } from 'node:child_process'
import { constants, existsSync } from 'node:fs'
import { access, readdir } from 'node:fs/promises'
import { freemem, totalmem } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Command } from 'commander'
import type { BackendName } from '../../lib/index.js'
import { addonText } from '../addon-text.js'
import { newCommand } from '../commands.js'
import { greatest } from '../min-max.js'
import { bytes, oneLine, print, printJson, styled } from '../output.js'
import { nearestSpelling } from '../spelling.js'

/** Oldest version of Node.js that the package supports. */
const OLDEST_NODE = 20

/** Free memory in bytes below which products with thousands of rows fail. */
const LITTLE_MEMORY = 2 ** 30

type Status = 'ok' | 'note' | 'problem'

/** Result of one check. Notes aren't failures, because products work nevertheless. */
export interface Check {
  name: string
  status: Status
  found: string
  /** Recommended action; null if no action is needed. */
  advice: string | null
}

type Library = typeof import('../../lib/index.js')
type About = ReturnType<Library['info']>

const check = (name: string, status: Status, found: string, advice: string | null = null): Check => ({
  name,
  status,
  found,
  advice,
})

const messageOf = (error: unknown) => oneLine(error instanceof Error ? error.message : String(error))

export function doctorCommand(signal: AbortSignal): Command {
  return newCommand('doctor')
    .option(
      '--kernels [text]',
      'compare every kernel variant, or those with the text in their names, with the naive product; show what to report',
    )
    .option('--json', 'print one JSON value')
    .action(async ({ json, kernels }: { json?: true; kernels?: string | true }) => {
      if (kernels !== undefined) {
        await reportKernels(kernels === true ? '' : kernels, json ?? false, signal)
        return
      }
      const checks = await examine()
      const problems = checks.filter(({ status }) => status === 'problem')
      await (json ? printJson({ ok: problems.length === 0, checks }) : print(describe(checks)))
      if (problems.length === 0) return
      const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
      throw new Error(`${problems[0]!.name}: ${problems[0]!.found}${more}`)
    })
}

async function reportKernels(text: string, json: boolean, signal: AbortSignal): Promise<void> {
  const { checkKernels, describeKernels } = await import('../kernels/report.js')
  const report = await checkKernels(text, signal)
  await (json ? printJson(report) : print(describeKernels(report)))
  const [first] = report.failing
  if (first === undefined) return
  const more = report.failing.length > 1 ? `, and ${report.failing.length - 1} more` : ''
  throw new Error(`${first.variant}: ${first.reason}${more}`)
}

async function examine(): Promise<Check[]> {
  const signal = await crashOfLoading()
  if (signal !== undefined) {
    const advice =
      'the file of the addon is damaged, or not made for this machine: remove node_modules and install it again'
    const crash = check('addon', 'problem', `loading it ends the process (${signal})`, advice)
    return [nodeCheck(), settingsCheck(), memoryCheck(), crash, await toolkitCheck()]
  }
  let library: Library
  try {
    library = await import('../../lib/index.js')
  } catch (error) {
    const wrongSetting = (error as { code?: string }).code === 'ERR_MPMML_OPTION'
    return [
      nodeCheck(),
      settingsCheck(wrongSetting ? error : undefined),
      memoryCheck(),
      ...(wrongSetting ? [] : [check('addon', 'problem', messageOf(error), 'do what the message says')]),
      await toolkitCheck(),
    ]
  }
  let about: About
  try {
    about = library.info()
  } catch (error) {
    return [nodeCheck(), settingsCheck(error), memoryCheck(), await toolkitCheck()]
  }
  return [
    nodeCheck(),
    settingsCheck(),
    memoryCheck(),
    ...libraryChecks(about),
    productCheck(library, 'cpu'),
    ...(await cudaChecks(library, about)),
    await webGpuCheck(),
    await toolkitCheck(),
  ]
}

/** Loads the library in a subprocess and returns the signal that killed it; undefined if no signal did. */
async function crashOfLoading(): Promise<string | undefined> {
  const library = JSON.stringify(new URL('../../lib/index.js', import.meta.url).href)
  const args = ['--input-type=module', '--eval', `await import(${library})`]
  try {
    await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
    return undefined
  } catch (error) {
    return (error as { signal?: string | null }).signal ?? undefined
  }
}

function nodeCheck(): Check {
  const { node } = process.versions
  const old = Number.parseInt(node, 10) < OLDEST_NODE
  return check(
    'Node.js',
    old ? 'problem' : 'ok',
    `${node} on ${process.platform} ${process.arch}`,
    old ? `install Node.js ${OLDEST_NODE} or newer` : null,
  )
}

/** Names of the environment variables that mpmml and its build read. A test compares them with the documentation. */
export const variables =
  'BACKEND WEBGPU_FALLBACK NUM_THREADS CPU_ISA CPU_ISAS ADDON DEVICE_MEMORY_MIB PINNED_MEMORY_MIB CACHE QUEUE_PASSWORD WASM_THREADS CUDA CUDA_ARCHS LAB REORDER BUILD_DIR WARNINGS_AS_ERRORS RELEASE SANITIZE BUILD_VERBOSE'
    .split(' ')
    .map((name) => `MPMML_${name}`)

/**
 * Checks the environment variables.
 *
 * @param wrong - the library's error if it rejects a variable.
 */
function settingsCheck(wrong?: unknown): Check {
  const names = Object.keys(process.env).filter((name) => /^(MPMML_|CUDA_VISIBLE_DEVICES$)/i.test(name))
  // The password is masked, because users paste the output of doctor into bug reports.
  const shownValue = (name: string) => (name === 'MPMML_QUEUE_PASSWORD' ? '…' : process.env[name])
  const settings = names.sort().map((name) => `${name}=${shownValue(name)}`)
  const found = settings.join(', ') || 'none of MPMML_… is set'
  const unknown = names.filter((name) => /^MPMML_/i.test(name) && !variables.includes(name)).map(unknownText)
  const advice =
    unknown.length > 0
      ? `${unknown.join('; ')}; docs/errors.md and docs/building.md list all variables`
      : null
  if (wrong === undefined) return check('settings', advice === null ? 'ok' : 'note', found, advice)
  const correction = 'correct the variable, or unset it'
  const problem = `${found}: ${messageOf(wrong)}`
  return check('settings', 'problem', problem, advice === null ? correction : `${correction}; ${advice}`)
}

/** Returns the message for an unknown variable, with the nearest known name. */
function unknownText(name: string): string {
  const last = (word: string) => word.slice(word.lastIndexOf('_') + 1)
  const meant =
    nearestSpelling(name, variables) ?? variables.find((known) => last(known) === last(name.toUpperCase()))
  return `${name} is none of mpmml's variables, so it changes nothing${meant === undefined ? '' : `: did you mean ${meant}?`}`
}

function memoryCheck(): Check {
  const free = process.availableMemory?.() || freemem()
  const limit = process.constrainedMemory?.() ?? 0
  const limited = limit > 0 && limit < totalmem() ? `, limited to ${bytes(limit)}` : ''
  const little = free < LITTLE_MEMORY
  return check(
    'memory',
    little ? 'note' : 'ok',
    `${bytes(free)} free of ${bytes(totalmem())}${limited}`,
    little ? 'end other programs, or raise the limit: a matrix of 8192 × 8192 int32 takes 256 MiB' : null,
  )
}

function libraryChecks({ version, compiler, addon, cpu, auto, cuda }: About): Check[] {
  const unusable = auto.backend === 'cuda' && cuda.reason !== ''
  return [
    // The reason from the backend includes the recommended action.
    check(
      'addon',
      addon.kind === 'wasm' ? 'note' : 'ok',
      `mpmml ${version}, ${addonText(addon)}, built by ${compiler}`,
    ),
    check('CPU', 'ok', `${cpu.model}: ${cpu.simd}, ${cpu.threads} threads`),
    unusable
      ? check('backend', 'problem', auto.reason, 'unset MPMML_BACKEND: then the CPU computes')
      : check('backend', 'ok', `${auto.backend}: ${auto.reason}`),
  ]
}

/**
 * Checks a small product with a known result: K. Stanczyk, Max-Plus Algebra Toolbox for MATLAB, user guide,
 * example 2.12c.
 */
function productCheck({ matrix, mpmmSync }: Library, backend: BackendName): Check {
  const name = `product on the ${backend === 'cpu' ? 'CPU' : 'GPU'}`
  try {
    const a = matrix(2, 3, [1, 6, 2, 8, 3, 4])
    const b = matrix(3, 2, [2, 5, 3, 3, 1, 6])
    const { c, variant } = mpmmSync(a, b, { backend })
    if (c.data.join() === '9,9,10,13') return check(name, 'ok', `right, by ${variant}`)
    return check(name, 'problem', `wrong: ${c.data.join(', ')}`, 'report this, with the output of mpmml info')
  } catch (error) {
    return check(name, 'problem', messageOf(error), 'do what the message says')
  }
}

async function cudaChecks(library: Library, { cuda }: About): Promise<Check[]> {
  const permission = await permissionCheck()
  if (cuda.reason === '') {
    const names = cuda.devices.map((device) => String(Object.values(device)[0])).join(', ')
    return [
      check('GPU', 'ok', `${names}; driver for CUDA ${cuda.driver}, built with ${cuda.toolkit}`),
      productCheck(library, 'cuda'),
      ...permission,
    ]
  }
  const advice = permission.find(({ status }) => status !== 'ok')?.advice ?? null
  return [check('GPU', 'note', `not used: ${cuda.reason}`, advice), ...permission]
}

/** WebGPU is optional: its absence is a note. */
async function webGpuCheck(): Promise<Check> {
  const { describeWebGpu, lookForWebGpu } = await import('./info.js')
  const webgpu = await lookForWebGpu()
  const found = describeWebGpu(webgpu)
  if (webgpu.reason === '') return check('WebGPU', 'ok', found)
  // Users are asked to report a hardware adapter that fails the self-test.
  const failed = webgpu.adapter !== null && !webgpu.adapter.isFallback
  return check(
    'WebGPU',
    'note',
    found,
    failed ? 'run npm run test:webgpu in a Git checkout, and report this' : null,
  )
}

/** Checks whether this user may open the device files of the NVIDIA driver, if these exist. */
async function permissionCheck(): Promise<Check[]> {
  const devices = await readdir('/dev').catch(() => [])
  const files = devices
    .filter((name) => /^nvidia(ctl|-uvm|\d+)$/.test(name))
    .map((name) => join('/dev', name))
  if (files.length === 0) return []
  const closed: string[] = []
  for (const file of files) {
    await access(file, constants.R_OK | constants.W_OK).catch(() => closed.push(file))
  }
  if (closed.length === 0) return [check('permissions', 'ok', `${files.length} device files can be opened`)]
  return [
    check(
      'permissions',
      'note',
      `${closed.join(', ')} can't be opened`,
      'add yourself to the group that owns them (often video or render), and log in again; in a container, start it with --gpus all',
    ),
  ]
}

/** The CUDA compiler, which only a build with the CUDA backend needs. */
async function toolkitCheck(): Promise<Check> {
  const homes = [process.env.CUDA_HOME, process.env.CUDA_PATH, '/usr/local/cuda'].filter((home) => home)
  const paths = ['nvcc', ...homes.map((home) => join(home!, 'bin', 'nvcc')).filter(existsSync)]
  for (const nvcc of paths) {
    try {
      const { stdout } = await promisify(execFile)(nvcc, ['--version'], { timeout: 10_000 })
      const release = /release ([\d.]+)/.exec(stdout)?.[1]
      if (release !== undefined) return check('CUDA toolkit', 'ok', `${release} (${nvcc})`)
    } catch {}
  }
  return check('CUDA toolkit', 'note', 'no nvcc: it is needed only to build the CUDA backend from source')
}

const marks: Record<Status, string> = { ok: '✓', note: '·', problem: '✗' }
const colours = { ok: 'green', note: 'yellow', problem: 'red' } as const

function describe(checks: Check[]): string {
  const width = greatest(checks.map(({ name }) => name.length))
  const lines = checks.flatMap(({ name, status, found, advice }) => [
    `${styled(process.stdout, colours[status], marks[status])} ${name.padEnd(width)}  ${found}`,
    ...(advice === null ? [] : [`  ${' '.repeat(width)}  → ${advice}`]),
  ])
  const problems = checks.filter(({ status }) => status === 'problem').length
  const notes = checks.filter(({ status }) => status === 'note').length
  const verdict = problems > 0 ? 'Something is wrong: see ✗.' : 'Products work here.'
  return [
    ...lines,
    '',
    verdict + (notes > 0 ? ' What is marked · is not needed, or could be better.' : ''),
  ].join('\n')
}
