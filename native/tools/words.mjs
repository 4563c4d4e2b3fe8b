#!/usr/bin/env node
/**
 * Checks the English of comments, documentation and test titles against docs/style.md and docs/glossary-of-code.md.
 *
 *     node native/tools/words.mjs                       prints each hit as FILE:LINE: RULE: TEXT
 *     node native/tools/words.mjs --summary             prints the number of hits per rule and per folder
 *     node native/tools/words.mjs --changed origin/main checks only lines that were added since that revision
 *     node native/tools/words.mjs --rule NAME           checks one rule only
 *     node native/tools/words.mjs --all                 also checks the folders of NOT_CLEAN_YET
 *     node native/tools/words.mjs FILE…                 checks these files only
 *
 * Exits with status 1 if there is a hit. `npm run lint` runs it. A comment with `words-ok: REASON` is skipped. No dependencies.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const SOURCE = /\.(ts|mjs|js|cpp|h|cu|cuh)$/
// The rules quote the words that they forbid.
const SKIPPED =
  /^(docs\/images\/|test\/cli\/fixtures\/|docs\/(style|glossary-of-code)\.md$|native\/tools\/words\.mjs$|test\/unit\/words\.test\.ts$)/

/** Folders and files whose old text isn't checked yet. `--changed`, `--all` and named files ignore this list; it only shrinks. */
const NOT_CLEAN_YET = [
  'bench/',
  'lib/',
  'native/core/',
  'native/cuda/',
  'native/lab/',
  'test/cpu/',
]

