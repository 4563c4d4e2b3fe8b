// nvcc, but with the main loops of kernels for sm_90 in an order that suits the banks of registers (order.mjs). CMake calls it in place
// of nvcc for the sources whose loops gain by it:
//
//   node native/reorder/nvcc.mjs nvcc [arguments]
//
// `nvcc --dryrun` prints the commands of a compilation. This program runs them, and reorders the output of ptxas before the next command
// reads it. If any of that fails, nvcc compiles without this program.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reorderCubin } from './cubin.mjs'

const [nvcc, ...options] = process.argv.slice(2)

/** Returns the path of the cubin for sm_90 that a command of ptxas writes, or undefined. */
const cubinOf = (command) => /^ptxas .*-arch=sm_90 .* -o "([^"]+\.cubin)"/.exec(command)?.[1]

/** The options without these, which stand alone (0) or have a value (1). */
function without(names) {
  const result = []
  for (let k = 0; k < options.length; ++k) {
    if (options[k] in names) k += names[options[k]]
    else result.push(options[k])
  }
  return result
}

/** Compiles with reordered loops, with temporary files in `folder`. Returns whether it did. */
function compile(folder) {
  const environment = { ...process.env, TMPDIR: folder }
  // nvcc has no command for the file of dependencies.
  const compiling = without({ '-MD': 0, '-MT': 1, '-MF': 1 })
  const { status, stderr } = spawnSync(nvcc, ['--dryrun', ...compiling], {
    encoding: 'utf8',
    env: environment,
    maxBuffer: 2 ** 26,
  })
  // Commands and assignments of environment variables.
  const steps = stderr
    .split('\n')
    .filter((line) => line.startsWith('#$ '))
    .map((line) => line.slice(3))
  if (status !== 0 || !steps.some(cubinOf)) return false
  for (const step of steps) {
    const setting = /^(\w+)=(.*)$/.exec(step)
    if (setting) {
      environment[setting[1]] = setting[2]
      continue
    }
    // The folder is removed as a whole.
    if (step.startsWith('rm ')) continue
    const { status: failed, stderr: said } = spawnSync('/bin/sh', ['-c', step], {
      encoding: 'utf8',
      env: environment,
    })
    if (failed !== 0) return false
    process.stderr.write(said)
    const cubin = cubinOf(step)
    if (cubin) writeFileSync(cubin, reorderCubin(readFileSync(cubin)).file)
  }
  if (compiling.length === options.length) return true
  return (
    spawnSync(nvcc, ['-M', ...without({ '-MD': 0, '-c': 0, '-o': 1 })], { stdio: 'inherit' }).status === 0
  )
}

/** Compiles in a folder of its own. No error of the reordering stops the build. */
function compiles() {
  const folder = mkdtempSync(join(tmpdir(), 'mpmml-nvcc-'))
  try {
    return compile(folder)
  } catch (error) {
    console.error(`mpmml: the loops stay in the compiler's order: ${error.message}`)
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (!compiles()) {
  console.error('mpmml: nvcc compiles this without reordered loops')
  process.exitCode = spawnSync(nvcc, options, { stdio: 'inherit' }).status ?? 1
}
