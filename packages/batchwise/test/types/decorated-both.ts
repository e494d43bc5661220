// Compiled, not run, with standard and with legacy decorators: the types of decorated methods, of
// their second parameter, and of the batchers behind them.

import { type BatchContext, type BatchedCall, type Batcher, batched, batcherOf, type SubmitOptions } from "batchwise";
import { same } from "./same.ts";

class Encoder {
  @batched
  async bare(texts: string[]): Promise<number[]> {
    return texts.map((text) => text.length);
  }

  @batched()
  async optional(texts: readonly string[], call?: BatchedCall): Promise<number[]> {
    return texts.map((_, index) => call?.requests?.[index]?.priority ?? 0);
  }

  @batched({ maxBatchSize: 8, cost: (text: string) => text.length })
  async narrowed(texts: string[], call: BatchedCall = {}): Promise<string[]> {
    if (call.requests === undefined) return texts;
    const context: BatchContext = call;
    same<typeof call.signal, AbortSignal>(call.signal, true);
    return texts.map(() => context.id);
  }

  @batched
  async own(texts: string[], context: BatchContext): Promise<number[]> {
    return texts.map(() => context.cost);
  }

  @batched
  static async count(this: typeof Encoder, items: object[]): Promise<readonly number[]> {
    return items.map(() => 1);
  }

  @batched()
  private async hidden(numbers: number[], call?: BatchedCall): Promise<string[]> {
    return numbers.map((number) => `${number} ${call?.reason}`);
  }

  reveal(options: SubmitOptions): Promise<string[]> {
    batcherOf(this, "hidden").configure({ concurrency: 2 });
    return this.hidden([1], options);
  }

  revealOne(): Promise<string> {
    return batcherOf<number, string>(this, "hidden").submit(1);
  }
}

const encoder = new Encoder();
same<typeof encoder.bare, (texts: string[]) => Promise<number[]>>(encoder.bare, true);
same<typeof encoder.optional, (texts: readonly string[], call?: BatchedCall) => Promise<number[]>>(
  encoder.optional,
  true,
);
void encoder.optional(["a"]);
void encoder.optional(["a"], {});
void encoder.narrowed(["a"], {
  signal: AbortSignal.timeout(1),
  priority: 1,
  cost: 2,
  timeoutMs: 3,
  key: "",
  context: 4,
});

const bare = batcherOf(encoder, "bare");
same<typeof bare, Batcher<string, number>>(bare, true);
const optional = batcherOf(encoder, "optional");
same<typeof optional, Batcher<string, number>>(optional, true);
const own = batcherOf(encoder, "own");
same<typeof own, Batcher<string, number>>(own, true);
const count = batcherOf(Encoder, "count");
same<typeof count, Batcher<object, number>>(count, true);
const hidden = batcherOf<number, string>(encoder, "hidden");
same<typeof hidden, Batcher<number, string>>(hidden, true);
void encoder.reveal({ priority: 1 }).then(() => encoder.revealOne());

export class Wrong {
  // @ts-expect-error: the method takes no array
  @batched
  async one(item: number): Promise<number[]> {
    return [item];
  }

  // @ts-expect-error: the method returns no promise of an array
  @batched
  async sum(items: number[]): Promise<number> {
    return items.length;
  }

  // @ts-expect-error: the method returns no promise
  @batched()
  now(items: number[]): number[] {
    return items;
  }

  // @ts-expect-error: an async generator streams
  @batched()
  async *stream(items: number[]): AsyncGenerator<number[]> {
    yield items;
  }

  // @ts-expect-error: the method has a third parameter
  @batched()
  async more(items: number[], _call: BatchedCall, _more: string): Promise<number[]> {
    return items;
  }

  // @ts-expect-error: a second parameter that is neither submit options nor a context
  @batched()
  async other(items: number[], _normalize: boolean): Promise<number[]> {
    return items;
  }

  // @ts-expect-error: an option for items of another type
  @batched({ cost: (text: string) => text.length })
  async numbers(items: number[]): Promise<number[]> {
    return items;
  }

  // @ts-expect-error: a getter
  @batched()
  get size(): number {
    return 1;
  }

  // @ts-expect-error: a field
  @batched()
  field = 1;
}

// @ts-expect-error: a class
@batched()
export class WrongClass {}

// @ts-expect-error: submit options that do not exist
void encoder.optional(["a"], { timeout: 5 });
// @ts-expect-error: a priority that is no number
void encoder.optional(["a"], { priority: "high" });
// @ts-expect-error: a method whose callers give no options
void encoder.bare(["a"], { priority: 1 });
// @ts-expect-error: an item of another type
void batcherOf(encoder, "bare").submit(1);
// @ts-expect-error: no object
batcherOf("encoder", "bare");
