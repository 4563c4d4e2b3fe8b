/**
 * Rules for dependencies between layers and folders (docs/contributing.md): user → lib → addon → core → cuda
 * | cpu.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

function filesUnder(folder: string, extension: RegExp): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => extension.test(name))
    .sort()
}

/** Returns the includes of the source files in `folder`, as [file, target]. */
function includes(folder: string): [file: string, target: string][] {
  return filesUnder(folder, /\.(h|hpp|cuh|cpp|cu)$/).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^\s*#\s*include\s*[<"]([^>"]+)[>"]/gm)].map(
      ([, target]) => [file, target!] as [string, string],
    ),
  )
}

/** Returns the imports of the TypeScript files in `folder`, with relative names resolved from the root. */
function imports(folder: string): [file: string, target: string][] {
  return filesUnder(folder, /\.m?[jt]s$/).flatMap((file) =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)['"]([^'"]+)['"]/g),
    ].map(
      ([, target]) =>
        [file, target!.startsWith('.') ? normalize(join(dirname(file), target!)) : target!] as [
          string,
          string,
        ],
    ),
  )
}

const cudaHeader = /^(cuda|cublas|cooperative_groups|cub\/|thrust\/|device_launch|sm_|mma|nv)/
const isCudaHeader = (target: string) => cudaHeader.test(target) && !target.startsWith('cuda/')
const isNodeHeader = (target: string) => /^(napi|node|js_native_api|uv|v8)[./_-]?/.test(target)
const layer = (target: string) => /^(addon|core|cuda|cpu|lab|testing)\//.exec(target)?.[1]

/** Layers of native/ that each one may include in addition to itself. */
const allowed: Record<string, string[]> = {
  core: [],
  cpu: ['core'],
  cuda: ['core'],
  lab: ['core', 'cuda', 'cpu'],
  testing: ['core', 'cpu'],
  addon: ['core', 'cuda', 'cpu', 'lab', 'testing'],
}

describe('native', () => {
  it('has no folder without a rule', () => {
    const folders = readdirSync(join(root, 'native'), { withFileTypes: true })
      .filter(
        (entry) =>
          entry.isDirectory() && !['variants', 'tools', 'release', 'reorder', 'wasm'].includes(entry.name),
      )
      .map(({ name }) => name)
    expect(Object.keys(allowed)).toEqual(expect.arrayContaining(folders))
  })

  it.each(Object.entries(allowed))('lets %s include only %j of the other layers', (folder, others) => {
    const wrong = includes(`native/${folder}`).filter(([, target]) => {
      const to = layer(target)
      return to !== undefined && to !== folder && !others.includes(to)
    })
    expect(wrong).toEqual([])
  })

  it('includes no file by a path that climbs', () => {
    expect(includes('native').filter(([, target]) => target.includes('..'))).toEqual([])
  })

  it('includes N-API in the addon only', () => {
    expect(includes('native/addon').some(([, target]) => target === 'napi.h')).toBe(true)
    const wrong = includes('native').filter(
      ([file, target]) => isNodeHeader(target) && !file.startsWith(join('native', 'addon')),
    )
    expect(wrong).toEqual([])
  })

  it("includes CUDA's headers in cuda and lab only", () => {
    expect(includes('native/cuda').some(([, target]) => isCudaHeader(target))).toBe(true)
    const wrong = includes('native').filter(
      ([file, target]) => isCudaHeader(target) && !/^native.(cuda|lab)/.test(file),
    )
    expect(wrong).toEqual([])
  })
})

