import type { ReactNode } from "react";

import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Stack } from "./Stack";
import { ErrorState } from "./States";

/** Asks before something is done that cannot be taken back; a refusal is shown where it was asked. */
export function Confirm({
  title,
  action,
  isDanger = false,
  isPending,
  isReady = true,
  error,
  onConfirm,
  onClose,
  size = "normal",
  children,
}: {
  title: string;
  /** What the button says: the verb. */
  action: string;
  isDanger?: boolean;
  isPending: boolean;
  /** Whether everything that it needs was given. */
  isReady?: boolean;
  error?: unknown;
  onConfirm: () => void;
  onClose: () => void;
  size?: "normal" | "wide";
  children: ReactNode;
}) {
  return (
    <Dialog
      title={title}
      isOpen
      onClose={onClose}
      size={size}
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button look={isDanger ? "danger" : "primary"} isPending={isPending} disabled={!isReady} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      <Stack>
        {children}
        {error !== null && error !== undefined && <ErrorState isInline error={error} />}
      </Stack>
    </Dialog>
  );
}
