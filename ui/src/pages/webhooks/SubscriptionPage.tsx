import { useQuery } from "@tanstack/react-query";

import { LIST_REFRESH_MS, read, send, useAct, useList } from "../../api/queries";
import { useLastPart } from "../../kit/address";
import { ofSubscription } from "./listener";
import { ListenerPage } from "./ListenerPage";

/** One subscription. */
export default function SubscriptionPage() {
  const id = useLastPart();
  const found = useQuery({ ...read("/api/v1/subscriptions/{id}", { path: { id } }), refetchInterval: LIST_REFRESH_MS });
  const deliveries = useList("/api/v1/subscriptions/{id}/deliveries", { path: { id } });
  const enable = useAct(() => send("post", "/api/v1/subscriptions/{id}/enable", { path: { id } }));
  const resend = useAct(() => send("post", "/api/v1/subscriptions/{id}/resend", { path: { id } }));
  const remove = useAct(() => send("delete", "/api/v1/subscriptions/{id}", { path: { id } }));
  return <ListenerPage title="Subscription" found={found} listener={found.data === undefined ? undefined : ofSubscription(found.data)} deliveries={deliveries} enable={enable} resend={resend} remove={remove} />;
}
