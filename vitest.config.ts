import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { PATIENCE } from './test/support/patience.js'

// Each process would read these certificates at its start, which doubles its start-up time. No test contacts a server that uses one of them.
delete process.env.NODE_EXTRA_CA_CERTS

const hasGpu = ['/dev/nvidiactl', '/proc/driver/nvidia/version', '/dev/dxg'].some((path) => existsSync(path))
if (!hasGpu) console.warn('test/gpu is left out: there is no GPU here')

// Without a driver users get the addon for the CPU; tests use the laboratory's addon, with the whole table, if it was built.
const lab = existsSync(new URL('build/Release/mpmml_lab.node', import.meta.url))

/** The slowest test files, which begin first, so that no core idles at the end. Vitest would begin with the largest files instead. */
const first = [
  '/cpu/',
  '/queue/queue',
  '/cli/bench',
  '/examples/service',
  '/unit/reference',
  '/cli/queue',
  '/unit/device-processes',
  '/unit/processes',
  '/cli/guides',
  '/cli/pipes',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) =>
      first.findIndex((name) => moduleId.includes(`/test${name}`))
    const takesLong = (file: TestSpecification) => place(file) >= 0
    const sorted = await super.sort(files)
    const long = sorted.filter(takesLong).sort((x, y) => place(x) - place(y))
    return [...long, ...sorted.filter((file) => !takesLong(file))]
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // To load them, only to skip what they have, takes a quarter of a minute.
    exclude: ['test/packages/**', ...(hasGpu ? [] : ['test/gpu/**'])],
    setupFiles: ['test/support/setup.ts'],
    env: lab ? { MPMML_ADDON: process.env.MPMML_ADDON ?? 'lab' } : {},
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
    expect: { poll: { timeout: PATIENCE } },
    // Tests that fill a GPU's memory must have it to themselves.
    fileParallelism: !hasGpu,
    // One more than there are cores, because some tests wait for processes.
    ...(hasGpu ? {} : { maxWorkers: availableParallelism() + 1 }),
    // A larger young generation is collected less often: suites of products take a twelfth less time.
    execArgv: ['--max-semi-space-size=64'],
    // The compiled command line, which tests run without changes.
    server: { deps: { external: [/\/dist\//] } },
    sequence: { sequencer: LongestFirst },
  },
})
