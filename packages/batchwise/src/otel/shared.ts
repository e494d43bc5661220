// Values shared by all copies of the package in a thread, so that an application that loads it by
// `import` and by `require` observes with one set of instruments. The names contain a number, which
// grows when the members of a shared value change.

import type { Meter } from "@opentelemetry/api";

/** The value of this name; made at the first call in this thread. */
export function shared<Value>(name: string, make: () => Value): Value {
  const key = Symbol.for(`batchwise.otel.1.${name}`);
  const all = globalThis as { [key: symbol]: unknown };
  all[key] ??= make();
  return all[key] as Value;
}

/** A value that exists once per meter. `name` distinguishes it from other values of the meter. */
export function ofMeter<Made>(meter: Meter, name: string, make: (meter: Meter) => Made): Made {
  const byMeter = shared(name, () => new WeakMap<Meter, Made>());
  const known = byMeter.get(meter);
  if (known !== undefined) return known;
  const made = make(meter);
  byMeter.set(meter, made);
  return made;
}
