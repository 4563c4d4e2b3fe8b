/** Scripts of package.json in a Git checkout: existing builds, and copied build folders. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { root, version } from '../../lib/native.js'
import { useFolder } from '../support/folder.js'
import { describeUnless } from '../support/skip.js'

const isPosix = process.platform !== 'win32'
const hasNpx = isPosix && spawnSync('npx', ['--version']).status === 0

const inFolder = useFolder(afterEach)

/** Returns the files of a folder with the times of their last change. */
const filesIn = (path: string) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => [join(parentPath, name), statSync(join(parentPath, name)).mtimeMs])

describeUnless(!hasNpx && 'npx was not found', 'npx in a checkout', () => {
  it('runs the command and leaves the build as it was, at the first call and later', () => {
    const built = () => [...filesIn(join(root, 'build', 'Release')), ...filesIn(join(root, 'dist', 'bench'))]
    const before = built()
    expect(before.length).toBeGreaterThan(1)
    // The separate npm cache doesn't contain the checkout yet.
    const env = { ...process.env, npm_config_cache: inFolder(), npm_config_offline: 'true' }
    for (const call of ['first', 'second']) {
      const { status, stdout, stderr } = spawnSync('npx', ['mpmml', '--version'], {
        cwd: root,
        encoding: 'utf8',
        env,
      })
      expect({ call, status, stdout }, stderr).toEqual({ call, status: 0, stdout: `${version}\n` })
    }
    expect(built()).toEqual(before)
  })
})

describeUnless(!isPosix && 'cmake is a shell script', 'a build', () => {
  /** Program that writes its arguments into a file. */
  function program(name: string, prints: string) {
    const file = inFolder('bin', name)
    mkdirSync(inFolder('bin'), { recursive: true })
    writeFileSync(file, `#!/bin/sh\necho "$@" >> ${inFolder('calls')}\necho '${prints}'\n`)
    chmodSync(file, 0o755)
    return file
  }

  /** Runs native/build.mjs with a simulated cmake in a build folder with the given configuration. */
  function build(cache: Record<string, string>, settings: object, env: NodeJS.ProcessEnv = {}) {
    const cmake = program('cmake', 'cmake version 3.25.1')
    program('ninja', '1.11.1')
    const directory = inFolder('build')
    mkdirSync(join(directory, 'CMakeFiles'), { recursive: true })
    const entries = { CMAKE_HOME_DIRECTORY: root, CMAKE_COMMAND: cmake, ...cache }
    const lines = Object.entries(entries).map(([name, value]) => `${name}:INTERNAL=${value}`)
    writeFileSync(join(directory, 'CMakeCache.txt'), `${lines.join('\n')}\n`)
    writeFileSync(join(directory, 'mpmml-settings.json'), JSON.stringify(settings))
    const others = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(MPMML_|npm_)/.test(name)),
    )
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, 'native', 'build.mjs'), '--incremental'],
      {
        encoding: 'utf8',
        env: {
          ...others,
          PATH: `${inFolder('bin')}${delimiter}${process.env.PATH}`,
          MPMML_BUILD_DIR: directory,
          ...env,
        },
      },
    )
    return {
      status,
      stdout,
      stderr,
      kept: existsSync(join(directory, 'CMakeFiles')),
      settings: JSON.parse(readFileSync(join(directory, 'mpmml-settings.json'), 'utf8')),
      calls: existsSync(inFolder('calls')) ? readFileSync(inFolder('calls'), 'utf8') : '',
    }
  }

  const lab = { MPMML_LAB: 'ON', MPMML_CUDA: 'ON', MPMML_CUDA_ARCHS: '61' }

  it('keeps the settings of the last build', () => {
    const { status, stderr, settings, calls } = build({}, lab)
    expect(status, stderr).toBe(0)
    expect(settings).toMatchObject(lab)
    expect(calls).toContain('-DMPMML_LAB=ON')
  })

  it('reuses a folder that was configured here', () => {
    const { stdout, kept } = build({}, lab)
    expect(kept).toBe(true)
    expect(stdout).not.toContain('anew')
  })

  it.each([
    ['of a checkout that was moved', { CMAKE_HOME_DIRECTORY: '/nowhere/mpmml' }, '/nowhere/mpmml'],
    ['of a checkout that was copied', { CMAKE_HOME_DIRECTORY: tmpdir() }, tmpdir()],
    ['of another system', { CMAKE_CXX_COMPILER: '/nowhere/c++' }, '/nowhere/c++, which no longer exists'],
  ])('configures a folder %s anew, with its settings, and reports it', (_, cache, reason) => {
    const { status, stderr, stdout, kept, settings } = build(cache, lab)
    expect(status, stderr).toBe(0)
    expect(stdout).toContain('mpmml: building anew, because the build folder was configured')
    expect(stdout).toContain(reason)
    expect(kept).toBe(false)
    expect(settings).toMatchObject(lab)
  })

  it('does nothing for npx if an addon exists', () => {
    mkdirSync(inFolder('build', 'Release'), { recursive: true })
    writeFileSync(inFolder('build', 'Release', 'mpmml.node'), '')
    const { status, calls, kept } = build({ CMAKE_HOME_DIRECTORY: '/nowhere' }, lab, { npm_command: 'exec' })
    expect({ status, calls, kept }).toEqual({ status: 0, calls: '', kept: true })
  })
})
