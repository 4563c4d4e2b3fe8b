import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { PATIENCE } from './test/support/patience.js'

const hasGpu = ['/dev/nvidiactl', '/proc/driver/nvidia/version', '/dev/dxg'].some((path) => existsSync(path))
// Without a driver users get the addon for the CPU; tests look at the whole table, if it was built.
const lab = existsSync(new URL('build/Release/mpmml_lab.node', import.meta.url))

// To load those of GPUs, only to skip what they have, takes a quarter of a minute.
const exclude = ['test/packages/**', ...(hasGpu ? [] : ['test/gpu/**'])]

/** What takes longest is begun first, so that at the end no core waits for it. Vitest would begin with the largest files, which are others. */
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

/**
 * What needs a process of its own: because it mocks modules, looks at the memory of the process, at what is loaded first, or changes what
 * all share. The others run one after the other in as few processes as there are workers: to start one for each takes as long as what
 * most of them do.
 */
const alone = [
  'test/arrays/{computer,graph-paths,products}.test.ts',
  'test/browser/**/*.test.ts',
  'test/cpu/**/*.test.ts',
  'test/gpu/**/*.test.ts',
  'test/graph/{paths,paths-cases,progress,space}.test.ts',
  'test/unit/{environment,faults,matrix-files,native,npy,pinned,pinned-memory,realms,validation}.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) =>
      first.findIndex((name) => moduleId.includes(`/test${name}`))
    const takesLong = (file: TestSpecification) => place(file) >= 0
    // Once: this file is read for each of the projects.
    if (!hasGpu) console.warn('test/gpu is left out: there is no GPU here')
    const sorted = await super.sort(files)
    const long = sorted.filter(takesLong).sort((x, y) => place(x) - place(y))
    const rest = sorted.filter((file) => !takesLong(file))
    const isAlone = ({ project }: TestSpecification) => project.name === 'alone'
    return [...long, ...rest.filter(isAlone), ...rest.filter((file) => !isAlone(file))]
  }
}

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'alone', include: alone, exclude } },
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, ...alone],
          // WebAssembly's memory only grows: what one file took would be missing to the next.
          isolate: process.env.MPMML_ADDON === 'wasm',
        },
      },
    ],
    setupFiles: ['test/support/setup.ts'],
    env: lab ? { MPMML_ADDON: process.env.MPMML_ADDON ?? 'lab' } : {},
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
    expect: { poll: { timeout: PATIENCE } },
    // Tests that fill a GPU's memory must have it to themselves.
    fileParallelism: !hasGpu,
    // One more than there are cores, because some tests wait for processes.
    ...(hasGpu ? {} : { maxWorkers: availableParallelism() + 1 }),
    // With more room for what is soon garbage it is collected less often: suites of products take a twelfth less time.
    execArgv: ['--max-semi-space-size=64'],
    // The compiled command line, which is run as it is.
    server: { deps: { external: [/\/dist\//] } },
    sequence: { sequencer: LongestFirst },
  },
})
