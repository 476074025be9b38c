// The page: tabs, light and dark, and what the tabs do for each other.

import { get } from "./api.js";
import { Ask } from "./ask.js";
import { Compare } from "./compare.js";
import { byId, h, say } from "./dom.js";
import { Many } from "./many.js";
import { showModel } from "./model.js";
import { smilesOf } from "./structures.js";

const TABS = ["ask", "compare", "many", "model"];

function select(name, focus = false) {
  for (const each of TABS) {
    const tab = byId(`tab-${each}`);
    byId(each).hidden = each !== name;
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
    if (each === name && focus) tab.focus();
  }
}

function tabs() {
  TABS.forEach((name, i) => {
    const tab = byId(`tab-${name}`);
    tab.addEventListener("click", () => select(name));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) select(TABS[(i + step + TABS.length) % TABS.length], true);
    });
  });
}

function theme() {
  const button = byId("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    const chosen = localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = chosen;
    button.textContent = chosen === "dark" ? "Light" : "Dark";
  };
  button.addEventListener("click", () => {
    localStorage.setItem("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    show();
  });
  dark.addEventListener("change", show);
  show();
}

// A file may be dropped anywhere; a browser would leave the page for it.
function drops(take) {
  const over = (shown) => document.body.classList.toggle("over", shown);
  const files = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => { if (files(event)) { event.preventDefault(); over(true); } });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) over(false); });
  addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    over(false);
    take(event.dataTransfer.files[0]);
  });
}

async function begin() {
  tabs();
  theme();
  let model;
  try {
    model = await get("/api/model");
  } catch (error) {
    byId("ask").replaceChildren(h("p", { className: "message" }, error.message));
    return;
  }
  byId("title").textContent = model.name;
  byId("subtitle").textContent = `${model.members > 1 ? `${model.members} members` : "one model"} trained on ${model.graphs.toLocaleString("en")} ${model.molecules ? "molecules" : "graphs"}`;
  document.title = `${model.name} – lgan`;
  const actions = {
    open(smiles) {
      select("ask");
      asking.open(smiles);
    },
    pin(subject) {
      comparing.pin(subject);
      say("Pinned");
    },
    async openRow(batch, row) {
      select("ask");
      if (!batch.structures) {
        const graph = await get(`/api/batches/${batch.id}/graphs/${row[""] - 1}`);
        asking.offer([async () => graph], `row ${row[""]}, graph`);
        return;
      }
      asking.open(await smilesOf(row[batch.structures]));
    },
  };
  const asking = new Ask(byId("ask"), model, actions);
  const comparing = new Compare(byId("compare"), model, actions);
  const table = new Many(byId("many"), model, actions);
  drops((file) => {
    if (!model.molecules && !byId("ask").hidden) return asking.read(file);
    select("many");
    return table.take(file);
  });
  showModel(byId("model"), model, actions);
  const smiles = new URLSearchParams(begun).get("smiles");
  if (smiles && model.molecules) asking.open(smiles);
  await asking.edit();
}

const begun = location.search;
begin();
