/** A progress bar on stderr with an estimate of the time left, where stderr is a terminal. */
import { SingleBar } from 'cli-progress'

export interface Progress {
  /** Says what is being done now, and how much of the total is done. */
  show(what: string, done: number): void
  /** Removes the bar. */
  end(): void
}

const none: Progress = { show() {}, end() {} }

/** @param total - the work, in any unit that is roughly proportional to time. */
export function startProgress(total: number): Progress {
  if (!process.stderr.isTTY || total <= 0) return none
  const bar = new SingleBar({
    stream: process.stderr,
    format: '{bar} {percentage} %, {eta_formatted} left: {what}',
    barsize: 24,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    clearOnComplete: true,
    hideCursor: true,
    // Signals are the command line's business (run.ts).
    gracefulExit: false,
  })
  bar.start(total, 0, { what: '' })
  return {
    show: (what, done) => bar.update(Math.min(done, total), { what }),
    end: () => bar.stop(),
  }
}
