// The part of a row that all requests of one endpoint and model share: the accounts that serve
// them, what these refuse, and the lane. Pure, except for the accounts' own checks.

import { serves } from "../../accounts/rank-accounts.ts";
import { hasText } from "../../batches/collect/answer-text.ts";
import type { Account } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { atOnce } from "../../format/at-once.ts";
import { laneName, parseLane, sharedMark } from "../../format/encode.ts";
import { type LineLimits, lineLimits } from "../../format/line-limits.ts";
import type { ResolvedOptions } from "../../options/resolve-options.ts";
import { type AnswerFormat, answerFormat } from "./answer-format.ts";

const CHAT = "/v1/chat/completions";

export type RouteOptions = Pick<ResolvedOptions, "accounts" | "thresholds" | "checkBodies" | "check">;

/** Values shared by all requests of one endpoint, model and number of inputs. */
export interface Route extends LineLimits {
  readonly endpoint: Endpoint;
  readonly model: string;
  /** Maximum inputs of a request in the lane. */
  readonly inputs: number;
  /** The lane of requests without a group. */
  readonly lane: string;
  /** Whether some account has groups. */
  readonly mayShare: boolean;
  readonly accounts: readonly Account[];
  /** The first account that names cached prefixes; null if none does. */
  readonly caching: Account | null;
  /** Whether chat bodies are checked against OpenAI's types. */
  readonly isChecked: boolean;
  /** The schema that is sent with bodies; null for none. */
  readonly format: AnswerFormat | null;
}

/**
 * Throws if no account serves the endpoint and model. All accounts that do must be able to take the
 * request.
 */
export function route(options: RouteOptions, endpoint: Endpoint, model: string, inputs: number): Route {
  const { accounts: all, thresholds, checkBodies } = options;
  const accounts = [...all.values()].filter((account) => serves(account, { endpoint, model }));
  if (accounts.length === 0) {
    throw noAccount([...all.values()], endpoint, model);
  }
  const checked = options.check?.mark ?? "";
  if (checked !== "" && !hasText(endpoint)) {
    throw new DispatchError("INVALID_REQUEST", `Answers of ${endpoint} have no text, so that they cannot be checked.`);
  }
  return {
    endpoint,
    model,
    inputs,
    lane: laneName({ endpoint, group: "", model, inputs, shared: "", urgent: false, checked, payers: [], cached: "" }),
    mayShare: accounts.some(({ groupOf }) => groupOf !== undefined),
    accounts,
    caching: accounts.find(({ cachedPrefix }) => cachedPrefix !== undefined) ?? null,
    isChecked: checkBodies && endpoint === CHAT && accounts.some((account) => account.checkBodies !== false),
    format: answerFormat(options.check?.jsonSchema ?? null, model, accounts),
    ...lineLimits(thresholds, accounts),
  };
}

function noAccount(accounts: readonly Account[], endpoint: Endpoint, model: string): DispatchError {
  const message = `No account serves the model "${model}" at ${endpoint}`;
  const ofModel = accounts.filter(({ models }) => models === null || models.includes(model));
  const others = new Set(ofModel.flatMap(({ capabilities }) => capabilities.endpoints));
  const named = new Set(
    accounts.flatMap(({ models, capabilities }) => (capabilities.endpoints.includes(endpoint) ? (models ?? []) : [])),
  );
  const ofEndpoint = named.size === 0 ? "" : ` Their \`models\` there are ${listed(named)}.`;
  const known = others.size === 0 ? ofEndpoint : ` Those that take the model have ${listed(others)}.`;
  return new DispatchError("NO_ACCOUNT", `${message}.${known}`);
}

/** The lane of requests that all accounts put in the same groups. */
export function laneOfGroup({ endpoint, lane, accounts, mayShare }: Route, body: JsonObject): string {
  if (!mayShare) return lane;
  const groups = accounts.flatMap((account) => {
    const group = atOnce(account, "groupOf", account.groupOf?.(endpoint, body)) ?? null;
    return group === null ? [] : [[account.name, group] as const];
  });
  return groups.length === 0 ? lane : laneName({ ...parseLane(lane), shared: sharedMark(groups) });
}

/** Endpoints in words. */
export function listed(endpoints: ReadonlySet<string>): string {
  return endpoints.size === 0 ? "none" : [...endpoints].sort().join(", ");
}
