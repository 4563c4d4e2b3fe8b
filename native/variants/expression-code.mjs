// Writes what follows from expressions.mjs: native code's enumerators and rules, and lib's.
import { most, nodeWords, operations, types } from './expressions.mjs'

const enumerator = (name) => `k${name[0].toUpperCase()}${name.slice(1)}`
const list = (names) => names.map((name) => `"${name}"`).join(', ')

/** Types as bits. */
const setOf = (names) => names.reduce((set, name) => set | (1 << types.indexOf(name)), 0)

const ruleOf = ({ gives, takes, becomes }) =>
  `{${setOf(gives)}, ${takes.length}, {${takes.map((kind) => `UserTakes::${enumerator(kind)}`).join(', ')}}, UserBecomes::${enumerator(becomes ?? 'primitive')}}`

/** generated/expressions.h */
export const expressionHeader = (notice) => `// ${notice}
#pragma once
#include <cstddef>
#include <cstdint>

namespace mpmml {

enum class UserType : uint8_t { ${types.map(enumerator).join(', ')} };
constexpr const char* kUserTypeNames[] = {${list(types)}};
constexpr const char* user_type_name(UserType type) { return kUserTypeNames[static_cast<int>(type)]; }

enum class UserOp : uint8_t {
${operations.map(({ name, means }) => `  ${enumerator(name)},  ///< ${means}`).join('\n')}
};
constexpr const char* kUserOpNames[] = {${list(operations.map(({ name }) => name))}};
constexpr const char* user_op_name(UserOp op) { return kUserOpNames[static_cast<int>(op)]; }

/// What an operand has to be: of the result's type, a number, a number of the same type as the others, or a predicate.
enum class UserTakes : uint8_t { kNothing, kSame, kNumber, kAlike, kPredicate };

/// Who may write it, and who sees it (native/variants/expressions.mjs).
enum class UserBecomes : uint8_t { kPrimitive, kLowered, kInternal };

struct UserRule {
  uint8_t gives;  ///< bit i is for type i
  uint8_t arity;
  UserTakes takes[3];
  UserBecomes becomes;
};
constexpr UserRule kUserRules[] = {
${operations.map((operation) => `    ${ruleOf(operation)},  // ${operation.name}`).join('\n')}
};
constexpr const UserRule& user_rule(UserOp op) { return kUserRules[static_cast<int>(op)]; }

constexpr size_t kMaxUserLanes = ${most.lanes};
/// Of an expression as it is written.
constexpr size_t kMaxUserNodes = ${most.nodes};
/// Words of 32 bits that are a node where it crosses the addon: operation, type, three operands, and a constant's bits.
constexpr size_t kUserNodeWords = ${nodeWords};

}  // namespace mpmml
`

const text = (value) => `'${value.replaceAll("'", "\\'")}'`
const texts = (values) => `[${values.map(text).join(', ')}]`

/** lib/expression-table.ts */
export const expressionTable = (
  notice,
) => `// ${notice} native/core/user/semiring.h says what expressions are.

/** The types of values in expressions, by the indices that native code knows them by. */
export const expressionTypes = ${texts(types)} as const
export type ExpressionType = (typeof expressionTypes)[number]

/** An operation: the types that it may give, and for each operand what it has to be. */
export interface ExpressionOperation {
  readonly name: string
  readonly gives: readonly ExpressionType[]
  readonly takes: readonly ('same' | 'number' | 'alike' | 'predicate')[]
  readonly means: string
  /** Whether native code writes it in other operations, or only native code writes it. */
  readonly becomes?: 'lowered' | 'internal'
}

/** The operations, by the indices that native code knows them by. */
export const expressionOperations = [
${operations
  .map(
    ({ name, gives, takes, becomes, means }) =>
      `  { name: ${text(name)}, gives: ${texts(gives)}, takes: ${texts(takes)}, means: ${text(means)}${becomes ? `, becomes: ${text(becomes)}` : ''} },`,
  )
  .join('\n')}
] as const satisfies readonly ExpressionOperation[]
export type ExpressionOperationName = (typeof expressionOperations)[number]['name']

/** Bounds. */
export const maxLanes = ${most.lanes}
export const maxNodes = ${most.nodes}

/** Words of 32 bits that are a node where it crosses the addon: operation, type, three operands, and a constant's bits. */
export const nodeWords = ${nodeWords}
`
