// Reads plain options by a table of their rules and defaults. Pure.

import { check, type Rule, refuseUnknown } from "../../core/contract/validate.ts";

/**
 * The rule and the default of each option that does not depend on another. Without a default, an
 * absent option is undefined; if the default is null, a given null counts as absent.
 */
export type OptionTable<Given> = {
  readonly [Name in keyof Given]?: readonly [rule: Rule, standard?: Given[Name] | null];
};

/** What `readOptions` returns for a table. */
export type ReadOptions<Given, Table extends OptionTable<Given>> = {
  readonly [Name in keyof Table & keyof Given]-?: Exclude<Given[Name], undefined> | Absent<Table[Name]>;
};

type Absent<Row> = Row extends readonly [Rule] ? undefined : Row extends readonly [Rule, null] ? null : never;

/** Throws INVALID_OPTION for a value that breaks its rule. `prefix`: of names in messages. */
export function readOptions<Given extends object, const Table extends OptionTable<Given>>(
  given: Given,
  table: Table,
  prefix = "",
): ReadOptions<Given, Table> {
  const entries = Object.entries(table as OptionTable<Record<string, unknown>>).map(([name, row]) => {
    const [rule, standard] = row as readonly [Rule, unknown?];
    const { [name]: value = standard } = given as Record<string, unknown>;
    const isAbsent = value === standard && (value === undefined || value === null);
    if (!isAbsent) check(`${prefix}${name}`, rule, value);
    return [name, value];
  });
  return Object.fromEntries(entries) as ReadOptions<Given, Table>;
}

/** The same for options that are all in the table: an unknown name is refused first. */
export function readOnly<Given extends object, const Table extends OptionTable<Given>>(
  given: Given,
  table: Table,
  prefix = "",
  hints: Readonly<Record<string, string>> = {},
): ReadOptions<Given, Table> {
  refuseUnknown(given, Object.keys(table), prefix, hints);
  return readOptions(given, table, prefix);
}
