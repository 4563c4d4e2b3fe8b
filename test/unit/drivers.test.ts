/** Reported reasons why CUDA can't be used, in processes that load another driver than the machine's. */
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { info } from '../../lib/index.js'
import { inDist, readOutput, withoutBuild } from '../support/child.js'
import { useFolder } from '../support/folder.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless, itUnless } from '../support/skip.js'

/** Program that prints the error of every use of CUDA, and computes without CUDA. */
const program = `
  import { explainBackend, info, matrix, mpmm, mpmmSync, openDevice, pinned } from ${inDist('lib/index.js')}
  const one = matrix(40, 40, new Int32Array(1600).fill(2))
  const refusal = (work) => work.then(() => 'done', ({ code, message }) => [code, message])
  const thrown = (call) => { try { return call() } catch ({ code, message }) { return [code, message] } }
  const device = await openDevice()
  const there = await device.upload(one)
  console.log(JSON.stringify({
    refused: [
      await refusal(openDevice({ backend: 'cuda' })),
      await refusal(openDevice({ backend: 'cuda', device: 3 })),
      await refusal(mpmm(one, one, { backend: 'cuda' })),
      thrown(() => mpmmSync(one, one, { backend: 'cuda' })),
      await refusal(openDevice({ backend: 'cuda' })),
    ],
    reason: info().cuda.reason,
    explained: explainBackend().reason,
    devices: info().cuda.devices.length,
    auto: [device.backend, (await mpmm(one, one)).backend, (await mpmm(there, there)).backend],
    pinned: (await pinned('int32', 3)).length,
  }))
  await device.close()
`

function expectRefused(env: NodeJS.ProcessEnv, reason: RegExp): void {
  const said = JSON.parse(readOutput(program, { env }))
  for (const [code, message] of said.refused) {
    expect(code).toBe('ERR_MPMML_NO_CUDA')
    expect(message).toMatch(reason)
  }
  expect(said.reason).toMatch(reason)
  expect(said.explained).toMatch(reason)
  expect([said.devices, said.auto, said.pinned]).toEqual([0, ['cpu', 'cpu', 'cpu'], 3])
}

/** Driver that is loaded before the machine's, and reports only its version. */
const oldDriver = `
int cuDriverGetVersion(int* version) { *version = 9000; return 0; }
int cuInit(unsigned flags) { (void)flags; return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
`

describeUnless(withoutBuild, 'CUDA', () => {
  const { cuda } = info()
  const canReplace = process.platform === 'linux' && cuda.built
  const because = cuda.built ? 'drivers are replaced on Linux only' : 'the build has no CUDA'
  const inFolder = useFolder()
  const driver = () => inFolder('libcuda.so.1')
  const found = () => ({
    LD_LIBRARY_PATH: [inFolder(), process.env.LD_LIBRARY_PATH].filter((path) => path).join(':'),
  })

  itUnless(cuda.built && 'this build has it', 'left out of the build', () =>
    expectRefused({}, /built without CUDA|MPMML_ADDON=cpu asks for the addon without CUDA/),
  )

  itUnless(!canReplace && because, 'without a driver', () => {
    writeFileSync(driver(), 'this is no library')
    expectRefused(found(), /no NVIDIA driver was found/)
  })

  const compiler = spawnSync('cc', ['--version']).status === 0
  const canCompile = canReplace && compiler
  const missing = canReplace ? 'there is no C compiler' : because
  itUnless(!canCompile && missing, 'with a driver that is too old', () => {
    const source = inFolder('driver.c')
    writeFileSync(source, oldDriver)
    rmSync(driver(), { force: true })
    expect(spawnSync('cc', ['-shared', '-fPIC', '-o', driver(), source]).status).toBe(0)
    expectRefused(found(), /driver is too old: it supports CUDA 9\.0, this build needs .*update the driver/)
  })

  const none = withoutCuda()
  itUnless(none, 'with its devices hidden', () => {
    expectRefused({ CUDA_VISIBLE_DEVICES: '' }, /no CUDA device \(CUDA_VISIBLE_DEVICES may hide them\)/)
    expectRefused({ CUDA_VISIBLE_DEVICES: '-1' }, /no CUDA device \(CUDA_VISIBLE_DEVICES may hide them\)/)
  })
})
