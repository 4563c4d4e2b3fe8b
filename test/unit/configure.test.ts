/** What CMake does with addons of earlier builds when it configures another one. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../lib/native.js'

const hasTools = spawnSync('cmake', ['--version']).status === 0

it.skipIf(!hasTools)(
  `removes addons that the build will not renew${hasTools ? '' : ' (skipped: CMake was not found)'}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'mpmml-configure-'))
    try {
      const addons = join(folder, 'Release')
      mkdirSync(addons)
      for (const name of ['mpmml', 'mpmml_lab', 'mpmml_cuda']) writeFileSync(join(addons, `${name}.node`), '')
      const options = { MPMML_CUDA: 'OFF', CMAKE_LIBRARY_OUTPUT_DIRECTORY: addons }
      const args = Object.entries(options).map(([name, value]) => `-D${name}=${value}`)
      const { status, stderr } = spawnSync('cmake', ['-S', root, '-B', folder, ...args], { encoding: 'utf8' })
      expect(status, stderr).toBe(0)
      expect(readdirSync(addons)).toEqual(['mpmml.node'])
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)
