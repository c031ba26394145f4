import { useQuery } from "@tanstack/react-query";

import { LIST_REFRESH_MS, read, send, useAct, useList } from "../../api/queries";
import { useLastPart } from "../../kit/address";
import { ofWebhook } from "./listener";
import { ListenerPage } from "./ListenerPage";

/** One webhook. */
export default function WebhookPage() {
  const id = useLastPart();
  const found = useQuery({ ...read("/api/v1/webhooks/{id}", { path: { id } }), refetchInterval: LIST_REFRESH_MS });
  const deliveries = useList("/api/v1/webhooks/{id}/deliveries", { path: { id } });
  const enable = useAct(() => send("post", "/api/v1/webhooks/{id}/enable", { path: { id } }));
  const resend = useAct(() => send("post", "/api/v1/webhooks/{id}/resend", { path: { id } }));
  const remove = useAct(() => send("delete", "/api/v1/webhooks/{id}", { path: { id } }));
  return <ListenerPage title="Webhook" found={found} listener={found.data === undefined ? undefined : ofWebhook(found.data)} deliveries={deliveries} enable={enable} resend={resend} remove={remove} />;
}
