// The growth of a counter, including its first event. `increase` misses that event, because it
// compares existing samples, and most counters of the dispatcher have none before it.

/**
 * PromQL for the growth of each series in the last hour, to put into `sum(…)`. A series counts as
 * new if it was absent in the day before that hour, so a gap in the scrapes does not count old
 * events again.
 */
export function gainedInHour(name: string, labels = ""): string {
  const series = `${name}${labels === "" ? "" : `{${labels}}`}`;
  const increase = `increase(${series}[1h])`;
  return `${series} - (last_over_time(${series}[1d] offset 1h) or ${series} * 0) > ${increase} or ${increase}`;
}
