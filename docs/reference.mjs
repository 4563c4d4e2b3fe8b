// Makes a site of the guides and the API reference: `npm run docs` writes docs/site/, or another folder with `--out FOLDER`, which needs
// nothing from other hosts. With `--json FILE` it also writes what typedoc has read of the doc comments, which test/unit/reference.test.ts looks at. The entry
// points are the exports of package.json; the guides and their order are those of docs/README.md.
import { existsSync, readFileSync } from 'node:fs'
import { register } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { makePage, missingForPage } from './try.mjs'

// typedoc needs the compiler's JavaScript API, which TypeScript 7 has no longer.
const hook = `export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-6' : name, context)`
register(`data:text/javascript,${encodeURIComponent(hook)}`)
const { Application, Context, Converter, PageEvent, ReflectionKind } = await import('typedoc')

const root = fileURLToPath(new URL('../', import.meta.url))
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
// The compiled file of an entry is beside the compiled files of its folder, as the source is.
const entryPoints = Object.values(exports)
  .map((entry) => entry.default?.replace(/^\.\/dist\/(.+)\.js$/, '$1.ts'))
  .filter((file) => file && existsSync(join(root, file)))
  .map((file) => join(root, file))

const { values: requested } = parseArgs({ options: { out: { type: 'string' }, json: { type: 'string' } } })
const lacking = missingForPage()
/** Stands in links to the page to try the library until it is known where they are. */
const tryPage = 'try:'

/** The guides: the part of the index in which each stands, by its file and by its heading. The index itself comes first. */
const files = [join(root, 'docs', 'README.md')]
const parts = new Map([['Documentation', 'Start']])
let part = ''
for (const line of readFileSync(files[0], 'utf8').split('\n')) {
  part = /^\*\*(.+)\*\*$/.exec(line)?.[1] ?? part
  const [, heading, page] = /^\| \[(.+?)\]\((.+?\.md)\)/.exec(line) ?? []
  if (page === undefined) continue
  files.push(join(root, 'docs', page))
  parts.set(heading, part)
}

/** Types that compute the type of a result, or of an argument, from others. The comments of functions describe both. */
const helpers = [
  'AnyAccumulate',
  'AnyOperand',
  'AnyResult',
  'CheckedElements',
  'ElementsOf',
  'ElementsOfBoth',
  'FittingProduct',
  'GroupedResultOf',
  'LaneOperand',
  'NewResult',
  'NewUserMatrix',
  'OperandsOf',
  'OrdinaryArray',
  'PlacesOf',
  'ResultOf',
  'UserResultOf',
  'WholeNumbers',
  'WitnessOf',
  'errorClasses',
]

/** Returns whether a file is of the library, but isn't the interface of native code. */
const isOurs = (file) => file?.startsWith(join(root, 'lib')) && !file.endsWith('native-interface.ts')
/** Symbols that an entry point exports. */
let exported
/**
 * Types that no entry point exports, and that have no parameters, are shown where they are used. Users need no names for them, and
 * typedoc would show only these names.
 */
Context.prototype.shouldInline = function (reference, name) {
  const resolve = (symbol) => this.resolveAliasedSymbol(symbol)
  exported ??= new Set(
    entryPoints.flatMap((file) =>
      this.checker
        .getExportsOfModule(this.checker.getSymbolAtLocation(this.program.getSourceFile(file)))
        .map(resolve),
    ),
  )
  const symbol = resolve(reference)
  return (
    !helpers.includes(name) &&
    !exported.has(symbol) &&
    (symbol.declarations ?? []).some(
      ({ name, members, type, typeParameters, parent }) =>
        name && (type ?? members) && !typeParameters && isOurs(parent.fileName),
    )
  )
}

const app = await Application.bootstrap({
  entryPoints,
  tsconfig: join(root, 'tsconfig.json'),
  name: 'MPMML',
  readme: join(root, 'README.md'),
  projectDocuments: files,
  navigationLinks: lacking ? {} : { 'Try it': tryPage },
  customCss: join(root, 'docs', 'site.css'),
  searchInComments: true,
  searchInDocuments: true,
  sort: ['documents-first', 'alphabetical-ignoring-documents'],
  navigation: { includeGroups: true },
  groupOrder: [...new Set(parts.values()), '*'],
  validation: { notExported: true, invalidLink: true, notDocumented: false },
  intentionallyNotExported: helpers,
  // The build has checked types.
  skipErrorChecking: true,
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  disableSources: true,
  treatWarningsAsErrors: true,
  logLevel: 'Warn',
})
// A guide is called as its heading, and stands in its part of the index.
app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, guide) => {
  guide.name = /^# (.+)$/m.exec(guide.content.map(({ text }) => text).join(''))[1]
  guide.frontmatter.group = parts.get(guide.name)
})
// Icons are taken from the page itself, into which typedoc's script puts them: a browser that opens files may not use another one's.
// And the first page is a file of its name: only a server would know it by its folder.
app.renderer.on(PageEvent.END, (page) => {
  page.contents = page.contents
    ?.replaceAll(/href="[^"]*icons\.svg#/g, 'href="#')
    .replaceAll(/href="((?:\.\.\/)+)(#[^"]*)?"/g, 'href="$1index.html$2"')
    .replaceAll(`href="${tryPage}"`, `href="${'../'.repeat(page.url.split('/').length - 1)}try/index.html"`)
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
if (requested.json !== undefined) await app.generateJson(project, requested.json)
const site = requested.out ?? join(root, 'docs', 'site')
await app.generateDocs(project, site)
if (lacking) console.warn(`The page to try the library isn't in the site: ${lacking} makes what it needs.`)
else await makePage(join(site, 'try'))
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1
