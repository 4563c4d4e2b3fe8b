/** The packages with compiled addons. */
export const names: readonly string[]

/** The addon of a package; an error if it can't be loaded, or isn't there. */
export function load(name: string): { readonly addon?: unknown; readonly error?: unknown }
