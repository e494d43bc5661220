// Observes a batcher or dispatcher once, however often it is instrumented: a second observer of the
// same meter or tracer would count everything twice.

import type { Attributes } from "@opentelemetry/api";
import { labelsText } from "./series.ts";
import { shared } from "./shared.ts";

interface Joined {
  readonly to: unknown;
  readonly labels: string;
  readonly end: () => void;
  /** How many have not called the function that was returned to them. */
  uses: number;
}

/**
 * Calls `begin`, unless the subject is observed already for the same meter or tracer with the same
 * attributes. Call the function that it returns once; the last such call calls what `begin`
 * returned.
 *
 * @param to what tells the meter or tracer from others.
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
