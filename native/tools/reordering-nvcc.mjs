// nvcc, but for sm_90 the main loops of kernels are put in an order that suits the banks of registers (reorder/order.mjs; notes.md has
// what it gains). CMake calls it in place of nvcc if MPMML_CUDA_REORDER is ON:
//
//   node native/tools/reordering-nvcc.mjs nvcc [arguments]
//
// nvcc says which commands it would run; these are run here, and what ptxas writes is reordered before it goes into the object file.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { reorderCubin } from './reorder/cubin.mjs'

const [nvcc, ...options] = process.argv.slice(2)

/** Runs nvcc as it is, and ends with its exit code. */
function compileAsIs() {
  process.exit(spawnSync(nvcc, options, { stdio: 'inherit' }).status ?? 1)
}

/** The commands and settings that nvcc would run and set, one in a line. */
function stepsOf() {
  const { status, stderr } = spawnSync(nvcc, ['--dryrun', ...options], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  if (status !== 0) compileAsIs()
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('#$ '))
    .map((line) => line.slice(3))
}

/** The cubin for sm_90 that a command writes, or undefined. */
const cubinOf = (command) => /^ptxas .*-arch=sm_90 .* -o "([^"]+\.cubin)"/.exec(command)?.[1]

const steps = stepsOf()
// Other architectures, or what isn't compiled.
if (!steps.some(cubinOf)) compileAsIs()

/** Runs the steps, and returns the exit code of the first that fails, or 0. */
function run() {
  const environment = { ...process.env }
  for (const step of steps) {
    const setting = /^(\w+)=(.*)$/.exec(step)
    if (setting) {
      environment[setting[1]] = setting[2]
      continue
    }
    // nvcc removes its files itself, and some that aren't there.
    if (step.startsWith('rm ')) continue
    const { status } = spawnSync('/bin/sh', ['-c', step], { stdio: 'inherit', env: environment })
    if (status !== 0) return status ?? 1
    const cubin = cubinOf(step)
    if (cubin) writeFileSync(cubin, reorderCubin(readFileSync(cubin)).file)
  }
  return 0
}

try {
  process.exitCode = run()
} finally {
  for (const [file] of steps.join('\n').matchAll(/\/[^"\s]*\/tmpxft_[^"\s]+/g)) rmSync(file, { force: true })
}
