// A list in the order of rank: the highest priority first, and of one priority small calls first. Found by halving, so
// thousands of different priorities cost little. Most of what is empty is dropped.

/** What orders lines while nobody has waited long. */
export interface Rank {
  readonly priority: number;
  readonly isSmall: boolean;
}

export interface Ranked extends Rank {
  readonly isEmpty: boolean;
}

/** Empty ones are kept for reuse up to this many, and a sixteenth of the others: each time they are looked at in vain. */
const KEPT_EMPTY = 8;
const KEPT_SHARE: number = 1 / 16;
/** Up to this many are looked through one by one. */
const FEW = 8;

/** True when entries of rank `a` go before those of rank `b` as long as nobody's priority has risen by waiting. */
export function ranksBefore(a: Rank, b: Rank): boolean {
  return a.priority === b.priority ? a.isSmall && !b.isSmall : a.priority > b.priority;
}

export class Ranks<Member extends Ranked> {
  #members: Member[] = [];
  /** Empty ones are looked for when there are so many. */
  #mostMembers = 2 * KEPT_EMPTY;

  get all(): readonly Member[] {
    return this.#members;
  }

  /** All, after those that are empty have been dropped if they are more than a small part of the `filled` others. */
  mostlyFilled(filled: number): readonly Member[] {
    if (this.#members.length > filled + filled * KEPT_SHARE + KEPT_EMPTY) this.#dropEmpty();
    return this.#members;
  }

  /** The member of a rank, where there is one. */
  find(rank: Rank): Member | undefined {
    if (this.#members.length <= FEW) {
      for (const member of this.#members) if (isSame(member, rank)) return member;
      return undefined;
    }
    const known = this.#members[this.#placeOf(rank)];
    return known !== undefined && isSame(known, rank) ? known : undefined;
  }

  /** Adds a member of a rank that none has yet, and returns it. */
  add(member: Member): Member {
    if (this.#members.length >= this.#mostMembers) this.#dropEmpty();
    this.#members.splice(this.#placeOf(member), 0, member);
    return member;
  }

  /** The first place whose member does not go before this rank. */
  #placeOf(rank: Rank): number {
    let low = 0;
    let high = this.#members.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ranksBefore(this.#members[middle] as Member, rank)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Drops what is empty. */
  #dropEmpty(): void {
    this.#members = this.#members.filter((member) => !member.isEmpty);
    this.#mostMembers = 2 * Math.max(KEPT_EMPTY, this.#members.length);
  }
}

/** The rank of an item that asks for none. */
export const PLAIN: Rank = { priority: 0, isSmall: false };

function isSame(a: Rank, b: Rank): boolean {
  return a.priority === b.priority && a.isSmall === b.isSmall;
}
