// Compiled, not run: a decorated method keeps its type, with and without a context parameter,
// static or private.

import { type BatchContext, batched } from "batchwise";
import { same } from "./same.ts";

class Encoder {
  @batched({ maxBatchSize: 8 })
  async encode(texts: string[]): Promise<number[]> {
    return texts.map((text) => text.length);
  }

  @batched({ key: (text: string) => text.slice(0, 1) })
  async keyed(texts: readonly string[], context?: BatchContext): Promise<(string | undefined)[]> {
    return texts.map(() => context?.key);
  }

  @batched()
  static async count(items: object[]): Promise<readonly number[]> {
    return items.map(() => 1);
  }

  @batched()
  async #hidden(numbers: number[]): Promise<string[]> {
    return numbers.map(String);
  }

  reveal(): Promise<string[]> {
    return this.#hidden([1]);
  }
}

const encoder = new Encoder();
same<typeof encoder.encode, (texts: string[]) => Promise<number[]>>(encoder.encode, true);
same<typeof encoder.keyed, (texts: readonly string[], context?: BatchContext) => Promise<(string | undefined)[]>>(
  encoder.keyed,
  true,
);
same<typeof Encoder.count, (items: object[]) => Promise<readonly number[]>>(Encoder.count, true);
same<ReturnType<typeof encoder.reveal>, Promise<string[]>>(encoder.reveal(), true);
