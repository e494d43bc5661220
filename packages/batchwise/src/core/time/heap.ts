// A binary min-heap whose members may leave or move later without telling it: a stale top is dropped or sifted down
// when it is looked at. That makes leaving O(1) and needs one rule of its members: a member's key never decreases
// while it is in the heap. When more than half of the members have left, the heap is rebuilt, so memory stays bounded
// by twice the number present.

const REBUILD_ABOVE = 64;

/** A member knows whether it is in its heap, so that pushing it twice does nothing. */
export interface Heaped {
  heaped: boolean;
}

export class LazyHeap<Member extends Heaped> {
  readonly #keyOf: (member: Member) => number;
  readonly #isGone: (member: Member) => boolean;
  readonly #orderOf: ((member: Member) => number) | undefined;
  #members: Member[] = [];
  #keys: number[] = [];
  #gone = 0;

  /** `orderOf` decides between equal keys; it goes up from push to push. Without it, equal keys are in any order. */
  constructor(
    keyOf: (member: Member) => number,
    isGone: (member: Member) => boolean,
    orderOf?: (member: Member) => number,
  ) {
    this.#keyOf = keyOf;
    this.#isGone = isGone;
    this.#orderOf = orderOf;
  }

  push(member: Member): void {
    if (member.heaped) return;
    member.heaped = true;
    this.#members.push(member);
    this.#keys.push(this.#keyOf(member));
    this.#siftUp(this.#members.length - 1);
  }

  /** The member with the smallest key, or undefined. */
  peek(): Member | undefined {
    for (;;) {
      const top = this.#members[0];
      if (top === undefined) return undefined;
      if (this.#isGone(top)) {
        this.#dropTop(top);
        continue;
      }
      const key = this.#keyOf(top);
      if (key <= (this.#keys[0] as number)) return top;
      this.#keys[0] = key;
      this.#siftDown(0);
    }
  }

  /** Takes the top out. */
  shift(): void {
    const top = this.#members[0];
    if (top !== undefined) this.#dropTop(top);
  }

  /**
   * Tells the heap that members have left, so that it can keep its size in proportion. A count that is too high costs
   * a rebuild too early, and no more than the steps it was counted in.
   */
  noteGone(count: number = 1): void {
    this.#gone += count;
    if (this.#gone * 2 > this.#members.length && this.#members.length > REBUILD_ABOVE) this.#rebuild();
  }

  #dropTop(top: Member): void {
    top.heaped = false;
    if (this.#gone > 0 && this.#isGone(top)) this.#gone -= 1;
    const last = this.#members.pop() as Member;
    const key = this.#keys.pop() as number;
    if (this.#members.length === 0) return;
    this.#members[0] = last;
    this.#keys[0] = key;
    this.#siftDown(0);
  }

  #rebuild(): void {
    this.#members = this.#members.filter((member) => {
      member.heaped = !this.#isGone(member);
      return member.heaped;
    });
    this.#keys = this.#members.map(this.#keyOf);
    this.#gone = 0;
    for (let index = (this.#members.length >> 1) - 1; index >= 0; index -= 1) this.#siftDown(index);
  }

  #siftUp(start: number): void {
    const members = this.#members;
    const keys = this.#keys;
    const member = members[start] as Member;
    const key = keys[start] as number;
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((keys[parent] as number) <= key) break;
      members[index] = members[parent] as Member;
      keys[index] = keys[parent] as number;
      index = parent;
    }
    members[index] = member;
    keys[index] = key;
  }

  #siftDown(start: number): void {
    const members = this.#members;
    const keys = this.#keys;
    const length = members.length;
    const member = members[start] as Member;
    const key = keys[start] as number;
    let index = start;
    for (let child = 2 * index + 1; child < length; child = 2 * index + 1) {
      if (child + 1 < length && this.#isBefore(child + 1, keys[child] as number, members[child] as Member)) child += 1;
      if (!this.#isBefore(child, key, member)) break;
      members[index] = members[child] as Member;
      keys[index] = keys[child] as number;
      index = child;
    }
    members[index] = member;
    keys[index] = key;
  }
  #isBefore(index: number, key: number, member: Member): boolean {
    const other = this.#keys[index] as number;
    if (other !== key || this.#orderOf === undefined) return other < key;
    return this.#orderOf(this.#members[index] as Member) < this.#orderOf(member);
  }
}
