// Counts the events of one dispatcher's process.

import type { Attributes } from "@opentelemetry/api";
import type { DispatcherEventName, DispatcherListener, SubmitEvent, UsageEvent } from "../dispatch/contract/events.ts";
import { type DISPATCHER_SERIES, DISPATCHER_LABELS as LABEL } from "./dispatcher-series.ts";
import type { ErrorTypes } from "./error-type.ts";
import { type Instruments, toSeconds } from "./series.ts";

type DispatcherInstruments = Instruments<typeof DISPATCHER_SERIES>;

/** Listens to one event. */
type Listen = <Name extends DispatcherEventName>(event: Name, listener: DispatcherListener<Name>) => void;

/** The event source, the instruments, and the labels of all series. */
export interface CounterParts {
  readonly on: Listen;
  readonly to: DispatcherInstruments;
  readonly attributes: Attributes;
  readonly hasTenant: boolean;
  readonly types: ErrorTypes;
}

/** Counts all events. */
export function countEvents(parts: CounterParts): void {
  countRequests(parts);
  countCalls(parts);
  countTrouble(parts);
  countDeliveries(parts);
}

/** Events from requests to batches, and outcomes of batches. */
function countRequests({ on, to, attributes, hasTenant }: CounterParts): void {
  on("enqueue", ({ stored, existing, conflicts }) => {
    const results = Object.entries({ stored, existing, conflict: conflicts });
    for (const [result, count] of results) to.enqueued.add(count, { ...attributes, [LABEL.result]: result });
  });
  on("seal", ({ account, endpoint, model, requests, tokens, oldestMs }) => {
    const of = { ...attributes, [LABEL.account]: account, [LABEL.endpoint]: endpoint, [LABEL.model]: model };
    to.sealed.add(1, of);
    to.laneWait.record(toSeconds(oldestMs), of);
    to.batchRequests.record(requests, of);
    to.batchTokens.record(tokens, of);
  });
  on("batch", ({ batch: { account, endpoint, model }, ageMs }) => {
    const of = { ...attributes, [LABEL.account]: account, [LABEL.endpoint]: endpoint, [LABEL.model]: model };
    to.batchDuration.record(toSeconds(ageMs), of);
  });
  on("usage", (event) => countUsage(to, event, { ...attributes, ...labelsOf(event, hasTenant) }));
}

function labelsOf({ account, endpoint, model, tenant }: UsageEvent, hasTenant: boolean): Attributes {
  const labels = { [LABEL.account]: account, [LABEL.endpoint]: endpoint, [LABEL.model]: model };
  return hasTenant ? { ...labels, [LABEL.tenant]: tenant } : labels;
}

function countUsage(to: DispatcherInstruments, usage: UsageEvent, of: Attributes): void {
  for (const [status, count] of Object.entries(usage.ended)) {
    if (count > 0) to.ended.add(count, { ...of, [LABEL.status]: status });
  }
  to.inputTokens.add(usage.inputTokens, of);
  to.cachedTokens.add(usage.cachedTokens, of);
  to.outputTokens.add(usage.outputTokens, of);
  to.reasoningTokens.add(usage.reasoningTokens, of);
  if (usage.price !== null) to.price.add(usage.price, of);
}

/** Calls to providers. */
function countCalls({ on, to, attributes, types }: CounterParts): void {
  const ofCall = ({
    account,
    result,
    code,
  }: Pick<SubmitEvent, "account" | "code"> & { result: string }): Attributes => ({
    ...attributes,
    [LABEL.account]: account,
    [LABEL.result]: result,
    ...failed(types, code),
  });
  on("upload", (event) => {
    to.uploads.add(1, ofCall(event));
    to.uploadDuration.record(toSeconds(event.durationMs), { ...attributes, [LABEL.account]: event.account });
  });
  on("create", (event) => {
    to.creates.add(1, ofCall(event));
    to.createDuration.record(toSeconds(event.durationMs), { ...attributes, [LABEL.account]: event.account });
  });
  on("adopt", ({ account, duplicates }) => {
    to.adoptions.add(1, { ...attributes, [LABEL.account]: account });
    to.duplicates.add(duplicates, { ...attributes, [LABEL.account]: account });
  });
  on("poll", (event) => to.polls.add(1, ofCall(event)));
  on("collect", ({ account, lines, durationMs, code }) => {
    to.collected.add(lines, { ...attributes, [LABEL.account]: account });
    to.collectDuration.record(toSeconds(durationMs), {
      ...attributes,
      [LABEL.account]: account,
      ...failed(types, code),
    });
  });
  on("sweep", ({ account, duplicates, filesDeleted }) => {
    to.duplicates.add(duplicates, { ...attributes, [LABEL.account]: account });
    to.filesDeleted.add(filesDeleted, { ...attributes, [LABEL.account]: account });
  });
}

/** Events that an operator should see. */
function countTrouble({ on, to, attributes, types }: CounterParts): void {
  on("leaseLost", ({ account, reason }) => {
    to.leasesLost.add(1, { ...attributes, [LABEL.account]: account, [LABEL.reason]: reason });
  });
  on("quarantine", ({ account, code }) => {
    to.quarantines.add(1, { ...attributes, [LABEL.account]: account, ...failed(types, code) });
  });
  on("split", ({ account, kind, code }) => {
    to.splits.add(1, { ...attributes, [LABEL.account]: account, [LABEL.reason]: kind, ...failed(types, code) });
  });
  on("pause", ({ ledger, code }) => {
    to.pauses.add(1, { ...attributes, [LABEL.account]: ledger, ...failed(types, code) });
  });
  on("clockStep", ({ believed }) => {
    to.clockSteps.add(1, { ...attributes, [LABEL.result]: believed ? "believed" : "seen" });
  });
  on("setBack", ({ code }) => to.setBacks.add(1, { ...attributes, ...failed(types, code) }));
}

function countDeliveries({ on, to, attributes }: CounterParts): void {
  on("delivery", ({ sink, result, durationMs }) => {
    const of = { ...attributes, [LABEL.sink]: sink };
    to.deliveries.add(1, { ...of, [LABEL.result]: result });
    to.deliveryDuration.record(toSeconds(durationMs), of);
  });
  on("prune", ({ requests }) => to.pruned.add(requests, attributes));
}

function failed(types: ErrorTypes, code: string | null): Attributes {
  return code === null ? {} : { [LABEL.error]: types.ofProvider(code) };
}
