/** mpmml info */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Command } from 'commander'
import { type Info, info } from '../../lib/index.js'
import { addonText } from '../addon-text.js'
import { newCommand } from '../commands.js'
import { bytes, deviceRows, labelled, oneLine, print, printJson } from '../output.js'

export function infoCommand(): Command {
  return newCommand('info')
    .option('--json', 'print one JSON value')
    .action(async ({ json }: { json?: true }) => {
      const facts = { ...info(), webgpu: await lookForWebGpu() }
      await (json ? printJson(facts) : print(describe(facts)))
    })
}

/**
 * Detects a GPU by WebGPU in a subprocess, because drivers write warnings to stderr and may crash the
 * process.
 */
export async function lookForWebGpu(): Promise<Info['webgpu']> {
  const library = JSON.stringify(new URL('../../lib/index.js', import.meta.url).href)
  const program = `const { info, openDevice } = await import(${library})
const device = await openDevice({ backend: 'webgpu' }).catch(() => undefined)
await device?.close()
console.log(JSON.stringify(info().webgpu))`
  try {
    const args = ['--input-type=module', '--eval', program]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
    return JSON.parse(stdout)
  } catch (error) {
    const { signal, message } = error as { signal?: string | null; message: string }
    const reason = signal ? `the look for a GPU ended the process (${signal})` : oneLine(message)
    return { looked: true, name: '', adapter: null, limits: {}, roundsToNearest: false, reason }
  }
}

/** Describes WebGPU in one line: the GPU and its rounding, or the reason why no GPU can be used. */
export function describeWebGpu({ name, adapter, roundsToNearest, reason }: Info['webgpu']): string {
  const software = adapter?.isFallback ? ', software' : ''
  const gpu = name === '' ? '' : `${name}${software}`
  if (reason !== '') return `not usable${gpu === '' ? '' : ` (${gpu})`}: ${reason}`
  return `${gpu}; float32 ${roundsToNearest ? 'rounds to nearest' : "doesn't round to nearest: no sums of float32"}`
}

function describe({ version, compiler, node, addon, cuda, cpu, webgpu, auto }: Info): string {
  const sections = [
    labelled([
      ['mpmml', `${version}, built by ${compiler}, on Node.js ${node}`],
      ['addon', `${addonText(addon)} (${addon.file})`],
      ['backend', `${auto.backend}: ${auto.reason}`],
      ['CPU', `${cpu.model}, ${count(cpu.cores, 'core')}`],
      [
        'SIMD',
        `${cpu.simd}, of ${cpu.instructionSets.join(', ')} in this build; ${count(cpu.threads, 'thread')}`,
      ],
      ['CUDA', cuda.status],
      ['driver', cuda.driver ? `for CUDA ${cuda.driver}` : undefined],
      ['not usable', cuda.reason],
      ['WebGPU', describeWebGpu(webgpu)],
      [
        'pinned',
        cuda.reason
          ? undefined
          : `${bytes(cuda.pinned.held)} of at most ${bytes(cuda.pinned.limit)} for results`,
      ],
    ]),
    ...cuda.devices.map((device, index) => labelled([['device', String(index)], ...deviceRows(device)])),
  ]
  return sections.join('\n\n')
}

const count = (number: number, thing: string) => `${number} ${thing}${number === 1 ? '' : 's'}`
