import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Rank, type Ranked, Ranks, ranksBefore } from "../../../src/core/queue/ranks.ts";
import { range } from "../../support.ts";

class Member implements Ranked {
  readonly priority: number;
  readonly isSmall: boolean;
  isEmpty = false;

  constructor(priority: number, isSmall: boolean) {
    this.priority = priority;
    this.isSmall = isSmall;
  }
}

const rank = fc.record({
  priority: fc.oneof(fc.integer({ min: -3, max: 40 }), fc.double({ noNaN: true })),
  isSmall: fc.boolean(),
});

function inOrder(members: readonly Member[]): boolean {
  return members.slice(1).every((next, index) => ranksBefore(members[index] as Member, next));
}

test("a rank goes before those of lower priorities, and a small one before a large one of its own", () => {
  fc.assert(
    fc.property(rank, rank, (a, b) => {
      const isBefore = a.priority > b.priority || (a.priority === b.priority && a.isSmall && !b.isSmall);
      expect(ranksBefore(a, b)).toBe(isBefore);
    }),
  );
});

function memberOf(ranks: Ranks<Member>, rank: Rank, make: () => Member): Member {
  return ranks.find(rank) ?? ranks.add(make());
}

describe("the members of ranks", () => {
  test("are in order, one of each rank, and those that are not empty stay the same", () => {
    const step = fc.record({ rank, empties: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
        const ranks = new Ranks<Member>();
        const filled: Member[] = [];
        for (const { rank: of, empties } of steps) {
          const member = memberOf(ranks, of, () => new Member(of.priority, of.isSmall));
          expect(member.priority === of.priority && member.isSmall === of.isSmall).toBe(true);
          const known = filled.find(({ priority, isSmall }) => priority === of.priority && isSmall === of.isSmall);
          if (known !== undefined) expect(member).toBe(known);
          member.isEmpty = empties && known === undefined;
          if (!member.isEmpty && known === undefined) filled.push(member);
          expect(inOrder(ranks.all)).toBe(true);
          expect(ranks.all).toEqual(expect.arrayContaining(filled));
        }
      }),
      { numRuns: 25 },
    );
  });

  test("that are empty are dropped", () => {
    const ranks = new Ranks<Member>();
    for (const priority of range(10_000)) {
      const of = { priority: priority + 1, isSmall: false };
      memberOf(ranks, of, () => new Member(of.priority, false)).isEmpty = true;
    }
    expect(ranks.all.length).toBeLessThan(20);
  });

  test("are found in few steps, however many there are", () => {
    const ranks = new Ranks<Member>();
    for (const priority of range(4_096))
      memberOf(ranks, { priority, isSmall: false }, () => new Member(priority, false));
    let reads = 0;
    const asked = {
      isSmall: false,
      get priority(): number {
        reads += 1;
        return 1_000;
      },
    };
    expect(memberOf(ranks, asked, () => new Member(-1, false)).priority).toBe(1_000);
    expect(reads).toBeLessThan(50);
  });
});
