// Pinned molecules or graphs side by side, in one scale of colours.

import { ask } from "./api.js";
import { byId, h, picture, signed } from "./dom.js";
import { prediction } from "./prediction.js";
import { alt, legend } from "./why.js";

export class Compare {
  constructor(root, model, actions) {
    Object.assign(this, { root, model, actions, pinned: [] });
    this.render();
  }

  async pin(subject) {
    const { name, ...one } = typeof subject === "string" ? { smiles: subject } : subject;
    const key = JSON.stringify(one);
    const several = one.smiles === undefined ? { graphs: [one.graph] } : { smiles: [one.smiles] };
    const { rows: [row], details: [details] } = await ask("/api/predict", { ...several, details: true });
    if (row.error || this.pinned.some((each) => each.key === key)) return;
    const kept = { key, one, name: name ?? one.smiles, row, details };
    this.pinned.push(kept);
    this.render();
    try {
      kept.found = await ask("/api/explain", one);
      await this.onOneScale();
    } catch (error) {
      kept.problem = error.message;
    }
    this.render();
  }

  // A score has the same colour in every picture.
  async onOneScale() {
    const limit = Math.max(...this.pinned.map((each) => each.found?.own ?? each.found?.limit ?? 0));
    await Promise.all(this.pinned.filter((each) => each.found && each.found.limit !== limit).map(async (each) => {
      const own = each.found.own ?? each.found.limit;
      each.found = { ...(await ask("/api/explain", { ...each.one, limit })), own };
    }));
  }

  async remove(kept) {
    this.pinned = this.pinned.filter((each) => each !== kept);
    this.render();
    await this.onOneScale();
    this.render();
  }

  render() {
    const count = byId("pins");
    count.hidden = !this.pinned.length;
    count.textContent = this.pinned.length;
    if (!this.pinned.length) {
      this.root.replaceChildren(h("div", { className: "card" }, h("h2", {}, "Compare"),
        h("p", { className: "empty" }, "Nothing is pinned yet.", h("br"), "“Pin to compare” under Ask puts molecules here, side by side.")));
      return;
    }
    this.root.replaceChildren(
      h("p", { className: "lead" }, "Differences are to the first one. One scale of colours holds for all."),
      h("div", { className: "pinned" }, this.pinned.map((kept, i) => this.card(kept, i))));
  }

  card(kept, place) {
    const first = this.pinned[0];
    return h("article", { className: "card" },
      h("h3", {}, kept.name),
      place ? h("p", { className: "difference" }, difference(this.model, first.row, kept.row)) : h("p", { className: "difference soft" }, "the first one"),
      kept.found ? [h("div", { className: "canvas" }, picture(kept.found.svg, alt(kept.found))), legend(kept.found)]
        : h("p", { className: "soft" }, kept.problem ?? "working out why…"),
      prediction(this.model, kept.row, kept.details),
      h("p", { className: "row" },
        kept.one.smiles !== undefined && h("button", { type: "button", className: "quiet", onclick: () => this.actions.open(kept.one.smiles) }, "Open"),
        h("button", { type: "button", className: "quiet", "aria-label": `Remove ${kept.name}`, onclick: () => this.remove(kept) }, "Remove")));
  }
}

function difference(model, first, row) {
  if (model.kind === "binary" || model.kind === "multiclass") {
    const [target] = model.targets;
    const name = model.kind === "binary" ? model.classes[1] : first[`${target}_predicted`];
    const column = `${target}_probability_${name}`;
    const points = Math.round(100 * (row[column] - first[column]));
    return `${points < 0 ? "−" : "+"}${Math.abs(points)} points for ${name}`;
  }
  const of = (one, name) => one[model.kind === "regression" ? `${name}_predicted` : `${name}_probability_${model.classes[1]}`];
  return model.targets.slice(0, 4).map((name) => `${name} ${signed(of(row, name) - of(first, name))}`).join(", ");
}
