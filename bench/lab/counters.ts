/**
 * Reads hardware counters of transferred bytes by NVIDIA Nsight Compute, if `ncu` is on the PATH and
 * permitted.
 */
import { execFile } from 'node:child_process'
import type { KernelPoint, Point } from '../../lib/lab.js'

const metrics = {
  deviceMemory: 'dram__bytes.sum',
  l2: 'lts__t_bytes.sum',
  sharedMemory: 'l1tex__data_pipe_lsu_wavefronts_mem_shared.sum',
} as const

/** Bytes per wavefront, the unit in which counters report shared-memory traffic. */
const WAVEFRONT_BYTES = 128

/** Filter of ncu that selects the kernels that compute products. */
const KERNELS = 'regex:^(naive|tiled|prefetch|mpmml|pipelined)_kernel$'

/** Runs one launch of a variant in a subprocess. */
const program = (point: KernelPoint, device: number) => {
  const { m, n, k } = point.parameters
  const options = { m, n, k, device, repetitions: 1, warmup: 0 }
  const library = new URL('../../lib/lab.js', import.meta.url).href
  return `const { measure } = await import(${JSON.stringify(library)}); await measure(${JSON.stringify(point.name)}, ${JSON.stringify(options)})`
}

function ncu(args: string[], signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('ncu', args, { signal, maxBuffer: 2 ** 24 }, (error, stdout) =>
      // ncu reports missing permissions on stdout.
      error
        ? reject(new Error(/==ERROR== (.*)/.exec(stdout)?.[1] ?? error.message.split('\n')[0]))
        : resolve(stdout),
    )
  })
}

/** Returns the metrics, in base units, from ncu's CSV with one line per metric. */
export function readMetrics(csv: string): Map<string, number> {
  const rows = csv
    .split('\n')
    .filter((line) => line.startsWith('"'))
    .map((line) => [...line.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell]) => cell!))
  const [head, ...lines] = rows
  const [name, value] = ['Metric Name', 'Metric Value'].map((column) => head?.indexOf(column) ?? -1)
  if (name === undefined || value === undefined || name < 0 || value < 0) return new Map()
  return new Map(lines.map((line) => [line[name]!, Number(line[value]!.replaceAll(',', ''))]))
}

/** Returns whether a point has hardware counters. */
export const hasCounters = (point: Point): boolean =>
  point.kind === 'kernel' && point.result?.counters !== undefined

/**
 * Adds the hardware counters of one launch to every kernel's result.
 *
 * @returns the reason why counters are missing, in one line; undefined after success.
 */
export async function addCounters(
  points: Point[],
  device: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const point of points) {
    if (point.kind !== 'kernel' || !point.result) continue
    const args = [
      ...['--csv', '--print-units', 'base', '--kernel-name', KERNELS, '--launch-count', '1'],
      ...['--metrics', Object.values(metrics).join(',')],
      ...[process.execPath, '--input-type=module', '--eval', program(point, device)],
    ]
    try {
      const found = readMetrics(await ncu(args, signal))
      const [deviceMemory, l2, shared] = Object.values(metrics).map((metric) => found.get(metric))
      if (deviceMemory === undefined || l2 === undefined || shared === undefined) {
        return 'There are no hardware counters: ncu printed none of them'
      }
      point.result.counters = { deviceMemory, l2, sharedMemory: shared * WAVEFRONT_BYTES }
    } catch (error) {
      if (signal.aborted) throw error
      const { code, message } = error as NodeJS.ErrnoException
      const why = /ENOENT/.test(`${code} ${message}`) ? 'ncu is not on the PATH' : message
      return `There are no hardware counters: ${why}`
    }
  }
  return undefined
}
