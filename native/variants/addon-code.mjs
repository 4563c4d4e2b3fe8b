// Writes what follows from addon.mjs: the C++ that reads and writes what crosses the addon, its exports, and lib's types.
import { constants, functions, lists, requests, results, tables } from './addon.mjs'

/** clockMHz → clock_mhz */
const snake = (name) => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()

/** The fields of a record with those that it extends. */
const allFields = (name) => {
  const { extends: base, fields } = requests[name] ?? results[name]
  return Object.entries({ ...(base && requests[base].fields), ...fields }).map(([field, { type }]) => [
    field,
    type,
  ])
}

const structOf = (name) => `struct ${name} {
${allFields(name)
  .map(([field, { cpp }]) => `  ${cpp} ${snake(field)}{};`)
  .join('\n')}
};
`

const readOf = (type, from) =>
  type.usual === undefined
    ? `${from}.${type.read}`
    : `${from}.is_missing() ? ${type.usual} : ${from}.${type.read}`

/** As readOf(), of a type whose C++ the conditional operator must be told. */
const assigned = (target, type, from) =>
  type.usual === undefined
    ? `${target} = ${from}.${type.read};`
    : `if (const In in = ${from}; in.is_missing()) {
    ${target} = ${type.usual};
  } else {
    ${target} = in.${type.read};
  }`

const readerOf = (name) => `inline void read(const In& from, ${name}& to) {
${allFields(name)
  .map(([field, type]) => `  ${assigned(`to.${snake(field)}`, type, `from.property("${field}")`)}`)
  .join('\n')}
}
`

const writerOf = (name) => `inline Napi::Value to_value(Napi::Env env, const ${name}& from) {
  Napi::Object object = Napi::Object::New(env);
${allFields(name)
  .map(([field]) => `  set(object, "${field}", from.${snake(field)});`)
  .join('\n')}
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
  /^std::|^Napi|^[A-Z]\w*(Request|Settings)$/.test(cpp) && !cpp.endsWith('*') ? `const ${cpp}&` : cpp

/** generated/addon.h */
export const addonHeader = (notice) => `// ${notice}
#pragma once
#include "addon/values.h"

namespace mpmml::addon {

${Object.entries(tables)
  .map(
    ([name, { doc, fields }]) => `${doc
      .split('\n')
      .map((line) => `/// ${line}`)
      .join('\n')}
struct ${name}Field {
  enum : size_t { ${fields.join(', ')}, count };
  static constexpr const char* names[] = {${fields.map((field) => `"${field}"`).join(', ')}};
};
`,
  )
  .join('\n')}
${[...Object.keys(requests), ...Object.keys(results)].map(structOf).join('\n')}
${Object.keys(requests).map(readerOf).join('\n')}
${Object.keys(results).map(writerOf).join('\n')}
${Object.entries(constants)
  .map(([name, { cpp }]) => `${cpp} ${snake(name)}();`)
  .join('\n')}

${Object.entries(functions).map(declarationOf).join('\n')}

}  // namespace mpmml::addon
`

function exported([name, signature]) {
  const taken = takesOf(signature)
  const values = [...(isTold(signature) ? ['info'] : []), ...taken.map(([argument]) => snake(argument))]
  const call = `${snake(name)}(${values.join(', ')})`
  const reads = taken.map(([argument, type], index) => `  ${assignedArgument(argument, type, index)}`)
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

const assignedArgument = (argument, type, index) => {
  const from = `In(info[${index}], "${argument}")`
  return type.usual === undefined
    ? `const auto ${snake(argument)} = ${from}.${type.read};`
    : `const ${type.cpp} ${snake(argument)} = ${readOf(type, from)};`
}

/** generated/exports.h */
export const exportsHeader = (notice) => `// ${notice}
#pragma once
#include "addon/guarded.h"
#include "generated/addon.h"

namespace mpmml::addon {

${Object.entries(functions).map(exported).join('\n')}
inline void export_all(Napi::Env env, Napi::Object exports) {
${Object.keys(constants)
  .map((name) => `  set(exports, "${name}", ${snake(name)}());`)
  .join('\n')}
${Object.entries(lists)
  .map(([name, { names }]) => `  exports.Set("${name}", names_of(env, ${names}));`)
  .join('\n')}
${Object.keys(tables)
  .map((name) => `  exports.Set("${snake(name)}Fields", names_of(env, ${name}Field::names));`)
  .join('\n')}
${Object.keys(functions)
  .map(
    (name) => `  exports.Set("${name}", Napi::Function::New<guarded<call_${snake(name)}>>(env, "${name}"));`,
  )
  .join('\n')}
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
${Object.entries(fields)
  .map(([field, { type, doc: about }]) => {
    const isOptional = type.usual !== undefined
    return `${commentOf(about, '  ')}  ${field}${isOptional ? '?' : ''}: ${type.ts}${isOptional ? ' | undefined' : ''}`
  })
  .join('\n')}
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

/** Where the fields of a table are; those of a matrix's layout together. */
function positionsOf(fields) {
  const lines = fields.map((field, index) => {
    const matrix = /^(\w+)Offset$/.exec(field)?.[1]
    if (matrix !== undefined) {
      return `  ${matrix}: { offset: ${index}, rowStride: ${index + 1}, colStride: ${index + 2}, batchStride: ${index + 3} },`
    }
    return /Stride$/.test(field) ? '' : `  ${field}: ${index},`
  })
  return lines.filter((line) => line !== '').join('\n')
}

/** lib/native-interface.ts */
export const addonInterface = (notice) => `// ${notice}
/** What the addon exports, what crosses it, and where the fields of its flat arrays are. */
import type { ElementArray, OperandArray } from './storage.js'
import type { DataType, InstructionSet, Semiring, VariantName } from './variant-names.js'

/** A device that has been opened; opaque. */
export interface NativeDevice {
  readonly nativeDevice: unique symbol
}

/** Memory of a device; opaque. It is given back when it is released or collected. */
export interface NativeMemory {
  readonly nativeMemory: unique symbol
}

/** The memories that a call has made: none, one, or those of the results and of the witnesses. */
export type Made = undefined | NativeMemory | readonly [results: NativeMemory, witnesses: NativeMemory]

${Object.entries(tables)
  .map(
    ([name, { doc, fields }]) => `${commentOf(doc)}export const ${snake(name)}Fields = [
${fields.map((field) => `  '${field}',`).join('\n')}
] as const
export type ${name}Field = (typeof ${snake(name)}Fields)[number]

/** The positions of the fields. */
export const ${snake(name)}At = {
${positionsOf(fields)}
}
`,
  )
  .join('\n')}
${[...Object.entries(requests), ...Object.entries(results)].map(interfaceOf).join('\n')}
/** What the addon exports. */
export interface Addon {
${Object.entries(constants)
  .map(([name, { ts }]) => `  ${name}: ${ts}`)
  .join('\n')}
${Object.entries(lists)
  .map(([name, { ts }]) => `  ${name}: ${ts.includes('|') ? `(${ts})` : ts}[]`)
  .join('\n')}
${Object.keys(tables)
  .map(
    (name) =>
      `${commentOf(`The fields of the Float64Array of a ${snake(name)}, in order.`, '  ')}  ${snake(name)}Fields: ${name}Field[]`,
  )
  .join('\n')}
${Object.entries(functions).map(functionOf).join('\n')}
}
`
