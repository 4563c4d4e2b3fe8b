// Fetches CUDA 12.4, the last toolkit for Maxwell, Pascal and Volta that Debian has, from the archive that this machine's apt uses,
// into a folder, and prints the path of its nvcc. Nothing is installed, and a folder that has the toolkit is kept.
//
//   node native/tools/older-toolkit.mjs [folder]
//
// The default folder is CUDA12_HOME, or else mpmml/cuda-12.4 in the user's cache folder. The download has 1 GB, the toolkit 0.2 GB.
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that keeps the toolkit unless another is named. */
const defaultFolder = () =>
  process.env.CUDA12_HOME ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'mpmml', 'cuda-12.4')

/** Returns URI and keyring of the Debian archive that this machine's apt uses. */
function debianArchive() {
  const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  const parts = '/etc/apt/sources.list.d'
  const names = existsSync(parts) ? readdirSync(parts) : []
  const stanzas = names
    .filter((name) => name.endsWith('.sources'))
    .flatMap((name) => read(join(parts, name)).split(/\n\s*\n/))
    .map((stanza) => ({
      uri: /^URIs:\s*(\S+)/m.exec(stanza)?.[1],
      keyring: /^Signed-By:\s*(\/\S+)/m.exec(stanza)?.[1],
    }))
  const lines = [
    '/etc/apt/sources.list',
    ...names.filter((name) => name.endsWith('.list')).map((name) => join(parts, name)),
  ]
    .flatMap((path) => read(path).split('\n'))
    .map((line) => /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)/.exec(line))
    .filter(Boolean)
    .map(([, options, uri]) => ({ uri, keyring: /signed-by=(\S+)/.exec(options ?? '')?.[1] }))
  const archive = [...stanzas, ...lines].find(({ uri }) => /\/debian\/?$/.test(uri ?? ''))
  if (!archive)
    throw new Error("apt's sources must name a Debian archive, but there is none: run it on Debian")
  const keyring = archive.keyring ?? '/usr/share/keyrings/debian-archive-keyring.gpg'
  return { uri: archive.uri, keyring }
}

const quiet = { stdio: ['ignore', 'ignore', 'inherit'] }

/** Downloads the packages with a separate apt state, and returns the folder that they are unpacked in. */
function unpackedPackages(apt) {
  for (const part of ['lists/partial', 'cache/archives/partial', 'sources', 'state', 'packages']) {
    mkdirSync(join(apt, part), { recursive: true })
  }
  const { uri, keyring } = debianArchive()
  writeFileSync(
    join(apt, 'sources', 'trixie.sources'),
    `Types: deb\nURIs: ${uri}\nSuites: trixie\nComponents: main contrib non-free\nSigned-By: ${keyring}\n`,
  )
  writeFileSync(join(apt, 'state', 'status'), '')
  const options = [
    ['Dir::Etc::sourcelist', '/dev/null'],
    ['Dir::Etc::sourceparts', join(apt, 'sources')],
    ['Dir::State::Lists', join(apt, 'lists')],
    ['Dir::State::status', join(apt, 'state', 'status')],
    ['Dir::Cache', join(apt, 'cache')],
    ['APT::Sandbox::User', 'root'],
    ['Acquire::Retries', '3'],
    // By default, an update that reaches no archive succeeds.
    ['APT::Update::Error-Mode', 'any'],
  ].map(([name, value]) => `-o${name}=${value}`)
  execFileSync('apt-get', [...options, '-qq', 'update'], quiet)
  const cwd = join(apt, 'packages')
  // The last one has nv/target, which the headers of 16-bit floats include.
  const packages = ['nvidia-cuda-toolkit', 'nvidia-cuda-dev', 'libcu++-dev']
  execFileSync('apt-get', [...options, '-qq', 'download', ...packages], { ...quiet, cwd })
  const unpacked = join(apt, 'unpacked')
  for (const name of readdirSync(cwd)) execFileSync('dpkg', ['-x', join(cwd, name), unpacked], quiet)
  return unpacked
}

/** Lays the unpacked packages out as a toolkit. */
function layOut(usr, toolkit) {
  const programs = ['bin2c', 'cudafe++', 'fatbinary', 'nvlink', 'ptxas', 'cuobjdump', 'nvdisasm']
  const libraries = ['libcudart_static.a', 'libcudadevrt.a', 'libculibos.a']
  const parts = [
    ...programs.map((name) => [join('bin', name), join('bin', name)]),
    ['lib/nvidia-cuda-toolkit/bin/nvcc', 'bin/nvcc'],
    ['lib/nvidia-cuda-toolkit/bin/crt', 'bin/crt'],
    ['lib/nvidia-cuda-toolkit/bin/cicc', 'nvvm/bin/cicc'],
    ['lib/nvidia-cuda-toolkit/libdevice', 'nvvm/libdevice'],
    ['include', 'include'],
    ...libraries.map((name) => [join('lib/x86_64-linux-gnu', name), join('lib64', name)]),
  ]
  for (const [from, to] of parts)
    cpSync(join(usr, from), join(toolkit, to), { recursive: true, dereference: false })
  writeFileSync(
    join(toolkit, 'bin', 'nvcc.profile'),
    'TOP = $(_HERE_)/..\n' +
      'NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice\n' +
      'PATH += $(TOP)/nvvm/bin:$(_HERE_):\n' +
      'INCLUDES += "-I$(TOP)/include" $(_SPACE_)\n' +
      'LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64"\n',
  )
  // CMake also looks for the shared runtime, whose file is in another package. The build links the static one.
  symlinkSync('libcudart_static.a', join(toolkit, 'lib64', 'libcudart.so'))
}

/**
 * Returns the folder of a toolkit with CUDA 12.4, fetched if the folder doesn't have it.
 *
 * The toolkit gets its name when it is complete, so a fetch may be interrupted at any time.
 */
export function olderToolkit(folder = defaultFolder()) {
  const toolkit = resolve(folder)
  if (existsSync(join(toolkit, 'bin', 'nvcc'))) return toolkit
  console.error(`older-toolkit: fetching CUDA 12.4 (1 GB) into ${toolkit}`)
  mkdirSync(dirname(toolkit), { recursive: true })
  const work = mkdtempSync(`${toolkit}-`)
  try {
    layOut(join(unpackedPackages(join(work, 'apt')), 'usr'), join(work, 'toolkit'))
    execFileSync(join(work, 'toolkit', 'bin', 'nvcc'), ['--version'], quiet)
    rmSync(toolkit, { recursive: true, force: true })
    renameSync(join(work, 'toolkit'), toolkit)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return toolkit
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(join(olderToolkit(process.argv[2]), 'bin', 'nvcc'))
  } catch (error) {
    console.error(`older-toolkit: CUDA 12.4 was not fetched: ${error.message}`)
    process.exitCode = 1
  }
}
