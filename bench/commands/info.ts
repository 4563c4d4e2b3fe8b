/** mpmml info */
import type { Command } from 'commander'
import { type Info, info, openDevice } from '../../lib/index.js'
import { addonText } from '../addon-text.js'
import { newCommand } from '../commands.js'
import { bytes, deviceRows, labelled, print, printJson } from '../output.js'

export function infoCommand(): Command {
  return newCommand('info')
    .option('--json', 'print one JSON value')
    .action(async ({ json }: { json?: true }) => {
      await lookForWebGpu()
      const facts = info()
      await (json ? printJson(facts) : print(describe(facts)))
    })
}

/** Looks for a GPU of WebGPU, so that info() can describe it. */
export async function lookForWebGpu(): Promise<void> {
  try {
    const device = await openDevice({ backend: 'webgpu' })
    await device.close()
  } catch {
    // info() has the reason.
  }
}

/** Describes WebGPU in a line: the GPU, how it rounds, or why it can't be used. */
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
