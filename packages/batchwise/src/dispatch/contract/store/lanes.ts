// Lane names, as far as stores read them: endpoint, group and model, separated by spaces. Endpoint
// and group contain no space. The group is empty except for parts of split batches.

const GROUP = /^([^ ]* )[^ ]+(?= )/;

/** The lane without its group, by which `usage` sums. Returns a name of another form unchanged. */
export function laneProper(name: string): string {
  return name.replace(GROUP, "$1");
}