describe('test', () => {
  it('skips tests only with the reason in their title', () => {
    const silent = filesUnder('test', /\.ts$/)
      .filter((file) => file !== join('test', 'support', 'skip.ts'))
      .flatMap((file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(/\.(?:skipIf|runIf)\(.*?=> \{/gs)]
          .filter(([call]) => !call.includes('named('))
          .map(([call]) => `${file}: ${call}`),
      )
    expect(silent).toEqual([])
  })
})

describe('objects that stay', () => {
  // Threads of the library may still use static objects at exit, so these must not be destroyed.
  it('have no destructor: `static auto& all = *new …`', () => {
    const types =
      /(?:std::(?!mutex|once_flag|atomic|string_view|array|pair|optional<(?:int|bool))|(?!Caches|Driver|Failing|Wrapped)[A-Z])\w+(?:<.*>)?/
    const local = new RegExp(`^\\s*static (?:const )?${types.source} \\w+\\s*(?:=|;|\\{)`)
    const global = new RegExp(`^(?:inline |static |const )*${types.source} \\w+\\s*(?:=|;|\\{)`)
    const matching = (pattern: RegExp) =>
      Object.entries(linesLike(pattern)).filter(([file]) => !file.includes(`${sep}stress${sep}`))
    expect([...matching(local), ...matching(global)]).toEqual([])
    const generator = readFileSync(join(root, 'native/variants/generate.mjs'), 'utf8').split('\n')
    expect(generator.filter((line) => local.test(line) || global.test(line))).toEqual([])
    // These lines contain the searched patterns.
    for (const line of [
      '  static std::map<std::pair<int, int>, bool> known;',
      '  static const std::vector<Peak> rows = {{50}};',
      '  static const Steps steps = make_steps();',
    ]) {
      expect(line).toMatch(local)
    }
    expect('std::map<int, int> known;').toMatch(global)
    for (const line of [
      '  static const auto& rows = *new std::vector<Peak>{{50}};',
      '  static std::mutex mutex;',
      '  static std::map<int, int>& names() {',
    ]) {
      expect(line).not.toMatch(local)
    }
  })
})

/** Folders of native/core that each one may include in addition to itself, and the headers next to the folders, which all may include. */
const allowedInCore: Record<string, string[]> = {
  algebra: [],
  host: [],
  problem: ['algebra', 'host'],
  plan: ['algebra', 'problem'],
  user: ['algebra', 'problem'],
  session: ['algebra', 'host', 'problem', 'plan', 'user', 'rna'],
  devices: ['algebra', 'host', 'problem', 'plan', 'session', 'user'],
  closure: ['algebra', 'host', 'problem', 'session', 'devices'],
  engine: ['algebra', 'host', 'problem', 'plan', 'session', 'devices', 'user'],
  rna: ['algebra'],
  graph: ['host', 'algebra', 'problem'],
}

describe('native/core', () => {
  it('names CUDA only in lists of names, and in the codes of errors', () => {
    const named = filesUnder('native/core', /\.(h|cpp)$/).filter((file) =>
      /cuda/i.test(
        readFileSync(join(root, file), 'utf8').replace(/\/\/.*|__CUDA\w+__|ErrorCode::k(No)?Cuda/g, ''),
      ),
    )
    expect(named.map((file) => relative('native/core', file))).toEqual([
      join('problem', 'problem.h'),
      join('session', 'backend.h'),
      'status.h',
    ])
  })

  const folderOf = (file: string) => /^core[/\\](\w+)[/\\]/.exec(file)?.[1]

  it.each(Object.entries(allowedInCore))('lets %s include only %j of the other folders', (folder, others) => {
    const targets = includes(`native/core/${folder}`).map(([, target]) => folderOf(target))
    const reached = new Set(targets.filter((target) => target !== undefined && target !== folder))
    expect([...reached].filter((target) => !others.includes(target!))).toEqual([])
  })

  it('has no folder without a rule', () => {
    const folders = includes('native/core').flatMap(([file]) => folderOf(relative('native', file)) ?? [])
    expect([...new Set(folders)].sort()).toEqual(Object.keys(allowedInCore).sort())
  })
})

/** Folders that each folder of native/cuda may include in addition to native/core. */
const allowedInCuda: Record<string, RegExp> = {
  kernels: /^cuda\/kernels\//,
  device: /^cuda\/device\//,
  launch: /^cuda\/(launch|kernels|device)\//,
  plan: /^cuda\/(plan|launch|kernels|device)\//,
  user: /^cuda\/(user|launch|kernels|device)\//,
  runtime: /^cuda\/(runtime|plan|launch|user|kernels|device)\//,
}

/** Returns the lines of native code that match a pattern, by file, without comments. */
function linesLike(pattern: RegExp, folder = 'native'): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const file of filesUnder(folder, /\.(h|hpp|cuh|cpp|cu)$/)) {
    for (const line of readFileSync(join(root, file), 'utf8').split('\n')) {
      const code = line.replace(/\/\/.*$/, '')
      if (pattern.test(code)) found[file] = [...(found[file] ?? []), code.trim()]
    }
  }
  return found
}

describe('native/cuda', () => {
  it.each(Object.entries(allowedInCuda))('lets %s include only %s', (folder, pattern) => {
    const edges = includes(`native/cuda/${folder}`).filter(([, target]) => target.startsWith('cuda/'))
    expect(edges.length).toBeGreaterThan(0)
    expect(edges.filter(([, target]) => !pattern.test(target))).toEqual([])
  })

  it('has no folder without a rule', () => {
    const folders = filesUnder('native/cuda', /\.\w+$/).flatMap(
      (file) => relative('native/cuda', file).split(sep).slice(0, -1)[0] ?? [],
    )
    expect([...new Set(folders)].sort()).toEqual(Object.keys(allowedInCuda).sort())
  })
})

