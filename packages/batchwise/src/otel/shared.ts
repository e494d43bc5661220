// What all copies of the package in a thread share, so that an application that loads it by
// `import` and by `require` observes with one set of instruments. The names have a number: it grows
// when what is shared changes its members.

import type { Meter } from "@opentelemetry/api";

/** The value of this name, made at the first call in this thread. */
export function shared<Value>(name: string, make: () => Value): Value {
  const key = Symbol.for(`batchwise.otel.1.${name}`);
  const all = globalThis as { [key: symbol]: unknown };
  all[key] ??= make();
  return all[key] as Value;
}

/** What there is once for each meter. `name` tells it from the others of a meter. */
export function ofMeter<Made>(meter: Meter, name: string, make: (meter: Meter) => Made): Made {
  const byMeter = shared(name, () => new WeakMap<Meter, Made>());
  const known = byMeter.get(meter);
  if (known !== undefined) return known;
  const made = make(meter);
  byMeter.set(meter, made);
  return made;
}
