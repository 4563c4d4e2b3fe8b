// Generates code from addon.mjs: the C++ conversions of arguments and results, the exports of the addon, and
// lib's types.
import { constants, functions } from './addon.mjs'
import { auxiliary, handles, lists, tables } from './addon-lists.mjs'
import { requests } from './addon-requests.mjs'
import { results } from './addon-results.mjs'

/** clockMHz → clock_mhz */
const snake = (name) => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()

/** UserRequest → userRequest */
const camel = (name) => name[0].toLowerCase() + name.slice(1)

/** too many → kTooMany */
const enumerator = (name) => `k${name.replaceAll(/(^| )(.)/g, (_, __, letter) => letter.toUpperCase())}`

/** Joins the lines that `print` returns. */
const lines = (all, print) => all.map(print).join('\n')

/** Returns the fields of a record and of the record that it extends, each with its type. */
function fieldsOf(name) {
  const { extends: base, fields } = requests[name] ?? results[name]
  const all = Object.entries({ ...(base && requests[base].fields), ...fields })
  return all.map(([field, { type }]) => [field, type])
}

/** Returns the fields of a record without those of the struct that its own struct extends. */
const ownFieldsOf = (name) => {
  const { cpp, fields } = requests[name] ?? results[name]
  return fieldsOf(name).filter(([field, { isAdded }]) => (cpp === undefined ? field in fields : isAdded))
}

const structOf = (name) => {
  const { cpp, extends: extended } = requests[name] ?? results[name]
  const base = cpp ?? extended
  const own = ownFieldsOf(name)
  if (cpp !== undefined && own.length === 0) return `using ${name} = ${cpp};`
  return `struct ${name}${base === undefined ? '' : ` : ${base}`} {
${lines(own, ([field, { cpp, usual = '' }]) => `  ${cpp} ${snake(field)}{${usual}};`)}
};
`
}

/** Returns the assignment of a field. A field with a default is assigned only if a value was passed. */
const assign = (target, { read, usual }, from) =>
  usual === undefined
    ? `  ${target} = ${from}.${read};`
    : `  if (const In in = ${from}; !in.is_missing()) ${target} = in.${read};`

const readerOf = (name) => {
  // A struct of native code has no defaults, or other ones.
  const { cpp, extends: extended } = requests[name]
  const first =
    cpp === undefined && extended !== undefined ? `  read(from, static_cast<${extended}&>(to));\n` : ''
  const reader = ([field, type]) => {
    const target = `to.${type.member ?? snake(field)}`
    const start =
      cpp === undefined || type.usual === undefined ? '' : `  ${target} = ${type.usual || '{}'};\n`
    return start + assign(target, type, `from.property("${field}")`)
  }
  return `void read(const In& from, ${name}& to) {
${first}${lines(first === '' ? fieldsOf(name) : ownFieldsOf(name), reader)}
}
`
}

const writerOf = (name) => `Napi::Value to_value(Env env, const ${name}& it) {
  Napi::Object object = Napi::Object::New(env);
${lines(fieldsOf(name), ([field, { member = snake(field), write = (value) => value }]) => `  set(object, "${field}", ${write(`it.${member}`)});`)}
  return object;
}
`

const takesOf = ({ takes = {} }) => Object.entries(takes)
const isTold = ({ gives }) => gives?.cpp === 'Napi::Value'

const declarationOf = ([name, signature]) => {
  const parameters = takesOf(signature).map(([argument, { cpp }]) => `${byReference(cpp)} ${snake(argument)}`)
  if (isTold(signature)) parameters.unshift('const Napi::CallbackInfo& info')
  return `${signature.gives?.cpp ?? 'void'} ${snake(name)}(${parameters.join(', ')});`
}

const byReference = (cpp) =>
  /^std::|^Napi|^[A-Z]\w*(Request|Settings|Source|Definition)$/.test(cpp) && !cpp.endsWith('*')
    ? `const ${cpp}&`
    : cpp

