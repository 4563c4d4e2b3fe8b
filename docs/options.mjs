/**
 * Writes the tables of options into the guides, between `<!-- options INTERFACE -->` and `<!-- end -->`: the names are those of the
 * interface in lib, the meanings the first sentences of its comments, and the flags those that the command line has. What stands
 * behind the interface are links, such as `overflow=#overflow`. `npm run options` runs it after `npm run build:ts`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript-6'

const root = fileURLToPath(new URL('../', import.meta.url))

/** The interfaces of lib by their names, as [name, comment] of each option. */
function interfacesOf() {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const entries = ['index', 'algebra', 'arrays', 'graph', 'queue', 'rna', 'schedule', 'semirings'].map(
    (name) => `${root}lib/${name}.ts`,
  )
  const program = ts.createProgram(entries, { ...options, noEmit: true })
  const checker = program.getTypeChecker()
  const found = new Map()
  for (const file of program.getSourceFiles()) {
    if (!file.fileName.startsWith(`${root}lib/`)) continue
    file.forEachChild((node) => {
      if (!ts.isInterfaceDeclaration(node) || !node.name.text.endsWith('Options')) return
      found.set(node.name.text, () =>
        checker
          .getTypeAtLocation(node)
          .getProperties()
          .map((option) => [option.name, ts.displayPartsToString(option.getDocumentationComment(checker))]),
      )
    })
  }
  return found
}

/** The first sentence and the default of a later one, in markdown. */
function summaryOf(comment) {
  const text = comment.replaceAll(/\{@link (\S+?)\s*\}/g, '`$1`').replaceAll(/\s+/g, ' ')
  const [sentence] = /^.*?[^.]\.(?= |$)|^.*$/.exec(text)
  const byDefault = /(?<=\. )Default:? .*?[^.](?=\.(?: |$))/.exec(text)
  const all = byDefault ? `${sentence} ${byDefault[0]}` : sentence
  return all.replace(/\.$/, '').replaceAll('|', '\\|')
}

/** The lines of a table; with a column of flags if there are some. */
function tableOf(options, links, flags) {
  const rows = options.map(([name, comment]) => {
    const link = links[name]
    const shown = link === undefined ? `\`${name}\`` : `[\`${name}\`](${link})`
    const flag = flags?.[name] ? `\`${flags[name].flag}\`` : ''
    return [shown, ...(flags ? [flag] : []), summaryOf(comment)]
  })
  const head = ['option', ...(flags ? ['on the command line'] : []), 'meaning']
  const lines = [head, ...rows].map((row) => `| ${row.join(' | ')} |`.replaceAll('|  |', '| |'))
  return lines.toSpliced(1, 0, `|${'---|'.repeat(head.length)}`)
}

let interfaces

/** A page with its tables as they are now; `flags` are what command lines can have, by the names of options. */
export const withOptions = (page, flags) =>
  page.replace(/^(<!-- options (\w+)(.*?) -->\n).*?^(<!-- end -->)$/gms, (_, begin, name, rest, end) => {
    interfaces ??= interfacesOf()
    const options = interfaces.get(name)
    if (!options) throw new Error(`There is no interface ${name} in lib`)
    const words = rest.trim().split(/\s+/).filter(Boolean)
    const links = Object.fromEntries(
      words.filter((word) => word.includes('=')).map((word) => word.split('=')),
    )
    return `${begin}${tableOf(options(), links, words.includes('flags') ? flags : undefined).join('\n')}\n${end}`
  })

/** The pages with such tables. */
export const pagesWithOptions = () =>
  readdirSync(`${root}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${root}docs/${name}`)
    .filter((path) => readFileSync(path, 'utf8').includes('<!-- options '))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { flags } = await import('../dist/bench/flags.js')
  for (const path of pagesWithOptions()) writeFileSync(path, withOptions(readFileSync(path, 'utf8'), flags))
}
