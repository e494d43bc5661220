// Names of lanes, as far as stores have to read them: endpoint, group and model, with a space after
// each of the first two. The first two hold no space. The group is empty but for parts of split
// batches.

const GROUP = /^([^ ]* )[^ ]+(?= )/;

/**
 * The lane without its group: what `usage` sums by. A name of another form is given back as it is.
 */
export function laneProper(name: string): string {
  return name.replace(GROUP, "$1");
}
