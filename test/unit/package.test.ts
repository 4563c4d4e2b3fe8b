/** Content of the npm package: the files of an install from source, and no developers' scripts. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../lib/native.js'
import { describeUnless } from '../support/skip.js'

const npm = spawnSync('npm', ['--version']).status === 0

/** Returns whether a file of native/ is for developers only. */
const isForDevelopers = (file: string) =>
  file.startsWith('native/tools/') || file.startsWith('native/testing/stress/') || file === 'native/setup.mjs'

function packed(): string[] {
  const { stdout, stderr } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  })
  expect(stdout, stderr).toMatch(/^\[/)
  const [{ files }] = JSON.parse(stdout)
  return files.map(({ path }: { path: string }) => path)
}

describeUnless(!npm && 'npm was not found', 'the package', () => {
  const files = npm ? packed() : []
  const native = readdirSync(join(root, 'native'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length)
        .replace(/^[\\/]/, ''),
    )
    .map((file) => file.replaceAll('\\', '/'))

  it('has all sources from which an install builds the addon, and nothing else of native/', () => {
    const expected = native.filter((file) => !isForDevelopers(file)).sort()
    expect(expected).toContain('native/build.mjs')
    expect(files.filter((file) => file.startsWith('native/')).sort()).toEqual(expected)
    expect(files).toContain('CMakeLists.txt')
  })

  it("leaves out developers' scripts", () => {
    const left = native.filter(isForDevelopers)
    for (const file of ['native/tools/sanitize.mjs', 'native/testing/stress/main.cpp', 'native/setup.mjs']) {
      expect(left).toContain(file)
    }
    for (const file of left) expect(files).not.toContain(file)
  })

  it('has the library, the command line and its example, without their sources and tests', () => {
    for (const file of [
      'dist/lib/index.js',
      'dist/types/index.d.ts',
      'dist/lib/lab.js',
      'dist/bench/cli.js',
    ]) {
      expect(files).toContain(file)
    }
    for (const file of ['bench/data/a.npy', 'bench/data/b.npy']) expect(files).toContain(file)
    expect(files).not.toContain('bench/data/make.mjs')
    // The package has no type declarations for the command line.
    expect(files.filter((file) => /^dist\/bench\/.*\.d\.ts$/.test(file))).toEqual([])
    const others = files.filter((file) => !/^(dist|native|bench\/data|docs|examples)\//.test(file))
    expect(others.sort()).toEqual(
      ['CHANGELOG.md', 'CMakeLists.txt', 'LICENSE', 'README.md', 'binding.gyp.md', 'package.json'].sort(),
    )
  })

  it('has the pictures and examples that its pages show', () => {
    const pages = files.filter((file) => file === 'README.md' || /^docs\/[^/]+\.md$/.test(file))
    expect(pages.length).toBeGreaterThan(20)
    for (const page of pages) {
      const text = readFileSync(join(root, page), 'utf8')
      for (const [, target] of text.matchAll(/\]\(([^)\s#:]+\.(?:svg|mjs))\)/g)) {
        const path = join(dirname(page), target!)
        if (!path.startsWith('native/')) expect(files, `${page} shows ${path}`).toContain(path)
      }
    }
  })

  it('needs no file that it leaves out: no file imports or includes one', () => {
    const sources = files.filter((file) => /^native\/.*\.(mjs|cmake|h|cpp|cu|cuh)$/.test(file))
    expect(sources.length).toBeGreaterThan(100)
    for (const file of sources) {
      const text = readFileSync(join(root, file), 'utf8')
      expect(text, file).not.toMatch(/(from|import\(|include)\W+[^\n]*(tools\/|stress\/|setup\.mjs)/)
    }
  })
})

it('publishes every file that the library starts as a thread', async () => {
  const { isInMain } = await import(join(root, 'native/tools/release/packages.mjs'))
  const sources = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const started = sources.flatMap((file) => {
    const text = readFileSync(join(root, 'lib', file), 'utf8')
    return [...text.matchAll(/join\(root, ('dist', 'lib'(?:, '[^']+')*)\)/g)].map(([, parts]) =>
      parts!.replaceAll("'", '').split(', ').join('/'),
    )
  })
  expect(started).toHaveLength(2)
  expect(started.filter((file) => !isInMain(file))).toEqual([])
})
