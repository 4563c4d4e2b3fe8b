/** Proxies on the page for objects of the addon in a worker. */
import type { MadeHandle } from './messages.js'

/** Object of the addon in the worker. */
export class Remote {
  constructor(readonly made: MadeHandle) {}
}

/** Device that was opened in the worker. */
export class RemoteDevice extends Remote {
  /** Latest memory use that the worker reported. */
  use: unknown

  constructor(made: MadeHandle) {
    super(made)
    this.use = made.use
  }
}
