// Runs the tests of WebGPU on the adapter of this machine, and prints a report that its owner can paste into an issue:
//
//   npm run test:webgpu            needs a Git checkout that is built (npm run setup)
//
// Environment: VK_DRIVER_FILES names Vulkan's driver, as for any program; MPMML_WEBGPU_FALLBACK=0 refuses software.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'mpmml-webgpu-'))
const results = join(folder, 'results.json')
const require = createRequire(import.meta.url)

/** Runs the tests, and returns what each file found. */
function runTests() {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`]
  const args = [vitest, 'run', 'test/webgpu', '--maxWorkers=1', ...reporters]
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  return { status, ...JSON.parse(readFileSync(results, 'utf8')) }
}

/** Milliseconds of a product from arrays to an array: the median of five, after one that compiles kernels. */
async function time({ matrix, mpmm }, n, backend) {
  const data = Int32Array.from({ length: n * n }, (_, at) => (at * 7919) % 1009)
  const a = matrix(n, n, data)
  const times = []
  for (let call = -1; call < 5; call++) {
    const start = performance.now()
    const { backend: by } = await mpmm(a, a, { backend })
    if (by !== backend) throw new Error(`it was computed by ${by}`)
    if (call >= 0) times.push(performance.now() - start)
  }
  return times.sort((x, y) => x - y)[2]
}

async function timings(library, isSoftware) {
  const lines = []
  for (const n of isSoftware ? [256] : [512, 1024, 2048, 4096]) {
    const [gpu, cpu] = [await time(library, n, 'webgpu'), await time(library, n, 'cpu')]
    lines.push(`max-plus int32 ${n}³ from arrays: WebGPU ${gpu.toFixed(1)} ms, CPU ${cpu.toFixed(1)} ms`)
  }
  return lines
}

function linesOfTests({ numPassedTests, numFailedTests, numPendingTests, testResults }) {
  const failed = testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => `  ${fullName}: ${failureMessages[0]?.split('\n')[0]}`),
  )
  return [
    `tests: ${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`,
    ...failed.slice(0, 20),
  ]
}

try {
  const tests = runTests()
  // As test/support/webgpu-adapter.ts: the report says that it is software.
  process.env.MPMML_WEBGPU_FALLBACK ??= '1'
  const library = await import('../../dist/lib/index.js')
  const opened = await library.openDevice({ backend: 'webgpu' }).catch(() => undefined)
  await opened?.close()
  const { version, node, cpu, webgpu } = library.info()
  const { adapter } = webgpu
  const package_ = require('webgpu/package.json')
  const lines = [
    '--- report of mpmml by WebGPU: paste it into an issue ---',
    `mpmml ${version}, Node.js ${node}, webgpu ${package_.version}, ${process.platform} ${process.arch} ${release()}`,
    `CPU: ${cpu.model}, ${cpu.simd}, ${cpu.threads} threads`,
    `adapter: ${webgpu.name || 'none'}${adapter?.isFallback ? ' (software)' : ''} ${JSON.stringify(adapter)}`,
    `limits: ${JSON.stringify(webgpu.limits)}`,
    `float32 rounds to nearest: ${webgpu.roundsToNearest}; problem: ${webgpu.reason || 'none'}`,
    ...linesOfTests(tests),
    ...(webgpu.reason === '' ? await timings(library, adapter?.isFallback) : []),
    '--- end of the report ---',
  ]
  console.log(`\n${lines.join('\n')}`)
  process.exitCode = tests.status ?? 1
} finally {
  rmSync(folder, { recursive: true })
}
