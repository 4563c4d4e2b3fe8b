/**
 * Choice of the addon among installed packages by driver and GPUs. Packages built with CUDA 12 and 13 are in
 * a folder of the test, with the addon for the CPU in their place. A preloaded module simulates the files of
 * another machine.
 */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { root, version } from '../../lib/native.js'
import { readOutput, withoutBuild } from '../support/child.js'
import { useFolder } from '../support/folder.js'
import { describeUnless } from '../support/skip.js'

const isForIt = process.platform === 'linux' && process.arch === 'x64'
const skipped = isForIt ? withoutBuild : 'these packages are for Linux x64'

const packages = {
  'linux-x64-gnu': 'mpmml.node',
  'cuda-linux-x64': 'mpmml_cuda.node',
  'cuda12-linux-x64': 'mpmml_cuda.node',
  'lab-linux-x64': 'mpmml_lab.node',
  'lab12-linux-x64': 'mpmml_lab.node',
}
type Package = keyof typeof packages

// PCI device numbers of the PCI ID Repository.
const GTX_1080_TI = '0x1b06'
const RTX_2080 = '0x1e87'
const H100 = '0x2330'

const inFolder = useFolder(afterEach)
beforeEach(() => {
  const library = inFolder('node_modules', 'mpmml')
  cpSync(join(root, 'dist/lib'), join(library, 'dist/lib'), { recursive: true })
  cpSync(join(root, 'native/variants/tuning.json'), join(library, 'native/variants/tuning.json'))
  cpSync(join(root, 'package.json'), join(library, 'package.json'))
})

function install(names: Package[]): void {
  for (const short of names) {
    const position = inFolder('node_modules', '@mpmml', short)
    mkdirSync(position, { recursive: true })
    const manifest = { name: `@mpmml/${short}`, version, main: packages[short] }
    writeFileSync(join(position, 'package.json'), JSON.stringify(manifest))
    symlinkSync(join(root, 'build/Release/mpmml.node'), join(position, packages[short]))
  }
}

/** Runs a program on a simulated machine with a driver and GPUs; returns its output. */
function run(driver: string, gpus: string[], program: string): string {
  const bus = '/sys/bus/pci/devices'
  const devices = gpus.flatMap((device, index) => [
    [`${bus}/gpu${index}/vendor`, '0x10de'],
    [`${bus}/gpu${index}/class`, '0x030000'],
    [`${bus}/gpu${index}/device`, device],
  ])
  const line = `NVRM version: NVIDIA UNIX x86_64 Kernel Module  ${driver}  Thu Feb 22 01:44:30 UTC 2024`
  const files = Object.fromEntries([['/proc/driver/nvidia/version', line], [bus, ''], ...devices])
  writeFileSync(
    inFolder('machine.mjs'),
    `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const files = ${JSON.stringify(files)}
const { existsSync, readFileSync, readdirSync } = fs
fs.existsSync = (path) => path in files || existsSync(path)
fs.readFileSync = (path, ...rest) => files[path] ?? readFileSync(path, ...rest)
fs.readdirSync = (path, ...rest) => (path === '${bus}' ? ${JSON.stringify(gpus.map((_, at) => `gpu${at}`))} : readdirSync(path, ...rest))
syncBuiltinESMExports()
`,
  )
  return readOutput(program, {
    cwd: inFolder(),
    env: { MPMML_ADDON: undefined },
    flags: ['--import', './machine.mjs'],
  })
}

const taken = (driver: string, gpus: string[]) =>
  run(driver, gpus, "import { info } from 'mpmml'; console.log(info().addon.from)")

describeUnless(skipped, 'the loader', () => {
  it.each<[driver: string, gpu: string, wanted: Package]>([
    ['550.54.14', RTX_2080, 'cuda12-linux-x64'],
    ['580.65.06', GTX_1080_TI, 'cuda12-linux-x64'],
    ['550.54.14', GTX_1080_TI, 'cuda12-linux-x64'],
    ['580.65.06', H100, 'cuda-linux-x64'],
    ['580.65.06', RTX_2080, 'cuda-linux-x64'],
  ])('loads, with driver %s and GPU %s, %s of both packages with CUDA', (driver, gpu, requested) => {
    install(['linux-x64-gnu', 'cuda-linux-x64', 'cuda12-linux-x64'])
    expect(taken(driver, [gpu])).toBe(`@mpmml/${requested}`)
  })

  it('prefers products with the right CUDA to a laboratory with the wrong one', () => {
    install(['linux-x64-gnu', 'lab-linux-x64', 'cuda12-linux-x64'])
    expect(taken('580.65.06', [GTX_1080_TI])).toBe('@mpmml/cuda12-linux-x64')
    expect(taken('580.65.06', [H100])).toBe('@mpmml/lab-linux-x64')
  })

  it('loads the laboratory with the right CUDA of two', () => {
    install(['linux-x64-gnu', 'lab-linux-x64', 'lab12-linux-x64', 'cuda12-linux-x64'])
    expect(taken('580.65.06', [GTX_1080_TI])).toBe('@mpmml/lab12-linux-x64')
    expect(taken('580.65.06', [GTX_1080_TI, H100])).toBe('@mpmml/lab-linux-x64')
  })

  it.each<[gpu: string, has: Package, needed: Package]>([
    [GTX_1080_TI, 'cuda12-linux-x64', 'lab12-linux-x64'],
    [H100, 'cuda-linux-x64', 'lab-linux-x64'],
  ])('names on GPU %s with %s the package of the laboratory, %s', (gpu, has, needed) => {
    install(['linux-x64-gnu', has])
    const program = `import { microbench } from 'mpmml/lab'
      await microbench('reg-reg').catch(({ code, message }) => console.log(code, message))`
    const said = run('580.65.06', [gpu], program)
    expect(said).toMatch(/^ERR_MPMML_ADDON /)
    expect(said).toContain(`npm install @mpmml/${needed}@${version}`)
  })
})
