/** Keys and who made them: a revoked key takes those along that were made by it. */

interface Made {
  id: string;
  createdBy: string;
  state: string;
}

/** The active keys that were made by a key, or by those, in the order of the list. */
export function fallsWith<K extends Made>(keys: readonly K[], id: string): K[] {
  const fallen = new Set([id]);
  let isGrowing = true;
  while (isGrowing) {
    const next = keys.filter((key) => !fallen.has(key.id) && fallen.has(makerOf(key) ?? ""));
    next.forEach((key) => fallen.add(key.id));
    isGrowing = next.length > 0;
  }
  return keys.filter((key) => key.id !== id && fallen.has(key.id) && key.state === "active");
}

/** The id of the key that made it; null: a person, or a name of the machine. */
export const makerOf = ({ createdBy }: Made): string | null => (createdBy.startsWith("key:") ? createdBy.slice(4) : null);
