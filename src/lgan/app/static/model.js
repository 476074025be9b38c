// What is known of the model.

import { ask } from "./api.js";
import { h, number, percent, picture } from "./dom.js";

const KINDS = { binary: "one of two classes", multiclass: "one of several classes", multilabel: "several labels", regression: "numbers" };

export function showModel(root, model, actions) {
  const thing = model.molecules ? "molecules" : "graphs";
  root.replaceChildren(
    h("div", { className: "tiles" },
      tile("predicts", model.targets.join(", "), KINDS[model.kind]),
      tile("trained on", `${model.graphs.toLocaleString("en")} ${thing}`, model.dataset),
      model.estimate && tile(`${model.metric}, out of fold`, model.estimate, `of ${model.members} ${model.members > 1 ? "members" : "member"}`),
      tile("version", model.version, (model.made.finished ?? "").slice(0, 10))),
    h("p", { className: "lead soft" }, model.members > 1
      ? `Every figure here is out of fold: each member was asked about ${thing} it had not been trained on. The best epoch was chosen by the same figure, which flatters it a little.`
      : "Figures are those of the part that was held out."),
    h("div", { className: "grid" },
      model.metrics && card("How good it is", table(["measure", "value"], Object.entries(model.metrics)),
        model.folds.length > 1 && h("p", { className: "soft" }, `${model.metric} fold by fold: ${model.folds.join(", ")}`)),
      model.confusion && card("Right and wrong", confusion(model)),
      model.calibration && card("Can its probabilities be trusted?", calibration(model.calibration)),
      model.scatter && Object.entries(model.scatter).slice(0, 4).map(([target, points]) => card(`Predicted against true ${target}`, scatter(points)))),
    mistakes(model, actions),
    Object.keys(model.made).length ? card("How it was made", h("dl", { className: "facts" }, Object.entries(model.made).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]))) : "",
    card("For scripts", h("p", {}, "The same answers as JSON: ", h("code", {}, "POST /api/predict"), ", ", h("code", {}, "POST /api/explain"), ", described in ",
      h("a", { href: "/api/openapi.json" }, "/api/openapi.json"), "."),
      h("p", { className: "soft" }, "The structure editor is ", h("a", { href: "/static/vendor/openchemlib.LICENSE.txt" }, "OpenChemLib"), " (BSD-3-Clause).")));
}

const tile = (name, figure, remark) => h("div", { className: "tile" }, h("span", { className: "soft" }, name), h("strong", {}, figure), h("span", { className: "soft" }, remark));
const card = (title, ...content) => h("div", { className: "card" }, h("h2", {}, title), content);

function table(head, rows) {
  return h("table", { className: "plain" }, h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name), cells.map((cell) => h("td", { className: "figure" }, cell))))));
}

function confusion(model) {
  return h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "True against predicted classes" },
    table(["true \\ predicted", ...model.classes], model.classes.map((name, i) => [name, ...model.confusion[i].map((count, j) => (i === j ? `✓ ${count}` : count))])));
}

// A square plot with the line on which predictions are right.
function plot(points, low, high, words, [x, y]) {
  const place = (value) => 20 + (260 * (value - low)) / (high - low || 1);
  const size = Math.max(...points.map((point) => point[2] ?? 1));
  return h("figure", {},
    h("svg:svg", { viewBox: "0 0 300 300", class: "plot", role: "img", "aria-label": words },
      h("svg:rect", { x: 20, y: 20, width: 260, height: 260, class: "frame" }),
      h("svg:line", { x1: 20, y1: 280, x2: 280, y2: 20, class: "right" }),
      points.map(([a, b, count]) => h("svg:circle", { cx: place(a), cy: 300 - place(b), r: count ? 3 + 6 * Math.sqrt(count / size) : 2.5, class: "point" })),
      [low, high].map((value) => h("svg:text", { x: place(value), y: 294, class: value === low ? "tick" : "tick end" }, number(value)))),
    h("figcaption", { className: "soft" }, `Across: ${x}. Up: ${y}. ${words}`));
}

function calibration(found) {
  const points = found.said.map((said, i) => [said, found.came[i], found.count[i]]);
  return plot(points, 0, 1, `On the line they can be taken at their word; on average they are off by ${percent(found.error)}.`, ["probability as predicted", "share that was right"]);
}

function scatter(points) {
  const all = points.flat();
  return plot(points, Math.min(...all), Math.max(...all), "On the line the prediction is right.", ["true", "predicted"]);
}

function mistakes(model, actions) {
  if (!model.mistakes?.length) return "";
  const cards = model.mistakes.map((one) => h("button", { type: "button", className: "neighbour", disabled: !one.smiles, onclick: () => actions.open(one.smiles) },
    one.smiles ? h("span", { className: "thumb" }) : one.graph && h("strong", {}, `graph ${one.graph}`), h("span", {}, `predicted ${one.predicted}`), h("span", {}, `${model.targets.length > 1 ? `${one.target} ` : ""}is ${one.is}`)));
  const known = model.mistakes.filter((one) => one.smiles);
  if (known.length === cards.length) {
    ask("/api/pictures", { smiles: known.map((one) => one.smiles) }).then(({ svgs }) => svgs.forEach((svg, i) => { if (svg) cards[i].firstChild.replaceWith(picture(svg, "", "thumb")); }));
  }
  return card("Where it was most wrong", h("div", { className: "six" }, cards));
}
