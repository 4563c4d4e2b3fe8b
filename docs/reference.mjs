// Makes a site of the guides and the API reference: `npm run docs` writes docs/site/, which needs nothing from other hosts. With
// `--json FILE` it writes what typedoc has read of the doc comments instead, which test/unit/reference.test.ts looks at. The entry
// points are the exports of package.json; the guides and their order are those of docs/README.md.
import { existsSync, readFileSync } from 'node:fs'
import { register } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// typedoc needs the compiler's JavaScript API, which TypeScript 7 has no longer.
const hook = `export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-6' : name, context)`
register(`data:text/javascript,${encodeURIComponent(hook)}`)
const { Application, Comment, CommentTag, Converter, ReflectionKind } = await import('typedoc')

const root = fileURLToPath(new URL('../', import.meta.url))
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
// The compiled file of an entry is beside the compiled files of its folder, as the source is.
const entryPoints = Object.values(exports)
  .map((entry) => entry.default?.replace(/^\.\/dist\/(.+)\.js$/, '$1.ts'))
  .filter((file) => file && existsSync(join(root, file)))
  .map((file) => join(root, file))

const [option, file] = process.argv.slice(2)
const isSite = option !== '--json'

/** The guides: each with its part of the index. */
const guides = new Map()
let part = ''
for (const line of readFileSync(join(root, 'docs', 'README.md'), 'utf8').split('\n')) {
  part = /^\*\*(.+)\*\*$/.exec(line)?.[1] ?? part
  const page = /^\| \[.+?\]\((.+?\.md)\)/.exec(line)?.[1]
  if (page) guides.set(join(root, 'docs', page), part)
}

const app = await Application.bootstrap({
  entryPoints,
  tsconfig: join(root, 'tsconfig.json'),
  name: 'MPMML',
  readme: isSite ? join(root, 'README.md') : 'none',
  projectDocuments: isSite ? [...guides.keys()] : [],
  searchInComments: true,
  searchInDocuments: true,
  sort: ['documents-first', 'alphabetical'],
  groupOrder: [...new Set(guides.values()), '*'],
  validation: { notExported: true, invalidLink: true, notDocumented: false },
  // Types that only join others.
  intentionallyNotExported: [
    'AnyAccumulate',
    'AnyOperand',
    'AnyResult',
    'ArrayOf',
    'ElementsOf',
    'ElementsOfBoth',
    'FoundCycle',
    'GroupedResultOf',
    'LabMicrobenchInstance',
    'NewResult',
    'PlacesOf',
    'ResultOf',
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
// A guide is called as its heading, and stands in its part of the index.
app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, guide) => {
  const [page, group] = [...guides].find(([page]) => page.endsWith(`/${guide.name}.md`))
  guide.name = /^# (.+)$/m.exec(readFileSync(page, 'utf8'))[1]
  guide.comment ??= new Comment()
  guide.comment.blockTags.push(new CommentTag('@group', [{ kind: 'text', text: group }]))
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
if (isSite) await app.generateDocs(project, join(root, 'docs', 'site'))
else await app.generateJson(project, file)
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1
