// What a counter has gained, also where it appears with its first event. `increase` alone does not
// see that event: it compares the samples that there are, and most counters of the dispatcher have
// none before.

/**
 * PromQL for the growth of each series in the last hour, to be put into `sum(…)`. A series counts
 * as new where it was not there in the day before that hour, so a gap in the scrapes does not count
 * what was counted long ago once more.
 */
export function gainedInHour(name: string, labels = ""): string {
  const series = `${name}${labels === "" ? "" : `{${labels}}`}`;
  const increase = `increase(${series}[1h])`;
  return `${series} - (last_over_time(${series}[1d] offset 1h) or ${series} * 0) > ${increase} or ${increase}`;
}