describe('device code', () => {
  /** Headers of the host's library whose functions GPUs have too, and CUDA's own. */
  const usable = ['cmath', 'cstdint', 'cstring', 'initializer_list', 'limits', 'type_traits', 'cuda_bf16.h']
  const ofDevice = [
    ...filesUnder('native/cuda/kernels', /\.(h|cuh)$/),
    ...filesUnder('native/lab/ladder', /\.cuh$/),
    ...filesUnder('native/lab/thesis', /\.cuh$/),
  ].filter((file) => !/(launch|padding)\.cuh$/.test(file))
  const included = new Map<string, string[]>()
  for (const [file, target] of includes('native')) included.set(file, [...(included.get(file) ?? []), target])

  it('includes no header of the host, directly or indirectly', () => {
    expect(ofDevice.length).toBeGreaterThan(25)
    const wrong = new Set<string>()
    const seen = new Set<string>()
    const visit = (file: string, path: string[]): void => {
      if (seen.has(file)) return
      seen.add(file)
      for (const target of included.get(file) ?? []) {
        const header = join('native', target)
        if (existsSync(join(root, header))) visit(header, [...path, header])
        else if (!usable.includes(target) && target !== 'generated/semirings.h') {
          wrong.add([...path, target].join(' → '))
        }
      }
    }
    for (const file of ofDevice) visit(file, [file])
    expect([...wrong]).toEqual([])
    expect(seen).toContain(join('native', 'core', 'algebra', 'arithmetic.h'))
  })

  it('launches nothing', () => {
    const launching = Object.keys(linesLike(/<<<|cudaStream_t|\bLaunch\b/))
    expect(ofDevice.filter((file) => launching.includes(file))).toEqual([])
    expect(launching).toContain(join('native', 'cuda', 'launch', 'packed.cuh'))
  })
})

describe('decisions with a single place', () => {
  it('include writing C: by the epilogues, and by the copy after a successful product', () => {
    const places = Object.keys(
      linesLike(/static_cast<(Element|char)\*>\((problem_\.|problem\.|results\.|block\.)?c\.data\)/),
    )
    expect(places).toEqual([
      join('native', 'core', 'problem', 'definition.h'),
      join('native', 'core', 'problem', 'destination.cpp'),
      join('native', 'cuda', 'kernels', 'epilogue.cuh'),
      // This file computes C ⊕ D element by element, without a product kernel.
      join('native', 'cuda', 'runtime', 'elementwise.cu'),
    ])
    const handedOver = Object.keys(linesLike(/static_cast<Element\*>\(\w+\.c\)/))
    expect(handedOver).toEqual([join('native', 'cpu', 'epilogue.h')])
  })

  it('include the meaning of ⊗: no kernel family assumes that it is a sum', () => {
    const families = filesUnder(
      'native',
      /(packed|pipelined|mpmml|tensor|naive|thin|tiled|prefetch|cell)\w*\.(h|cuh)$/,
    )
    expect(families.length).toBeGreaterThan(8)
    const asking = Object.keys(linesLike(/OperatorKind::|\bmaximizes\b|MaxPlus|MinPlus/))
    expect(families.filter((file) => asking.includes(file))).toEqual([])
  })

  it('include rounding of sizes: core/rounding.h', () => {
    const own = Object.entries(linesLike(/\(\w+(\(\))? \+ \w+ - 1\) \/ /))
    expect(own.map(([file]) => file)).toEqual([join('native', 'core', 'rounding.h')])
  })

  it('include reading the environment: lib', () => {
    expect(linesLike(/\bgetenv\b/)).toEqual({})
  })
})

/**
 * Folders of lib that the files of each one may import in addition to their own. '.' stands for the files next to the folders, which
 * all may import. Entry points, such as lib/graph.ts, re-export the folders.
 */
const allowedInLib: Record<string, string[]> = {
  '.': ['device', 'files', 'product', 'remote', 'webgpu'],
  // lib/browser replaces modules of these folders in browsers, with the same types.
  browser: ['files', 'graph', 'rna', 'schedule', 'webgpu'],
  device: ['product', 'webgpu'],
  product: ['device', 'webgpu'],
  files: ['product', 'graph-core'],
  'graph-core': [],
  closure: ['device', 'product', 'graph-core'],
  graph: ['device', 'product', 'files', 'graph-core', 'closure'],
  algebra: ['device', 'product', 'graph-core', 'closure', 'graph'],
  semirings: ['device', 'product', 'graph-core'],
  lab: ['files', 'product', 'webgpu'],
  remote: [],
  rna: ['product', 'files'],
  schedule: ['product', 'files', 'graph-core', 'graph', 'algebra'],
  arrays: ['device', 'product', 'files', 'graph-core', 'graph', 'algebra'],
  queue: ['product', 'arrays'],
  webgpu: ['remote'],
}

