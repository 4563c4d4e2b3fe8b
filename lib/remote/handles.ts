/** Objects of the addon in a worker, as the other side of the messages has them. */
import type { MadeHandle } from './messages.js'

/** Object of the addon in the worker. */
export class Remote {
  constructor(readonly made: MadeHandle) {}
}

/** Device that was opened in the worker. */
export class RemoteDevice extends Remote {
  /** Memory use, as the worker reported it last. */
  use: unknown

  constructor(made: MadeHandle) {
    super(made)
    this.use = made.use
  }
}
