// The public API of "batchwise/testing": names only.

export type { Clock } from "../core/time/clock.ts";
export { type PuppetCall, type PuppetHandler, puppetHandler } from "./puppet-handler.ts";
export { type VirtualClock, virtualClock } from "./virtual-clock.ts";