const entryPoints = (
  Object.values(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports) as {
    default?: string
  }[]
).flatMap((entry) => entry.default?.replace(/^\.\/dist\/(.*)\.js$/, '$1') ?? [])
// lib/command-line is for bench only, and the other two are the modules of threads.
entryPoints.push('lib/command-line', 'lib/webgpu-thread', 'lib/codec-thread')

describe('lib', () => {
  const folderOf = (file: string) => relative('lib', dirname(file)).split(sep)[0] || '.'

  it('has no folder without a rule', () => {
    const folders = filesUnder('lib', /\.ts$/).map(folderOf)
    expect([...new Set(folders)].sort()).toEqual(Object.keys(allowedInLib).sort())
  })

  it.each(Object.entries(allowedInLib))('lets %s import only %j of the other folders', (folder, others) => {
    const own = imports('lib').filter(
      ([file]) => folderOf(file) === folder && !entryPoints.includes(file.replace(/\.ts$/, '')),
    )
    expect(own.length).toBeGreaterThan(0)
    const wrong = own.filter(([, target]) => {
      if (!target.startsWith(`lib${sep}`)) return false
      const to = folderOf(target)
      return to !== folder && to !== '.' && !others.includes(to)
    })
    expect(wrong).toEqual([])
  })

  it('imports no entry point', () => {
    const wrong = imports('lib').filter(([, target]) => entryPoints.includes(target.replace(/\.js$/, '')))
    expect(wrong).toEqual([])
  })
})