// Where a rule applies: `summary` is the first sentence of a documentation comment (`/** */`, `///`); `comment` any
// sentence of any comment; `doc` any sentence of a Markdown page; `title` the name of a test.
/** @type {{ name: string, in: string, test: RegExp, unless?: RegExp, fix: string }[]} */
export const RULES = [
  {
    name: 'headless-what',
    in: 'summary',
    test: /^What\b(?! to (do|show|print)\b)/,
    unless: /\?$/,
    fix: 'begin with the noun: "Options of …", "Result of …"',
  },
  {
    name: 'headless-how',
    in: 'summary',
    test: /^How (many|much|long|far|often|fast|large|deep|wide)\b/,
    unless: /\?$/,
    fix: '"Number of …", "Duration of …", with the unit',
  },
  {
    name: 'headless-wh',
    in: 'summary',
    test: /^((Where|When|Which|Why)\b(?! to\b)|Who|Whose|Whoever|Whatever|How (?!to\b|many|much|long|far|often|fast|large|deep|wide))(?!\w)/,
    unless: /\?$/,
    fix: 'begin with the noun: "Location of …", "Reason for …"',
  },
  {
    name: 'whether-function',
    in: 'summary',
    test: /^Whether\b/,
    fix: 'functions: "Returns whether …" ("Whether …" is fine for fields)',
  },
  {
    name: 'the-same',
    in: 'summary',
    test: /^(The same\b|Same\b|As (\{@link|[\w:.]+\(|(above|it|its|in|for|products?|new)\b)|Likewise)/,
    fix: 'name what it is; link the sibling second: "Like {@link x}, but …"',
  },
  {
    name: 'fragment',
    in: 'summary',
    test: /^(Of|From|For|By|Into|To|With|Without|On|Between|Beside|Besides|Against)\b(?! (default|convention|example)\b)[^,:]*$/,
    fix: 'a preposition is no summary: write a noun phrase or a verb',
  },
  {
    name: 'bare-pronoun',
    in: 'summary',
    test: /^(Those|That|They|It|Ones|One (of|that)|None|So (many|much|far|few)|Others|Another one|The (ones?|others?|other one) (that|of|in|which))\b/,
    fix: 'name the thing: a summary must make sense without the line above',
  },
  {
    name: 'so-many',
    in: 'any',
    test: /\bso (many|much)\b/i,
    unless: /\bso (many|much)\b.{0,70}\bthat\b|\bnot so (many|much)\b|\bso much (as|less|more|the)\b/i,
    fix: 'name the parameter: "`count` bytes", "at most `limit` …"',
  },
  {
    name: 'come-of',
    in: 'any',
    test: /\b(comes?|came|becom(e|es|ing)|became) of\b/i,
    fix: '"result of", "outcome of", "effect on"',
  },
  {
    name: 'come-to',
    in: 'any',
    test: /\b(has|have|had|don't|doesn't) come to (?!an? (end|stop))|\bcomes? to (whole|what|more|less|\d)/i,
    fix: '"amounts to", "results in", "is a multiple of"',
  },
  {
    name: 'is-there',
    in: 'any',
    test: /\b(is|are|was|were|isn't|aren't|wasn't|weren't) (still |not |no longer |already )?there\b(?=[.,;:)]|$| (already|yet|when|while|until|if|and|or|but|again|now|then|for|of|too|before|after|as|that)\b)/i,
    fix: '"exists", "is available", "is present", "is installed"',
  },
  {
    name: 'give-up',
    in: 'any',
    test: /\b(giv(e|es|en|ing)|gave) up\b/i,
    unless: /\bgives? up (a|its|the) (lock|lease|core|memory|page)/i,
    fix: 'work is "cancelled" or "aborted"; a retry "gives up"',
  },
  { name: 'let-go', in: 'any', test: /\blet(s|ting)? go( of)?\b/i, fix: '"release", "free", "drop"' },
  {
    name: 'who-thing',
    in: 'any',
    test: /\b([Ww]ho|[Ww]hoever|[Ww]hom)\b/,
    unless:
      /\b(people|person|users?|readers?|developers?|contributors?|authors?|anyone|everyone|someone|somebody|nobody|visitors?|clients?|owner|those|you|one) (\w+ )?who(m)?\b|\bfor whom\b|\?/i,
    fix: 'code is not a person: name the caller, thread or kernel',
  },
  {
    name: 'headless-object',
    in: 'any',
    test: /\b(of|by|from|to|in|into|over|under|beside|for) what (is|isn't|was|wasn't|are|were|has|have|had|comes?|came|follows|others|only|it|they|there)\b(?! (left|thrown))|\b(all|much|most|some|none|nothing|more|less) of what\b/i,
    unless: /\?/,
    fix: 'use a noun: "of the input", "by the caller\'s options"',
  },
  {
    name: 'those-that',
    in: 'any',
    test: /\b(of|by|from|with|than) those (that|which)\b|\bof those of\b|\bthat of (those|what|the one)\b/i,
    fix: 'repeat the noun: "of the rows that", "the size of B"',
  },
  {
    name: 'beside',
    in: 'any',
    test: /\bbesides[.;:)]|\bbesides$|\bbeside (what|C|those)\b|\b(takes?|took|needs?|costs?|gives?|room|capacity|memory|bytes|time)\b[^.;]{0,25} beside\b/,
    fix: '"in addition to", "apart from", "next to"',
  },
  {
    name: 'said',
    in: 'any',
    test: /\b(is|are|was|were) said\b|\b(says|said|say) (of|nothing of)\b|\b(is|are) told\b/i,
    fix: '"is specified", "reports", "documents", "is notified"',
  },
  {
    name: 'as-it-is',
    in: 'any',
    test: /(?<!\b(left|leaves?|stays?|stayed|remains?|keeps?|is|are|was|were|it) )\bas (it is|they are|it was|they were)\b(?=[.,;:)]|$| (and|in|when|if)\b)/i,
    fix: '"unchanged", "in place", "in its stored form"',
  },
  {
    name: 'some-number',
    in: 'any',
    test: /\bsome (\d|ten|twelve|twenty|thirty|fifty|sixty|hundred|thousand|million)/i,
    fix: '"about 60 000"',
  },
  {
    name: 'what-else',
    in: 'any',
    test: /\b(what|whatever) else\b|\bwhat (is|are) (left|meant|asked|needed|known|wanted|in the way)\b|\bwhat (was|were) (asked|begun|found|promised|given|meant|done|left)\b/i,
    unless: /\?/,
    fix: 'name it: "remaining work", "requested outputs", "known bounds"',
  },
  {
    name: 'whatever',
    in: 'any',
    test: /\bwhatever (is|isn't|was|has|else|came|comes|became|memory|it|they)\b/i,
    unless: /\?/,
    fix: '"regardless of", "for every"',
  },
  {
    name: 'house-word',
    in: 'any',
    test: /\b(yardsticks?|outsiders?|granules?|lookers?|crew|likeness|further (results?|matri(x|ces)|kinds?|ones?|commands?|one)|mattering|thing that matters|rungs?|rivals?)\b/i,
    fix: 'see GLOSSARY.md',
  },
  {
    name: 'way-path',
    in: 'graph',
    test: /\b([Bb]est|[Bb]etter|[Ss]hortest|[Ll]ongest|[Nn]o|[Tt]he|[Aa]|[Aa]ll|[Ee]ach|[Tt]heir) ways? (from|to|over|between|by way of|through|of|back)\b/,
    fix: '"path", "walk" or "fill edge"',
  },
  {
    name: 'title-fragment',
    in: 'title',
    test: /^(of|as|by|which|that|what|those|so|from|into|and|but|also|to|with|without|whether|how|where|only|it|one|ones|for)\b/,
    fix: 'a test title is a sentence with the subject in describe(): "rejects …", "returns …"',
  },
  {
    name: 'doc-headless',
    in: 'doc',
    test: /(^|[.:;] )What (is|was|isn't|has|a|an|the|it|you|needs|such|comes|goes|they)\b/,
    unless: /\?|\| *$/,
    fix: 'begin the sentence with the noun',
  },
]

/** Splits text into sentences; abbreviations such as "e.g." are not handled. */
const sentences = (text) => text.split(/(?<=[.:;?]) +(?=[A-Z`{(])/)

/** Returns the comments of a source file as `{ line, kind, text, lines, next }`; `next` is the code that follows. */
function findComments(source) {
  const found = []
  const rows = source.split('\n')
  let open = null
  let inBlock = false
  const close = (next) => {
    if (open) found.push({ ...open, next })
    open = null
  }
  rows.forEach((row, index) => {
    if (inBlock) {
      const end = row.indexOf('*/')
      open.lines.push([index + 1, (end < 0 ? row : row.slice(0, end)).replace(/^\s*\* ?/, '')])
      if (end < 0) return
      inBlock = false
      return
    }
    const block = /^\s*\/\*\*?(?!\/)(.*)$/.exec(row)
    const line = /^\s*\/\/(\/?)<?\s?(.*)$/.exec(row)
    if (block) {
      close('')
      const end = block[1].indexOf('*/')
      open = {
        kind: row.includes('/**') ? 'summary' : 'comment',
        lines: [[index + 1, end < 0 ? block[1] : block[1].slice(0, end)]],
      }
      inBlock = end < 0
    } else if (line) {
      const kind = line[1] ? 'summary' : 'comment'
      if (open && open.kind !== kind) close('')
      open ??= { kind, lines: [] }
      open.lines.push([index + 1, line[2]])
    } else {
      if (open) close(row)
      const tail = /[^:'"`\\/]\/\/(\/?)<? (.*)$/.exec(row)
      if (tail && !/^\s*namespace/.test(tail[2]))
        found.push({ kind: tail[1] ? 'summary' : 'comment', lines: [[index + 1, tail[2]]], next: row })
    }
  })
  close('')
  return found
}

