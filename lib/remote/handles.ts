/** Proxies on the page for objects of the addon in a worker. */
import type { RemoteHandle } from './messages.js'
import type { Exports } from './written.js'

/** Object of the addon in a worker. */
export class Remote {
  /** `addon`: the functions of that worker. */
  constructor(
    readonly info: RemoteHandle,
    readonly addon: Exports,
  ) {}
}

/** Device that was opened in the worker. */
export class RemoteDevice extends Remote {
  /** Latest memory use that the worker reported. */
  use: unknown = this.info.use
}
