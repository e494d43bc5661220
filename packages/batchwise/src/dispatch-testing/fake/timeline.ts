// The life of one batch as a pure function of time. The fake does nothing between two calls: a
// caller gets the state at the time of its call. A batch refused by validation fails; a batch that
// outlasts its window expires.

import type { FakeLineFault, FakePlan } from "./types.ts";

/** The facts that determine a batch's life. */
export interface Course {
  readonly acceptedAt: number;
  readonly items: number;
  readonly plan: FakePlan;
  /** Infinity: it never expires. */
  readonly windowMs: number;
  /** Faults that validation finds; empty if there are none. */
  readonly faults: readonly FakeLineFault[];
  readonly cancelledAt: number | null;
}

export type Phase =
  | "validating"
  | "failed"
  | "in_progress"
  | "finalizing"
  | "completed"
  | "expired"
  | "cancelling"
  | "cancelled";

/** The state of a batch. `done` items have results; the others have not run. */
export interface Moment {
  readonly phase: Phase;
  readonly done: number;
  readonly startedAt: number | null;
  readonly finalizingAt: number | null;
  readonly endedAt: number | null;
}

const TERMINAL: ReadonlySet<Phase> = new Set<Phase>(["failed", "completed", "expired", "cancelled"]);

export function isOver(phase: Phase): boolean {
  return TERMINAL.has(phase);
}

/** False until the counts of an ended batch are available. */
export function areCounted({ plan }: Course, { endedAt }: Moment, now: number): boolean {
  return endedAt === null || now >= endedAt + plan.countsLagMs;
}

export function momentOf(course: Course, now: number): Moment {
  const validatedAt = course.acceptedAt + course.plan.validateMs;
  const cancelledAt = course.cancelledAt;
  if (cancelledAt !== null && cancelledAt <= now) return cancelledMoment(course, cancelledAt, now);
  return uncancelledMoment(course, validatedAt, now);
}

function uncancelledMoment(course: Course, validatedAt: number, now: number): Moment {
  if (now < validatedAt) return moment("validating", 0);
  if (course.faults.length > 0) return { ...moment("failed", 0), endedAt: validatedAt };
  const ranAt = validatedAt + course.plan.runMs;
  const deadline = course.acceptedAt + course.windowMs;
  if (ranAt > deadline && now >= deadline) {
    const share = course.plan.expiredShare;
    const done = share === null ? doneAt(course, deadline) : Math.floor(share * course.items);
    return { phase: "expired", done, startedAt: validatedAt, finalizingAt: null, endedAt: deadline };
  }
  const started = { startedAt: validatedAt, finalizingAt: null, endedAt: null };
  if (now < ranAt) return { ...started, phase: "in_progress", done: doneAt(course, now) };
  const endedAt = ranAt + course.plan.finalizeMs;
  const whole = { ...started, done: course.items, finalizingAt: ranAt };
  return now < endedAt ? { ...whole, phase: "finalizing" } : { ...whole, phase: "completed", endedAt };
}

function cancelledMoment(course: Course, cancelledAt: number, now: number): Moment {
  const validatedAt = course.acceptedAt + course.plan.validateMs;
  const endsAt = cancelledAt + course.plan.cancelMs;
  const completesAt = validatedAt + course.plan.runMs + course.plan.finalizeMs;
  const startedAt = cancelledAt >= validatedAt ? validatedAt : null;
  if (course.plan.completesDespiteCancel && completesAt <= endsAt) {
    const late = uncancelledMoment(course, validatedAt, now);
    return isOver(late.phase) ? late : { ...late, phase: "cancelling" };
  }
  const base = { done: doneAt(course, cancelledAt), startedAt, finalizingAt: null };
  return now < endsAt
    ? { ...base, phase: "cancelling", endedAt: null }
    : { ...base, phase: "cancelled", endedAt: endsAt };
}

function doneAt(course: Course, at: number): number {
  const { runMs, validateMs } = course.plan;
  const ran = at - course.acceptedAt - validateMs;
  if (ran < 0) return 0;
  return runMs === 0 ? course.items : Math.min(course.items, Math.floor((course.items * ran) / runMs));
}

function moment(phase: Phase, done: number): Moment {
  return { phase, done, startedAt: null, finalizingAt: null, endedAt: null };
}
