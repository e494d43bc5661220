/**
 * The contenders of the suite `small`: ways to make a batcher with default options. Loaded on
 * demand, so that a process holds the code of only one.
 */
type Handler = (items: readonly number[]) => Promise<number[]>;

export interface Maker<Instance extends object = object> {
  make(handler: Handler): Instance;
  load(instance: Instance, value: number): Promise<number>;
}

function maker<Instance extends object>(
  make: (handler: Handler) => Instance,
  load: (instance: Instance, value: number) => Promise<number>,
): Maker<Instance> {
  return { make, load };
}

const makers: Readonly<Record<string, () => Promise<Maker>>> = {
  dataloader: async () => {
    const { default: DataLoader } = await import("dataloader");
    return maker(
      (handler) => new DataLoader<number, number>(handler),
      (loader, value) => loader.load(value),
    );
  },
  "batchwise-create": async () => {
    const { createBatcher } = await import("batchwise");
    return maker(
      (handler) => createBatcher(handler),
      (batcher, value) => batcher.submit(value),
    );
  },
  "batchwise-plain": async () => {
    const { batch } = await import("batchwise");
    return maker(
      (handler) => batch(handler),
      (submit, value) => submit(value),
    );
  },
};

export async function findMaker(name: string): Promise<Maker> {
  const find = makers[name];
  if (find === undefined) {
    throw new RangeError(`Expected a contender, one of ${Object.keys(makers).join(", ")}, got \`${name}\``);
  }
  return find();
}
