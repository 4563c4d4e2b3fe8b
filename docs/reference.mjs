// Makes the API reference from the doc comments: `npm run docs` writes docs/api/. With `--json FILE` it writes what typedoc has
// read instead, which test/unit/reference.test.ts looks at. The entry points are the exports of package.json.
import { existsSync, readFileSync } from 'node:fs'
import { register } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// typedoc needs the compiler's JavaScript API, which TypeScript 7 has no longer.
const hook = `export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-6' : name, context)`
register(`data:text/javascript,${encodeURIComponent(hook)}`)
const { Application, ReflectionKind } = await import('typedoc')

const root = fileURLToPath(new URL('../', import.meta.url))
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
// The compiled file of an entry is beside the compiled files of its folder, as the source is.
const entryPoints = Object.values(exports)
  .map((entry) => entry.default?.replace(/^\.\/dist\/(.+)\.js$/, '$1.ts'))
  .filter((file) => file && existsSync(join(root, file)))
  .map((file) => join(root, file))

const app = await Application.bootstrap({
  entryPoints,
  tsconfig: join(root, 'tsconfig.json'),
  name: 'MPMML',
  readme: 'none',
  validation: { notExported: true, invalidLink: true, notDocumented: false },
  // Types that only join others.
  intentionallyNotExported: [
    'AnyOperand',
    'AnyResult',
    'ArrayOf',
    'ElementsOf',
    'FoundCycle',
    'LabMicrobenchInstance',
    'Mixable',
    'PointBase',
    'Timing',
    'errorClasses',
  ],
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  disableSources: true,
  treatWarningsAsErrors: true,
  logLevel: 'Warn',
})
const project = await app.convert()
if (!project) process.exit(1)
// 'mpmml/graph' is what one writes to import it.
for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
  module.name = module.name === 'index' ? 'mpmml' : `mpmml/${module.name}`
}
// A comment may link to what its own file doesn't import.
for (const { comment } of Object.values(project.reflections)) {
  const parts = [comment?.summary ?? [], ...(comment?.blockTags ?? []).map(({ content }) => content)].flat()
  for (const part of parts) {
    if (part.kind !== 'inline-tag' || part.target) continue
    const names = part.text.split('.')
    part.target = project.children
      .map((entry) => names.reduce((owner, name) => owner?.getChildByName(name), entry))
      .find((found) => found)
  }
}
app.validate(project)
const [option, file] = process.argv.slice(2)
if (option === '--json') await app.generateJson(project, file)
else await app.generateDocs(project, join(root, 'docs', 'api'))
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1
