/**
 * Checks kernel variants in subprocesses, because kernels may crash or hang, and prints a report for
 * maintainers.
 */
import { readFile } from 'node:fs/promises'
import { info, type Variant, type VariantName } from '../../lib/index.js'
import { addonText } from '../addon-text.js'
import { labelled, styled } from '../output.js'
import { startProgress } from '../progress.js'
import { ChildError, runInSubprocess } from '../subprocesses/run.js'
import { checkedVariants, type KernelResult } from './check.js'

/**
 * Time after which a kernel counts as hanging: the driver compiles the PTX of a file with twelve kernels in a
 * minute.
 */
const MAX_SECONDS = 300

/** Report on the machine, the build and each failing variant. */
interface KernelReport {
  ok: boolean
  mpmml: string
  addon: string
  node: string
  cpu: { model: string; simd: string }
  gpus: { name: string; computeCapability: string }[]
  /** The driver's version and the version of CUDA that it supports; '' without a driver. */
  driver: string
  /** The toolkit that built the addon and the architectures that it was built for; '' without CUDA. */
  toolkit: string
  architectures: string[]
  /** Reason why GPU variants weren't checked; '' if they were checked or the addon has no GPU variants. */
  withoutGpu: string
  right: number
  /** Variants that differ from the naive product, throw an error, or crash or hang the process. */
  failing: KernelResult[]
  refused: KernelResult[]
}

/** @param text - part of the names of the variants to check. */
export async function checkKernels(text: string, signal: AbortSignal): Promise<KernelReport> {
  const { rows, withoutGpu } = checkedVariants(text)
  if (rows.length === 0 && withoutGpu === '') {
    throw new Error(
      `--kernels must be part of a variant's name, but it is '${text}': mpmml variants lists all`,
    )
  }
  const found = await checkAll(rows, signal)
  const having = (...statuses: KernelResult['status'][]) =>
    found.filter(({ status }) => statuses.includes(status))
  const failing = having('wrong', 'failed')
  const { version, addon, node, cpu, cuda } = info()
  return {
    ok: failing.length === 0,
    mpmml: version,
    addon: addonText(addon),
    node,
    cpu: { model: cpu.model, simd: cpu.simd },
    gpus: cuda.devices.map(({ name, computeCapability }) => ({
      name: String(name),
      computeCapability: String(computeCapability),
    })),
    driver: [await driverVersion(), cuda.driver && `CUDA ${cuda.driver}`].filter(Boolean).join(', '),
    toolkit: cuda.toolkit,
    architectures: cuda.architectures,
    withoutGpu,
    right: having('right').length,
    failing,
    refused: having('refused'),
  }
}

/** The version of the kernel module, such as 550.54.14; '' without one. */
async function driverVersion(): Promise<string> {
  const text = await readFile('/proc/driver/nvidia/version', 'utf8').catch(() => '')
  return /\s(\d{3,}\.[\d.]+)/.exec(text)?.[1] ?? ''
}

/**
 * Checks the variants one after the other. If a variant breaks its process, a new process checks the
 * remaining variants.
 */
async function checkAll(rows: readonly Variant[], signal: AbortSignal): Promise<KernelResult[]> {
  const progress = startProgress(rows.length)
  const found: KernelResult[] = []
  try {
    while (found.length < rows.length) {
      const before = found.length
      const rest = rows.slice(before)
      const onVariant = (what: string) => progress.show(what, found.length)
      const reason = await checkUntilBroken(
        rest.map(({ name }) => name),
        found,
        onVariant,
        signal,
      )
      if (reason === undefined && found.length > before) continue
      const { name: variant, backend } = rows[found.length]!
      const failed = {
        status: 'failed',
        compared: 0,
        reason: reason ?? 'the process ended early',
        code: null,
      } as const
      found.push({ variant, backend, ...failed })
    }
  } finally {
    progress.end()
  }
  return found
}

/** A CUDA error makes the GPU unusable for the rest of the process. */
const isBroken = ({ code }: KernelResult) => code === 'ERR_MPMML_CUDA'

/**
 * Checks variants in one process and adds the results to `found`.
 *
 * @returns description of how the process ended during a variant; undefined if all variants are done or the
 * last one caused a CUDA error.
 */
async function checkUntilBroken(
  variants: VariantName[],
  found: KernelResult[],
  onVariant: (what: string) => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const end = new AbortController()
  const stop = () => end.abort()
  signal.addEventListener('abort', stop, { once: true })
  const late = `it takes longer than ${MAX_SECONDS} s`
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(() => end.abort(new ChildError(late)), 1000 * MAX_SECONDS)
  }
  const broken = new ChildError('')
  let isOver = false
  wait()
  try {
    await runInSubprocess<KernelResult>(
      {
        experiment: 'kernels',
        request: { variants },
        what: 'kernels',
        does: 'ran it',
        threads: null,
        found(one) {
          // Messages that the process sent before it was killed are ignored.
          if (isOver) return
          found.push(one)
          wait()
          isOver = isBroken(one)
          if (isOver) throw broken
        },
      },
      end.signal,
      onVariant,
    )
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    if (error === broken) return undefined
    if (error instanceof ChildError) return error.message
    throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** Returns the report as text. */
export function describeKernels(report: KernelReport): string {
  const { mpmml, addon, node, cpu, gpus, driver, toolkit, architectures, right, failing, refused } = report
  const reasons = [...new Set(refused.map(({ variant, reason }) => reason.replaceAll(variant, '…')))]
  return [
    labelled([
      ['mpmml', `${mpmml}, ${addon}, on Node.js ${node}`],
      ['CPU', `${cpu.model}, ${cpu.simd}`],
      ...gpus.map(({ name, computeCapability }): [string, string] => [
        'GPU',
        `${name}, compute capability ${computeCapability}`,
      ]),
      ['driver', driver],
      ['toolkit', toolkit && `CUDA ${toolkit} for ${architectures.join(' ')}`],
      ['right', `${right} variants equal the naive product`],
      ['refused', refused.length > 0 ? `${refused.length} variants can't run here` : undefined],
      ['failing', failing.length > 0 ? String(failing.length) : undefined],
      ['not checked', report.withoutGpu && `variants for GPUs, because ${report.withoutGpu}`],
    ]),
    '',
    ...reasons.map((reason) => `${styled(process.stdout, 'yellow', '·')} refused: ${reason}`),
    ...failing.map(({ variant, reason }) => `${styled(process.stdout, 'red', '✗')} ${variant}: ${reason}`),
    report.ok
      ? 'Every variant that runs here is right.'
      : 'Some variants are wrong: report all of this output.',
  ].join('\n')
}