/** Joins the lines of a comment. `lineAt` returns the line number of an offset in the joined text. */
function joinLines(lines) {
  let text = ''
  const starts = []
  for (const [line, raw] of lines) {
    const part = raw.replace(/\s+/g, ' ').trim()
    if (part.startsWith('@example') || part.startsWith('```')) break
    starts.push([text.length, line])
    text += part === '' ? '' : (text && !text.endsWith(' ') ? ' ' : '') + part
  }
  return {
    text: text.trim(),
    lineAt: (offset) => starts.findLast(([start]) => start <= offset)?.[1] ?? lines[0][0],
  }
}

/** Returns whether the code after a comment declares a function. */
const isFunction = (next) =>
  /\w\s*(<[^()]*>)?\([^)]*$|\w\s*\([^;]*\)[^;]*(\{|;|=>)\s*$|=>/.test(next) &&
  !/^\s*(readonly )?#?\w+\??:/.test(next)

/** Returns the hits in a file as `{ path, line, rule, text, fix }`; `only` is the name of a single rule to check. */
export function findHits(path, source, only) {
  const hits = []
  const isGraph = /graph|closure|successor/.test(path)
  const check = (where, text, lineAt, offset, next = '') => {
    for (const rule of RULES) {
      if (only && rule.name !== only) continue
      if (
        rule.in !== where &&
        !(rule.in === 'any' && where !== 'title') &&
        !(rule.in === 'graph' && isGraph && where !== 'title')
      )
        continue
      const match = rule.test.exec(text)
      if (!match || rule.unless?.test(text)) continue
      if (rule.name === 'whether-function' && !isFunction(next)) continue
      hits.push({ path, line: lineAt(offset + match.index), rule: rule.name, text, fix: rule.fix })
    }
  }
  if (path.endsWith('.md')) {
    // Tables between these lines are generated from comments of lib.
    let generated = false
    let code = false
    source.split('\n').forEach((row, index) => {
      if (row.startsWith('<!-- options ')) generated = true
      else if (row === '<!-- end -->') generated = false
      if (row.startsWith('```')) code = !code
      else if (!code && !generated && !/^(<!--|!\[| {4})/.test(row))
        for (const part of sentences(row.replace(/`[^`]*`/g, '`x`'))) check('doc', part, () => index + 1, 0)
    })
    return hits
  }
  for (const comment of findComments(source)) {
    const { text, lineAt } = joinLines(comment.lines)
    if (
      !text ||
      text.includes('words-ok') ||
      /^(namespace|biome|@ts-|eslint|#|clang-format|NOLINT|SPDX)/.test(text)
    )
      continue
    let offset = 0
    sentences(text).forEach((part, index) => {
      const where = index === 0 && comment.kind === 'summary' ? 'summary' : 'comment'
      if (!part.startsWith('@example'))
        check(where, part.replace(/^@\w+ (\w+ - )?/, ''), lineAt, offset, comment.next)
      offset += part.length + 1
    })
  }
  if (/\.test\.ts$|suite-/.test(path)) {
    source.split('\n').forEach((row, index) => {
      const title = /\b(?:it|test)(?:\.\w+(?:\([^)]*\))?)?\(\s*(['"`])(.+?)\1/.exec(row)
      if (title) check('title', title[2], () => index + 1, 0)
    })
  }
  return hits
}

/** Returns the numbers of the lines that were added to each file since a revision. */
function addedSince(revision) {
  const added = new Map()
  let lines
  for (const row of execFileSync('git', ['diff', '-U0', '--no-color', revision], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  }).split('\n')) {
    const file = /^\+\+\+ b\/(.*)$/.exec(row)
    const hunk = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(row)
    if (file) {
      lines = new Set()
      added.set(file[1], lines)
    } else if (hunk) {
      const [, first, count = '1'] = hunk
      for (let index = 0; index < Number(count); index++) lines.add(Number(first) + index)
    }
  }
  return added
}

/** Returns the tracked files that are checked by default. */
function checkedFiles(includesAll) {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
  return tracked
    .trim()
    .split('\n')
    .filter(
      (path) => existsSync(path) && (includesAll || !NOT_CLEAN_YET.some((start) => path.startsWith(start))),
    )
}

/** Prints the number of hits by rule and by folder. */
function printSummary(hits, files) {
  for (const key of [({ rule }) => rule, ({ path }) => path.split('/').slice(0, 2).join('/')]) {
    const counts = new Map()
    for (const hit of hits) counts.set(key(hit), (counts.get(key(hit)) ?? 0) + 1)
    const rows = [...counts].sort(([, one], [, other]) => other - one)
    for (const [name, count] of rows) console.log(`${String(count).padStart(6)}  ${name}`)
    console.log()
  }
  console.log(`${hits.length} hits in ${new Set(hits.map(({ path }) => path)).size} of ${files.length} files`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2)
  const takeOption = (flag) => (args.includes(flag) ? args.splice(args.indexOf(flag), 2)[1] : undefined)
  const revision = takeOption('--changed')
  const only = takeOption('--rule')
  const named = args.filter((arg) => !arg.startsWith('--'))
  const added = revision ? addedSince(revision) : undefined
  const isChecked = (path) =>
    (SOURCE.test(path) || path.endsWith('.md')) && !SKIPPED.test(path) && (!added || added.has(path))
  const includesAll = args.includes('--all') || added !== undefined
  const files = (named.length > 0 ? named : checkedFiles(includesAll)).filter(isChecked)
  const hits = files
    .flatMap((path) => findHits(path, readFileSync(path, 'utf8'), only))
    .filter(({ path, line }) => !added || added.get(path).has(line))
  if (args.includes('--summary')) printSummary(hits, files)
  else
    for (const { path, line, rule, text, fix } of hits)
      console.log(`${path}:${line}: ${rule}: ${text.slice(0, 160)}\n    ${fix}`)
  process.exitCode = hits.length > 0 ? 1 : 0
}
