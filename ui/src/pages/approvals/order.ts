/** The order of an inbox: what I may decide, the most urgent first. */

interface Open {
  mayDecide: boolean;
  isOverdue: boolean;
  dueAt: string | null;
  openedAt: string | null;
}

export function inboxOrder(one: Open, other: Open): number {
  return Number(other.mayDecide) - Number(one.mayDecide) || Number(other.isOverdue) - Number(one.isOverdue) || moment(one.dueAt, Infinity) - moment(other.dueAt, Infinity) || moment(one.openedAt, 0) - moment(other.openedAt, 0);
}

/** A moment to compare; two that are absent are equal. */
function moment(at: string | null, absent: number): number {
  const ms = at === null ? NaN : Date.parse(at);
  return Number.isNaN(ms) ? (absent === Infinity ? Number.MAX_SAFE_INTEGER : absent) : ms;
}

/** The people and roles that may decide, in words. */
export function assignees({ users, roles }: { users: readonly string[]; roles: readonly string[] }): string {
  const parts = [...users, ...roles.map((role) => `role ${role}`)];
  return parts.length === 0 ? "everyone" : parts.join(", ");
}
