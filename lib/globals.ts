/**
 * What the declarations name of the world around: empty here, so that they need neither @types/node nor the DOM. Where one of these
 * is there, it is what counts, because interfaces of one name are one.
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
