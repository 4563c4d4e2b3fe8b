/** mpmml tune */
import { type Command, Option } from 'commander'
import { tune, tuneWebGpu } from '../../lib/lab.js'
import { shapes, squares, wholeNumber, wholeNumbers } from '../arguments.js'
import { newCommand } from '../commands.js'
import { libraryOption } from '../flags.js'
import { duration, print, printJson, rate, shapeName, table } from '../output.js'
import { startProgress } from '../progress.js'

interface Flags {
  backend: 'cuda' | 'webgpu'
  sizes?: number[]
  shapes?: { m: number; n: number; k: number; batch: number }[]
  device: number
  repetitions: number
  json?: true
}

/**
 * Default shapes, for which the best kernel is hard to predict: too small to fill the GPU, long and thin, or
 * batches.
 */
const defaults = [
  ...squares([128, 256, 512, 1024, 2048, 4096, 8192]),
  { m: 8192, n: 64, k: 8192, batch: 1 },
  { m: 64, n: 8192, k: 8192, batch: 1 },
  { m: 8192, n: 8192, k: 64, batch: 1 },
  { m: 512, n: 512, k: 16384, batch: 1 },
  { m: 64, n: 64, k: 64, batch: 1024 },
  { m: 256, n: 256, k: 256, batch: 128 },
  { m: 1024, n: 1024, k: 1024, batch: 16 },
]

export function tuneCommand(signal: AbortSignal): Command {
  return newCommand('tune')
    .addOption(
      new Option('--backend <name>', 'kernels of CUDA, or which products WebGPU computes sooner than the CPU')
        .choices(['cuda', 'webgpu'])
        .default('cuda'),
    )
    .option('--sizes <n,…>', 'square sizes', wholeNumbers())
    .option('--shapes <MxKxN,…>', 'shapes: A is M × K, B is K × N; BATCHxMxKxN for a batch', shapes)
    .addOption(libraryOption('device').default(0))
    .option('--repetitions <count>', 'timed launches of each kernel', wholeNumber(1, 10000), 5)
    .option('--json', 'print one JSON value')
    .action(async ({ backend, sizes, shapes: requested, json, ...options }: Flags) => {
      if (backend === 'webgpu') {
        await tuneForWebGpu(json === true, signal)
        return
      }
      const selected = sizes || requested ? [...squares(sizes ?? []), ...(requested ?? [])] : defaults
      let progress: ReturnType<typeof startProgress> | undefined
      try {
        const tuned = await tune({
          ...options,
          shapes: selected,
          signal,
          onProgress: ({ shape, variant, measured, total }) => {
            progress ??= startProgress(total)
            progress.show(`${shapeName({ ...shape, batch: shape.batch ?? 1 })} ${variant}`, measured)
          },
        })
        progress?.end()
        progress = undefined
        await (json ? printJson(tuned) : print(describe(tuned)))
      } finally {
        progress?.end()
      }
    })
}

async function tuneForWebGpu(json: boolean, signal: AbortSignal): Promise<void> {
  let progress: ReturnType<typeof startProgress> | undefined
  try {
    const tuned = await tuneWebGpu({
      signal,
      onProgress({ kind, measured, total }) {
        progress ??= startProgress(total)
        progress.show(kind, measured)
      },
    })
    progress?.end()
    progress = undefined
    const rows = tuned.choices.map(({ kind, webgpuMs, cpuMs }) => [
      kind,
      duration(webgpuMs),
      duration(cpuMs),
      webgpuMs < cpuMs ? 'webgpu' : 'cpu',
    ])
    const text = `${tuned.gpu}\n${table([['products', 'WebGPU', 'CPU', 'faster'], ...rows])}\n\nwhole calls; kept in ${tuned.path}`
    await (json ? printJson(tuned) : print(text))
  } finally {
    progress?.end()
  }
}

function describe({ path, shapes: tuned }: Awaited<ReturnType<typeof tune>>): string {
  const rows = tuned.map(({ choice, times }) => {
    const [best, second] = times
    const ahead = second ? `${duration(second.ms)}  ${second.variant}` : ''
    return [shapeName(choice), choice.path, duration(best!.ms), rate(choice.gops), choice.variant, ahead]
  })
  const head = ['M×K×N', 'path', 'fastest', 'speed', 'variant', 'next best']
  return `${table([head, ...rows])}\n\nkernel and packing together, medians; kept in ${path}`
}
