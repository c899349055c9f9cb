/**
 * The page of an address that there is none for: the bar leads to those that there are.
 */
import { byId } from "../shared/page/dom.js";
import { FleetStatus } from "../shared/service/fleet-status.js";
import { pageConfig } from "../shared/service/fleet.js";
import { mountNav } from "../shared/page/nav.js";

new FleetStatus(mountNav(byId("nav"))).start();
pageConfig().then(
  ({ pages }) => (byId("home").hidden = Array.isArray(pages) && !pages.includes("studio")),
  () => null, // the lamp tells it
);
