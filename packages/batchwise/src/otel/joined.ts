// Observes a batcher or dispatcher once, however often it is instrumented: a second observer with
// the same meter or tracer would count everything twice.

import type { Attributes } from "@opentelemetry/api";
import { labelsText } from "./series.ts";
import { shared } from "./shared.ts";

interface Joined {
  readonly to: unknown;
  readonly labels: string;
  readonly end: () => void;
  /** Number of callers that have not called their returned function. */
  uses: number;
}

/**
 * Calls `begin`, unless the subject is already observed for the same meter or tracer with the same
 * attributes. Call the returned function once; the last such call calls the function that `begin`
 * returned.
 *
 * @param to identifies the meter or tracer.
 */
export function join(subject: object, to: unknown, attributes: Attributes, begin: () => () => void): () => void {
  const bySubject = shared("joined", () => new WeakMap<object, Joined[]>());
  const all = bySubject.get(subject) ?? [];
  bySubject.set(subject, all);
  const labels = labelsText(attributes);
  const joined = all.find((one) => one.to === to && one.labels === labels) ?? { to, labels, end: begin(), uses: 0 };
  if (joined.uses === 0) all.push(joined);
  joined.uses += 1;
  return () => {
    joined.uses -= 1;
    if (joined.uses > 0) return;
    all.splice(all.indexOf(joined), 1);
    joined.end();
  };
}
