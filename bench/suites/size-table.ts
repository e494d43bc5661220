/** The table of a request's space in a store in each of its states, and of the store's log. */
import { figure, type Table } from "../report/section.ts";
import type { Rounds } from "../store/rounds.ts";

const STATES: readonly (readonly [text: string, name: string])[] = [
  ["waits", "waiting"],
  ["is in a batch", "inBatch"],
  ["has ended", "ended"],
  ["is pruned", "pruned"],
];

export function sizeTable(title: string, seen: Rounds): Table {
  return {
    head: [`a request on ${title}, body 2 KB, result 500 bytes`, "takes", "written ahead to get there"],
    rows: STATES.map(([text, name]) => [
      text,
      `${figure(seen.of("size", `${name}Bytes`))} bytes`,
      `${figure(seen.of("size", `${name}Written`))} bytes`,
    ]),
  };
}
