/**
 * Global types that the declarations refer to. They are empty here, so that the declarations need neither
 * @types/node nor the DOM. If one of these is installed, TypeScript merges its interfaces with the empty
 * ones.
 */
declare global {
  interface AbortSignal {}
  interface URL {}
  interface SymbolConstructor {
    readonly dispose: unique symbol
    readonly asyncDispose: unique symbol
  }
}

export {}
