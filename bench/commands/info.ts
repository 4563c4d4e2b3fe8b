/** mpmml info */
import type { Command } from 'commander'
import { type Info, info } from '../../lib/index.js'
import { addonText } from '../addon-text.js'
import { newCommand } from '../commands.js'
import { bytes, deviceRows, labelled, print, printJson } from '../output.js'

export function infoCommand(): Command {
  return newCommand('info')
    .option('--json', 'print one JSON value')
    .action(async ({ json }: { json?: true }) => {
      const facts = info()
      await (json ? printJson(facts) : print(describe(facts)))
    })
}

function describe({ version, compiler, node, addon, cuda, cpu, auto }: Info): string {
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
