/** Winning indices, closures, paths and cycle means: what they cost, and if they are right. */
import { openDevice } from '../../lib/index.js'
import { batched, hostToHost, resident, shareOfProduct } from './graph/all-pairs.js'
import { sparseNetwork } from './graph/network.js'
import { againstSciPy } from './graph/scipy.js'
import { witnessOnGpu, witnessOnOneCore } from './graph/witness.js'
import type { Asked, Findings, Suite, SuiteRequest } from './protocol.js'

async function onDevice(
  { backend, device: index, quick, repetitions }: SuiteRequest,
  findings: Findings,
): Promise<void> {
  const gpu = backend === 'cuda'
  const isAsked = gpu && !quick
  const times = repetitions ?? (quick ? 2 : 7)
  const ask = (must: number, aim: number): Asked => (isAsked ? { must, aim } : {})
  const device = await openDevice({ backend, device: index })
  if (gpu) await witnessOnGpu(device, quick, repetitions, findings)
  const nodes = quick ? 100 : gpu ? 8192 : 1024
  findings.progress(`${nodes} nodes, resident`, 0.2)
  await resident(device, nodes, times, { distances: ask(50, 40), next: ask(80, 60) }, findings)
  const many = quick ? 200 : gpu ? 32_768 : 2048
  findings.progress(`${many} nodes, resident`, 0.3)
  await shareOfProduct(device, many, repetitions ?? (quick ? 2 : 3), ask(75, 90), findings)
  const some = quick ? 100 : gpu ? 4096 : 1024
  findings.progress(`${some} nodes, arrays`, 0.5)
  await hostToHost(backend, index, some, times, ask(25, 18), findings)
  const count = quick ? 20 : gpu ? 10_000 : 1000
  findings.progress(`${count} graphs`, 0.6)
  await batched(device, count, quick ? 16 : 64, times, ask(10, 5), findings)
  await device.close()
}

export const graph: Suite = {
  shows: 'the winning index beside each product, all shortest distances and paths, and cycle means',
  async run(request, findings) {
    const { quick, repetitions } = request
    await onDevice(request, findings)
    // What doesn't need a GPU, and is asked of any machine.
    await againstSciPy(quick ? 100 : 2048, repetitions ?? (quick ? 2 : 5), !quick, findings)
    await witnessOnOneCore(quick, repetitions, findings)
    const [nodes, edges] = quick ? [1000, 10_000] : [100_000, 1_000_000]
    findings.progress('cycle mean', 0.95)
    await sparseNetwork(nodes, edges, repetitions ?? (quick ? 2 : 5), !quick, findings)
  },
}