/** generated/enumerators.h, which core includes, too. */
export const enumeratorHeader = (notice) => `// ${notice}
#pragma once
#include <cstdint>

namespace mpmml {

/// Kind of an opaque object. The values differ from the first words of other addons' objects.
enum class HandleKind : uint64_t {
${lines(Object.keys(handles), (name) => `  ${enumerator(name)} = 0x${Buffer.from(`mpmml${name.slice(0, 3)}`).toString('hex')},`)}
};
struct NamedHandleKind {
  HandleKind kind;
  const char* name;
};
constexpr NamedHandleKind kHandleKinds[] = {
${lines(Object.keys(handles), (name) => `    {HandleKind::${enumerator(name)}, "${name}"},`)}
};

${lines(
  Object.values(lists).filter(({ enumeration }) => enumeration !== undefined),
  ({ enumeration: { namespace, id, doc, members } }) => `namespace ${namespace} {

/// ${doc}
enum class ${id} : uint8_t {
${lines(Object.entries(members), ([name, about]) => `  ${enumerator(name)},${about && `  ///< ${about}`}`)}
};
constexpr const char* k${id}Names[] = {${Object.keys(members)
    .map((name) => `"${name}"`)
    .join(', ')}};

}  // namespace ${namespace}
`,
)}
}  // namespace mpmml
`

/** generated/addon.h */
export const addonHeader = (notice) => `// ${notice}
#pragma once
#include "addon/values.h"
#include "core/graph/structure.h"
#include "core/rna/rna.h"
#include "cpu/backend.h"
#include "cpu/machine.h"
#include "cuda/plan/choices.h"
#include "lab/measure.h"
#include "lab/microbench/bandwidth.h"
#include "lab/microbench/machine.h"

namespace mpmml::addon {

${lines(
  Object.entries(tables),
  ([name, { doc, fields }]) => `${lines(doc.split('\n'), (line) => `/// ${line}`)}
struct ${name}Field {
  enum : size_t { ${fields.join(', ')}, count };
  static constexpr const char* names[] = {${fields.map((field) => `"${field}"`).join(', ')}};
};
`,
)}
${lines([...Object.keys(requests), ...Object.keys(results)], structOf)}
${lines(Object.keys(requests), (name) => `void read(const In& from, ${name}& to);`)}
${lines(Object.keys(results), (name) => `Napi::Value to_value(Env env, const ${name}& it);`)}

${lines(Object.entries(constants), ([name, { cpp }]) => `${cpp} ${snake(name)}();`)}

${lines(Object.entries(functions), declarationOf)}

}  // namespace mpmml::addon
`

/** generated/addon.cpp */
export const addonSource = (notice) => `// ${notice}
#include "generated/addon.h"

namespace mpmml::addon {

${lines(Object.keys(requests), readerOf)}
${lines(Object.keys(results), writerOf)}
}  // namespace mpmml::addon
`

function exported([name, signature]) {
  const taken = takesOf(signature)
  const values = [...(isTold(signature) ? ['info'] : []), ...taken.map(([argument]) => snake(argument))]
  // The qualified name excludes functions in the namespaces of the arguments.
  const call = `addon::${snake(name)}(${values.join(', ')})`
  const reads = taken.flatMap(([argument, type], index) => {
    const [name, from] = [snake(argument), `In(info[${index}], "${argument}")`]
    if (type.usual === undefined) return [`  const auto ${name} = ${from}.${type.read};`]
    return [`  ${type.cpp} ${name}{${type.usual}};`, assign(name, type, from)]
  })
  const gives = signature.gives?.cpp
  const end =
    gives === undefined
      ? [`  ${call};`, '  return info.Env().Undefined();']
      : gives === 'Napi::Value'
        ? [`  return ${call};`]
        : [`  return to_value(info.Env(), ${call});`]
  return `inline Napi::Value call_${snake(name)}(const Napi::CallbackInfo& info) {
${[...reads, ...end].join('\n')}
}
`
}

/** generated/exports.h */
export const exportsHeader = (notice) => `// ${notice}
#pragma once
#include "addon/guarded.h"
#include "generated/addon.h"

namespace mpmml::addon {

${lines(Object.entries(functions), exported)}
inline void export_all(Napi::Env env, Napi::Object exports) {
${lines(Object.keys(constants), (name) => `  set(exports, "${name}", ${snake(name)}());`)}
${lines(Object.entries(lists), ([name, { names }]) => `  exports.Set("${name}", names_of(env, ${names}));`)}
${lines(Object.keys(tables), (name) => `  exports.Set("${camel(name)}Fields", names_of(env, ${name}Field::names));`)}
${lines(
  Object.keys(functions),
  (name) => `  exports.Set("${name}", Napi::Function::New<guarded<call_${snake(name)}>>(env, "${name}"));`,
)}
}

}  // namespace mpmml::addon
`

const commentOf = (doc, indent = '') => {
  if (!doc) return ''
  const lines = doc.split('\n')
  return lines.length === 1
    ? `${indent}/** ${doc} */\n`
    : `${indent}/**\n${lines.map((line) => `${indent} * ${line}`).join('\n')}\n${indent} */\n`
}

const interfaceOf = ([name, { doc, extends: base, fields }]) =>
  `${commentOf(doc)}export interface ${name}${base ? ` extends ${base}` : ''} {
${lines(Object.entries(fields), ([field, { type, doc: about }]) => {
  const isOptional = type.usual !== undefined
  return `${commentOf(about, '  ')}  ${field}${isOptional ? '?' : ''}: ${type.ts}${isOptional ? ' | undefined' : ''}`
})}
}
`

const functionOf = ([name, signature]) => {
  const taken = takesOf(signature)
  const parameters = taken.map(
    ([argument, { ts, usual, mayBeLeftOut = usual !== undefined }]) =>
      `${argument}${mayBeLeftOut ? '?' : ''}: ${ts}`,
  )
  return `${commentOf(signature.doc, '  ')}  ${name}(${parameters.join(', ')}): ${signature.gives?.ts ?? 'void'}`
}

/** Returns the positions of the fields of a table, with the fields of a matrix's layout in one object. */
function positionsOf(fields) {
  const positions = fields.flatMap((field, index) => {
    const [, matrix, end] = /^(\w+)(Offset|\w+Stride)$/.exec(field) ?? [undefined, undefined]
    if (matrix === undefined) return [`  ${field}: ${index},`]
    if (end !== 'Offset') return []
    return [
      `  ${matrix}: { offset: ${index}, rowStride: ${index + 1}, colStride: ${index + 2}, batchStride: ${index + 3} },`,
    ]
  })
  return positions.join('\n')
}

/** Returns whether values of a type are or contain typed arrays. */
function hasArrays({ hasArrays: own = false, record }) {
  if (own || record === undefined || !(record in requests)) return own
  const { extends: base, fields } = requests[record]
  return [...Object.values(fields), ...Object.values(base ? requests[base].fields : {})].some(({ type }) =>
    hasArrays(type),
  )
}

const callOf = ([name, signature]) => {
  const taken = takesOf(signature)
  const facts = {
    takes: taken.map(([argument]) => argument),
    hasArrays: taken.some(([, type]) => hasArrays(type)),
    givesPromise: signature.gives?.isPromise === true,
  }
  return `  ${name}: ${JSON.stringify(facts)},`
}

/** lib/native-interface.ts */
export const addonInterface = (notice) => `// ${notice}
/**
 * Exports of the addon, types of its arguments and results, and positions of the fields of its flat arrays.
 */
import type { BackendChoice, BackendName } from './backend-name.js'
import type { ElementArray, OperandArray } from './storage.js'
import type { DataType, InstructionSet, Semiring, VariantName } from './variant-names.js'

${lines(
  Object.values(handles),
  ({ ts, doc }) => `/** ${doc} Opaque. */
export interface ${ts} {
  readonly native${ts.slice('Native'.length)}: unique symbol
}
`,
)}
/** The kinds of opaque objects. */
export type HandleKind = ${Object.keys(handles)
  .map((name) => `'${name}'`)
  .join(' | ')}

/** A lane of values. Integers may be signed or unsigned: only their bits are used. */
export type LaneArray = Int32Array | Uint32Array | Float32Array
/** A lane of a matrix. Integers in a memory are int32. */
export type LaneMatrix = LaneArray | NativeMemory
/** Names of the auxiliary outputs of a product, in the order of its fields. */
export const auxiliaryResults = [${auxiliary.map((name) => `'${name}'`).join(', ')}] as const
export type AuxiliaryName = (typeof auxiliaryResults)[number]
/**
 * Auxiliary outputs of a product, each null if it is to be allocated or isn't requested; null if none is
 * requested.
 */
export type AuxiliaryMatrices = readonly (Int32Array | NativeMemory | null)[] | null

/** The matrices of a product of a group: a, b, c, c0 and its auxiliary outputs. */
export type UserMatrices = readonly [
  a: readonly LaneMatrix[],
  b: readonly LaneMatrix[],
  c: readonly LaneMatrix[] | null,
  c0: readonly LaneMatrix[] | null,
  auxiliary: AuxiliaryMatrices,
]
/** The memories that a call has allocated for lanes of C and for auxiliary outputs, in this order. */
export type MadeLanes = undefined | NativeMemory[]

/**
 * The memories that a call has allocated: none, one, or those of the results followed by those of each kind
 * of auxiliary outputs.
 */
export type NativeResult = undefined | NativeMemory | readonly NativeMemory[]

${lines(
  Object.entries(tables),
  ([name, { doc, fields }]) => `${commentOf(doc)}export const ${camel(name)}Fields = [
${lines(fields, (field) => `  '${field}',`)}
] as const
export type ${name}Field = (typeof ${camel(name)}Fields)[number]

/** The positions of the fields. */
export const ${camel(name)}At = {
${positionsOf(fields)}
}
`,
)}
${lines([...Object.entries(requests), ...Object.entries(results)], interfaceOf)}
/** Signature of a function of the addon, for code that forwards calls (native/wasm). */
export interface NativeCall {
  /** Names of the arguments. */
  readonly takes: readonly string[]
  /** Whether arguments are or contain typed arrays. */
  readonly hasArrays: boolean
  readonly givesPromise: boolean
}
export const nativeCalls: Readonly<Record<string, NativeCall>> = {
${lines(Object.entries(functions), callOf)}
}

/** Exports of the addon. */
export interface Addon {
${lines(Object.entries(constants), ([name, { ts }]) => `  ${name}: ${ts}`)}
${lines(Object.entries(lists), ([name, { ts }]) => `  ${name}: ${ts.includes('|') ? `(${ts})` : ts}[]`)}
  // Fields of the Float64Arrays, in order.
${lines(Object.keys(tables), (name) => `  ${camel(name)}Fields: ${name}Field[]`)}
${lines(Object.entries(functions), functionOf)}
}
`
