// The table's rows, expanded: each row for every semiring that has an element type of its accumulator, with its
// canonical name.
import { accumulators, dataTypes, families, instructionSets, semirings } from './table.mjs'

/** Parameters that choose the arithmetic or the compiler's options, and aren't template arguments. */
const selectors = new Set(['accumulator', 'isa'])

const identifier = (name) => name.replaceAll('-', '_')

/** Returns a property of a row, which a family defines for all its rows or by a function of the row. */
const ofRow = (value, parameters) => (typeof value === 'function' ? value(parameters) : value)

/** Returns the arithmetics of a row for a semiring and type; none if its accumulator doesn't support them. */
function arithmeticsOf({ accumulator }, semiring, { name }) {
  const { overflowing, plain, dataTypes } = accumulators[accumulator]
  if (!dataTypes.includes(name)) return []
  return (semiring.overflows?.includes(name) ? overflowing : plain) ?? []
}

function expand(family, parameters, semiring, dataType) {
  const missing = family.parameters.filter((name) => !(name in parameters))
  const unknown = Object.keys(parameters).filter((name) => !family.parameters.includes(name))
  if (missing.length > 0 || unknown.length > 0) {
    throw new Error(
      `variant table: a row of family ${family.name} lacks [${missing}] and has unknown [${unknown}]: ${JSON.stringify(parameters)}`,
    )
  }
  const name = `${family.name}_${semiring.name.replaceAll('-', '')}_${dataType.short}_${family.label(parameters)}`
  const templateArguments =
    family.arguments?.(parameters) ??
    family.parameters.filter((key) => !selectors.has(key)).map((key) => parameters[key])
  const semiringType = `${semiring.struct}<${dataType.element}>`
  const arithmetics = arithmeticsOf(parameters, semiring, dataType).map(
    (arithmetic) => `${arithmetic}<${semiringType}>`,
  )
  const configuration =
    ofRow(family.template, parameters) +
    (templateArguments.length > 0 ? `<${templateArguments.join(', ')}>` : '')
  return {
    name,
    family,
    semiring,
    dataType,
    parameters,
    automatic: typeof family.automatic === 'function' ? family.automatic(parameters) : family.automatic,
    refused: (family.constraints ?? []).find(({ holds }) => !holds(parameters))?.reason(parameters),
    isa: instructionSets.find((isa) => isa.name === parameters.isa),
    identifier: identifier(name),
    header: ofRow(family.header, parameters),
    expression: `${family.backend === 'cuda' ? `Family<${configuration}>` : configuration}::template kernel<${arithmetics.join(', ')}>()`,
  }
}

/**
 * Returns every row of the table that can be built. Throws if a row doesn't fit its family or two rows share
 * a name.
 */
export const allRows = () => expandedRows().filter(({ refused }) => refused === undefined)

/** Returns the rows that can't be built. `refused` is the reason. */
export const refusedRows = () => expandedRows().filter(({ refused }) => refused !== undefined)

/** The semirings with the element types that each has. */
export const semiringTypes = () =>
  semirings.flatMap((semiring) =>
    dataTypes
      .filter(({ name }) => semiring.dataTypes.includes(name))
      .map((dataType) => ({ semiring, dataType })),
  )

function expandedRows() {
  const rows = families.flatMap((family) =>
    semiringTypes().flatMap(({ semiring, dataType }) =>
      family.rows
        .filter(() => family.semirings?.includes(semiring.name) ?? true)
        .filter((parameters) => arithmeticsOf(parameters, semiring, dataType).length > 0)
        .map((parameters) => expand(family, parameters, semiring, dataType)),
    ),
  )
  const seen = new Set()
  for (const { name } of rows) {
    if (seen.has(name)) throw new Error(`variant table: two rows are called ${name}`)
    seen.add(name)
  }
  return rows
}

export { identifier }
