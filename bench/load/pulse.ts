/**
 * Calls functions at exact times, to about ten microseconds: a loop of immediates that never sleeps
 * while a call is due.
 *
 * A timer of the event loop is a whole number of milliseconds, which is too coarse for arrivals
 * 0.25 ms apart and for a service of 4.1 ms. Each call gets its own turn of the event loop, so two
 * arrivals never share one because of the clock. It keeps one core busy while it runs.
 */
export interface Pulse {
  /** Calls at `time` (of `performance.now()`), or in the next turn if that has passed. */
  at(time: number, call: () => void): void;
  /** Makes no more calls. */
  stop(): void;
}

interface Due {
  readonly time: number;
  readonly call: () => void;
}

export function createPulse(): Pulse {
  const waiting: Due[] = [];
  let isStopped = false;

  function beat(): void {
    const next = waiting[0];
    if (next !== undefined && next.time <= performance.now()) {
      waiting.shift();
      next.call();
    }
    if (waiting.length > 0) setImmediate(beat);
  }

  return {
    at(time, call) {
      if (isStopped) return;
      let place = waiting.length;
      while (place > 0 && (waiting[place - 1] as Due).time > time) place -= 1;
      waiting.splice(place, 0, { time, call });
      if (waiting.length === 1) setImmediate(beat);
    },
    stop() {
      isStopped = true;
      waiting.length = 0;
    },
  };
}