describe('TypeScript', () => {
  it('imports in lib only lib, packages and Node.js', () => {
    const wrong = imports('lib').filter(
      ([, target]) => !target.startsWith('lib') && /^(bench|test|native|dist|\.)/.test(target),
    )
    expect(imports('lib').length).toBeGreaterThan(10)
    expect(wrong).toEqual([])
  })

  it('imports Node.js in lib only where browsers have a replacement', () => {
    const own = filesUnder('lib/browser', /\.ts$/).map((file) => file.replace(`lib${sep}browser`, 'lib'))
    const needing = imports('lib').flatMap(([file, target]) => (target.startsWith('node:') ? [file] : []))
    // Modules that the entry points of browsers load.
    const loaded = new Set(
      ['index', 'algebra', 'browser/files', 'graph', 'rna', 'schedule', 'semirings'].flatMap((name) => [
        ...loadedWith(`lib/${name}.js`, own),
      ]),
    )
    const reached = needing.filter((file) => loaded.has(file.replace(/\.ts$/, '.js')))
    expect(reached.filter((file) => !own.includes(file))).toEqual([])
    expect(loaded).toContain('lib/platform.js')
  })

  it('calls require in lib only in load.ts, which finds the addon, and in saxes.ts', () => {
    const requiring = imports('lib').filter(([, target]) => target === 'node:module')
    expect(requiring.map(([file]) => file).sort()).toEqual(
      ['lib/graph/saxes.ts', 'lib/load.ts'].map(normalize),
    )
    const xml = imports('lib').filter(([, target]) => target === 'saxes')
    expect(xml.map(([file]) => file)).toContain(join('lib', 'graph', 'saxes.ts'))
    const loading = imports('lib').filter(([, target]) => target === 'lib/load.js')
    expect(loading.map(([file]) => file)).toContain('lib/native.ts')
  })

  it('has no import cycle in lib', () => {
    const edges = new Map<string, string[]>()
    for (const [file, target] of imports('lib')) {
      if (!target.startsWith('lib')) continue
      edges.set(file, [...(edges.get(file) ?? []), target.replace(/\.js$/, '.ts')])
    }
    const done = new Set<string>()
    const visit = (file: string, path: string[]): void => {
      expect(path, `${[...path, file].join(' → ')}`).not.toContain(file)
      if (done.has(file)) return
      for (const next of edges.get(file) ?? []) visit(next, [...path, file])
      done.add(file)
    }
    for (const file of edges.keys()) visit(file, [])
  })

  /** Returns the files and packages that a file loads, without the imports of the files in `ends`. */
  function loadedWith(file: string, ends: readonly string[] = []): Set<string> {
    const found = new Set<string>()
    const visit = (name: string) => {
      if (found.has(name)) return
      found.add(name)
      const path = name.replace(/\.js$/, '.ts')
      if (!/^(lib|bench)\b/.test(name) || ends.includes(path) || !existsSync(join(root, path))) return
      const text = readFileSync(join(root, path), 'utf8')
      for (const [, target] of text.matchAll(
        /^(?:import|export)(?! type)(?:[\w\s{},*]+ from)? ?['"]([^'"]+)['"]/gm,
      )) {
        visit(target!.startsWith('.') ? normalize(join(dirname(name), target!)) : target!)
      }
    }
    visit(file)
    return found
  }

  it('loads no file format with the library', () => {
    const loaded = [...loadedWith('lib/index.js')]
    expect(loaded).toContain('lib/product/multiply.js')
    const formats =
      /files\/(npy|npz|csv|dimacs|matrix-market|text|lines|dense|convert|sparse|read|write)|^yazl$|^yauzl$/
    expect(loaded.filter((name) => formats.test(name))).toEqual([])
    // The pattern must match modules that lib/files.js loads, so that the check above can fail.
    expect([...loadedWith('lib/files.js')].filter((name) => formats.test(name)).length).toBeGreaterThan(3)
  })

  it('loads neither commands nor the addon for help', () => {
    const loaded = [...loadedWith('bench/cli.js'), ...loadedWith('bench/program.js')]
    expect(loaded).toContain('bench/commands.js')
    expect(loaded.filter((name) => /^lib\b|^bench\/commands\//.test(name))).toEqual([])
    expect([...loadedWith('bench/commands/multiply.js')]).toContain('lib/index.js')
  })

  it('imports in bench only entry points of lib', () => {
    expect(entryPoints).toContain('lib/index')
    const wrong = imports('bench').filter(
      ([, target]) =>
        /^(lib|test|native|dist)\b/.test(target) &&
        !entryPoints.includes(target.replace(/^dist\//, '').replace(/\.js$/, '')),
    )
    expect(wrong).toEqual([])
  })

  it('imports in examples the package by its name and their own files', () => {
    const imported = imports('examples').map(([, target]) => target)
    expect(imported.filter((target) => target === 'mpmml').length).toBeGreaterThan(1)
    expect(imported.filter((target) => /^(lib|bench|test|native|dist|\.)/.test(target))).toEqual([])
  })

  it('imports nothing of the library in oracles', () => {
    const fuzz = 'native/tools/fuzz'
    const definition = imports(fuzz).filter(([file]) => /(definition|algebra|structures)\.mjs$/.test(file))
    expect(definition).toEqual(
      ['algebra', 'structures'].map((name) => [`${fuzz}/definition.mjs`, `${fuzz}/${name}.mjs`]),
    )
    expect(imports('test/support').filter(([file]) => file.endsWith('-oracle.ts'))).toEqual([])
  })
})

it('names only existing files of the project, in comments and in guides', () => {
  // This page quotes former names.
  const quoting = ['docs/style.md']
  const guides = ['README.md', 'CHANGELOG.md', ...filesUnder('docs', /^docs\/[\w-]+\.md$/)].filter(
    (file) => !quoting.includes(file),
  )
  const sources = ['lib', 'bench', 'native', 'examples'].flatMap((folder) =>
    filesUnder(folder, /\.(m?[jt]s|h|cuh|cpp|cu|cmake)$/),
  )
  const named = [...guides, ...sources].flatMap((file) =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(
        /(?<![\w./@-])(?:native|lib|bench|test)\/[\w./-]+\.(?:cuh|h|cpp|cu|cmake|m?[jt]s|json|md)\b/g,
      ),
    ].map(([target]) => [file, target]),
  )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(([, target]) => !existsSync(join(root, target!)))).toEqual([])
})

it('names only existing functions of lib in the paths of calls', () => {
  const guide = readFileSync(join(root, 'docs/contributing.md'), 'utf8')
  const named = [...guide.matchAll(/^\| \d+ \| (.+?) \| (.+?) \|/gm)].flatMap(([, functions, files]) =>
    [...files!.matchAll(/`([\w./-]+\.ts)`/g)].flatMap(([, file]) =>
      [...functions!.matchAll(/`(?:\w+\.)?(\w+)`/g)].map(([, name]) => [name!, file!] as const),
    ),
  )
  expect(named.length).toBeGreaterThan(25)
  const missing = named.filter(
    ([name, file]) => !new RegExp(`\\b${name}\\b`).test(readFileSync(join(root, 'lib', file), 'utf8')),
  )
  expect(missing).toEqual([])
})
