// Types of the values that cross the boundary between JavaScript and the addon. Each has its TypeScript type
// (`ts`), its C++ type (`cpp`) and, for arguments, the member of In that reads it (`read`,
// native/addon/values.h).

const limit = (value) => (Number.isInteger(value) ? `${value}.0` : String(value))

/** A value that JavaScript may omit. The default `usual` is a C++ expression. */
export const optional = (type, usual) => ({ ...type, usual })

/** A type with another, more specific TypeScript name. */
export const named = (ts, type) => ({ ...type, ts })

/**
 * A field whose member in the struct of native code has another name. For results it may be any expression
 * after `it.`.
 */
export const at = (member, type) => ({ ...type, member })

/** A field that a record has in addition to the struct of native code that it extends. */
export const added = (type) => ({ ...type, isAdded: true })

export const number = (least, most) => ({
  ts: 'number',
  cpp: 'double',
  read: `number(${limit(least)}, ${limit(most)})`,
})

const MAX_INT = 2 ** 31 - 1

export const integer = (least, most = MAX_INT, cpp = 'int64_t') => ({
  ts: 'number',
  cpp,
  read: `integer<${cpp}>(${limit(least)}, ${limit(most)})`,
})

/** A count of launches, threads and the like. */
export const count = (least, most = MAX_INT) => integer(least, most, 'int')

export const real = { ts: 'number', cpp: 'double', read: 'real()' }
export const int = { ts: 'number', cpp: 'int' }
export const flag = { ts: 'boolean', cpp: 'bool', read: 'flag()' }
export const text = { ts: 'string', cpp: 'std::string', read: 'text()' }
/** Text with static storage duration in native code. */
export const literal = { ts: 'string', cpp: 'const char*' }
/** A function of two numbers, exported to JavaScript. */
export const ofTwo = { ts: '((x: number, y: number) => number)', cpp: 'OfTwo' }
export const int32Array = { ts: 'Int32Array', cpp: 'std::vector<int32_t>' }
export const float64Array = {
  ts: 'Float64Array',
  cpp: 'std::vector<double>',
  write: (value) => `Floats{${value}}`,
}
/** An Int32Array that the graph algorithms have allocated. */
export const nodeArray = { ts: 'Int32Array', cpp: 'graph::Array<int32_t>' }
/** A type whose values are or contain typed arrays, of which WebAssembly needs copies in its own memory. */
const withArrays = (type) => ({ ...type, hasArrays: true })

/** Typed arrays whose memory native code reads or writes while the work runs. */
export const elements = withArrays({ ts: 'OperandArray', cpp: 'TypedArray', read: 'elements()' })
export const int32Elements = withArrays({
  ts: 'Int32Array',
  cpp: 'TypedArray',
  read: 'elements(napi_int32_array)',
})
export const float64Elements = withArrays({
  ts: 'Float64Array',
  cpp: 'TypedArray',
  read: 'elements(napi_float64_array)',
})
export const strand = withArrays({
  ts: 'Uint8Array',
  cpp: 'std::vector<uint8_t>',
  read: 'bytes(1048576, 3)',
})

/** A record by its name. */
export const record = (name) => ({ ts: name, cpp: name, read: `record<${name}>()`, record: name })
/** A record that may be missing. */
export const maybe = (type) => ({ ...type, cpp: `std::optional<${type.cpp}>`, usual: 'std::nullopt' })

export const list = (type) => ({
  hasArrays: type.hasArrays,
  record: type.record,
  ts: type.ts.includes('|') ? `(${type.ts})[]` : `${type.ts}[]`,
  cpp: `std::vector<${type.cpp}>`,
  read: `list<${type.cpp}>([](const In& in) { return in.${type.read}; })`,
})

/** An object whose properties all have one type. */
export const properties = (type) => ({
  ts: `Record<string, ${type.ts}>`,
  cpp: `Properties<${type.cpp}>`,
})
export const numberOrText = { ts: 'number | string', cpp: 'std::variant<double, std::string>' }

/** An index into one of the lists of names that the addon exports. */
export const indexIn = ({ ids, names }) => ({
  ts: 'number',
  cpp: ids,
  read: `index<${ids}>(std::size(${names}))`,
})
/** The name of an enumerator. */
export const nameIn = ({ ts, ids, names }) => ({
  ts,
  cpp: ids,
  write: (value) => `${names}[static_cast<size_t>(${value})]`,
})
export const variant = { ts: 'number', cpp: 'const Variant*', read: 'variant()' }

/** A value that is passed unchanged. */
export const raw = (ts, mayBeLeftOut = false) => ({ ts, cpp: 'Napi::Value', read: 'value()', mayBeLeftOut })
/** Typed arrays, or values that contain some, which are passed unchanged. */
export const rawArrays = (ts, mayBeLeftOut) => withArrays(raw(ts, mayBeLeftOut))
/** The Float64Array of a table of fields. */
export const fields = (table) =>
  withArrays({ ts: 'Float64Array', cpp: 'const double*', read: `fields(${table}Field::count)` })
export const report = withArrays({
  ts: 'Float64Array',
  cpp: 'double*',
  read: 'fields(ReportField::count)',
})
export const cancel = withArrays({
  ts: 'Int32Array',
  cpp: 'std::atomic<int32_t>*',
  read: 'cancel()',
})
export const device = { ts: 'NativeDevice', cpp: 'std::shared_ptr<Device>', read: 'device()' }
export const deviceOrNone = {
  ...named('NativeDevice | null', optional(device, 'nullptr')),
  mayBeLeftOut: false,
}

export const nothing = { ts: 'void', cpp: 'void' }
export const promise = (type) => ({ ts: `Promise<${type.ts}>`, cpp: 'Napi::Value', isPromise: true })

/**
 * The fields of a record, one per line: name, type, and an explanation if the name needs one.
 *
 *   name: ${type} what it means
 *   ...: ${those of another table}
 */
export function table(strings, ...types) {
  const fields = {}
  for (const [index, type] of types.entries()) {
    const name = /(\S+): *$/.exec(strings[index])[1]
    const [doc] = strings[index + 1].split('\n')
    if (name === '...') Object.assign(fields, type)
    else fields[name] = { type, doc: doc.trim() }
  }
  return fields
}

/** A record that crosses the boundary: its description, the record that it extends, if any, and its table. */
export const object =
  (doc, base) =>
  (...fields) => ({ doc, extends: base, fields: table(...fields) })

/**
 * A record whose fields are members of the struct `cpp` of native code. Fields that are added() extend the
 * struct.
 */
export const objectOf =
  (cpp, doc, base) =>
  (...fields) => ({ ...object(doc, base)(...fields), cpp })
