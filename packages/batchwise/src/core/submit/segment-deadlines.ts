// Deadlines of entries that have nothing else of their own: a column of their segment, and one entry of the agenda per
// segment, for its earliest. A million waiting deadlines cost a few thousand heap entries. A caller who may also leave
// by signal has a Ticket instead, which carries its deadline itself.

import { deadlineError } from "../contract/errors.ts";
import type { Pressing } from "../queue/lane.ts";
import type { Addressee, Sink } from "../queue/recipient.ts";
import type { Ending, Segment, SegmentWatch } from "../queue/segment.ts";
import type { Due } from "../time/deadlines.ts";
import { type Desk, refuse } from "./callers.ts";

/** Sees to it that the entries of a segment expire in time. To be called when its earliest deadline may have changed. */
export function watchDeadlines(desk: Desk, segment: Segment): void {
  const { earliestDue, watch } = segment;
  if (watch !== null && watch.dueAt === earliestDue) return;
  watch?.end();
  segment.watch = null;
  if (earliestDue === Number.POSITIVE_INFINITY || segment.live === 0) return;
  const deadline = new SegmentDeadline(desk, segment, earliestDue);
  segment.watch = deadline;
  desk.agenda.add(deadline, desk.clock.now());
}

class SegmentDeadline implements Due, SegmentWatch {
  readonly #desk: Desk;
  readonly dueAt: number;
  /** Let go of when it is over, so that the agenda keeps no answered batch alive. */
  #segment: Segment | null;
  heaped = false;

  constructor(desk: Desk, segment: Segment, dueAt: number) {
    this.#desk = desk;
    this.#segment = segment;
    this.dueAt = dueAt;
  }

  get isOver(): boolean {
    return this.#segment === null;
  }

  end(): void {
    if (this.#segment === null) return;
    this.#segment = null;
    if (this.heaped) this.#desk.agenda.noteOver();
  }

  ring(): void {
    const segment = this.#segment;
    if (segment === null) return;
    this.#segment = null;
    segment.watch = null;
    const expired = takeDue(segment, this.#desk.clock.now());
    segment.measureDue();
    watchDeadlines(this.#desk, segment);
    for (const { answer, timeoutMs } of expired) refuse(this.#desk, answer, deadlineError(timeoutMs), "expired");
    this.#desk.left();
  }
}

interface Expired {
  readonly answer: Addressee;
  readonly timeoutMs: number;
}

/** All leave before anyone is told: a listener may send what still waits. */
function takeDue(segment: Segment, now: number): Expired[] {
  const expired: Expired[] = [];
  for (let index = segment.head; index < segment.length; index += 1) {
    const dueAt = segment.dueAt(index);
    const sink = segment.sinks[index] as Sink | null;
    if (sink === null || dueAt > now) continue;
    const timeoutMs = segment.timeoutAt(index);
    const answer = { sink, position: segment.positionAt(index), time: segment.timeAt(index) };
    segment.vacate(index);
    expired.push({ answer, timeoutMs });
  }
  return expired;
}

/** The earliest deadline of a segment, in the list of those that its lane's wait must not run into. */
export class PressingSegment implements Pressing, Ending {
  /** Let go of when it is over, so that its lane keeps no answered batch alive. */
  #segment: Segment | null;
  heaped = false;

  constructor(segment: Segment) {
    this.#segment = segment;
  }

  get deadlineAt(): number {
    return this.#segment?.earliestDue ?? Number.POSITIVE_INFINITY;
  }

  get isWaiting(): boolean {
    return this.deadlineAt < Number.POSITIVE_INFINITY;
  }

  end(): void {
    this.#segment = null;
  }
}
