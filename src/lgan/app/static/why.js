// The explanation: coloured picture, what the colours mean, what counted most, what if.

import { ask } from "./api.js";
import { h, number, picture, signed } from "./dom.js";
import { headline } from "./prediction.js";

const ELEMENTS = ["C", "N", "O", "F", "S", "Cl", "Br", "P", "H"];
const UNITS = { "log-odds": "evidence (log-odds)", logit: "evidence (log-odds)", number: "predicted value" };

export function legend(found) {
  if (!found.limit) return h("p", { className: "soft" }, "No part counts for or against.");
  return h("div", { className: "legend" },
    h("i", { className: "gradient" }),
    h("span", {}, `−${number(found.limit)}`, h("br"), `blue: ${found.blue}`),
    h("span", {}, "0"),
    h("span", {}, `+${number(found.limit)}`, h("br"), `red: ${found.red}`),
    found.withheld && h("p", { className: "soft alone" }, "Scores and “what if” are of the structure alone: of what the model says without what it is told of the whole graph."));
}

export function alt(found) {
  const top = strongest(found).slice(0, 3).map((part) => `${part.name} ${signed(part.score)}`);
  return `Scores for ${found.class}: ${top.join(", ") || "none"}`;
}

function bonds(found) {
  return found.bonds
    .map(([u, v, score]) => ({ u, v, score, name: `${found.labels[u]}–${found.labels[v]}` }))
    .sort((a, b) => Math.abs(b.score) - Math.abs(a.score));
}

function strongest(found) {
  const parts = found.fragments.length ? found.fragments : bonds(found);
  return [...parts].sort((a, b) => Math.abs(b.score) - Math.abs(a.score)).filter((part) => part.score !== 0);
}

export function parts(found) {
  const list = strongest(found).slice(0, 6);
  const largest = Math.max(...list.map((part) => Math.abs(part.score)), 1e-12);
  return h("table", { className: "parts" },
    h("caption", {}, found.fragments.length ? "Groups that counted most" : "Edges that counted most"),
    h("tbody", {}, list.map((part) => h("tr", {},
      h("th", { scope: "row" }, part.name),
      h("td", {}, h("i", {
        className: part.score < 0 ? "meter blue" : "meter red",
        style: { width: `${(100 * Math.abs(part.score)) / largest}%` },
      })),
      h("td", { className: "figure" }, `${part.score < 0 ? "▼" : "▲"} ${signed(part.score)}`)))));
}

// Places in the picture that can be clicked: the middle of every bond, from the drawing itself.
function hotspots(found, choose) {
  const box = /viewBox='([\d. -]+)'/.exec(found.svg);
  if (!box) return [];
  const [, , width, height] = box[1].split(" ").map(Number);
  const sums = new Map();
  for (const path of found.svg.matchAll(/class='bond-\d+ atom-(\d+) atom-(\d+)' d='([^']+)'/g)) {
    const key = [Number(path[1]), Number(path[2])].sort((a, b) => a - b).join("-");
    const numbers = path[3].match(/-?[\d.]+/g).map(Number);
    const sum = sums.get(key) ?? [0, 0, 0];
    for (let i = 0; i + 1 < numbers.length; i += 2) {
      sum[0] += numbers[i];
      sum[1] += numbers[i + 1];
      sum[2] += 1;
    }
    sums.set(key, sum);
  }
  return bonds(found).filter((bond) => sums.has(`${bond.u}-${bond.v}`)).map((bond) => {
    const [x, y, count] = sums.get(`${bond.u}-${bond.v}`);
    const words = `${bond.name} ${signed(bond.score)}`;
    return h("button", {
      type: "button", className: "spot", tabIndex: -1, title: words, "aria-label": `Bond ${words}: what if it were not there?`,
      style: { left: `${(100 * x) / count / width}%`, top: `${(100 * y) / count / height}%` },
      onclick: () => choose(bond),
    });
  });
}

export function why(model, subject, found, row, actions) {
  const changes = whatIf(model, subject, found, row, actions);
  return h("div", { className: "explained" },
    h("div", { className: "canvas" }, picture(found.svg, alt(found)), hotspots(found, changes.choose)),
    legend(found),
    h("div", { className: "counted" }, parts(found), changes.element));
}

function whatIf(model, subject, found, row, actions) {
  const list = bonds(found);
  const removing = list.map((bond, i) => h("option", { value: `bond ${i}` }, `without ${model.molecules ? "the bond" : "the edge"} ${bond.name}`));
  const changing = model.molecules
    ? found.labels.map((label, i) => h("option", { value: `atom ${i}` }, `with another atom at ${label}`)) : [];
  const what = h("select", { "aria-label": "What to change", onchange: () => { element.hidden = !what.value.startsWith("atom"); } }, removing, changing);
  const element = h("select", { "aria-label": "The new element", hidden: true }, ELEMENTS.map((name) => h("option", { value: name }, name)));
  const result = h("div", { className: "changed", "aria-live": "polite" });

  async function tryIt() {
    const [kind, place] = what.value.split(" ");
    const index = Number(place);
    const change = kind === "bond" ? { remove: [list[index].u, list[index].v] } : { atom: index, element: element.value };
    const promised = kind === "bond" ? -list[index].score : -found.atoms[index];
    result.replaceChildren(h("p", { className: "soft" }, "asking…"));
    try {
      const told = await ask("/api/what-if", { ...subject, class: found.class, ...change });
      result.replaceChildren(
        h("dl", { className: "facts" },
          h("dt", {}, "prediction"), h("dd", {}, `${headline(model, row)} → `, h("strong", {}, headline(model, told.row))),
          h("dt", {}, UNITS[found.of]), h("dd", {}, `${signed(told.change)} in fact, ${signed(promised)} by the ${kind === "bond" ? "score" : "atom’s score, were it gone"}`)),
        told.smiles ? h("p", {},
          h("button", { type: "button", className: "quiet", onclick: () => actions.open(told.smiles) }, "Open it"), " ",
          h("button", { type: "button", className: "quiet", onclick: () => actions.pin(told.smiles) }, "Pin it"), " ",
          h("code", {}, told.smiles)) : "");
    } catch (error) {
      result.replaceChildren(h("p", { className: "message" }, error.message));
    }
  }

  const form = h("form", { className: "whatif", onsubmit: (event) => { event.preventDefault(); tryIt(); } },
    h("h3", {}, "What if"),
    list.length || changing.length
      ? h("div", { className: "row" }, what, element, h("button", { type: "submit" }, "Try"))
      : h("p", { className: "soft" }, "There is nothing to take away."),
    result);
  return {
    element: form,
    choose(bond) {
      what.value = `bond ${list.findIndex((each) => each.u === bond.u && each.v === bond.v)}`;
      element.hidden = true;
      tryIt();
    },
  };
}
