/**
 * GPU architectures of a build, which native/cuda/architectures.cmake chooses for simulated toolkits and
 * GPUs.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../lib/native.js'
import { useFolder } from '../support/folder.js'
import { describeUnless } from '../support/skip.js'

const cuda13 = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]
const cuda12 = [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90]

const inFolder = useFolder()

/**
 * Returns the architectures that are chosen for compute capabilities from nvidia-smi. An empty list simulates
 * a machine without a driver.
 */
function choose(requested: string, known: number[], capabilities: string[] = []) {
  const smi = inFolder('nvidia-smi')
  writeFileSync(
    smi,
    capabilities.length > 0 ? `#!/bin/sh\necho '${capabilities.join('\n')}'\n` : '#!/bin/sh\nexit 9\n',
  )
  chmodSync(smi, 0o755)
  const script = inFolder('choose.cmake')
  writeFileSync(
    script,
    `cmake_minimum_required(VERSION 3.18)
include("${join(root, 'native/cuda/architectures.cmake')}")
mpmml_choose_architectures("${requested}" "${known.join(';')}")
mpmml_name_architectures(main \${mpmml_architectures})
mpmml_name_architectures(lab \${mpmml_lab_architectures})
message("\${main}|\${lab}|\${mpmml_architectures_note}|")
`,
  )
  const { status, stderr } = spawnSync('cmake', ['-P', script], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${inFolder()}${delimiter}${process.env.PATH}` },
  })
  const [main, lab, note] = stderr.split('|')
  return { status, stderr: stderr.replaceAll(/\s+/g, ' '), main, lab, note }
}

const missing =
  process.platform === 'win32'
    ? 'the made-up nvidia-smi is a shell script'
    : spawnSync('cmake', ['--version']).status === 0
      ? undefined
      : 'CMake was not found'

describeUnless(missing, 'a build', () => {
  it.each([
    ['its GPU', ['9.0'], 'sm_90 compute_90'],
    ['each of its GPUs once', ['8.0', '9.0', '9.0'], 'sm_80 sm_90 compute_90'],
    ['GPUs in any order', ['12.0', '7.5'], 'sm_120 sm_75 compute_120'],
    ['the code that a GPU unknown to the toolkit can run', ['10.1'], 'sm_100 compute_100'],
    ['the newest there is, for a GPU newer still', ['13.0'], 'sm_121 compute_121'],
  ])('selects %s on a machine with a GPU', (_, capabilities, main) => {
    expect(choose('', cuda13, capabilities)).toMatchObject({ status: 0, main, lab: main, note: '' })
  })

  it('selects one architecture without a GPU, whose PTX every newer GPU can use', () => {
    const note = expect.stringContaining('MPMML_CUDA_ARCHS=90')
    expect(choose('', cuda13)).toMatchObject({ main: 'sm_75 compute_75', lab: 'compute_75', note })
    expect(choose('', cuda12)).toMatchObject({ main: 'sm_52 compute_52', lab: 'compute_52', note })
  })

  it('stops if the toolkit has no code for the only GPU, and names a toolkit that has it', () => {
    const { status, stderr } = choose('', cuda13, ['6.1'])
    expect(status).not.toBe(0)
    expect(stderr).toMatch(
      /no code for sm_61.*CUDA 12\.0 to 12\.9.*CUDACXX=\S+ npm run build.*MPMML_CUDA=OFF/,
    )
  })

  it('reports that the toolkit has no code for one of several GPUs', () => {
    const note = expect.stringContaining('no code for sm_61')
    expect(choose('', cuda13, ['6.1', '9.0'])).toMatchObject({ main: 'sm_90 compute_90', note })
    expect(choose('', cuda12, ['6.1'])).toMatchObject({ main: 'sm_61 compute_61', note: '' })
  })

  it('selects the named architectures for every machine', () => {
    for (const requested of ['61;90', '61 90', '61,90', 'sm_61;sm_90']) {
      expect(choose(requested, cuda12, ['8.0'])).toMatchObject({
        main: 'sm_61 sm_90 compute_90',
        lab: 'sm_61 sm_90 compute_90',
        note: '',
      })
    }
    expect(choose('61 sm_70 90 compute_61 compute_52', cuda12).main).toBe(
      'sm_61 sm_70 sm_90 compute_61 compute_90 compute_52',
    )
    expect(choose('90', cuda13)).toMatchObject({
      main: 'sm_90 compute_90',
      lab: 'sm_90 compute_90',
      note: '',
    })
  })

  it('selects all supported architectures of the toolkit on request', () => {
    const main = 'sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_120'
    expect(choose('all', cuda13)).toMatchObject({ main, lab: 'compute_75 compute_90', note: '' })
    expect(choose('all', cuda13, ['8.6'])).toMatchObject({ main, lab: 'sm_86 compute_86' })
  })

  it.each(['61', 'sm_61', '90;x', 'ALL'])('rejects %s for a toolkit without it', (requested) => {
    const { status, stderr } = choose(requested, cuda13)
    expect(status).not.toBe(0)
    expect(stderr).toMatch(/MPMML_CUDA_ARCHS names \S+, which this CUDA toolkit doesn't have; it has 75;80/)
  })
})
