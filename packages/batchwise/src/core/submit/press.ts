// Deadlines press: a lane that is held for company must not be held past the deadline of an entry in it. Here entries
// are entered in their lane's list; when to send is decided in policy.ts. Nothing is entered while lanes are not held.

import type { Lane } from "../queue/lane.ts";
import type { Queue } from "../queue/queue.ts";
import type { Sink } from "../queue/recipient.ts";
import type { Segment } from "../queue/segment.ts";
import { PressingTicket, Ticket } from "./callers.ts";
import { Shared } from "./in-flight.ts";
import { PressingSegment } from "./segment-deadlines.ts";

/** Enters all that waits, for lanes may be held from now on. */
export function pressAll(queue: Queue): void {
  for (const lane of queue.lanes()) {
    for (const segment of lane.segments()) {
      if (segment.earliestDue < Number.POSITIVE_INFINITY) pressSegment(queue, lane, segment);
      for (const sink of segment.sinks) pressSink(queue, lane, sink);
    }
  }
}

/** Enters a segment some of whose entries have deadlines. */
export function pressSegment(queue: Queue, lane: Lane, segment: Segment): void {
  const pressing = new PressingSegment(segment);
  segment.press(pressing);
  lane.press(pressing);
  queue.hot.add(lane);
}

/** Enters whoever waits behind a sink and has a deadline, and whoever joins later. */
export function pressSink(queue: Queue, lane: Lane, sink: Sink | null): void {
  if (sink instanceof Ticket) {
    pressTicket(queue, lane, sink);
  } else if (sink instanceof Shared) {
    sink.onJoin = (ticket) => pressTicket(queue, lane, ticket);
    for (const ticket of sink.callers) pressTicket(queue, lane, ticket);
  }
}

function pressTicket(queue: Queue, lane: Lane, ticket: Ticket): void {
  if (ticket.dueAt === Number.POSITIVE_INFINITY || !ticket.isWaiting) return;
  lane.press(new PressingTicket(ticket));
  queue.hot.add(lane);
}
