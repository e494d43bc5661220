// What other decorators have put on a method, for the function that takes its place: properties of
// the function, its length, and metadata of `Reflect.defineMetadata`, where a program has loaded
// that.

interface ReflectMetadata {
  getOwnMetadataKeys?(target: object): unknown[];
  getOwnMetadata?(key: unknown, target: object): unknown;
  defineMetadata?(key: unknown, value: unknown, target: object): void;
}

/** What each function has of its own. */
const OF_FUNCTIONS: readonly PropertyKey[] = ["name", "prototype", "arguments", "caller"];

export function keepMetadata(method: object, replacement: object): void {
  for (const key of Reflect.ownKeys(method)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(method, key);
    if (descriptor !== undefined && !OF_FUNCTIONS.includes(key)) Reflect.defineProperty(replacement, key, descriptor);
  }
  const { getOwnMetadataKeys, getOwnMetadata, defineMetadata } = Reflect as ReflectMetadata;
  for (const key of getOwnMetadataKeys?.(method) ?? []) {
    defineMetadata?.(key, getOwnMetadata?.(key, method), replacement);
  }
}
