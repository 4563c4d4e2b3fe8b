/**
 * Declarations of programs that use the library. The compiler can write the type of a result into a declaration only if an entry
 * point exports its name, or if it has none.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript-6'
import { beforeAll, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const inFolder = useFolder()

beforeAll(() => {
  mkdirSync(inFolder('node_modules'))
  symlinkSync(root, inFolder('node_modules', 'mpmml'))
})

/** Yields expressions whose types are those of all functions' results and of all members of exported types, with their names. */
function* results(): Generator<[name: string, parameter: string, expression: string]> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object }
  const entries = Object.keys(exports).filter((name) => name !== './package.json')
  const fileOf = (entry: string) =>
    join(root, 'dist', 'types', `${entry === '.' ? 'index' : entry.slice(2)}.d.ts`)
  const program = ts.createProgram(entries.map(fileOf), {
    strict: true,
    target: ts.ScriptTarget.ES2022,
    types: [],
  })
  const checker = program.getTypeChecker()
  const call = (signature: ts.Signature) => `(${signature.parameters.map(() => 'null as never').join(', ')})`
  for (const entry of entries) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(fileOf(entry))!)!
    for (const { name } of checker.getExportsOfModule(module)) {
      const path = `mpmml${entry.slice(1)}`
      const exported = checker.tryGetMemberInModuleExports(name, module)!
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const position = `import('${path}').${name}`
      if (symbol.flags & ts.SymbolFlags.Value && !(symbol.flags & ts.SymbolFlags.Class)) {
        const signatures = checker.getTypeOfSymbol(symbol).getCallSignatures()
        const calls = signatures.length > 0 ? signatures.map(call) : ['']
        for (const one of calls) yield [`${path}.${name}`, `value: typeof ${position}`, `value${one}`]
      }
      const parameters = (symbol.declarations![0] as ts.InterfaceDeclaration).typeParameters ?? []
      const isTuple = checker.isTupleType(checker.getDeclaredTypeOfSymbol(symbol))
      const isType = symbol.flags & ts.SymbolFlags.Type && parameters.every((one) => one.default) && !isTuple
      // The types of options are the user's own.
      if (!isType || /(Options|Definition|Like)$/.test(name)) continue
      for (const member of checker.getDeclaredTypeOfSymbol(symbol).getProperties()) {
        if (!/^[a-z]\w*$/i.test(member.name)) continue
        const signatures = checker.getTypeOfSymbol(member).getCallSignatures()
        const calls = signatures.length > 0 ? signatures.map((one) => `!${call(one)}`) : ['']
        for (const one of calls) {
          yield [`${path}.${name}.${member.name}`, `value: ${position}`, `value.${member.name}${one}`]
        }
      }
    }
  }
}

it('can name the types of all results', () => {
  const all = [...results()]
  expect(all.length).toBeGreaterThan(500)
  const lines = all.map(
    ([, parameter, expression], index) => `export const f${index} = (${parameter}) => ${expression}`,
  )
  writeFileSync(inFolder('user.mts'), `${lines.join('\n')}\n`)
  const compilerOptions = {
    strict: true,
    declaration: true,
    outDir: 'out',
    module: 'nodenext',
    target: 'es2022',
    lib: ['esnext', 'dom'],
    types: [],
    preserveSymlinks: true,
  }
  writeFileSync(inFolder('tsconfig.json'), JSON.stringify({ compilerOptions, files: ['user.mts'] }))
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', '.'], { cwd: inFolder(), encoding: 'utf8' })
  // Results of a module that isn't found have the type any.
  expect(stdout).not.toContain('TS2307')
  const unnamed = stdout.split('\n').flatMap((line) => {
    const [, at, type] = /^user\.mts\((\d+),.*cannot be named without a reference to '(\w+)'/.exec(line) ?? []
    return at === undefined ? [] : [`${all[Number(at) - 1]![0]} is of ${type}`]
  })
  expect(unnamed).toEqual([])
})
